#!/usr/bin/env python3
"""Two ESP gateways under load and faults: what must hold however long it lasts.

    soak.py WEIR RELAY [--seconds N | --kills N] [--seed N]

WEIR and RELAY (`weir-relay` of `weir-netlab`) are release builds. Two network namespaces are connected by a
tunnel between TUN devices, ESP in UDP with AES-128-GCM and static keys, four associations per direction,
two workers at each end. The relay is between them: it loses, reorders, duplicates, changes and delays
packets. Pings, a thousand a second, and numbered datagrams cross the tunnel in both directions.
Meanwhile, in an order that the seed decides, gateways are killed (SIGKILL) and started again, SA files are
replaced, the cable is unplugged, its MTU changes, and control sockets get garbage. With --kills, gateways
are killed so often and nothing else happens. After each kill the last packets to the gateway are sent
to it again, in another order, from other ports. It must hold that

- traffic resumes within ten seconds after each fault,
- no SPI has an IV or a sequence number twice in what was captured where gateways send,
- no numbered datagram arrives twice,
- accounts balance in every status,
- gateways take each new SA file and refuse each wrong one,
- memory stays below a bound, and both gateways end with status 0.

The last line is the verdict, with figures. Needs root, iproute2, ping and tcpdump.
"""

import argparse
import collections
import json
import pathlib
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "netlab"))
import sites
from sites import INNER, OTHER, OUTER, run

RESUMES_WITHIN_S = 10
FAULTS = ["loss=0.005", "burst_packets=2", "reorder=0.01", "duplicate=0.01", "corrupt=0.005",
          "delay_us=300", "jitter_us=200"]
WORKERS = 2
DATAGRAMS_PER_S = 500
# Packets that are sent again after a kill.
REPLAYED = 3000
# Frames of all ports, rings, and what a reload needs for a moment.
MOST_RESIDENT_BYTES = 512 << 20


class Broken(Exception):
    """What should hold and does not."""


class Gateway:
    """One end of the tunnel."""

    def __init__(self, pair, side, weir):
        self.pair, self.side, self.weir = pair, side, weir
        self.socket = pair.folder / f"{side}.socket"
        self.sa = pair.folder / f"{side}-sa.toml"
        self.extra = 0
        self.reloads = 0
        self.most_resident = 0
        self.write_sa()
        self.start("--new-key", "all")

    def write_sa(self, mtu=1400):
        """The tunnel's associations, and some more that come and go."""
        text = sites.weir_sa(self.side, mtu, of_each=4)
        for number in range(self.extra):
            text += f"""
[[sa]]
name = "extra-{number}"
spi = {8192 + number}
suite = "aes-128-gcm-16"
key = "{number:032x} {number:08x}"
mode = "tunnel"
tunnel = {{ source = "{OUTER[OTHER[self.side]]}", destination = "{OUTER[self.side]}" }}
nat_t = true
direction = "inbound"

[[policy]]
direction = "inbound"
source = "10.99.{number}.0/24"
action = "protect"
sa = "extra-{number}"
"""
        self.sa.touch(mode=0o600)
        self.sa.write_text(text)

    def start(self, *more):
        self.process = sites.start_weir(
            self.pair, self.side, self.weir, f"--workers={WORKERS}", f"--control={self.socket}",
            *more)

    def kill(self):
        sites.kill(self.pair, self.process)
        self.start()

    def command(self, *words):
        return run(self.weir, *words, "--socket", self.socket, check=False, timeout=30)

    def check_status(self):
        done = self.command("status", "--json", "-")
        if done.returncode:
            # It is being started.
            return
        traffic = json.loads(done.stdout)["traffic"]
        if traffic is None:
            raise Broken(f"{self.side}: accounts do not balance")
        dropped = sum(traffic["drops"].values())
        if traffic["forwarded"] + dropped > traffic["packets"] + 4096:
            raise Broken(f"{self.side}: {traffic}")
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                self.most_resident = max(self.most_resident, 1024 * int(line.split()[1]))
        if self.most_resident > MOST_RESIDENT_BYTES:
            raise Broken(f"{self.side}: {self.most_resident >> 20} MiB resident")

    def dropped(self, reason):
        """How many packets since its start."""
        done = self.command("status", "--json", "-")
        return json.loads(done.stdout)["traffic"]["drops"].get(reason, 0) if not done.returncode else 0

    def reload(self, chance):
        self.extra = chance.randrange(20)
        self.write_sa(mtu=chance.choice([1400, 1420, 1440]))
        done = self.command("reload")
        if done.returncode:
            raise Broken(f"{self.side}: reload: {done.stderr.strip()}")
        self.reloads += 1

    def refuse(self):
        right = self.sa.read_text()
        self.sa.write_text(right + "[[sa]]\nname = 1\n")
        done = self.command("reload")
        self.sa.write_text(right)
        if not done.returncode or "sa.toml" not in done.stderr:
            raise Broken(f"{self.side}: a wrong file was taken: {done.stdout} {done.stderr}")

    def garbage(self, chance):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            try:
                client.connect(str(self.socket))
                client.sendall(chance.randbytes(chance.randrange(1, 5000)) + b"\n")
                client.recv(4096)
            except OSError:
                # It may hang up.
                pass


def resumes(pair, what):
    """How long it takes until a ping comes through."""
    started = time.monotonic()
    while time.monotonic() - started < RESUMES_WITHIN_S:
        if not run("ping", "-c", "1", "-W", "0.3", "-I", INNER["left"], INNER["right"],
                   namespace=pair.names["left"], check=False).returncode:
            return time.monotonic() - started
    raise Broken(f"no packet comes through {RESUMES_WITHIN_S} s after: {what}. {pair.logs()}")


class Sent:
    """What the gateway of one side sends, as it is captured."""

    def __init__(self, pair, side):
        self.pair, self.side = pair, side
        self.path = pair.folder / f"sent-by-{side}.pcap"
        # What is sent again comes from other ports.
        self.tcpdump = pair.start(side, "tcpdump", "-Z", "root", "-Q", "out", "-i", "wire", "-B", "65536", "-U",
                                  "-w", self.path, "udp and src port 4500")
        wait_for_file(self.path)
        self.capture = sites.Capture(self.path)
        self.last = collections.deque(maxlen=REPLAYED)
        self.nonces = sites.Nonces()

    def read(self):
        for frame in self.capture.frames():
            self.last.append(frame)
            if esp := sites.esp_of(frame):
                self.nonces.add(sites.EspPacket(esp))

    def replay(self, seed):
        """Sends the last packets again: how many."""
        self.read()
        path = self.pair.folder / "replayed.pcap"
        with open(path, "wb") as file:
            file.write(bytes(24))
            for frame in self.last:
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
        done = run(*NUMBERED, "replay", OUTER[OTHER[self.side]], path, seed,
                   namespace=self.pair.names[self.side], timeout=60)
        return int(done.stdout)


NUMBERED = [sys.executable, sites.__file__.replace("sites.py", "numbered.py")]


def wait_for_file(path):
    deadline = time.monotonic() + 20
    while not path.exists():
        if time.monotonic() > deadline:
            raise Broken(f"{path.name} does not appear")
        time.sleep(0.05)


def start_load(pair):
    """Programs whose numbered datagrams are counted, by side: senders and receivers."""
    for side in OUTER:
        # It goes on when the device is gone for a moment.
        pair.start(side, "sh", "-c", "while :; do ping -q -i 0.001 -s 200 -w 60 "
                   f"-I {INNER[side]} {INNER[OTHER[side]]} >/dev/null 2>&1; sleep 0.05; done")
    receivers = {side: pair.start(side, *NUMBERED, "receive", pair.folder / f"{side}-counts.json")
                 for side in OUTER}
    senders = [pair.start(side, *NUMBERED, "send", INNER[OTHER[side]], DATAGRAMS_PER_S) for side in OUTER]
    return senders, receivers


def end_load(pair, senders, receivers):
    """How many numbered datagrams arrived. None may have arrived twice."""
    for sender in senders:
        pair.end(sender)
    time.sleep(0.5)
    arrived = 0
    for side, receiver in receivers.items():
        pair.end(receiver)
        counts = json.loads((pair.folder / f"{side}-counts.json").read_text())
        if counts["again"]:
            raise Broken(f"{side}: {len(counts['again'])} datagrams arrived more than once")
        arrived += counts["arrived"]
    return arrived


def soak(pair, arguments):
    chance = random.Random(arguments.seed)
    gateways = {side: Gateway(pair, side, arguments.weir) for side in OUTER}
    slowest = resumes(pair, "the start")
    sent = {side: Sent(pair, side) for side in OUTER}
    senders, receivers = start_load(pair)
    counts = {"kill": 0, "reload": 0, "refuse": 0, "unplug": 0, "mtu": 0, "garbage": 0}
    weights = [4, 6, 1, 1, 1, 2]
    replayed = refused = 0
    started = time.monotonic()
    while counts["kill"] < arguments.kills if arguments.kills else time.monotonic() < started + arguments.seconds:
        side = chance.choice(list(OUTER))
        gateway, name = gateways[side], pair.names[side]
        what = "kill" if arguments.kills else chance.choices(list(counts), weights=weights)[0]
        counts[what] += 1
        if what == "kill":
            gateway.kill()
            replayed += sent[OTHER[side]].replay(counts[what])
        elif what == "reload":
            gateway.reload(chance)
        elif what == "refuse":
            gateway.refuse()
        elif what == "garbage":
            gateway.garbage(chance)
        elif what == "unplug":
            run("ip", "link", "set", "wire", "down", namespace=name)
            time.sleep(0.2)
            run("ip", "link", "set", "wire", "up", namespace=name)
        elif what == "mtu":
            run("ip", "link", "set", "wire", "mtu", chance.choice([1500, 2000]), namespace=name)
        slowest = max(slowest, resumes(pair, f"{what} of {side}"))
        for other in gateways.values():
            other.check_status()
        if what == "kill":
            refused += gateway.dropped("replay")
        time.sleep(chance.uniform(0.1, 0.5))
    lasted = time.monotonic() - started
    arrived = end_load(pair, senders, receivers)
    for side, gateway in gateways.items():
        pair.end(sent[side].tcpdump)
        sent[side].read()
        if status := pair.end(gateway.process):
            raise Broken(f"{side} ended with status {status}: {pair.logs()}")
    packets = sum(one.nonces.packets for one in sent.values())
    if any(one.nonces.again for one in sent.values()):
        raise Broken(f"nonces came again among {packets} packets: {[one.nonces.again for one in sent.values()]}")
    if packets < 100 * lasted or arrived < 100 * lasted:
        raise Broken(f"{packets} packets were captured, {arrived} datagrams arrived: the load stood still")
    if refused < replayed / 4:
        raise Broken(f"only {refused} packets were refused as replayed, of {replayed}")
    resident = max(gateway.most_resident for gateway in gateways.values())
    faults = ", ".join(f"{count} x {what}" for what, count in counts.items() if count)
    return (f"{packets} packets, no nonce twice; {arrived} datagrams arrived, none twice, {replayed} packets "
            f"were sent again; {faults} in {lasted:.0f} s; traffic resumed within {slowest:.1f} s; "
            f"at most {resident >> 20} MiB resident")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("relay", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.weir = arguments.weir.absolute()
    length = f"{arguments.kills} kills" if arguments.kills else f"{arguments.seconds} s"
    with tempfile.TemporaryDirectory() as folder:
        relay = [arguments.relay.absolute(), *FAULTS, f"seed={arguments.seed}"]
        pair = sites.Pair("soak", pathlib.Path(folder), relay)
        try:
            figures = soak(pair, arguments)
        except (Broken, sites.Missing) as error:
            print(f"soak of {length}, seed {arguments.seed}: FAILED: {error}")
            sys.exit(1)
        finally:
            pair.stop()
    print(f"soak of {length}, seed {arguments.seed}: passed: {figures}")


if __name__ == "__main__":
    main()

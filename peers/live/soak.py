#!/usr/bin/env python3
"""Two ESP gateways under load and faults: what must hold however long it lasts.

    soak.py WEIR [--seconds N] [--seed N]

WEIR is a release build. Two network namespaces are connected by a tunnel between TUN devices, ESP in
UDP with AES-128-GCM and static keys. Pings run through it in both directions, a thousand a second
each. Meanwhile, in an order that the seed decides, gateways are killed and started again, SA files are
replaced, the cable is unplugged, its MTU changes, and control sockets get garbage. It must hold that

- traffic resumes within ten seconds after each fault,
- no SPI has an IV twice in what was captured on the cable,
- accounts balance in every status,
- gateways take each new SA file and refuse each wrong one,
- memory stays below a bound, and both gateways end with status 0.

The last line is the verdict, with figures. Needs root, iproute2, ping and tcpdump.
"""

import argparse
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
        self.start("--new-key", f"from-{side}")

    def write_sa(self, mtu=1400):
        """The tunnel's associations, and some more that come and go."""
        # A window that is kept costs a crash the numbers that it had reserved, which a sender
        # that has slowed down takes long to pass.
        text = sites.weir_sa(self.side, mtu, 'replay_state = "forget"')
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
            self.pair, self.side, self.weir, f"--control={self.socket}", *more)

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


def nonces(capture):
    """How many packets of ESP in UDP are in a capture, and how often a (SPI, IV) came again."""
    seen, packets, again = set(), 0, 0
    with open(capture, "rb") as file:
        file.read(24)
        while len(header := file.read(16)) == 16:
            _, _, kept, _ = struct.unpack("<IIII", header)
            frame = file.read(kept)
            # Ethernet, IPv4 without options, UDP, then SPI, number and IV.
            if len(frame) < 58 or frame[12:15] != b"\x08\x00\x45" or frame[23] != 17:
                continue
            packets += 1
            nonce = (frame[42:46], frame[50:58])
            again += nonce in seen
            seen.add(nonce)
    return packets, again


def soak(pair, arguments):
    chance = random.Random(arguments.seed)
    gateways = {side: Gateway(pair, side, arguments.weir) for side in OUTER}
    slowest = resumes(pair, "the start")
    capture = pair.folder / "cable.pcap"
    tcpdump = pair.start("left", "tcpdump", "-i", "wire", "-s", "64", "-B", "65536", "-U", "-w",
                         capture, "udp", "port", "4500")
    for side in OUTER:
        # It goes on when the device is gone for a moment.
        pair.start(side, "sh", "-c", "while :; do ping -q -i 0.001 -s 1200 -w 60 "
                   f"-I {INNER[side]} {INNER[OTHER[side]]} >/dev/null 2>&1; sleep 0.05; done")
    counts = {"kill": 0, "reload": 0, "refuse": 0, "unplug": 0, "mtu": 0, "garbage": 0}
    deadline = time.monotonic() + arguments.seconds
    while time.monotonic() < deadline:
        side = chance.choice(list(OUTER))
        gateway, name = gateways[side], pair.names[side]
        what = chance.choices(list(counts), weights=[4, 6, 1, 1, 1, 2])[0]
        counts[what] += 1
        if what == "kill":
            gateway.kill()
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
        for gateway in gateways.values():
            gateway.check_status()
        time.sleep(0.1)
    tcpdump.terminate()
    tcpdump.wait()
    for side, gateway in gateways.items():
        if status := pair.end(gateway.process):
            raise Broken(f"{side} ended with status {status}: {pair.logs()}")
    packets, again = nonces(capture)
    if again:
        raise Broken(f"{again} nonces came again among {packets} packets")
    if packets < 100 * arguments.seconds:
        raise Broken(f"only {packets} packets were captured: the load stood still")
    resident = max(gateway.most_resident for gateway in gateways.values())
    faults = ", ".join(f"{count} x {what}" for what, count in counts.items())
    return (f"{packets} packets, no nonce twice; {faults}; traffic resumed within {slowest:.1f} s; "
            f"at most {resident >> 20} MiB resident")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.weir = arguments.weir.absolute()
    with tempfile.TemporaryDirectory() as folder:
        pair = sites.Pair("soak", pathlib.Path(folder))
        try:
            figures = soak(pair, arguments)
        except (Broken, sites.Missing) as error:
            print(f"soak of {arguments.seconds} s, seed {arguments.seed}: FAILED: {error}")
            sys.exit(1)
        finally:
            pair.stop()
    print(f"soak of {arguments.seconds} s, seed {arguments.seed}: passed: {figures}")


if __name__ == "__main__":
    main()

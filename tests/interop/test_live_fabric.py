"""RoCEv2 of scapy between two network namespaces, with Weir as a bump in the wire on both sides and
somebody who records and forges on the wire.

Every operation of RC, UC and UD, over IPv4 and IPv6, between queue pairs that nobody lists: what arrives is
what scapy made; on the wire there is no plain packet; changed packets, packets with a cleared identifier, and after a kill of
the receiver datagrams and unreliable connections sent again, do not arrive. Needs root and network namespaces, which it deletes.
"""

import contextlib
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import peers
import test_fabric_packets
from peers import check

NUMBERS = itertools.count()
# Queue pairs by the upper three bits of the operation code; reliable datagrams must be listed.
QUEUE_PAIRS = {0: 0x11, 1: 0x12, 3: 0x13}
NOTIFICATION = test_fabric_packets.NOTIFICATION
IDENTIFIER, PSN = 4, 9

FABRIC = """
# Old packets that are sent again are not to end the mode.
failed_tags = 1_000_000

[[partition]]
name = "all"
partition_key = 0x8001
secret = "000102030405060708090a0b0c0d0e0f"
unlisted = { session_random = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", window = 64 }
"""

GATEWAY = """
[[port]]
name = "node"
kind = "interface"
side = "plain"
interface = "{node}"
[[port]]
name = "fabric"
kind = "interface"
side = "cipher"
interface = "{wire}"
[pipeline.out]
from = "node"
to = "fabric"
stages = ["fabric-protect"]
[pipeline.in]
from = "fabric"
to = "node"
stages = ["fabric-unprotect"]
[fabric]
file = "fabric.toml"
state = "ledger"
[report]
json = "report.json"
"""


def scapy_frames(first_psn):
    """A frame of each operation of RC, UC and UD, and of a notification, over IPv4 and IPv6."""
    from scapy.all import IP, UDP, Ether, IPv6, Raw
    from scapy.contrib.roce import BTH

    dice = random.Random(first_psn)
    rows = [row for row in test_fabric_packets.operations() if row[0] >> 5 in QUEUE_PAIRS]
    out = []
    for number, (code, extended_bytes, has_payload) in enumerate([*rows, (NOTIFICATION, 16, False)]):
        payload = dice.randbytes(dice.randrange(16, 300)) if has_payload else b""
        pad = -len(payload) % 4
        extended = bytearray(dice.randbytes(extended_bytes))
        if code >> 5 == 3:
            # Q_Key and the queue pair that it comes from.
            extended[:8] = bytes.fromhex("0123456700000021")
        if code == NOTIFICATION:
            extended = bytearray(16)
        for ip in (IP(src="198.18.0.1", dst="198.18.0.2"), IPv6(src="fd00::1", dst="fd00::2")):
            queue_pair = QUEUE_PAIRS[0 if code == NOTIFICATION else code >> 5]
            bth = BTH(opcode=code, padcount=pad, dqpn=queue_pair, psn=first_psn + number, pkey=0x8001)
            frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            frame = frame / ip / UDP(sport=49152, dport=4791) / bth / Raw(bytes(extended) + payload + bytes(pad))
            out.append(bytes(frame))
    return out


def bth_at(frame):
    return 42 if frame[12:14] == b"\x08\x00" else 62


def code_of(frame):
    return frame[bth_at(frame)]


class Site:
    """A namespace with a node's end of a cable, and a gateway between that and the wire."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self.namespace = f"weir-fabric-{os.getpid()}-{name}"
        self.process = None
        done = subprocess.run(["ip", "netns", "add", self.namespace], capture_output=True, text=True)
        if done.returncode != 0:
            raise peers.Skip(f"there are no network namespaces: {done.stderr.strip()}")
        # No packets but those of the test.
        quiet = "for which in all default; do echo 1 >/proc/sys/net/ipv6/conf/$which/disable_ipv6; done"
        subprocess.run(self.command("sh", "-c", quiet), check=True)
        (self.folder / "fabric.toml").write_text(FABRIC)
        (self.folder / "fabric.toml").chmod(0o600)
        self.config = self.folder / "weir.toml"
        self.config.write_text(GATEWAY.format(node="inner", wire="wire"))

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.namespace, *map(str, arguments)]

    def connect(self, other, names):
        own, its = names
        link = ["ip", "link", "add", own, "netns", self.namespace, "type", "veth"]
        subprocess.run([*link, "peer", "name", its, "netns", other.namespace], check=True)
        for site, name in ((self, own), (other, its)):
            subprocess.run(["ip", "-n", site.namespace, "link", "set", name, "up"], check=True)

    def start(self, *options):
        socket = self.folder / "control"
        socket.unlink(missing_ok=True)
        command = self.command(peers.need_weir(), "run", self.config, "-q", f"--control={socket}", *options)
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder)

        def is_up():
            check(self.process.poll() is None, f"weir run ends: {self.process.returncode}")
            found = self.status()
            queues = found.get("queues", [])
            return len(queues) == 4 and all(queue["state"] == "up" for queue in queues)

        peers.until(is_up, "the ports are up")

    def status(self):
        command = [peers.need_weir(), "status", "--socket", str(self.folder / "control"), "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def drops(self, reason):
        return self.status()["traffic"]["drops"].get(reason, 0)

    def end(self, with_signal):
        process, self.process = self.process, None
        process.send_signal(with_signal)
        _, error = process.communicate(timeout=60)
        expected = -with_signal if with_signal == signal.SIGKILL else 0
        check(process.returncode == expected, f"weir run exits {process.returncode}: {error}")

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False)


@contextlib.contextmanager
def recorded(site, interface, into):
    """Adds to a list what arrives at an interface."""
    capture = site.folder / f"recorded-{next(NUMBERS)}.pcap"
    command = site.command(peers.need_weir(), "record", "-i", interface, capture, "--quiet")
    process = subprocess.Popen(command)
    # The interface is opened before the file is made.
    peers.until(capture.exists, f"{capture} exists")
    try:
        yield
        # What arrived is in the socket.
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGTERM)
        check(process.wait(60) == 0, f"weir record exits {process.returncode}")
    from scapy.utils import rdpcap

    into.extend(bytes(frame) for frame in rdpcap(str(capture)))


def send(sender, interface, receiver, frames):
    """Sends frames, and waits until the receiving gateway has read as many."""
    from scapy.utils import PcapWriter

    capture = sender.folder / f"sent-{next(NUMBERS)}.pcap"
    with PcapWriter(str(capture), linktype=1) as writer:
        for frame in frames:
            writer.write(frame)
    expected = receiver.status()["packets"] + len(frames)
    done = subprocess.run(sender.command(peers.need_weir(), "replay", capture, "-i", interface, "--quiet"))
    check(done.returncode == 0, f"weir replay exits {done.returncode}")
    peers.until(lambda: receiver.status()["packets"] >= expected, f"{receiver.namespace} reads {len(frames)} packets")


@contextlib.contextmanager
def sites():
    peers.need_program("ip")
    test_fabric_packets.need_roce()
    opened = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("left", "right"):
                opened.append(Site(pathlib.Path(folder), name))
            left, right = opened
            left.connect(left, ("node", "inner"))
            right.connect(right, ("node", "inner"))
            left.connect(right, ("wire", "wire"))
            for site in opened:
                site.start("--new-key", "all")
            yield left, right
            for site in opened:
                site.end(signal.SIGTERM)
    finally:
        for site in opened:
            site.close()


def warm_up(left, right, psns):
    """Sends until nothing waits for the ledger: the next packets all arrive."""
    for _ in range(50):
        before = right.drops("window_pending")
        send(left, "node", right, scapy_frames(next(psns)))
        # What is written down ahead is written by then.
        time.sleep(0.2)
        if right.drops("window_pending") == before:
            return
    check(False, "packets wait for the ledger all the time")


def attack(left, right, frames):
    """Puts packets on the wire: what arrives, and what was dropped for which reason."""
    arrived, before = [], right.status()["traffic"]["drops"]
    with recorded(right, "node", arrived):
        send(left, "wire", right, frames)
    after = right.status()["traffic"]["drops"]
    drops = {reason: count - before.get(reason, 0) for reason, count in after.items() if count > before.get(reason, 0)}
    return arrived, drops


def traffic_and_attacks():
    with sites() as (left, right):
        # No further apart than what a receiver writes down ahead.
        psns = itertools.count(0, len(scapy_frames(0)) // 2)
        warm_up(left, right, psns)

        sent, arrived, wire = scapy_frames(next(psns)), [], []
        with recorded(right, "node", arrived), recorded(right, "wire", wire):
            send(left, "node", right, sent)
        check(arrived == sent, f"{len(arrived)} of {len(sent)} arrive, or others")
        check(len(wire) == len(sent), f"{len(wire)} packets on the wire")
        for plain, secure in zip(sent, wire, strict=True):
            at = bth_at(plain)
            check(len(secure) == len(plain), "another size on the wire")
            check(secure[at + IDENTIFIER] & 3 in (1, 3), "a plain packet on the wire")
            payload = plain[at + 12 : -4][-16:]
            check(code_of(plain) & 31 in test_fabric_packets.WITHOUT_PAYLOAD or code_of(plain) == NOTIFICATION
                  or payload not in secure, "a payload on the wire")

        dice = random.Random(1)
        changed = [bytearray(frame) for frame in wire]
        for frame in changed:
            frame[dice.randrange(bth_at(frame) + 12, len(frame))] ^= 1 << dice.randrange(8)
        found, drops = attack(left, right, [bytes(frame) for frame in changed])
        check(found == [], f"{len(found)} changed packets arrive")
        # Of unreliable transports the number was taken.
        refused = sum(drops.get(reason, 0) for reason in ("tag_failed", "fabric_replayed"))
        check(refused == len(wire) and drops["tag_failed"] > 40, f"changed packets: {drops}")

        cleared = [bytearray(frame) for frame in wire]
        for frame in cleared:
            frame[bth_at(frame) + IDENTIFIER] &= 0xFC
        found, drops = attack(left, right, [bytes(frame) for frame in cleared])
        check((found, drops) == ([], {"plain_refused": len(wire)}), f"cleared identifiers: {len(found)} arrive, {drops}")

        found, drops = attack(left, right, wire)
        once = [frame for frame in wire if code_of(frame) >> 5 in (1, 3)]
        again = [frame for frame in found if code_of(frame) >> 5 in (1, 3)]
        check(again == [] and drops == {"fabric_replayed": len(once)}, f"replays: {len(again)} arrive, {drops}")

        right.end(signal.SIGKILL)
        right.start()
        found, drops = attack(left, right, wire)
        again = [frame for frame in found if code_of(frame) >> 5 in (1, 3)]
        check(again == [], f"{len(again)} packets arrive once more after a kill")
        check(drops.get("tag_failed", 0) == 0, f"replays after a kill: {drops}")
        warm_up(left, right, psns)
        sent, arrived = scapy_frames(next(psns)), []
        with recorded(right, "node", arrived):
            send(left, "node", right, sent)
        check(arrived == sent, f"after a kill {len(arrived)} of {len(sent)} arrive, or others")


if __name__ == "__main__":
    sys.exit(peers.run([("what scapy sends arrives, and nothing else", traffic_and_attacks)]))

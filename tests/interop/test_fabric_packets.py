"""Packets of RoCEv2 and InfiniBand, as scapy and tshark see them.

scapy makes RoCEv2 packets of every operation over IPv4 and IPv6, and computes their ICRCs; weir
fabric check has to find the same. tshark dissects what Weir builds, and scapy computes the ICRCs of
its RoCEv2 packets.
"""

import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import peers

PARTITION_KEYS = [0xFFFF, 0x7FFF, 0x8001, 0x0001, 0x8ABC]
# Operation within the transport: bytes of extended headers, and whether there is a payload.
SENDS = {0: 0, 1: 0, 2: 0, 3: 4, 4: 0, 5: 4}
WRITES = {6: 16, 7: 0, 8: 0, 9: 4, 10: 16, 11: 20}
READ_RESPONSES = {13: 4, 14: 0, 15: 4, 16: 4}
WITHOUT_PAYLOAD = {12: 16, 17: 4, 18: 12, 19: 28, 20: 28}
INVALIDATE = {22: 4, 23: 4}
RESPONSES = {13, 14, 15, 16, 17, 18}
NOTIFICATION = 0x81


def operations():
    """(code, bytes of extended headers, whether there is a payload) of every operation."""
    connected = SENDS | WRITES
    all_of_reliable = connected | READ_RESPONSES | WITHOUT_PAYLOAD
    for number, extended in (all_of_reliable | INVALIDATE).items():
        yield number, extended, number not in WITHOUT_PAYLOAD
    for number, extended in connected.items():
        yield 0x20 | number, extended, True
    for number, extended in (all_of_reliable | {21: 0}).items():
        # RDETH, and DETH in requests.
        in_front = 4 if number in RESPONSES else 12
        yield 0x40 | number, in_front + extended, number not in WITHOUT_PAYLOAD | {21: 0}
    for number in (4, 5):
        yield 0x60 | number, 8 + SENDS[number], True


def scapy_frames():
    """Two frames for each operation, over IPv4 and IPv6, in several partitions."""
    from scapy.all import Ether, IP, IPv6, UDP, Raw
    from scapy.contrib.roce import BTH

    dice = random.Random(7)
    rows = [*operations(), (NOTIFICATION, 0, True)]
    out = []
    for number, (code, extended_bytes, has_payload) in enumerate(rows):
        for version in (4, 6):
            payload_bytes = dice.randrange(1, 300) if has_payload else 0
            if code == NOTIFICATION:
                payload_bytes = 16
            pad = -payload_bytes % 4
            body = dice.randbytes(extended_bytes + payload_bytes) + bytes(pad)
            if version == 4:
                ip = IP(src="198.18.0.1", dst="198.18.0.2", tos=dice.randrange(256))
                ip.ttl = dice.randrange(1, 256)
            else:
                ip = IPv6(src="fd00::1", dst="fd00::2", tc=dice.randrange(256))
                ip.hlim, ip.fl = dice.randrange(1, 256), dice.randrange(1 << 20)
            bth = BTH(opcode=code, padcount=pad, dqpn=0x11, psn=number, fecn=number % 2)
            bth.pkey = PARTITION_KEYS[len(out) % len(PARTITION_KEYS)]
            frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            frame = frame / ip / UDP(sport=49152, dport=4791) / bth / Raw(body)
            out.append(bytes(frame))
    return out


def need_roce():
    peers.need_scapy()
    try:
        import scapy.contrib.roce  # noqa: F401
    except ImportError as missing:
        raise peers.Skip(f"scapy has no RoCE: {missing}") from None


def write_capture(path, frames):
    from scapy.utils import PcapWriter

    with PcapWriter(str(path), linktype=1) as writer:
        for frame in frames:
            writer.write(frame)


def checked(directory, frames):
    """The document of weir fabric check over frames."""
    capture, document = directory / "frames.pcap", directory / "document.json"
    write_capture(capture, frames)
    return checked_file(capture, document)


def checked_file(capture, document):
    status, error = peers.weir("fabric", "check", capture, "--json", document, "--quiet")
    peers.check(status == 0, f"weir fabric check exits {status}: {error}")
    return json.loads(document.read_text())


def weir_agrees_with_scapy(directory):
    need_roce()
    frames = scapy_frames()
    found = checked(directory, frames)
    peers.check(found["rocev2"] == len(frames), f"{found['rocev2']} of {len(frames)} are RoCEv2")
    peers.check(found["malformed"] == {}, f"malformed: {found['malformed']}")
    verdicts = {"good": len(frames), "wrong": 0, "absent": 0}
    peers.check(found["icrc"] == verdicts, f"ICRCs: {found['icrc']}")
    codes = {row["opcode"]: row["packets"] for row in found["opcodes"]}
    expected = dict.fromkeys([code for code, _, _ in operations()] + [NOTIFICATION], 2)
    peers.check(codes == expected, f"operations: {codes}")
    names = [row["name"] for row in found["opcodes"]]
    unnamed = [name for name in names if name.startswith("0x")]
    peers.check(unnamed == [], f"operations without a name: {unnamed}")
    keys = {row["partition_key"]: row["packets"] for row in found["partition_keys"]}
    counts = {}
    for number in range(len(frames)):
        key = f"0x{PARTITION_KEYS[number % len(PARTITION_KEYS)]:04x}"
        counts[key] = counts.get(key, 0) + 1
    peers.check(keys == counts, f"partitions: {keys}")


def weir_finds_changed_bits(directory):
    """The same packets with one bit of the ICRC's cover changed in each."""
    need_roce()
    dice = random.Random(8)
    changed = []
    for frame in map(bytearray, scapy_frames()):
        bth = 42 if frame[12:14] == b"\x08\x00" else 62
        # From the destination queue pair on, to the ICRC itself.
        at = dice.randrange(bth + 5, len(frame))
        frame[at] ^= 1 << dice.randrange(8)
        changed.append(bytes(frame))
    found = checked(directory, changed)
    verdicts = {"good": 0, "wrong": len(changed), "absent": 0}
    peers.check(found["icrc"] == verdicts, f"ICRCs: {found['icrc']}")


def built_by_weir(directory):
    """The capture of the library's example, a packet of every operation in each carrier."""
    program = os.environ.get("WEIR_EVERY_OPERATION")
    if not program:
        raise peers.Skip("WEIR_EVERY_OPERATION does not name the built example")
    capture = directory / "built.pcapng"
    done = subprocess.run([program, str(capture)], capture_output=True, text=True, check=False)
    peers.check(done.returncode == 0, f"the example exits {done.returncode}: {done.stderr}")
    return capture


DECODE_AS = ["udp.port==4791,infiniband"]
# tshark takes these codes for another transport of the same number (DC), with other headers.
RELIABLE_DATAGRAMS = "infiniband.bth.opcode >= 0x40 && infiniband.bth.opcode < 0x60"


def tshark_dissects_what_weir_builds(directory):
    capture = built_by_weir(directory)
    complaints = peers.tshark(
        capture,
        f"(_ws.malformed || _ws.expert || !infiniband.bth) && !({RELIABLE_DATAGRAMS})",
        ["frame.number", "_ws.expert.message", "_ws.col.Info"],
        decode_as=DECODE_AS,
    )
    peers.check(complaints == [], f"tshark complains: {complaints[:5]}")
    fields = ["infiniband.bth.opcode", "ip.version", "ipv6.version", "infiniband.lrh.lnh"]
    fields += ["infiniband.bth.p_key", "infiniband.invariant.crc", "infiniband.variant.crc"]
    rows = peers.tshark(capture, "infiniband.bth", fields, decode_as=DECODE_AS)
    codes = sorted({int(row[0], 0) for row in rows})
    expected = sorted([code for code, _, _ in operations()] + [NOTIFICATION])
    peers.check(codes == expected, f"operations: {codes}")
    peers.check(len(rows) == 4 * len(expected), f"{len(rows)} packets")
    carriers = {tuple(bool(field) for field in row[1:4]) for row in rows}
    peers.check(len(carriers) == 3, f"carriers: {carriers}")
    native = [row for row in rows if row[3]]
    peers.check(len(native) == len(rows) // 2, f"{len(native)} native packets")
    # Behind a congestion notification tshark looks for no ICRC.
    understood = [row for row in rows if int(row[0], 0) not in {*range(0x40, 0x60), NOTIFICATION}]
    without = [row for row in understood if not row[5] or bool(row[3]) != bool(row[6])]
    peers.check(without == [], f"without check values: {without[:3]}")


def scapy_computes_the_icrcs_of_weir(directory):
    need_roce()
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapNgReader

    capture = built_by_weir(directory)
    compared = 0
    with RawPcapNgReader(str(capture)) as reader:
        for raw, metadata in reader:
            if metadata.linktype != 1:
                continue  # native
            frame = Ether(raw)
            bth = frame[BTH]
            computed = bth.compute_icrc(bytes(bth))
            peers.check(computed == raw[-4:], f"ICRC {raw[-4:].hex()}, scapy's {computed.hex()}")
            compared += 1
    expected = 2 * (len(list(operations())) + 1)
    peers.check(compared == expected, f"{compared} of {expected} packets")


def weir_reads_what_it_builds(directory):
    capture = built_by_weir(directory)
    found = checked_file(capture, directory / "document.json")
    half = 2 * (len(list(operations())) + 1)
    peers.check((found["rocev2"], found["infiniband"]) == (half, half), f"{found['rocev2']}")
    peers.check(found["icrc"]["good"] == 2 * half, f"ICRCs: {found['icrc']}")
    vcrc = {"good": half, "wrong": 0, "absent": 0}
    peers.check(found["vcrc"] == vcrc, f"VCRCs: {found['vcrc']}")


def main():
    tests = [
        ("weir finds scapy's ICRCs right", weir_agrees_with_scapy),
        ("weir finds changed packets wrong", weir_finds_changed_bits),
        ("tshark dissects what weir builds", tshark_dissects_what_weir_builds),
        ("scapy computes the ICRCs that weir builds", scapy_computes_the_icrcs_of_weir),
        ("weir reads what it builds", weir_reads_what_it_builds),
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        return peers.run([(name, functools.partial(test, path)) for name, test in tests])


if __name__ == "__main__":
    sys.exit(main())

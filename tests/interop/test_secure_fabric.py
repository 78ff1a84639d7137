"""Secure InfiniBand and RoCEv2 packets: an implementation in Python, written from
docs/fabric-format.md, makes the same packets as Weir and restores Weir's.

Every operation of every transport, over LRH, LRH and GRH, IPv4 and IPv6, in 32-bit and in extended mode, with
an epoch that changes where the PSN wraps, and with timestamps of 8, 24 and 38 bits. tshark reads the same headers in secure packets as in plain ones.
"""

import functools
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import peers

PAGE = peers.ROOT / "docs" / "fabric-format.md"
CARRIERS = ("Local", "Global", "Ipv4", "Ipv6")
# Operations of RC, UC, RD and UD; and a notification for RC and UC.
PACKETS_PER_CARRIER = 2 * (23 + 12 + 22 + 2 + 2)


class Row:
    def __init__(self, secret, session_random, line):
        import secure_fabric

        fields = line.split()
        self.carrier, self.mode = fields[:2]
        sender = secure_fabric.Endpoint(fields[3], int(fields[4]))
        receiver = secure_fabric.Endpoint(fields[5], int(fields[6]))
        self.keys = secure_fabric.Keys(secret, session_random, sender, receiver)
        self.number = None if fields[7] == "-" else int(fields[7])
        self.time = {"timestamp_bits": int(fields[8]), "seconds": int(fields[9])}
        self.plain, self.secure = (bytes.fromhex(field) for field in fields[10:])
        packet = secure_fabric.Packet(self.carrier, self.plain)
        # The first request is the last one before the PSN wraps; responses begin behind it.
        is_first = packet.role == 1 or packet.psn == 0xFFFFFF
        self.epoch = int(fields[2]) + (0 if is_first else 1)


@functools.cache
def rows():
    try:
        import cryptography  # noqa: F401
    except ImportError as missing:
        raise peers.Skip(f"cryptography cannot be used: {missing}") from None
    program = os.environ.get("WEIR_SECURE_PACKETS")
    if not program:
        raise peers.Skip("WEIR_SECURE_PACKETS does not name the built example secure_packets")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    peers.check(done.returncode == 0, f"{program} exits {done.returncode}: {done.stderr}")
    first, *lines = done.stdout.splitlines()
    secret, session_random = (bytes.fromhex(field) for field in first.split())
    return [Row(secret, session_random, line) for line in lines]


def of_carrier(carrier):
    chosen = [row for row in rows() if row.carrier == carrier and not row.time["timestamp_bits"]]
    peers.check(len(chosen) == PACKETS_PER_CARRIER, f"{len(chosen)} packets over {carrier}")
    return chosen


def same_packets(carrier):
    import secure_fabric

    for row in of_carrier(carrier):
        ours = secure_fabric.protect(row.keys, carrier, row.plain, row.epoch, row.number)
        found = f"{row.mode} {row.plain.hex()}: {row.secure.hex()} of weir, {ours.hex()} here"
        peers.check(ours == row.secure, found)


def restored_packets(carrier):
    import secure_fabric

    for row in of_carrier(carrier):
        plain = secure_fabric.unprotect(row.keys, carrier, row.secure, row.epoch)
        peers.check(plain == row.plain, f"{row.secure.hex()} is restored to {plain and plain.hex()}")


def refused_packets(carrier):
    import secure_fabric

    dice = random.Random(18)
    for row in of_carrier(carrier):
        tail = 2 if carrier in ("Local", "Global") else 0
        changed = bytearray(row.secure)
        start = secure_fabric.OUTER_BYTES[carrier] + 9
        changed[dice.randrange(start, len(changed) - tail)] ^= 1 << dice.randrange(8)
        plain = secure_fabric.unprotect(row.keys, carrier, bytes(changed), row.epoch)
        peers.check(plain is None, f"{changed.hex()} is taken")


TIMESTAMP_BITS = (8, 24, 38)


def timestamps():
    """Both write the same times, and the same packets around them; Python takes Weir's in their time."""
    import secure_fabric

    chosen = [row for row in rows() if row.time["timestamp_bits"]]
    counts = {bits: sum(row.time["timestamp_bits"] == bits for row in chosen) for bits in TIMESTAMP_BITS}
    peers.check(counts == dict.fromkeys(TIMESTAMP_BITS, PACKETS_PER_CARRIER), f"{counts} packets by bits")
    for row in chosen:
        ours = secure_fabric.protect(row.keys, row.carrier, row.plain, row.epoch, row.number, **row.time)
        peers.check(ours == row.secure, f"{row.plain.hex()}: {row.secure.hex()} of weir, {ours.hex()} here")
        bits, seconds = row.time["timestamp_bits"], row.time["seconds"]
        stamp = secure_fabric.Packet(row.carrier, row.secure, bits).timestamp
        peers.check(stamp == seconds % (1 << bits), f"{row.secure.hex()} has the time {stamp}")
        for late, is_taken in ((0, True), (8, True), (-8, True), (9, False), (-9, False), (1 << bits, True)):
            plain = secure_fabric.unprotect(row.keys, row.carrier, row.secure, row.epoch, bits, seconds + late, 8)
            peers.check(plain == (row.plain if is_taken else None), f"{row.secure.hex()}, {late} s late")
        # A time that was changed, though within the tolerance, gives another tag.
        changed = bytearray(row.secure)
        at = 10 + bits - 1
        changed[secure_fabric.OUTER_BYTES["Global"] - 16 + at // 8] ^= 0x80 >> at % 8
        plain = secure_fabric.unprotect(row.keys, row.carrier, bytes(changed), row.epoch, bits, seconds, 8)
        peers.check(plain is None, f"{changed.hex()} is taken")


# Link types of captures: raw IP, and records of Endace cards.
RAW_IP, ERF = 101, 197
# tshark takes the codes of reliable datagrams for another transport.
NOT_RELIABLE_DATAGRAMS = "!(infiniband.bth.opcode >= 0x40 && infiniband.bth.opcode < 0x60)"
HEADER_FIELDS = [
    "infiniband.bth.opcode",
    "infiniband.bth.p_key",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.a",
    "infiniband.lrh.slid",
    "infiniband.grh.dgid",
    "infiniband.deth.q_key",
    "infiniband.deth.srcqp",
    "infiniband.reth.va",
    "infiniband.reth.r_key",
    "infiniband.reth.dmalen",
    "infiniband.aeth.msn",
    "infiniband.atomiceth.swapdt",
    "infiniband.immdt",
    "infiniband.ieth",
]


def write_capture(path, carrier, packets):
    is_native = carrier in ("Local", "Global")
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ERF if is_native else RAW_IP))
        for packet in packets:
            record = packet
            if is_native:
                # Type 21 is InfiniBand; the flag says that records have different lengths.
                record = struct.pack(">QBBHHH", 0, 21, 4, 16 + len(packet), 0, len(packet)) + packet
            file.write(struct.pack("<IIII", 1, 0, len(record), len(record)) + record)


def headers_in_tshark(carrier):
    packets = {"plain": [row.plain for row in of_carrier(carrier)]}
    packets["secure"] = [row.secure for row in of_carrier(carrier)]
    seen = {}
    with tempfile.TemporaryDirectory() as directory:
        for name, chosen in packets.items():
            capture = pathlib.Path(directory) / f"{name}.pcap"
            write_capture(capture, carrier, chosen)
            decode_as = ["udp.port==4791,infiniband"]
            complaints = peers.tshark(
                capture,
                # It looks for Ethernet in datagrams, and is puzzled where these are empty.
                f'(!infiniband.bth || _ws.malformed && !(frame.protocols contains "eoib")) && {NOT_RELIABLE_DATAGRAMS}',
                ["frame.number", "_ws.col.Info"],
                decode_as=decode_as,
            )
            peers.check(complaints == [], f"tshark complains of {name} packets: {complaints[:3]}")
            seen[name] = peers.tshark(capture, NOT_RELIABLE_DATAGRAMS, ["frame.number", *HEADER_FIELDS], decode_as=decode_as)
    # All but 22 operations of reliable datagrams, in both modes.
    peers.check(len(seen["plain"]) == PACKETS_PER_CARRIER - 2 * 22, f"{len(seen['plain'])} packets")
    unlike = [pair for pair in zip(*seen.values(), strict=True) if pair[0] != pair[1]]
    peers.check(unlike == [], f"headers differ: {unlike[:2]}")
    filled = [any(row[1 + at] for row in seen["plain"]) for at in range(len(HEADER_FIELDS))]
    missing = [field for field, is_filled in zip(HEADER_FIELDS, filled, strict=True) if not is_filled]
    expected = {"Local": ["infiniband.grh.dgid"], "Global": []}
    of_ip = ["infiniband.lrh.slid", "infiniband.grh.dgid"]
    peers.check(missing == expected.get(carrier, of_ip), f"no packet has {missing}")


def page_vectors():
    """What the page says of keys and packets."""
    try:
        import secure_fabric
    except ImportError as missing:
        raise peers.Skip(f"cryptography cannot be used: {missing}") from None

    page = PAGE.read_text()
    keys = secure_fabric.Keys(
        bytes(range(32)),
        bytes(range(0xF0, 0x100)),
        secure_fabric.Endpoint("192.0.2.1", 0x123456),
        secure_fabric.Endpoint("198.51.100.2", 0xABCDEF),
    )
    for label, output in re.findall(r"^\| `(weir fabric 1 \S+)` \| `([0-9a-f]+)` \|$", page, re.MULTILINE):
        ours = keys.derive(label, len(output) // 2)
        peers.check(ours.hex() == output, f"{label}: {ours.hex()} in place of {output}")
    unlisted = secure_fabric.unlisted_secret(keys.secret, keys.random)
    peers.check(unlisted.hex() in page, f"unlisted queue pairs have {unlisted.hex()}")
    packets = re.findall(r"^plain +([0-9a-f]+)\nsecure +([0-9a-f]+)$", page, re.MULTILINE)
    peers.check(len(packets) == 3, f"{len(packets)} vectors")
    for (plain, secure), number in zip(packets, (None, 0x1234567889 << 24, None), strict=True):
        ours = secure_fabric.protect(keys, "Ipv4", bytes.fromhex(plain), 0x1234567889, number)
        peers.check(ours.hex() == secure, f"{plain} becomes {ours.hex()}, not {secure}")


TESTS = [
    (f"{carrier}: {name}", functools.partial(test, carrier))
    for carrier in CARRIERS
    for name, test in (
        ("both make the same packets", same_packets),
        ("Python restores the packets of weir", restored_packets),
        ("Python refuses changed packets", refused_packets),
        ("tshark reads the headers of secure packets", headers_in_tshark),
    )
] + [("timestamps", timestamps), ("the vectors of the page", page_vectors)]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

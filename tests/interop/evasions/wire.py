"""Packets and captures, with every field that a case wants to be wrong."""

import ipaddress
import struct

START_S = 1_700_000_000
FIN, SYN, RST, PUSH, ACK, URGENT = 1, 2, 4, 8, 16, 32
TCP, UDP = 6, 17


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo_header(source, destination, protocol, size):
    """Of IPv4 and IPv6 alike: the sum is the same."""
    return source.packed + destination.packed + struct.pack("!II", size, protocol)


def tcp(source, destination, ports, sequence, acknowledged, flags, payload=b"", *, window=64000,
        urgent=0, options=b"", header_words=None, bad_checksum=False):
    options += b"\1" * (-len(options) % 4)
    words = 5 + len(options) // 4 if header_words is None else header_words
    fields = [*ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, words << 12 | flags, window]
    segment = struct.pack("!HHIIHHHH", *fields, 0, urgent) + options + payload
    whole = pseudo_header(source, destination, TCP, len(segment)) + segment
    sum_of_it = checksum(whole) ^ (0x5555 if bad_checksum else 0)
    return segment[:16] + struct.pack("!H", sum_of_it) + segment[18:]


def udp(source, destination, ports, payload, *, size=None, sum_of_it=None):
    size = 8 + len(payload) if size is None else size
    datagram = struct.pack("!HHHH", *ports, size, 0) + payload
    covered = datagram[: max(size, 8)]
    right = checksum(pseudo_header(source, destination, UDP, len(covered)) + covered) or 0xFFFF
    return datagram[:6] + struct.pack("!H", right if sum_of_it is None else sum_of_it) + datagram[8:]


def ipv4(source, destination, protocol, payload, *, number=1, offset=0, more=False, flags=0, ttl=64,
         service=0, options=b"", size=None, version=4, header_words=None, bad_checksum=False):
    """`offset` is in bytes, `flags` are the reserved bit (4) and "do not fragment" (2)."""
    options += b"\0" * (-len(options) % 4)
    words = 5 + len(options) // 4 if header_words is None else header_words
    size = 20 + len(options) + len(payload) if size is None else size
    place = (flags | more) << 13 | offset // 8
    header = struct.pack("!BBHHHBBH", version << 4 | words, service, size, number, place, ttl, protocol, 0)
    header += source.packed + destination.packed + options
    sum_of_it = checksum(header) ^ (0x5555 if bad_checksum else 0)
    return header[:10] + struct.pack("!H", sum_of_it) + header[12:] + payload


def ipv6(source, destination, protocol, payload, *, size=None, version=6):
    size = len(payload) if size is None else size
    header = struct.pack("!IHBB", version << 28, size, protocol, 64)
    return header + source.packed + destination.packed + payload


def ip(source, destination, protocol, payload):
    make = ipv4 if source.version == 4 else ipv6
    return make(source, destination, protocol, payload)


def fragments(packet, sizes, number=77):
    """An IPv4 or IPv6 packet in pieces of these sizes, and a last one of what is left."""
    is_ipv4 = packet[0] >> 4 == 4
    start = (packet[0] & 15) * 4 if is_ipv4 else 40
    make = ipaddress.IPv4Address if is_ipv4 else ipaddress.IPv6Address
    source, destination = (make(part) for part in (
        (packet[12:16], packet[16:20]) if is_ipv4 else (packet[8:24], packet[24:40])))
    protocol, payload = packet[9 if is_ipv4 else 6], packet[start:]
    pieces, at = [], 0
    for size in [*sizes, len(payload)]:
        piece = payload[at : at + size]
        more = at + len(piece) < len(payload)
        if piece:
            pieces.append(fragment(source, destination, protocol, piece, at, more, number))
        at += size
    return pieces


def fragment(source, destination, protocol, piece, offset, more, number=77):
    if source.version == 4:
        return ipv4(source, destination, protocol, piece, number=number, offset=offset, more=more)
    header = struct.pack("!BBHI", protocol, 0, offset | more, number)
    return ipv6(source, destination, 44, header + piece)


class Capture:
    """Frames of an Ethernet, a millisecond apart."""

    def __init__(self):
        self.frames = []

    def ip(self, packet, between=b""):
        """Adds an IP packet, behind other headers of the link (`between`, with its EtherType)."""
        kind = b"\x08\x00" if packet[0] >> 4 != 6 else b"\x86\xdd"
        self.frames.append(bytes(range(2, 8)) + bytes(range(12, 18)) + (between or kind) + packet)

    def write(self, path):
        with path.open("wb") as out:
            out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
            for index, frame in enumerate(self.frames):
                seconds, thousandths = divmod(index, 1000)
                size = len(frame)
                out.write(struct.pack("<IIII", START_S + seconds, thousandths * 1000, size, size) + frame)


class Conversation:
    """A TCP connection of two hosts that do nothing odd, for what is odd above it, or below:
    `around` makes of a packet the one that carries it, `between` what stands before it in a frame."""

    def __init__(self, capture, client, server, server_port, segment_bytes=1400, between=None, around=None):
        self.capture, self.ends, self.ports = capture, (client, server), (40000, server_port)
        self.segment_bytes, self.between, self.around = segment_bytes, between, around
        self.next = [1000, 5000]
        self.segment(0, SYN)
        self.segment(1, SYN | ACK)
        self.segment(0, ACK)

    def segment(self, side, flags, payload=b""):
        source, destination = self.ends[side], self.ends[1 - side]
        ports = self.ports if side == 0 else self.ports[::-1]
        acknowledged = self.next[1 - side] if flags & ACK else 0
        segment = tcp(source, destination, ports, self.next[side], acknowledged, flags, payload)
        self.next[side] += len(payload) + bool(flags & (SYN | FIN))
        packet = ip(source, destination, TCP, segment)
        packet = self.around(packet) if self.around else packet
        self.capture.ip(packet, self.between(packet) if self.between else b"")

    def say(self, side, text):
        for at in range(0, len(text), self.segment_bytes):
            self.segment(side, PUSH | ACK, text[at : at + self.segment_bytes])
            self.segment(1 - side, ACK)

    def close(self):
        self.segment(0, FIN | ACK)
        self.segment(1, FIN | ACK)
        self.segment(0, ACK)

"""What can be odd about IP and UDP: TEXT is in a socket of a Linux server in the end."""

import struct

from . import wire
from .tcp import CUT, LEFT, RIGHT, SIZE, TEXT
from .wire import ACK

DECOY = b"#" * SIZE


def carried(how):
    """A segment with the whole text, in the packets that `how` makes of it."""

    def case(c):
        c.open()
        c.put(*how(c, c.segment(0, TEXT)))

    return case


def after_decoy(how):
    """A segment of the same place that must not arrive, then the text."""

    def case(c):
        c.open()
        c.put(*how(c, c.segment(0, DECOY)))
        c.send(0, TEXT)

    return case


def cut(*sizes, order=None):
    """The packet of a segment in fragments; `order` names them, some twice or never."""

    def how(c, segment):
        pieces = wire.fragments(c.carry(segment), sizes)
        return [pieces[index] for index in (order or range(len(pieces)))]

    return how


def header(**fields):
    return lambda c, segment: [c.carry(segment, **fields)]


def piece(c, segment, start, end, more, number=77, fill=None):
    data = segment[start:end]
    data = bytes([fill]) * len(data) if fill else data
    return wire.fragment(c.address, c.server, wire.TCP, data, start, more, number)


def overlapping(c):
    """Linux drops datagrams whose fragments overlap with any others; what is sent again arrives."""
    c.open()
    segment = c.segment(0, TEXT)
    c.put(piece(c, segment, 0, 40, True), piece(c, segment, 32, 64, True, fill=35),
          piece(c, segment, 40, len(segment), False))
    c.send(0, TEXT)


def of_two_datagrams(c):
    """Fragments of two numbers, mixed; only one is whole, the other has no end."""
    c.open()
    segment = c.segment(0, TEXT)
    c.put(piece(c, segment, 0, 40, True, 78), piece(c, segment, 0, 40, True, 79, fill=35),
          piece(c, segment, 40, 64, True, 79, fill=35), piece(c, segment, 40, len(segment), False, 78))


def fragments_with_another_protocol(c):
    """The same number and addresses, but of another protocol: another datagram."""
    c.open()
    segment = c.segment(0, TEXT)
    other = wire.ipv4(c.address, c.server, wire.UDP, b"#" * 40, number=77, offset=40, more=True)
    c.put(piece(c, segment, 0, 40, True), other, piece(c, segment, 40, len(segment), False))


def end_twice(c):
    """A second end, at another place, is no end."""
    c.open()
    segment = c.segment(0, TEXT)
    c.put(piece(c, segment, 40, len(segment), False), piece(c, segment, 64, 72, False, fill=35),
          piece(c, segment, 0, 40, True))
    c.send(0, TEXT)


def uneven_fragment(c):
    """A fragment that is not the last must be a multiple of 8 long: Linux refuses it alone."""
    c.open()
    segment = c.segment(0, TEXT)
    c.put(piece(c, segment, 0, 37, True, fill=35), piece(c, segment, 0, 40, True),
          piece(c, segment, 40, len(segment), False))
    c.send(0, TEXT)


def fragment_with_wrong_checksum(c):
    c.open()
    segment = c.segment(0, TEXT)
    bad = wire.ipv4(c.address, c.server, wire.TCP, b"#" * 40, number=77, more=True, bad_checksum=True)
    c.put(bad, piece(c, segment, 0, 40, True), piece(c, segment, 40, len(segment), False))


def trailer(c, segment):
    """Bytes behind the packet, as Ethernet pads it."""
    return [c.carry(segment) + b"#" * 18]


IPV4_CASES = {
    "one packet": carried(header()),
    "two fragments": carried(cut(40)),
    "fragments of 8 bytes": carried(cut(*[8] * 9)),
    "last fragment first": carried(cut(40, order=(1, 0))),
    "fragments in reverse": carried(cut(24, 16, 8, 8, order=(4, 3, 2, 1, 0))),
    "a fragment twice": carried(cut(40, 8, order=(0, 1, 1, 2))),
    "first fragment of 8 bytes": carried(cut(8)),
    "fragments overlap": overlapping,
    "fragments of two datagrams mixed": of_two_datagrams,
    "a fragment of another protocol between": fragments_with_another_protocol,
    "two ends of one datagram": end_twice,
    "uneven fragment": uneven_fragment,
    "fragment with a wrong header checksum": fragment_with_wrong_checksum,
    "fragments never finished": after_decoy(cut(40, order=(0,))),
    "wrong header checksum": after_decoy(header(bad_checksum=True)),
    "total length beyond the packet": after_decoy(header(size=400)),
    "total length below the segment": after_decoy(header(size=44)),
    "total length below the header": after_decoy(header(size=12)),
    "total length 0": after_decoy(header(size=0)),
    "header of 16 bytes": after_decoy(header(header_words=4)),
    "version 5": after_decoy(header(version=5)),
    "source route": after_decoy(header(options=b"\x83\x07\x04\x0a\x09\x00\x05\0")),
    "option of length one": after_decoy(header(options=b"\x44\x01\x05\0")),
    "option beyond the header": after_decoy(header(options=b"\x44\x28\x05\0")),
    "two record routes": after_decoy(header(options=b"\x07\x07\x04\0\0\0\0\x07\x07\x04\0\0\0\0\0\0")),
    "another protocol": after_decoy(lambda c, segment: [
        wire.ipv4(c.address, c.server, 253, segment)]),
    "no-operation options": carried(header(options=b"\1" * 40)),
    "record route": carried(header(options=b"\x07\x07\x04\0\0\0\0\0")),
    "router alert": carried(header(options=b"\x94\x04\0\0")),
    "unknown option": carried(header(options=b"\x9e\x04\0\0")),
    "end of options, then others": carried(header(options=b"\0\x44\x28\x05")),
    "reserved flag": carried(header(flags=4)),
    "do not fragment": carried(header(flags=2)),
    "service bits": carried(header(service=0xFF)),
    "one hop left": carried(header(ttl=1)),
    "bytes behind the packet": carried(trailer),
}


def after(*headers):
    """A segment behind extension headers: (number, its bytes without the next number)."""

    def how(c, segment):
        payload, number = segment, wire.TCP
        for kind, rest in reversed(headers):
            payload, number = bytes([number]) + rest + payload, kind
        return [wire.ipv6(c.address, c.server, number, payload)]

    return how


def in_fragments_behind(kind, rest):
    """Fragments behind an extension header."""

    def how(c, segment):
        packets = []
        for start, end, more in ((0, 40, True), (40, len(segment), False)):
            fragment = struct.pack("!BBHI", wire.TCP, 0, start | more, 99) + segment[start:end]
            packets.append(wire.ipv6(c.address, c.server, kind, bytes([44]) + rest + fragment))
        return packets

    return how


def atomic(c, segment):
    return [wire.fragment(c.address, c.server, wire.TCP, segment, 0, False)]


def atomic_between(c):
    """An atomic fragment has nothing to do with fragments of the same number."""
    c.open()
    segment = c.segment(0, TEXT)
    c.put(piece(c, segment, 0, 40, True), piece(c, c.segment(0, flags=ACK), 0, 40, False),
          piece(c, segment, 40, len(segment), False))


def without_length(kind, trailing=b"", between=b""):
    """A packet that says it has no payload, with one: Linux takes it behind hop-by-hop options."""

    def how(c, segment):
        payload = bytes([44 if between else wire.TCP]) + PADDED + between + segment + trailing
        return [wire.ipv6(c.address, c.server, kind, payload, size=0)]

    return how


PADDED = b"\0\1\4\0\0\0\0"
HOP_BY_HOP, ROUTING, DESTINATION, NO_NEXT = 0, 43, 60, 59
IPV6_CASES = {
    "one packet": carried(after()),
    "hop-by-hop options": carried(after((HOP_BY_HOP, PADDED))),
    "destination options": carried(after((DESTINATION, PADDED))),
    "destination options three times": carried(after(*[(DESTINATION, PADDED)] * 3)),
    "several headers": carried(after((HOP_BY_HOP, PADDED), (DESTINATION, PADDED))),
    "router alert": carried(after((HOP_BY_HOP, b"\0\5\2\0\0\1\0"))),
    "option to be skipped": carried(after((DESTINATION, b"\0\x1e\4\0\0\0\0"))),
    "option to be refused": after_decoy(after((DESTINATION, b"\0\x9e\4\0\0\0\0"))),
    "option beyond its header": after_decoy(after((DESTINATION, b"\0\x1e\x28\0\0\0\0"))),
    "header beyond the packet": after_decoy(after((DESTINATION, b"\x28\1\4\0\0\0\0"))),
    "hop-by-hop options not first": after_decoy(after((DESTINATION, PADDED), (HOP_BY_HOP, PADDED))),
    "routing header without segments": carried(after((ROUTING, b"\0\0\0\0\0\0\0"))),
    "routing header of type 0": after_decoy(after((ROUTING, b"\2\0\1\0\0\0\0" + bytes(16)))),
    "no next header": after_decoy(after((NO_NEXT, PADDED))),
    "unknown header": after_decoy(after((253, PADDED))),
    "two fragments": carried(cut(40)),
    "fragments of 24 and 8 bytes": carried(cut(24, *[8] * 6)),
    "first fragment without the whole TCP header": after_decoy(cut(8)),
    "last fragment first": carried(cut(40, order=(1, 0))),
    "fragments overlap": overlapping,
    "fragments of two datagrams mixed": of_two_datagrams,
    "atomic fragment": carried(atomic),
    "atomic fragment between fragments": atomic_between,
    "fragments behind destination options": carried(in_fragments_behind(DESTINATION, PADDED)),
    "fragments behind hop-by-hop options": carried(in_fragments_behind(HOP_BY_HOP, PADDED)),
    "uneven fragment": uneven_fragment,
    "payload length beyond the packet": after_decoy(lambda c, segment: [
        wire.ipv6(c.address, c.server, wire.TCP, segment, size=400)]),
    "payload length below the segment": after_decoy(lambda c, segment: [
        wire.ipv6(c.address, c.server, wire.TCP, segment, size=24)]),
    "payload length 0": after_decoy(lambda c, segment: [
        wire.ipv6(c.address, c.server, wire.TCP, segment, size=0)]),
    "payload length 0 behind hop-by-hop options": carried(without_length(HOP_BY_HOP)),
    "payload length 0 behind destination options": after_decoy(without_length(DESTINATION)),
    "payload length 0, bytes behind the packet": after_decoy(without_length(HOP_BY_HOP, b"####")),
    "atomic fragment of payload length 0": after_decoy(without_length(
        HOP_BY_HOP, between=struct.pack("!BBHI", wire.TCP, 0, 0, 99))),
    "short packet with a jumbo payload option": after_decoy(lambda c, segment: [
        wire.ipv6(c.address, c.server, HOP_BY_HOP,
                  struct.pack("!BBBBI", wire.TCP, 0, 194, 4, 8 + len(segment)) + segment, size=0)]),
    "bytes behind the packet": carried(trailer),
}


def datagrams(*each):
    """Datagrams of (payload, fields), each in a packet of its own."""

    def case(c):
        for payload, fields in each:
            datagram = wire.udp(c.address, c.server, c.udp_ports, payload, **fields)
            c.put(wire.ip(c.address, c.server, wire.UDP, datagram))

    return case


def datagram_in_fragments(*sizes, order=None):
    def case(c):
        datagram = wire.udp(c.address, c.server, c.udp_ports, TEXT)
        pieces = wire.fragments(wire.ip(c.address, c.server, wire.UDP, datagram), sizes)
        c.put(*[pieces[index] for index in (order or range(len(pieces)))])

    return case


UDP_CASES = {
    "one datagram": datagrams((TEXT, {})),
    "bytes behind the datagram": datagrams((TEXT + b"####", {"size": 8 + SIZE})),
    "two fragments": datagram_in_fragments(24),
    "fragments of 8 bytes": datagram_in_fragments(*[8] * 7),
    "last fragment first": datagram_in_fragments(32, order=(1, 0)),
}
UDP_OVER_IPV4_CASES = {"no checksum": datagrams((TEXT, {"sum_of_it": 0}))}
# Refused by Linux, so that a sensor which raises an alert is wrong.
UDP_REFUSED = {
    "wrong checksum": datagrams((TEXT, {"sum_of_it": 0x1234})),
    "length beyond the packet": datagrams((TEXT, {"size": 400})),
    "length below its header": datagrams((TEXT, {"size": 4})),
    "length that ends in the pattern": datagrams((TEXT, {"size": 8 + CUT})),
}
UDP_REFUSED_OVER_IPV6 = {"no checksum": datagrams((TEXT, {"sum_of_it": 0}))}

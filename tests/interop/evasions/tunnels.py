"""Tunnels and tags: an ordinary request inside each. No receiver here takes these; what they are is
said by their standards."""

import ipaddress
import struct

from . import wire

OUTER = ipaddress.ip_address("192.0.2.1"), ipaddress.ip_address("192.0.2.2")
OUTER6 = ipaddress.ip_address("2001:db8::1"), ipaddress.ip_address("2001:db8::2")
FRAME = bytes(range(2, 8)) + bytes(range(12, 18))
GRE, IN_IPV4, IN_IPV6 = 47, 4, 41


def kind(packet):
    return b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"


def frame(packet):
    return FRAME + kind(packet) + packet


def in_gre(flags_and_version, protocol, fields=b""):
    def wrap(packet):
        inside = frame(packet) if protocol == b"\x65\x58" else packet
        header = flags_and_version + (protocol or kind(packet)) + fields
        return wire.ipv4(*OUTER, GRE, header + inside)

    return wrap


def in_udp(port, header, make=frame):
    def wrap(packet):
        return wire.ip(*OUTER, wire.UDP, wire.udp(*OUTER, (50000, port), header + make(packet)))

    return wrap


def in_ppp_over_gre(packet):
    inside = b"\xff\x03\x00\x21" + packet
    header = b"\x30\x01\x88\x0b" + struct.pack("!HHI", len(inside), 7, 1)
    return wire.ipv4(*OUTER, GRE, header + inside)


def in_ppp_over_gre_compressed(packet):
    inside = b"\x21" + packet
    header = b"\x30\x01\x88\x0b" + struct.pack("!HHI", len(inside), 7, 1)
    return wire.ipv4(*OUTER, GRE, header + inside)


def in_ipv4(packet):
    protocol = IN_IPV4 if packet[0] >> 4 == 4 else IN_IPV6
    return wire.ipv4(*OUTER, protocol, packet)


def in_ipv6(packet):
    protocol = IN_IPV4 if packet[0] >> 4 == 4 else IN_IPV6
    return wire.ipv6(*OUTER6, protocol, packet)


def pppoe(packet, protocol=b"\x00\x21"):
    return b"\x88\x64\x11\x00\x00\x01" + struct.pack("!H", len(protocol) + len(packet)) + protocol


VLAN = b"\x81\x00\x00\x2a\x08\x00"
# name -> (version of the inner addresses, what stands between frame and packet, packet -> packet)
CASES = {
    "VLAN tag": (4, lambda _: VLAN, None),
    "two VLAN tags": (4, lambda _: b"\x88\xa8\x00\x07" + VLAN, None),
    "three VLAN tags": (4, lambda _: b"\x88\xa8\x00\x07\x81\x00\x00\x08" + VLAN, None),
    "VLAN tag of priority alone": (4, lambda _: b"\x81\x00\x60\x00\x08\x00", None),
    "MPLS": (4, lambda _: b"\x88\x47\x00\x01\x01\x40", None),
    "MPLS, three labels": (4, lambda _: b"\x88\x47\x00\x01\x00\x40\x00\x02\x00\x40\x00\x03\x01\x40", None),
    "MPLS, explicit null": (4, lambda _: b"\x88\x47\x00\x00\x01\x40", None),
    "Ethernet in MPLS": (4, lambda _: b"\x88\x47\x00\x01\x01\x40" + bytes(4) + FRAME + b"\x08\x00", None),
    "PPPoE": (4, pppoe, None),
    "PPPoE, protocol in one byte": (4, lambda packet: pppoe(packet, b"\x21"), None),
    "PPPoE in a VLAN": (4, lambda packet: VLAN[:-2] + pppoe(packet), None),
    "IPv4 in IPv4": (4, None, in_ipv4),
    "IPv6 in IPv4": (6, None, in_ipv4),
    "IPv4 in IPv6": (4, None, in_ipv6),
    "IPv6 in IPv6": (6, None, in_ipv6),
    "IPv4 in IPv4 in IPv6": (4, None, lambda packet: in_ipv6(in_ipv4(packet))),
    "GRE": (4, None, in_gre(b"\0\0", None)),
    "GRE with a key": (4, None, in_gre(b"\x20\0", None, b"\0\0\0\7")),
    "GRE with key and sequence number": (4, None, in_gre(b"\x30\0", None, b"\0\0\0\7\0\0\0\1")),
    "IPv6 in GRE": (6, None, in_gre(b"\0\0", None)),
    "Ethernet in GRE": (4, None, in_gre(b"\x20\0", b"\x65\x58", b"\0\0\0\7")),
    "PPP in GRE": (4, None, in_ppp_over_gre),
    "PPP in GRE, compressed": (4, None, in_ppp_over_gre_compressed),
    "ERSPAN": (4, None, lambda packet: wire.ipv4(*OUTER, GRE,
        b"\x10\0\x88\xbe\0\0\0\1" + b"\x10\x01\0\1\0\0\0\0" + frame(packet))),
    "ERSPAN of type I": (4, None, lambda packet: wire.ipv4(*OUTER, GRE, b"\0\0\x88\xbe" + frame(packet))),
    "VXLAN": (4, None, in_udp(4789, b"\x08\0\0\0\0\0\x2a\0")),
    "VXLAN, IPv6 inside": (6, None, in_udp(4789, b"\x08\0\0\0\0\0\x2a\0")),
    "Geneve": (4, None, in_udp(6081, b"\0\0\x65\x58\0\0\x2a\0")),
    "Geneve with an option": (4, None, in_udp(6081, b"\x02\0\x65\x58\0\0\x2a\0\1\1\x80\1abcd")),
    "Teredo": (6, None, in_udp(3544, b"", make=lambda packet: packet)),
    "Teredo with an origin": (6, None, in_udp(3544, b"\0\0" + bytes(6), make=lambda packet: packet)),
    "NSH in Ethernet": (4, lambda _: b"\x89\x4f\x0f\xc6\x01\x01\0\0\1\xff" + bytes(16), None),
}

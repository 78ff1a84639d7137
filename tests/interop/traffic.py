"""Packets to protect, made by scapy: every length of padding, some with VLAN tags."""

import random

SOURCES = {"ipv4": "198.18.255.9", "ipv6": "fd00:0:0:ffff::9"}
UDP_PORTS = (40001, 40002)
TCP_PORTS = (41001, 41002)
# All remainders by the block sizes of ciphers, and two ordinary lengths.
PAYLOAD_BYTES = [*range(18), 500, 1351]
START_S = 1_700_000_000


def frames(associations, seed=1):
    """Frames of all associations, taking turns: (association, frame) pairs."""
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
    from scapy.packet import Raw

    dice = random.Random(seed)
    tags = [None, None, Dot1Q(vlan=20), Dot1AD(vlan=100) / Dot1Q(vlan=40)]
    out = []
    for turn, payload_bytes in enumerate(PAYLOAD_BYTES):
        for sa in associations:
            destination = str(sa.network[9])
            if sa.inside == "ipv4":
                ip = IP(src=SOURCES["ipv4"], dst=destination, id=dice.randrange(65536), flags="DF")
                ip.ttl = dice.randrange(2, 256)
            else:
                ip = IPv6(src=SOURCES["ipv6"], dst=destination, hlim=dice.randrange(2, 256))
            if turn % 5 == 4:
                ports = TCP(sport=TCP_PORTS[0], dport=TCP_PORTS[1], seq=turn * 2000, flags="A")
            else:
                ports = UDP(sport=UDP_PORTS[0], dport=UDP_PORTS[1])
            frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            tag = tags[turn % len(tags)]
            if tag is not None:
                frame /= tag.copy()
            frame /= ip / ports / Raw(dice.randbytes(payload_bytes))
            frame = Ether(bytes(frame))
            frame.time = START_S + len(out) * 0.001
            out.append((sa, frame))
    return out


def ip_of(frame):
    """The IP packet in a frame, as bytes."""
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    layer = frame.getlayer(IP) or frame.getlayer(IPv6)
    length_bytes = layer.len if layer.version == 4 else layer.plen + 40
    return layer.original[:length_bytes]


def with_ip(frame, ip):
    """The frame with another IP packet, of either family, behind the same link header."""
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether

    layer = frame.getlayer(IP) or frame.getlayer(IPv6)
    header_bytes = len(frame.original) - len(layer.original)
    link = bytearray(frame.original[:header_bytes])
    link[-2:] = b"\x08\x00" if ip[0] >> 4 == 4 else b"\x86\xdd"
    out = Ether(bytes(link) + ip)
    out.time = frame.time
    return out

"""The list of expected alerts, the capture and the rules agree, as tshark sees them.

Neither list nor filters come from Weir: this test does not run it. That Weir raises exactly
these alerts is tested where `weir inspect` is.
"""

import functools
import json
import re
import sys

import peers

ABBREVIATIONS = {
    "$to_b": "(ip.dst == 198.18.2.0/24 || ipv6.dst == fd00:2::/64)",
    "$from_b": "(ip.src == 198.18.2.0/24 || ipv6.src == fd00:2::/64)",
    "$established": "tcp.completeness in {7, 15, 23, 31, 39, 47, 55, 63}",
}
# What they look for does not occur: SSH 1 and TLS heartbeats.
SILENT_RULES = {1000011, 1000013}
# A packet is looked at alone: no fragments or segments are put together.
ALONE = ["ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE"]
FIELDS = [
    "frame.number",
    *("ip.src", "ipv6.src", "ip.dst", "ipv6.dst"),
    *("tcp.srcport", "udp.srcport", "tcp.dstport", "udp.dstport"),
    "tcp.len",
    "icmp.type",
    "icmpv6.type",
]


def filters():
    """(sid, display filter) for every rule."""
    for line in (peers.EXAMPLES / "expected-alerts.filters").read_text().splitlines():
        if line and not line.startswith("#"):
            sid, text = line.split(maxsplit=1)
            for short, long in ABBREVIATIONS.items():
                text = text.replace(short, long)
            yield int(sid), text


def alert(sid, row):
    """One line of the list, from tshark's fields of the packet."""
    frame, ip_src, ipv6_src, ip_dst, ipv6_dst, *ports, tcp_len, icmp, icmpv6 = row
    tcp_src, udp_src, tcp_dst, udp_dst = ports
    line = {"packet": int(frame), "sid": sid}
    if icmp or icmpv6:
        line |= {"src_ip": ip_src or ipv6_src, "dest_ip": ip_dst or ipv6_dst}
        return line | {"proto": "ICMP" if icmp else "IPv6-ICMP"}
    line |= {"src_ip": ip_src or ipv6_src, "src_port": int(tcp_src or udp_src)}
    line |= {"dest_ip": ip_dst or ipv6_dst, "dest_port": int(tcp_dst or udp_dst)}
    return line | {"proto": "TCP" if tcp_len else "UDP"}


def expected():
    lines = (peers.EXAMPLES / "expected-alerts.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def every_rule_has_a_filter():
    rules = (peers.EXAMPLES / "example.rules").read_text()
    sids = [int(sid) for sid in re.findall(r"^alert .*\bsid:(\d+);", rules, re.MULTILINE)]
    in_filters = [sid for sid, _ in filters()]
    peers.check(sids == in_filters, f"rules {sids}, filters {in_filters}")


def every_rule_has_alerts_but_two():
    silent = {sid for sid, _ in filters()} ^ {line["sid"] for line in expected()}
    peers.check(silent == SILENT_RULES, f"{silent} have none or do not exist")


def the_list_is_in_order():
    order = [(line["packet"], line["sid"]) for line in expected()]
    peers.check(order == sorted(set(order)), "not sorted by packet and sid, or not unique")


def rule(sid, text):
    found = [alert(sid, row) for row in peers.tshark(CAPTURE, text, FIELDS, ALONE)]
    listed = [line for line in expected() if line["sid"] == sid]
    peers.check(found == listed, f"tshark finds {found}, the list has {listed}")


CAPTURE = peers.EXAMPLES / "traffic.pcapng"
TESTS = [
    ("every rule has a filter", every_rule_has_a_filter),
    ("every rule has alerts but two", every_rule_has_alerts_but_two),
    ("the list is in order", the_list_is_in_order),
    *((f"rule {sid}", functools.partial(rule, sid, text)) for sid, text in filters()),
]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

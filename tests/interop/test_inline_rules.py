"""Rules that reject packets, in captures that scapy makes: which packets `weir run` with `inline`
forwards, and what it creates. tshark reads the RSTs and ICMP errors and verifies their checksums,
scapy their fields.
"""

import json
import pathlib
import sys
import tempfile

import peers

CLIENT, SERVER = "198.18.0.1", "198.19.0.2"
CLIENT6, SERVER6 = "fd00::1", "fd00::2"
CLIENT_MAC, SERVER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
CHECKSUMS = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"]
CONFIGURATION = """
[input]
pcap = "in.pcap"

[pipeline]
stages = ["inspect"]

[output]
pcap = "out.pcapng"

[inspect]
rules = "inline.rules"
inline = true
alerts = "eve.jsonl"
"""


def connection(tags, version):
    """A handshake, a request in two segments, and what follows of the connection."""
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Dot1Q, Ether
    from scapy.packet import Raw

    def segment(from_client, flags, seq, ack, payload=b""):
        macs = (CLIENT_MAC, SERVER_MAC) if from_client else (SERVER_MAC, CLIENT_MAC)
        ends = (CLIENT, SERVER) if version == 4 else (CLIENT6, SERVER6)
        ends = ends if from_client else ends[::-1]
        ports = (40000, 80) if from_client else (80, 40000)
        frame = Ether(src=macs[0], dst=macs[1])
        for tag in tags:
            frame /= Dot1Q(vlan=tag)
        frame /= IP(src=ends[0], dst=ends[1]) if version == 4 else IPv6(src=ends[0], dst=ends[1])
        frame /= TCP(sport=ports[0], dport=ports[1], flags=flags, seq=seq, ack=ack)
        return frame / Raw(payload) if payload else frame

    start = 2**32 - 5
    return [
        segment(True, "S", start, 0),
        segment(False, "SA", 700, start + 1),
        segment(True, "A", start + 1, 701),
        segment(True, "PA", start + 1, 701, b"GET /ev"),
        segment(True, "PA", (start + 8) % 2**32, 701, b"il HTTP/1.1\r\n\r\n"),
        segment(False, "A", 701, 3),
        segment(True, "PA", (start + 8) % 2**32, 701, b"il HTTP/1.1\r\n\r\n"),
    ]


def datagram(version):
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw

    ip = IP(src=CLIENT, dst=SERVER) if version == 4 else IPv6(src=CLIENT6, dst=SERVER6)
    frame = Ether(src=CLIENT_MAC, dst=SERVER_MAC) / ip
    return [frame / UDP(sport=40000, dport=53) / Raw(b"evil" * 400)]


def run_inline(directory, rule, frames):
    """What is forwarded and created, the report and the alerts."""
    from scapy.utils import wrpcap

    folder = pathlib.Path(directory)
    for number, frame in enumerate(frames):
        frame.time = 1_700_000_000 + number * 0.001
    wrpcap(str(folder / "in.pcap"), frames)
    (folder / "inline.rules").write_text(rule + "\n")
    (folder / "gateway.toml").write_text(CONFIGURATION)
    status, error = peers.weir(
        "run", folder / "gateway.toml", "--quiet", "--json", folder / "report.json"
    )
    peers.check(status == 0, f"weir run exits {status}: {error}")
    report = json.loads((folder / "report.json").read_text())
    lines = (folder / "eve.jsonl").read_text().splitlines()
    return folder / "out.pcapng", report, [json.loads(line) for line in lines]


def check_checksums(capture, display_filter, packets):
    """tshark must find every checksum of as many packets, and each of them good."""
    fields = ["ip.checksum.status", "tcp.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status"]
    rows = peers.tshark(capture, display_filter, fields, CHECKSUMS)
    peers.check(len(rows) == packets, f"{display_filter}: {len(rows)} packets in place of {packets}")
    for row in rows:
        found = [value for value in row if value]
        peers.check(found and set(found) == {"1"}, f"checksums of {display_filter}: {row}")


def connection_is_reset(tags, version):
    peers.need_program("tshark")
    rule = (
        'rejectboth http any any -> any any (msg:"m"; flow:established,to_server; '
        'http.uri; content:"/evil"; sid:1;)'
    )
    with tempfile.TemporaryDirectory() as directory:
        capture, report, alerts = run_inline(directory, rule, connection(tags, version))
        drops = {name: count for name, count in report["drops"].items() if count}
        peers.check(drops == {"rule_reject": 1, "flow_dropped": 2}, f"drops: {drops}")
        actions = [alert["alert"]["action"] for alert in alerts]
        peers.check(actions == ["blocked"], f"actions: {actions}")
        check_checksums(capture, "tcp.flags.reset == 1", 2)
        fields = ["eth.src", "eth.dst", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "vlan.id"]
        found = peers.tshark(capture, "tcp.flags.reset == 1", fields)
        vlan = str(tags[0]) if tags else ""
        expected = [
            # The client's RCV.NXT; the request is acknowledged with it. The server's RCV.NXT.
            [SERVER_MAC, CLIENT_MAC, "701", str(3 + 15), "0x0014", vlan],
            [CLIENT_MAC, SERVER_MAC, "3", "701", "0x0014", vlan],
        ]
        peers.check(found == expected, f"RSTs: {found}")
        # tshark calls an RST out of order or unexpected where it is outside the window.
        suspicious = "tcp.flags.reset == 1 && (tcp.analysis.out_of_order || tcp.analysis.lost_segment)"
        peers.check(not peers.tshark(capture, suspicious, ["frame.number"]), "RSTs outside the window")


def datagram_is_unreachable(version):
    from scapy.layers.inet import ICMP
    from scapy.layers.l2 import Ether
    from scapy.utils import rdpcap

    peers.need_program("tshark")
    rule = 'reject udp any any -> any 53 (msg:"m"; content:"evil"; sid:1;)'
    sent = datagram(version)
    with tempfile.TemporaryDirectory() as directory:
        capture, report, _ = run_inline(directory, rule, sent)
        peers.check(report["drops"]["rule_reject"] == 1, f"drops: {report['drops']}")
        name, kind, code = ("icmp", "3", "3") if version == 4 else ("icmpv6", "1", "4")
        check_checksums(capture, name, 1)
        found = peers.tshark(capture, name, [f"{name}.type", f"{name}.code", "udp.srcport", "udp.dstport"])
        peers.check(found == [[kind, code, "40000", "53"]], f"error: {found}")
        (reply,) = rdpcap(str(capture))
        most = 14 + (576 if version == 4 else 1280)
        peers.check(len(bytes(reply)) == most, f"{len(bytes(reply))} bytes")
        peers.check((reply[Ether].dst, reply[Ether].src) == (CLIENT_MAC, SERVER_MAC), "MAC addresses")
        if version == 4:
            quoted = bytes(reply[ICMP].payload)
            peers.check(bytes(sent[0].payload).startswith(quoted), "another packet is quoted")


def nothing_is_stopped_beside_the_path():
    rule = 'reject udp any any -> any 53 (msg:"m"; content:"evil"; sid:1;)'
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        run_inline(directory, rule, datagram(4))
        (folder / "gateway.toml").write_text(CONFIGURATION.replace("inline = true", "inline = false"))
        (folder / "eve.jsonl").unlink()
        status, error = peers.weir(
            "run", folder / "gateway.toml", "--quiet", "--json", folder / "report.json"
        )
        peers.check(status == 0, f"weir run exits {status}: {error}")
        report = json.loads((folder / "report.json").read_text())
        peers.check(not any(report["drops"].values()), f"drops: {report['drops']}")
        (alert,) = map(json.loads, (folder / "eve.jsonl").read_text().splitlines())
        peers.check(alert["alert"]["action"] == "allowed", f"{alert['alert']}")


def main():
    tests = [
        (f"a connection over {what} is reset, IPv{version}", lambda t=tags, v=version: connection_is_reset(t, v))
        for version in (4, 6)
        for what, tags in (("Ethernet", []), ("a VLAN", [42]), ("two VLANs", [100, 7]))
    ]
    tests += [
        (f"a datagram is unreachable, IPv{version}", lambda v=version: datagram_is_unreachable(v))
        for version in (4, 6)
    ]
    tests.append(("nothing is stopped beside the path", nothing_is_stopped_beside_the_path))

    def with_scapy(test):
        def run():
            peers.need_scapy()
            test()

        return run

    return peers.run([(name, with_scapy(test)) for name, test in tests])


if __name__ == "__main__":
    sys.exit(main())

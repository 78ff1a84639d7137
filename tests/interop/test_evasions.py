"""`weir inspect` sees what receivers see. A capture has a flow for each of some hundred evasions:
segments, fragments, messages that are odd in one way, and that their receiver takes nonetheless.
Each is held against a receiver at work: Linux's TCP and IP through a TUN device, nginx, curl,
OpenSSL, dnsmasq. A sensor that does not raise the alert of a flow can be passed with what is odd
about it; one that raises an alert where the receiver got nothing can be made to cry.

Suricata looks at the same capture, with the same rules: the table says who sees what.
"""

import dataclasses
import ipaddress
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import peers
from evasions import dns, http, ip, linux, tcp, tls, tunnels, wire

sys.path.insert(0, str(peers.ROOT / "peers" / "suricata"))
import settings  # noqa: E402

SERVER = ipaddress.ip_address("198.51.100.1")
SERVER6 = ipaddress.ip_address("2001:db8:1::1")
PATTERN = tcp.PATTERN.decode()
# What is looked for, and the rule that looks for it.
RULES = {
    "tcp": f'tcp any any -> any 4000 (flow:established,to_server; content:"{PATTERN}";',
    "udp": f'udp any any -> any 4001 (content:"{PATTERN}";',
    "uri": f'http any any -> any any (http.uri; content:"{http.PATH.decode()}";',
    "host": f'http any any -> any any (http.host; content:"{PATTERN}";',
    "agent": f'http any any -> any any (http.user_agent; content:"{PATTERN}";',
    "cookie": f'http any any -> any any (http.cookie; content:"{PATTERN}";',
    "header": f'http any any -> any any (http.header; content:"{PATTERN}";',
    "body": f'http any any -> any any (http.request_body; content:"{PATTERN}";',
    "page": f'http any any -> any any (flow:established,to_client; file.data; content:"{PATTERN}";',
    "sni": f'tls any any -> any any (tls.sni; content:"{PATTERN}"; nocase;',
    "query": f'dns any any -> any any (dns.query; content:"{PATTERN}"; nocase;',
}
SIDS = {what: sid for sid, what in enumerate(RULES, 1)}
ENOUGH_CASES = 120


@dataclasses.dataclass(frozen=True)
class Case:
    group: str
    name: str
    what: str
    client: object
    # Whether the receiver gets what the rule looks for.
    is_received: bool = True


class Cases:
    """The capture, and what is in it; `wrong` are the cases that their receiver judges otherwise."""

    def __init__(self):
        self.capture, self.all, self.wrong = wire.Capture(), [], []

    def add(self, group, name, what, version=4, is_received=True):
        number = len(self.all) + 256
        address = ipaddress.ip_address("10.9.0.0" if version == 4 else "fd09::") + number
        case = Case(group, name, what, address, is_received)
        self.all.append(case)
        return case

    def judge(self, case, is_received, found):
        if is_received != case.is_received:
            self.wrong.append(f"{case.group}, {case.name}: {found!r:.200}")


def over_linux(cases):
    receiver = linux.Linux()
    for group, version, of_group in (
        ("TCP", 4, tcp.CASES), ("IPv4", 4, ip.IPV4_CASES), ("IPv6", 6, ip.IPV6_CASES)
    ):
        for name, case in of_group.items():
            added = cases.add(group, name, "tcp", version)
            client = linux.Client(receiver, cases.capture, added.client, tcp.FIRST_SEQUENCE.get(name, 1000))
            case(client)
            client.finish()
            connections = receiver.connections()
            text = linux.received(connections[-1]) if connections else b""
            cases.judge(added, text == tcp.TEXT, text)
            client.close(tcp.SIZE)
            for connection in connections:
                connection.close()
    for version, of_group, is_received in (
        (4, ip.UDP_CASES | ip.UDP_OVER_IPV4_CASES, True),
        (6, ip.UDP_CASES, True),
        (4, ip.UDP_REFUSED, False),
        (6, ip.UDP_REFUSED | ip.UDP_REFUSED_OVER_IPV6, False),
    ):
        for name, case in of_group.items():
            added = cases.add(f"UDP over IPv{version}", name, "udp", version, is_received)
            case(linux.Client(receiver, cases.capture, added.client))
            datagrams = receiver.datagrams()
            cases.judge(added, datagrams == [tcp.TEXT], datagrams)


def of_http(cases, folder):
    server = http.Nginx(folder)
    for name, (what, text) in http.REQUESTS.items():
        case = cases.add("HTTP requests", name, what)
        answer = server.answer(text)
        sought = http.PATH + b"|" if what == "uri" else tcp.PATTERN
        taken = answer.replace(http.PATH + b"/|", sought)
        cases.judge(case, sought in taken, answer[-200:])
        both = wire.Conversation(cases.capture, case.client, SERVER, 80, segment_bytes=64)
        both.say(0, text)
        both.say(1, answer)
        both.close()
    server.close()
    for name, answer in http.RESPONSES.items():
        case = cases.add("HTTP responses", name, "page")
        page, said = http.by_curl(answer)
        cases.judge(case, tcp.PATTERN in page, page[-200:])
        both = wire.Conversation(cases.capture, case.client, SERVER, 80, segment_bytes=64)
        for request, response in said:
            both.say(0, request)
            both.say(1, response)
        both.close()


def of_tls(cases):
    for name, (text, segment_bytes) in tls.CASES.items():
        case = cases.add("TLS", name, "sni")
        asked, answer = tls.by_openssl(text)
        cases.judge(case, tls.NAME in (asked or "").lower(), asked)
        both = wire.Conversation(cases.capture, case.client, SERVER, 443, segment_bytes=segment_bytes)
        both.say(0, text)
        both.say(1, answer)
        both.close()


def of_dns(cases):
    server = dns.Dnsmasq()
    for name, text in dns.UDP_CASES.items():
        case = cases.add("DNS over UDP", name, "query")
        answer = server.over_udp(text)
        cases.judge(case, dns.ADDRESS in answer, answer)
        ends = (case.client, 40000), (SERVER, 53)
        for (source, from_port), (destination, to_port), said in ((*ends, text), (*ends[::-1], answer)):
            datagram = wire.udp(source, destination, (from_port, to_port), said)
            cases.capture.ip(wire.ip(source, destination, wire.UDP, datagram))
    for name, (text, segment_bytes) in dns.TCP_CASES.items():
        case = cases.add("DNS over TCP", name, "query")
        answer = server.over_tcp(text)
        cases.judge(case, dns.ADDRESS in answer, answer)
        both = wire.Conversation(cases.capture, case.client, SERVER, 53, segment_bytes=segment_bytes)
        both.say(0, text)
        both.say(1, answer)
        both.close()
    server.close()


def of_tunnels(cases):
    for name, (version, between, around) in tunnels.CASES.items():
        case = cases.add("tunnels", name, "uri", version)
        server = SERVER if version == 4 else SERVER6
        both = wire.Conversation(
            cases.capture, case.client, server, 80, segment_bytes=64, between=between, around=around)
        both.say(0, http.get(http.PATH))
        both.say(1, http.plain())
        both.close()


def alerts(log):
    """The (client, sid) of every alert in an EVE log."""
    found = set()
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event.get("event_type") == "alert":
            for end in ("src_ip", "dest_ip"):
                found.add((ipaddress.ip_address(event[end]), event["alert"]["signature_id"]))
    return found


def by_weir(capture, rules, folder):
    log = folder / "weir.jsonl"
    status, errors = peers.weir("inspect", capture, "--rules", rules, "--eve", log, "--quiet",
                                *settings.variables_for_weir())
    peers.check(status in (0, 1), f"weir exits {status}: {errors[-300:]}")
    return alerts(log)


def by_suricata(capture, rules, folder):
    if not settings.program():
        raise peers.Skip("suricata is not installed")
    (folder / "log").mkdir()
    command = settings.suricata([rules], folder, checksums="all") + ["-r", str(capture)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    peers.check(done.returncode == 0, f"suricata exits {done.returncode}: {done.stderr[-300:]}")
    return alerts(folder / "log" / "eve.json")


class Suite:
    def __init__(self, folder):
        self.cases = Cases()
        over_linux(self.cases)
        of_http(self.cases, folder)
        of_tls(self.cases)
        of_dns(self.cases)
        of_tunnels(self.cases)
        capture, rules = folder / "evasions.pcap", folder / "evasions.rules"
        self.cases.capture.write(capture)
        rules.write_text("".join(
            f'alert {rule} msg:"{what}"; sid:{SIDS[what]}; rev:1;)\n' for what, rule in RULES.items()))
        self.sensors = {
            "weir": by_weir(capture, rules, folder),
            "suricata": by_suricata(capture, rules, folder),
        }

    def is_right(self, sensor, case):
        return ((case.client, SIDS[case.what]) in self.sensors[sensor]) == case.is_received

    def wrong(self, sensor):
        return [case for case in self.cases.all if not self.is_right(sensor, case)]

    def print_table(self):
        row = "{:<16} {:>6} {:>6} {:>9}".format
        print(row("", "cases", "weir", "suricata"))
        groups = dict.fromkeys(case.group for case in self.cases.all)
        for group in [*groups, "all"]:
            cases = [case for case in self.cases.all if group in (case.group, "all")]
            right = [sum(self.is_right(sensor, case) for case in cases) for sensor in self.sensors]
            print(row(group, len(cases), *right))
        for sensor in self.sensors:
            for case in self.wrong(sensor):
                print(f"{sensor} is wrong: {case.group}, {case.name}")

    def receivers_agree(self):
        peers.check(not self.cases.wrong, "; ".join(self.cases.wrong))
        peers.check(len(self.cases.all) >= ENOUGH_CASES, f"{len(self.cases.all)} cases")

    def weir_sees_what_receivers_see(self):
        wrong = {(case.group, case.name) for case in self.wrong("weir")}
        peers.check(not wrong, "; ".join(map(", ".join, sorted(wrong))))

    def weir_sees_what_suricata_sees(self):
        worse = [case for case in self.wrong("weir") if self.is_right("suricata", case)]
        peers.check(not worse, "; ".join(f"{case.group}, {case.name}" for case in worse))
        peers.check(len(self.wrong("weir")) < len(self.wrong("suricata")), "suricata sees as much")


def main():
    # Names and routes of this process alone.
    if os.environ.get("WEIR_EVASIONS_NAMESPACE") != "1":
        os.environ["WEIR_EVASIONS_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        suite = None

        def made():
            nonlocal suite
            peers.need_weir()
            suite = Suite(pathlib.Path(folder))
            suite.print_table()
            suite.receivers_agree()

        def after(check):
            def run():
                if suite is None:
                    raise peers.Skip("there is no capture of evasions")
                check(suite)
            return run

        return peers.run([
            ("receivers take every case as it says", made),
            ("weir sees what receivers see", after(Suite.weir_sees_what_receivers_see)),
            ("weir sees what Suricata sees, and more", after(Suite.weir_sees_what_suricata_sees)),
        ])


if __name__ == "__main__":
    sys.exit(main())

"""`weir inspect` raises what Suricata raises: for rules that both load, the same sets of a
capture, a flow and a rule; over captures, and over packets that are made from the rules' own
contents (provoking.py), so that rules which no capture provokes are compared, too.

Without more it takes the example rules and capture. Others are named by the environment:
WEIR_RULES, rule files separated by colons, and WEIR_CAPTURES, a folder of captures.
SURICATA names the program and SURICATA_YAML its configuration, where they are not in their
usual places. Differences may be 1 % of the cases, and of the members of `http`, `dns` and `tls` in
the alerts that both raise, but none of category, severity and Community ID; docs/inspect.md says what they come from.
"""

import collections
import concurrent.futures
import ipaddress
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import peers
import provoking

sys.path.insert(0, str(peers.ROOT / "peers" / "suricata"))
import settings  # noqa: E402

SHARE_ALLOWED = 0.01
# Of the rules, those that packets made from their contents provoke.
LEAST_PROVOKED = 0.25
PATIENCE_S = 600


def need_suricata():
    if not settings.program():
        raise peers.Skip("suricata is not installed")
    if not os.access(settings.configuration(), os.R_OK):
        raise peers.Skip(f"Suricata's configuration {settings.configuration()} cannot be read")


def cases(events, without):
    """The (capture, flow, sid) of every alert: a flow is its two ends, whatever the direction."""
    found = set()
    for capture, event in events:
        if event.get("event_type") != "alert" or event["alert"].get("gid", 1) != 1:
            continue
        ends = [
            (ipaddress.ip_address(event[f"{end}_ip"]).compressed, event.get(f"{end}_port") or 0)
            for end in ("src", "dest")
        ]
        sid = event["alert"]["signature_id"]
        if sid not in without:
            found.add((capture, *sorted(ends), sid))
    return found


def transactions(events):
    """The objects of each case by the number of its transaction, the last of each, and whether
    they are of an alert on what the client said."""
    found = {}
    for capture, event in events:
        name = next((name for name in ("http", "dns", "tls") if name in event), None)
        if event.get("event_type") == "alert" and name and "tx_id" in event:
            ends = sorted(str(event[f"{end}_port"]) for end in ("src", "dest"))
            sid = event["alert"]["signature_id"]
            is_to_server = event.get("direction") == "to_server"
            found[(capture, *ends, sid, event["tx_id"])] = (name, event[name], is_to_server)
    return found


def classes(events):
    """Category and severity of each rule's alerts."""
    alerts = (event["alert"] for _, event in events if event.get("event_type") == "alert")
    return {alert["signature_id"]: (alert["category"], alert["severity"]) for alert in alerts}


def identifiers(events):
    """The Community IDs of each flow's alerts, and how many connections there are between its ends."""
    found = collections.defaultdict(lambda: (set(), set()))
    for capture, event in events:
        if event.get("event_type") == "alert" and "src_port" in event:
            ends = sorted((event[f"{end}_ip"], event[f"{end}_port"]) for end in ("src", "dest"))
            communities, connections = found[(capture, event["proto"], *ends)]
            communities.add(event.get("community_id"))
            connections.add(event.get("flow_id"))
    return found


# What the server says. Suricata raises what a client said when the server has answered, and
# tells that, too; Weir raises it at once.
OF_THE_SERVER = {
    "http": {"status", "length", "http_content_type", "redirect"},
    "tls": {"version"},
    "dns": set(),
}


class Members:
    """The members of the objects that both tell, one by one."""

    def __init__(self, theirs, ours):
        self.compared, self.to_come, self.differing = 0, collections.Counter(), []
        for case in sorted(theirs.keys() & ours.keys(), key=str):
            name, their_members, is_to_server = theirs[case]
            _, our_members, _ = ours[case]
            # Suricata writes JA3 only where a rule asks for it.
            for member, value in their_members.items():
                known = our_members.get(member)
                is_later = is_to_server and known is None and member in OF_THE_SERVER[name]
                # That of the body so far.
                if is_later or member == "length" and (known or 0) < value:
                    self.to_come[f"{name}.{member}"] += 1
                else:
                    self.compare(case, member, value, known)

    def compare(self, case, member, theirs, ours):
        self.compared += 1
        if theirs != ours:
            self.differing.append(f"{case}: {member} is {theirs!r}, not {ours!r}")

    def tell(self):
        differing = len(self.differing)
        missing = sum(difference.endswith("not None") for difference in self.differing)
        print(f"        {self.compared} members compared, {differing} differ, {missing} of them missing")
        print(f"        {dict(self.to_come)} were not known yet")
        for difference in self.differing:
            print(f"        {difference}")
        peers.check(
            differing <= SHARE_ALLOWED * self.compared,
            f"{differing} of {self.compared} members differ",
        )


def sids(text):
    return {int(sid) for sid in re.findall(r"\bsid\s*:\s*(\d+)\s*;", text)}


def wait_for(what, name):
    """What a function gives, as soon as it is something."""
    begun = time.monotonic()
    while True:
        found = what()
        if found is not None:
            return found
        peers.check(time.monotonic() - begun < PATIENCE_S, f"suricata: no {name}")
        time.sleep(0.1)


class Suricata:
    """One that takes captures one by one over its command socket, each with flows of its own."""

    def __init__(self, rules, folder):
        need_suricata()
        self.folder = folder
        (folder / "log").mkdir()
        command = settings.suricata(rules, folder) + [f"--unix-socket={folder / 'socket'}"]
        # The EVE log is the second output of the usual configuration.
        command += ["--set", "outputs.1.eve-log.community-id=true"]
        self.told = open(folder / "told", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            command, stdout=self.told, stderr=subprocess.STDOUT
        )
        self.socket = socket.socket(socket.AF_UNIX)
        wait_for(self.connect, "answer at its socket")
        self.ask({"version": "0.2"})

    def connect(self):
        peers.check(self.process.poll() is None, f"suricata ends: {self.output()[-300:]}")
        try:
            self.socket.connect(str(self.folder / "socket"))
        except OSError:
            return None
        return True

    def output(self):
        self.told.flush()
        return (self.folder / "told").read_text(errors="replace")

    def ask(self, question):
        self.socket.sendall(json.dumps(question).encode() + b"\n")
        answer = b""
        while True:
            more = self.socket.recv(1 << 16)
            peers.check(more, f"suricata ends: {self.output()[-300:]}")
            answer += more
            try:
                return json.loads(answer)
            except ValueError:
                continue

    def inspect(self, captures):
        """The (capture, event) of every line of its logs, and the rules that it did not load."""
        for number, capture in enumerate(captures):
            log = self.folder / str(number)
            log.mkdir()
            arguments = {"filename": str(capture), "output-dir": str(log)}
            self.ask({"command": "pcap-file", "arguments": arguments})
        wait_for(self.is_done, "end of the captures")
        self.ask({"command": "shutdown"})
        self.process.wait()
        events = []
        for number, capture in enumerate(captures):
            log = self.folder / str(number) / "eve.json"
            lines = log.read_text().splitlines() if log.exists() else []
            events += [(capture.name, json.loads(line)) for line in lines]
        refused = [line for line in self.output().splitlines() if "E: detect" in line]
        return events, sids("\n".join(refused))

    def is_done(self):
        """Whether it stays idle: between two captures it is, for a moment."""
        for _ in range(5):
            waiting = self.ask({"command": "pcap-file-number"})["message"]
            current = self.ask({"command": "pcap-current"})["message"]
            if (waiting, current) != (0, "None"):
                return None
            time.sleep(0.2)
        return True


def by_weir(captures, rules, folder):
    """The same of weir, which is started for every capture."""
    words = [word for path in rules for word in ("--rules", path)]

    def inspect(number, *arguments):
        # Suricata runs with `-k none`, too.
        log = folder / f"weir-{number}.jsonl"
        arguments = [captures[number], "--eve", log, "--quiet", "--ignore-checksums", *arguments]
        status, errors = peers.weir("inspect", *arguments, *settings.variables_for_weir(), *words)
        # A capture of a kind that is not read: neither may Suricata.
        if status == 2 and not log.exists():
            return errors, []
        peers.check(status in (0, 1), f"weir exits {status} over {captures[number]}: {errors[-300:]}")
        return errors, [(captures[number].name, json.loads(line)) for line in log.read_text().splitlines()]

    errors, events = inspect(0, "--show-skipped")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        for _, more in several.map(inspect, range(1, len(captures))):
            events += more
    return events, refused_by_weir(errors, rules)


def refused_by_weir(errors, rules):
    texts = {str(path): path.read_text(errors="replace").splitlines() for path in rules}
    refused = set()
    for name, line in re.findall(r"^(?:weir: )?(.+?):(\d+):\d+: ", errors, re.MULTILINE):
        if name in texts:
            refused |= sids(texts[name][int(line) - 1])
    return refused


def rule_files():
    named = os.environ.get("WEIR_RULES") or str(peers.EXAMPLES / "example.rules")
    return [pathlib.Path(path) for path in named.split(":")]


def check_descriptions(theirs, ours):
    """What both say of a rule, and of a flow, whatever the packet."""
    their_classes, our_classes = classes(theirs), classes(ours)
    both = their_classes.keys() & our_classes.keys()
    differing = [sid for sid in both if their_classes[sid] != our_classes[sid]]
    print(f"        category and severity of {len(both)} rules compared, {len(differing)} differ")
    for sid in sorted(differing):
        print(f"        {sid}: {their_classes[sid]}, not {our_classes[sid]}")
    peers.check(both and not differing, f"category or severity of {len(differing)} rules differ")
    their_flows, our_flows = identifiers(theirs), identifiers(ours)
    # Suricata 7.0.10 hashes ends of one address in an order of its own; tshark does as Weir.
    both = {
        flow
        for flow in their_flows.keys() & our_flows.keys()
        if len({address for address, _ in flow[2:]}) > 1
    }
    differing = [flow for flow in both if their_flows[flow][0] != our_flows[flow][0]]
    several = sum(len(our_flows[flow][1]) > 1 for flow in both)
    print(f"        community_id of {len(both)} flows compared, {len(differing)} differ; {several} are several connections")
    for flow in sorted(differing, key=str)[:20]:
        print(f"        {flow}: {their_flows[flow]}, not {our_flows[flow]}")
    peers.check(both and not differing, f"the community_id of {len(differing)} flows differs")


def the_same_alerts():
    peers.need_weir()
    rules = rule_files()
    named = os.environ.get("WEIR_CAPTURES")
    captures = sorted(pathlib.Path(named).iterdir()) if named else [peers.EXAMPLES / "traffic.pcapng"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made = folder / "made from the rules.pcap"
        flows = provoking.capture(made, rules)
        captures.append(made)
        theirs, refused_by_them = Suricata(rules, folder).inspect(captures)
        ours, refused_by_us = by_weir(captures, rules, folder)
    theirs_told, ours_told = transactions(theirs), transactions(ours)
    check_descriptions(theirs, ours)
    refused = refused_by_them | refused_by_us
    print(f"        {len(refused_by_them)} rules refused by suricata, {len(refused_by_us)} by weir")
    theirs, ours = cases(theirs, refused), cases(ours, refused)
    differing = theirs ^ ours
    print(f"        {len(captures)} captures, one of them with {flows} flows made from the rules")
    for name, of_kind in (
        ("captured", lambda case: case[0] != made.name),
        ("made", lambda case: case[0] == made.name),
    ):
        by_them, by_us = set(filter(of_kind, theirs)), set(filter(of_kind, ours))
        print(
            f"        {name}: {len(by_them)} cases by suricata, {len(by_us)} by weir,"
            f" {len(by_them & by_us)} by both, of {len({case[-1] for case in by_them | by_us})} rules"
        )
    for case in sorted(differing):
        print(f"        only {'suricata' if case in theirs else 'weir'}: {case}")
    peers.check(
        len(differing) <= SHARE_ALLOWED * len(theirs | ours),
        f"{len(differing)} of {len(theirs | ours)} cases differ",
    )
    provoked = sum(case[0] == made.name for case in theirs & ours)
    peers.check(provoked >= LEAST_PROVOKED * flows, f"{provoked} of {flows} flows raise an alert")
    Members(theirs_told, ours_told).tell()


TESTS = [("the alerts of suricata", the_same_alerts)]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

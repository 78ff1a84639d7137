"""`weir inspect` raises what Suricata raises: for rules that both load, the same sets of a
capture, a flow and a rule; over captures, and over packets that are made from the rules' own
contents (provoking.py), so that rules which no capture provokes are compared, too.

Without more it takes the example rules and capture. Others are named by the environment:
WEIR_RULES, rule files separated by colons, and WEIR_CAPTURES, a folder of captures.
SURICATA names the program and SURICATA_YAML its configuration, where they are not in their
usual places. Differences may be 2 % of the cases; docs/inspect.md says what they come from.
"""

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

SHARE_ALLOWED = 0.02
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
    """The objects of each case by the number of its transaction, the last of each."""
    found = {}
    for capture, event in events:
        name = next((name for name in ("http", "dns", "tls") if name in event), None)
        if event.get("event_type") == "alert" and name and "tx_id" in event:
            ends = sorted(str(event[f"{end}_port"]) for end in ("src", "dest"))
            sid = event["alert"]["signature_id"]
            found[(capture, *ends, sid, event["tx_id"])] = event[name]
    return found


def apart(theirs, ours):
    """The members in which two objects differ. Suricata raises what a client said when the
    server has answered, and JA3 is told only where a rule asks for it: what one of them does
    not have is no difference, and neither is the length of an answer so far."""
    return sorted(
        name
        for name in theirs.keys() & ours.keys() - {"length"}
        if theirs[name] != ours[name]
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
    log = folder / "weir.jsonl"
    events, refused = [], None
    for capture in captures:
        # Suricata runs with `-k none`, too.
        arguments = ["inspect", capture, "--eve", log, "--quiet", "--ignore-checksums"]
        arguments += ["--show-skipped"] if refused is None else []
        arguments += settings.variables_for_weir()
        log.unlink(missing_ok=True)
        status, errors = peers.weir(*arguments, *(word for path in rules for word in ("--rules", path)))
        if refused is None:
            refused = refused_by_weir(errors, rules)
        # A capture of a kind that is not read: neither may Suricata.
        if status == 2 and not log.exists():
            continue
        peers.check(status in (0, 1), f"weir exits {status} over {capture}: {errors[-300:]}")
        lines = log.read_text().splitlines()
        events += [(capture.name, json.loads(line)) for line in lines]
    return events, refused or set()


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


def compare(captures, rules):
    """How many cases both raise over the captures; a failure where they differ by too many."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        theirs, refused_by_them = Suricata(rules, folder).inspect(captures)
        ours, refused_by_us = by_weir(captures, rules, folder)
    theirs_told, ours_told = transactions(theirs), transactions(ours)
    refused = refused_by_them | refused_by_us
    print(f"        {len(refused_by_them)} rules refused by suricata, {len(refused_by_us)} by weir")
    theirs, ours = cases(theirs, refused), cases(ours, refused)
    differing = theirs ^ ours
    print(
        f"        {len(theirs)} cases by suricata, {len(ours)} by weir, {len(theirs & ours)} by both,"
        f" of {len({case[-1] for case in theirs | ours})} rules"
    )
    for case in sorted(differing):
        print(f"        only {'suricata' if case in theirs else 'weir'}: {case}")
    peers.check(
        len(differing) <= SHARE_ALLOWED * len(theirs | ours),
        f"{len(differing)} of {len(theirs | ours)} cases differ",
    )
    both = theirs_told.keys() & ours_told.keys()
    unlike = {case: names for case in both if (names := apart(theirs_told[case], ours_told[case]))}
    print(f"        {len(both)} transactions told by both, {len(unlike)} of them differently")
    for case, names in sorted(unlike.items()):
        for name in names:
            print(f"        {case}: {name} is {theirs_told[case][name]!r}, not {ours_told[case][name]!r}")
    peers.check(
        len(unlike) <= SHARE_ALLOWED * len(both),
        f"{len(unlike)} of {len(both)} transactions are told differently",
    )
    return len(theirs & ours)


def the_same_alerts():
    folder = os.environ.get("WEIR_CAPTURES")
    captures = sorted(pathlib.Path(folder).iterdir()) if folder else [peers.EXAMPLES / "traffic.pcapng"]
    peers.need_weir()
    if compare(captures, rule_files()) == 0:
        print("        neither raises anything over these captures: made packets must tell")


def the_same_alerts_when_provoked():
    peers.need_weir()
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "provoked.pcap"
        flows = provoking.capture(capture, rule_files())
        print(f"        {flows} flows, one for each rule")
        both = compare([capture], rule_files())
    peers.check(both >= LEAST_PROVOKED * flows, f"{both} cases of {flows} flows are raised by both")


TESTS = [
    ("the alerts of suricata", the_same_alerts),
    ("the alerts of suricata over packets made from the rules", the_same_alerts_when_provoked),
]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

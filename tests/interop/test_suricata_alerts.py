"""`weir inspect` raises what Suricata raises: for rules that both load, the same sets of a
capture, a flow and a rule.

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

SHARE_ALLOWED = 0.02
SITE = ["HOME_NET=any", "EXTERNAL_NET=any", "AIM_SERVERS=any"]
# What weir knows by itself, and suricata.yaml does not.
MORE_FOR_SURICATA = [
    "vars.address-groups.FTP_SERVERS=any",
    "vars.address-groups.SSH_SERVERS=any",
    "vars.address-groups.SIP_SERVERS=any",
    "vars.port-groups.SIP_PORTS=[5060,5061]",
    "vlan.use-for-tracking=false",
]
PATIENCE_S = 600


def need_suricata():
    program = os.environ.get("SURICATA") or peers.need_program("suricata")
    configuration = os.environ.get("SURICATA_YAML", "/etc/suricata/suricata.yaml")
    if not os.access(configuration, os.R_OK):
        raise peers.Skip(f"Suricata's configuration {configuration} cannot be read")
    return program, configuration


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
        program, configuration = need_suricata()
        self.folder = folder
        (folder / "all.rules").write_bytes(b"\n".join(path.read_bytes() for path in rules))
        command = [program, "-c", configuration, "-S", folder / "all.rules", "-l", folder]
        command += ["-k", "none", "--runmode", "single", f"--unix-socket={folder / 'socket'}"]
        for setting in [f"vars.address-groups.{v}" for v in SITE] + MORE_FOR_SURICATA:
            command += ["--set", setting]
        self.told = open(folder / "told", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=self.told, stderr=subprocess.STDOUT
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
        arguments = ["inspect", capture, "--json", log, "--quiet"]
        arguments += ["--show-skipped"] if refused is None else []
        for variable in SITE:
            arguments += ["--set", variable]
        log.unlink(missing_ok=True)
        status, errors = peers.weir(*arguments, "--rules", *rules)
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


def the_same_alerts():
    named = os.environ.get("WEIR_RULES")
    rules = [pathlib.Path(path) for path in (named or str(peers.EXAMPLES / "example.rules")).split(":")]
    folder = os.environ.get("WEIR_CAPTURES")
    captures = sorted(pathlib.Path(folder).iterdir()) if folder else [peers.EXAMPLES / "traffic.pcapng"]
    peers.need_weir()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        theirs, refused_by_them = Suricata(rules, folder).inspect(captures)
        ours, refused_by_us = by_weir(captures, rules, folder)
    refused = refused_by_them | refused_by_us
    theirs, ours = cases(theirs, refused), cases(ours, refused)
    peers.check(theirs, "suricata raises nothing")
    apart = theirs ^ ours
    print(f"        {len(theirs)} cases by suricata, {len(ours)} by weir, {len(theirs & ours)} by both")
    for case in sorted(apart):
        print(f"        only {'suricata' if case in theirs else 'weir'}: {case}")
    peers.check(
        len(apart) <= SHARE_ALLOWED * len(theirs | ours),
        f"{len(apart)} of {len(theirs | ours)} cases differ",
    )


TESTS = [("the alerts of suricata", the_same_alerts)]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

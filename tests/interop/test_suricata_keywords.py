"""Every keyword restricts what it says it restricts: for each there is a rule, a conversation that
matches it, and one that nearly does (keyword_pairs.py). `weir inspect` and Suricata look at all of
them in one run each, with all rules. Both alert on the first conversation and not on the second,
with the same `alert` object. What Suricata 7 refuses, Weir is held to alone.

The keywords are those of docs/keywords.md, which Weir's own tests hold to the table that its rules
are read with: one without a pair fails.
"""

import ipaddress
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import keyword_pairs
import peers
from evasions import wire

sys.path.insert(0, str(peers.ROOT / "peers" / "suricata"))
import settings  # noqa: E402

PAGE = peers.ROOT / "docs" / "keywords.md"
CLIENTS, SERVERS = (int(ipaddress.ip_address(first)) for first in ("10.32.0.0", "198.18.0.0"))


class Keywords:
    """The tables of the page: keyword -> what it does; and those of buffers."""

    def __init__(self, page):
        self.all, self.sticky, self.modifiers = {}, [], []
        for names, effect in re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|", page, re.MULTILINE):
            for name in re.findall(r"`([^`]+)`", names):
                self.all[name] = effect.strip()
                if effect.startswith("buffer"):
                    self.sticky.append(name)
                elif effect.startswith("sends"):
                    self.modifiers.append(name)


class Cases:
    def __init__(self, pairs):
        capture, self.rules, self.expected = wire.Capture(), [], {}
        for index, pair in enumerate(pairs):
            ends = [[ipaddress.ip_address(first + 4 * index + n) for n in (1, 2)]
                    for first in (CLIENTS, SERVERS)]
            hosts = {name: f"[{','.join(map(str, addresses))}]"
                     for name, addresses in (("CLIENTS", ends[0]), ("SERVERS", ends[1]), ("HOSTS", sum(ends, [])))}
            sid = 0
            for number, rule in enumerate(whole(pair).splitlines()):
                sid = 10 * (index + 1) + number
                rule = re.sub("CLIENTS|SERVERS|HOSTS", lambda name: hosts[name[0]], rule)
                self.rules.append(f"{rule.removesuffix(')')} sid:{sid};)")
            for conversation, client, server in zip((pair.match, pair.near_miss), *ends):
                conversation(capture, client, server)
                self.expected[client, sid] = pair, client is ends[0][0]
        self.capture = capture


def whole(pair):
    """The rules of a pair, without their numbers."""
    if re.match("alert|drop|reject|pass ", pair.rules):
        return pair.rules
    transport = {keyword_pairs.Udp: "udp", keyword_pairs.Icmp: "icmp"}.get(type(pair.match), "tcp")
    return f"alert {pair.protocol or transport} HOSTS any -> HOSTS any ({pair.rules})"


def alerts(log):
    """The alert objects by (client, sid)."""
    found = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event.get("event_type") == "alert":
            ends = [ipaddress.ip_address(event[f"{end}_ip"]) for end in ("src", "dest")]
            client = next(end for end in ends if int(end) < SERVERS)
            alert = event["alert"]
            # Suricata has rejected the packet also where it only looks on.
            del alert["action"]
            found[client, alert["signature_id"]] = alert
    return found


class Sensors:
    """What both find, and which rules they refuse."""

    def __init__(self, keywords):
        self.keywords = keywords
        self.pairs = keyword_pairs.all_of_them(keywords.sticky, keywords.modifiers, peers.ROOT)
        self.cases, self.alerts, self.refused = Cases(self.pairs), {}, {}
        print(f"        {len(keywords.all)} keywords, {len(self.pairs)} pairs")

    def every_keyword_has_a_pair(self):
        lacking = self.keywords.all.keys() - {pair.keyword for pair in self.pairs}
        peers.check(self.keywords.all and not lacking, f"no pair for {sorted(lacking)}")

    def weir(self):
        def look(capture, rules, folder):
            log = folder / "weir.jsonl"
            status, errors = peers.weir("inspect", capture, "--rules", rules, "--eve", log, "--quiet",
                                        "--show-skipped", *settings.variables_for_weir())
            peers.check(status in (0, 1), f"weir exits {status}: {errors[-300:]}")
            lines = re.findall(r":(\d+):\d+: ", errors)
            return alerts(log), {sid_of(self.cases.rules[int(line) - 1]) for line in lines}

        self.judge("weir", look, set())

    def suricata(self):
        if not settings.program():
            raise peers.Skip("suricata is not installed")

        def look(capture, rules, folder):
            (folder / "log").mkdir()
            command = settings.suricata([rules], folder, checksums="all") + ["-r", str(capture)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            peers.check(done.returncode == 0, f"suricata exits {done.returncode}: {done.stderr[-300:]}")
            refused = [line for line in done.stderr.splitlines() if "error parsing signature" in line]
            return alerts(folder / "log" / "eve.json"), set(map(sid_of, refused))

        refused = {sid for (_, sid), (pair, _) in self.cases.expected.items() if not pair.is_of_suricata}
        self.judge("suricata", look, refused)

    def judge(self, sensor, look, refused):
        """Runs a sensor that is to refuse these rules, and to take the others as they are meant."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            capture, rules = folder / "pairs.pcap", folder / "pairs.rules"
            self.cases.capture.write(capture)
            rules.write_text("\n".join(self.cases.rules) + "\n")
            found, refused_by_it = look(capture, rules, folder)
        wrong = [f"refuses {sorted(refused_by_it - refused)}, loads {sorted(refused - refused_by_it)}"]
        wrong = wrong if refused_by_it != refused else []
        for key, (pair, is_match) in self.cases.expected.items():
            if key[1] not in refused and (key in found) != is_match:
                wrong.append(f"{pair.keyword}: {whole(pair)} {'misses' if is_match else 'takes'} {key[0]}")
        self.alerts[sensor] = found
        peers.check(not wrong, "; ".join(wrong))

    def both_tell_the_same(self):
        if len(self.alerts) < 2:
            raise peers.Skip("one of the sensors did not look")
        theirs, ours = self.alerts["suricata"], self.alerts["weir"]
        both = theirs.keys() & ours.keys()
        differing = [f"{theirs[key]} and {ours[key]}" for key in both if theirs[key] != ours[key]]
        peers.check(both and not differing, "; ".join(differing))


def sid_of(text):
    return int(re.search(r"sid:(\d+);", text)[1])


def main():
    sensors = Sensors(Keywords(PAGE.read_text()))
    return peers.run([
        ("every keyword has a pair", sensors.every_keyword_has_a_pair),
        ("weir takes the match and not what nearly matches", sensors.weir),
        ("so does suricata", sensors.suricata),
        ("alerts say the same", sensors.both_tell_the_same),
    ])


if __name__ == "__main__":
    sys.exit(main())

"""`weir inspect` raises what Suricata raises: for rules that both load, the same pairs of a
flow and a rule.

Without more it takes the example rules and capture. Others are named by the environment:
WEIR_RULES, rule files separated by colons, and WEIR_CAPTURES, a folder of captures.
SURICATA names the program and SURICATA_YAML its configuration, where they are not in their
usual places. Differences may be 2 % of the pairs: what Suricata reads in tunnels, and rates
that count over several captures, are not the same in both.
"""

import ipaddress
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import peers

SHARE_ALLOWED = 0.02
SITE = ["HOME_NET=any", "EXTERNAL_NET=any", "AIM_SERVERS=any"]


def need_suricata():
    program = os.environ.get("SURICATA") or peers.need_program("suricata")
    configuration = os.environ.get("SURICATA_YAML", "/etc/suricata/suricata.yaml")
    if not os.access(configuration, os.R_OK):
        raise peers.Skip(f"Suricata's configuration {configuration} cannot be read")
    return program, configuration


def pairs(lines, without):
    """The (flow, sid) of every alert: a flow is its two ends, whatever the direction."""
    found = set()
    for line in lines:
        event = json.loads(line)
        if event.get("event_type") != "alert" or event["alert"].get("gid", 1) != 1:
            continue
        ends = [
            (ipaddress.ip_address(event[f"{end}_ip"]).compressed, event.get(f"{end}_port") or 0)
            for end in ("src", "dest")
        ]
        sid = event["alert"]["signature_id"]
        if sid not in without:
            found.add((*sorted(ends), sid))
    return found


def sids(text):
    return {int(sid) for sid in re.findall(r"\bsid\s*:\s*(\d+)\s*;", text)}


def by_suricata(captures, rules, folder):
    """The lines of its log, and the rules that it did not load."""
    program, configuration = need_suricata()
    together = folder / "all.rules"
    together.write_bytes(b"\n".join(path.read_bytes() for path in rules))
    command = [program, "-c", configuration, "-S", together, "-l", folder, "-k", "none"]
    command += ["--runmode", "single", "-r", captures]
    for variable in SITE:
        command += ["--set", f"vars.address-groups.{variable}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    log = folder / "eve.json"
    peers.check(log.exists(), f"suricata exits {done.returncode}: {done.stderr[-300:]}")
    refused = [line for line in (done.stdout + done.stderr).splitlines() if "E: detect" in line]
    return log.read_text().splitlines(), sids("\n".join(refused))


def by_weir(captures, rules, folder):
    """The same of weir."""
    log = folder / "weir.jsonl"
    inputs = sorted(path for path in captures.iterdir() if path.is_file())
    arguments = ["inspect", *inputs, "--json", log, "--quiet", "--show-skipped"]
    for variable in SITE:
        arguments += ["--set", variable]
    status, errors = peers.weir(*arguments, "--rules", *rules)
    peers.check(log.exists() and status in (0, 1), f"weir exits {status}: {errors[-300:]}")
    texts = {str(path): path.read_text(errors="replace").splitlines() for path in rules}
    refused = set()
    for name, line in re.findall(r"^(?:weir: )?(.+?):(\d+):\d+: ", errors, re.MULTILINE):
        if name in texts:
            refused |= sids(texts[name][int(line) - 1])
    return log.read_text().splitlines(), refused


def the_same_alerts():
    named = os.environ.get("WEIR_RULES")
    rules = [pathlib.Path(path) for path in (named or str(peers.EXAMPLES / "example.rules")).split(":")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        captures = pathlib.Path(os.environ.get("WEIR_CAPTURES") or folder / "captures")
        if not captures.exists():
            captures.mkdir()
            (captures / "traffic.pcapng").symlink_to(peers.EXAMPLES / "traffic.pcapng")
        peers.need_weir()
        theirs, refused_by_them = by_suricata(captures, rules, folder)
        ours, refused_by_us = by_weir(captures, rules, folder)
    refused = refused_by_them | refused_by_us
    theirs, ours = pairs(theirs, refused), pairs(ours, refused)
    peers.check(theirs, "suricata raises nothing")
    apart = theirs ^ ours
    print(f"        {len(theirs)} pairs by suricata, {len(ours)} by weir, {len(theirs & ours)} by both")
    for pair in sorted(apart):
        print(f"        only {'suricata' if pair in theirs else 'weir'}: {pair}")
    peers.check(
        len(apart) <= SHARE_ALLOWED * len(theirs | ours),
        f"{len(apart)} of {len(theirs | ours)} pairs differ",
    )


TESTS = [("the alerts of suricata", the_same_alerts)]

if __name__ == "__main__":
    sys.exit(peers.run(TESTS))

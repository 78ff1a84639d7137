#!/usr/bin/env python3
"""`weir inspect` against Suricata, end to end on one core: rules, reassembly, HTTP, DNS and TLS,
alerts.

    end_to_end.py WEIR CAPTURES RULES... [--alerts-only] [--copies N] [--rounds N] [--core N]

WEIR is a release build, CAPTURES a folder. Both read one capture: all Ethernet frames of the
folder, capture after capture, N times over, each time an hour later, so that flows begin anew.
What starting and loading the rules takes is measured over a capture of one frame, in the same
rounds, and subtracted; the two are interleaved. With `--alerts-only` Suricata does what Weir
does: the parsers of HTTP, DNS and TLS, and alerts as the only output; without, it runs its stock
configuration. Both verify checksums. SURICATA and SURICATA_YAML name the program and its
configuration where they are not in their usual places.
"""

import argparse
import ipaddress
import json
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import tempfile

import settings

ETHERNET = 1
# Some captures have times of decades apart: what lies behind an hour comes at its end.
LONGEST_NS = 3600 * 10**9


def frames(path):
    """The (time in ns, bytes, length on the wire) of the Ethernet frames of a capture."""
    data = path.read_bytes()
    magic = data[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    if magic in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"):
        unit_ns = 1 if magic in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
        if struct.unpack(order + "I", data[20:24])[0] & 0xFFFF == ETHERNET:
            yield from pcap_frames(data, order, unit_ns)
    elif magic == b"\x0a\x0d\x0d\x0a":
        yield from pcapng_frames(data)


def pcap_frames(data, order, unit_ns):
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, wire = struct.unpack(order + "IIII", data[at : at + 16])
        if at + 16 + kept > len(data):
            return
        yield seconds * 10**9 + part * unit_ns, data[at + 16 : at + 16 + kept], wire
        at += 16 + kept


def pcapng_frames(data):
    at, order, links, units = 0, "<", [], []
    while at + 12 <= len(data):
        if data[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links, units = [], []
        kind, length = struct.unpack(order + "II", data[at : at + 8])
        block = data[at + 8 : at + length - 4]
        if length < 12 or at + length > len(data):
            return
        if kind == 1:
            links.append(struct.unpack(order + "H", block[:2])[0])
            units.append(unit_of(block[8:], order))
        elif kind == 6:
            interface, high, low, kept, wire = struct.unpack(order + "IIIII", block[:20])
            if interface < len(links) and links[interface] == ETHERNET:
                yield int((high << 32 | low) * units[interface]), block[20 : 20 + kept], wire
        at += length


def unit_of(options, order):
    """Nanoseconds of one unit of an interface's times."""
    while len(options) >= 4:
        code, length = struct.unpack(order + "HH", options[:4])
        if code == 9:
            power = options[4]
            return 10**9 / (2 ** (power & 127) if power & 128 else 10**power)
        options = options[4 + (length + 3) // 4 * 4 :]
    return 1000


def write(path, packets):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, ETHERNET))
        for time_ns, frame, wire in packets:
            seconds, part = divmod(time_ns, 10**9)
            out.write(struct.pack("<IIII", seconds, part, len(frame), wire) + frame)


def merged(folder, copies):
    """All frames, the captures one second apart, the copies an hour."""
    captures = [list(frames(path)) for path in sorted(folder.iterdir()) if path.is_file()]
    clock = 1_700_000_000 * 10**9
    for _ in range(copies):
        for capture in captures:
            if capture:
                begin = min(time for time, _, _ in capture)
                last = clock
                for time, frame, wire in capture:
                    placed = clock + min(time - begin, LONGEST_NS)
                    last = max(last, placed)
                    yield placed, frame, wire
                clock = last + 10**9
        clock += 3600 * 10**9


def commands(arguments, folder):
    weir = [arguments.weir, "inspect", "INPUT", "--quiet", "--eve", folder / "weir.jsonl"]
    weir += settings.variables_for_weir()
    found = {"weir": weir + [word for path in arguments.rules for word in ("--rules", path)]}
    if settings.program():
        suricata = settings.suricata(arguments.rules, folder, arguments.alerts_only, "all")
        found["suricata"] = suricata + ["-r", "INPUT"]
    return found


def processor_seconds(command, capture, core, folder):
    """User and system time of one run."""
    shutil.rmtree(folder / "log", ignore_errors=True)
    (folder / "log").mkdir()
    command = ["taskset", "-c", str(core)] + [
        str(capture) if word == "INPUT" else str(word) for word in command
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{command[3]} exits {done.returncode}: {done.stderr[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def version(name, command):
    asked = "-V" if name == "suricata" else "--version"
    done = subprocess.run([command[0], asked], capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def alerts(path):
    """Alerts in a log, and how many different ones by flow and rule."""
    number, kinds = 0, set()
    with open(path, encoding="utf-8") as log:
        for line in log:
            if '"event_type":"alert"' in line:
                event = json.loads(line)
                number += 1
                # Suricata writes all zeros of an IPv6 address.
                ends = sorted(map(ipaddress.ip_address, (event["src_ip"], event["dest_ip"])), key=str)
                kinds.add((*ends, event["alert"]["signature_id"]))
    return number, len(kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("weir")
    parser.add_argument("captures", type=pathlib.Path)
    parser.add_argument("rules", type=pathlib.Path, nargs="+")
    parser.add_argument("--alerts-only", action="store_true")
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--core", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        packets = list(merged(arguments.captures, arguments.copies))
        bits = 8 * sum(len(frame) for _, frame, _ in packets)
        write(folder / "all.pcap", packets)
        write(folder / "one.pcap", packets[:1])
        print(f"{len(packets)} packets, {bits / 8e6:.1f} MB, {arguments.rounds} rounds, core {arguments.core}")
        del packets
        candidates = commands(arguments, folder)
        for name, command in candidates.items():
            print(f"{name}: {version(name, command)}")
        rates = {name: [] for name in candidates}
        for _ in range(arguments.rounds):
            for name, command in candidates.items():
                start = processor_seconds(command, folder / "one.pcap", arguments.core, folder)
                whole = processor_seconds(command, folder / "all.pcap", arguments.core, folder)
                rates[name].append(bits / max(whole - start, 1e-9) / 1e9)
        for name, of_name in rates.items():
            low, middle, high = statistics.quantiles(of_name, n=4)
            log = folder / "weir.jsonl" if name == "weir" else folder / "log" / "eve.json"
            number, kinds = alerts(log)
            print(f"{name:9} {middle:6.2f} Gbit/s ({low:.2f} to {high:.2f}), {number} alerts, {kinds} by flow and rule")
        if "suricata" in rates:
            ratio = statistics.median(w / s for w, s in zip(rates["weir"], rates["suricata"]))
            print(f"weir / suricata: {ratio:.2f}")
        else:
            print("suricata is not installed: nothing to compare with")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Rules, filter, policies and associations are replaced together under load, many times.

    reloads.py WEIR SENDER [--reloads N] [--rate PACKETS_PER_S] [--workers N]

WEIR and SENDER (`weir-send` of `weir-live-peers`) are release builds. In a network namespace `weir run`
filters, inspects and protects what the sender sends, numbered packets of three flows, from one cable to
another. Two configurations take turns, by `reload` through the control socket:

| | filter denies | rule that every packet matches | SPI for flows 0 and 1 | outer TTL of flow 2's SA |
| --- | --- | --- | --- | --- |
| A, even generations | flow 1 | 1 | 0x1000 | 64 |
| B, odd generations | flow 0 | 2 | 0x2000 | 32 |

Flow 2's association goes on with other parameters; the other one is replaced. The flow of an ESP packet
shows in its length. It must hold that

- received = sent; the filter denies, everything else leaves: nothing is lost, nothing else is dropped,
- every status between balances, to the packet: forwarded, dropped, or between two workers,
- each alert's rule, flow and generation belong to one configuration (filter and rules),
- each ESP packet's flow and SPI belong to one configuration (filter and associations),
- of every flow as many alerts are of each configuration as ESP packets: also the packets of flow 2,
  which no filter denies, were inspected and protected under one of them,
- numbers of each SPI ascend.

The last line is the verdict, with figures. Needs root, iproute2 and tcpdump.
"""

import argparse
import collections
import json
import pathlib
import struct
import subprocess
import time

from bench import Broken, arrived, balanced, verdict

# Frames of the flows, and of the ESP packets that are made of them.
BYTES = [60, 140, 300]
SPI = {"A": 0x1000, "B": 0x2000, "kept": 0x3000}
TTL = {"A": 64, "B": 32}
DENIED = {"A": 1, "B": 0}
RULE = {"A": 1, "B": 2}
OF_SPI = {number: name for name, number in SPI.items()}
OF_TTL = {number: name for name, number in TTL.items()}
OF_RULE = {number: name for name, number in RULE.items()}


def write_configuration(folder, name):
    """The files of one configuration, A or B."""
    (folder / "weir.toml").write_text(f"""
[[port]]
name = "inside"
kind = "interface"
side = "plain"
interface = "b"
[[port]]
name = "outside"
kind = "interface"
side = "cipher"
interface = "c"
[pipeline.out]
from = "inside"
to = "outside"
stages = ["filter", "inspect", "protect"]
[filter]
default = "allow"
[[filter.rule]]
name = "of {name}"
action = "deny"
protocol = "udp"
destination_port = {9000 + DENIED[name]}
[inspect]
rules = ["test.rules"]
alerts = "alerts.jsonl"
[ipsec]
sa = "sa.toml"
state = "ledger"
""")
    (folder / "test.rules").write_text(
        f'alert udp any any -> any any (msg:"of {name}"; content:"weir"; sid:{RULE[name]}; rev:1;)\n')
    sa = folder / "sa.toml"
    sa.touch(mode=0o600)
    sa.write_text('default = "discard"\n' + "".join(f"""
[[sa]]
name = "{one}"
spi = {SPI[one]}
direction = "outbound"
suite = "aes-128-gcm-16"
key = "{SPI[one]:032x} 01020304"
mode = "tunnel"
tunnel = {{ source = "198.18.0.1", destination = "198.18.0.2", ttl = {ttl}, dscp = 0 }}
[[policy]]
direction = "outbound"
protocol = "udp"
destination_port = {json.dumps(ports)}
action = "protect"
sa = "{one}"
""" for one, ttl, ports in [(name, 64, "9000-9001"), ("kept", TTL[name], "9002")]))


def protected(capture):
    """What each ESP packet of a capture shows: its flow, SPI, number and outer TTL."""
    with open(capture, "rb") as file:
        file.read(24)
        while len(header := file.read(16)) == 16:
            _, _, kept, wire = struct.unpack("<IIII", header)
            frame = file.read(kept)
            if frame[12:14] != b"\x08\x00" or frame[23] != 50:
                raise Broken(f"no ESP packet left: {frame.hex()}")
            spi, number = struct.unpack_from(">II", frame, 34)
            # An ESP packet is some 60 bytes longer than what is in it.
            flow = max(flow for flow, bytes in enumerate(BYTES) if wire > bytes + 30)
            yield flow, spi, number, frame[22]


def check_capture(capture):
    """By flow and configuration, how many ESP packets there are."""
    counts, last = collections.Counter(), {}
    for flow, spi, number, ttl in protected(capture):
        name = OF_TTL[ttl] if flow == 2 else OF_SPI[spi]
        if (flow == 2) != (spi == SPI["kept"]) or name not in DENIED or DENIED[name] == flow:
            raise Broken(f"flow {flow} left with SPI {spi:#x}, TTL {ttl}: a mixture")
        if number <= last.get(spi, 0):
            raise Broken(f"SPI {spi:#x}: number {number} after {last[spi]}")
        last[spi] = number
        counts[flow, name] += 1
    return counts


def check_alerts(path):
    """By flow and configuration, how many alerts there are; and their generations."""
    counts, generations = collections.Counter(), set()
    with open(path) as lines:
        for line in lines:
            event = json.loads(line)
            if event["event_type"] != "alert":
                continue
            flow, name = event["dest_port"] - 9000, OF_RULE[event["alert"]["signature_id"]]
            generation = event.get("generation") or 0
            if name != "AB"[generation % 2] or DENIED[name] == flow:
                raise Broken(f"flow {flow}, rule of {name}, generation {generation}: a mixture")
            counts[flow, name] += 1
            generations.add(generation)
    return counts, generations


def reload(bench, arguments):
    """Replaces the configuration so often, while the sender sends."""
    slowest = 0
    for generation in range(1, arguments.reloads + 1):
        write_configuration(bench.folder, "AB"[generation % 2])
        began = time.monotonic()
        done = bench.request("reload")
        slowest = max(slowest, time.monotonic() - began)
        if done["generation"] != generation or not done["associations"]["is_complete"]:
            raise Broken(f"reload {generation}: {done}")
        moved = [done["associations"][what] for what in ("kept", "amended", "added", "retired")]
        if moved != [1, 1, 1, 1]:
            raise Broken(f"reload {generation}: {done}")
        balanced(bench.status())
    return slowest


def judge(bench, arguments):
    folder = bench.folder
    # Only a start lets the ledger learn keys: it is to know those of both.
    write_configuration(folder, "B")
    if bench.end(bench.start_weir("--new-key", "all")):
        raise Broken(f"weir ended badly: {bench.log()}")
    write_configuration(folder, "A")
    capture = folder / "out.pcap"
    dump = bench.start("tcpdump", "-i", "d", "-Q", "in", "-s", "64", "-B", "131072", "-U", "-w", capture,
                       stderr=subprocess.PIPE, text=True)
    weir = bench.start_weir("--new-key", "A", "--workers", arguments.workers)
    began = time.monotonic()
    sender = bench.start_sender(arguments.rate, f"--bytes={','.join(map(str, BYTES))}")
    slowest = reload(bench, arguments)
    seconds = time.monotonic() - began
    sent = bench.sent(sender)
    status = bench.settled()
    traffic, (received, missed) = balanced(status), arrived(status)
    if status["lost_events"]:
        raise Broken(f"{status['lost_events']} alerts were lost: the rate is too high for the alerts' file")
    if bench.end(weir):
        raise Broken(f"weir ended with status {weir.returncode}: {bench.log()}")
    time.sleep(0.5)
    bench.end(dump)
    said = dump.stderr.read()
    if "0 packets dropped by kernel" not in said:
        raise Broken(f"tcpdump lost packets: {said}")
    if (received, missed, traffic["packets"]) != (sent, 0, sent):
        raise Broken(f"sent {sent}, received {received}, missed {missed}, {traffic['packets']} packets")
    if any(count for reason, count in traffic["drops"].items() if reason != "filter_denied"):
        raise Broken(f"dropped: {traffic['drops']}")
    esp = check_capture(capture)
    alerts, generations = check_alerts(folder / "alerts.jsonl")
    left = sum(esp.values())
    if left != traffic["forwarded"]:
        raise Broken(f"{traffic['forwarded']} forwarded, but {left} left")
    if esp != alerts:
        raise Broken(f"by flow and configuration: ESP packets {dict(esp)}, alerts {dict(alerts)}")
    figures = ", ".join(f"flow {flow} under {name} {count}" for (flow, name), count in sorted(esp.items()))
    if set(esp) != {(0, "A"), (1, "B"), (2, "A"), (2, "B")}:
        raise Broken(f"not every flow passed under every configuration: {figures}")
    return (f"{arguments.reloads} reloads in {seconds:.0f} s, the slowest {slowest:.1f} s; {sent} packets sent, "
            f"{received} received, {traffic['drops'].get('filter_denied', 0)} denied, {left} left: {figures}; "
            f"{sum(alerts.values())} alerts of {len(generations)} generations; no packet lost, no mixture; "
            f"{arguments.reloads} snapshots balanced")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("sender", type=pathlib.Path)
    parser.add_argument("--reloads", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    what = f"{arguments.reloads} reloads at {arguments.rate} packets/s, workers {arguments.workers}"
    verdict(what, arguments, judge)


if __name__ == "__main__":
    main()

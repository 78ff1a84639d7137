#!/usr/bin/env python3
"""Sensors on a live interface, in interleaved rounds of one run: Weir beside Suricata with the same
rules and outputs, and tcpdump, which only writes packets to a file.

    sensors.py WEIR [--rules PATH] [--rates N,N,...] [--seconds N] [--rounds N] [--json PATH]

WEIR is a release build. Each candidate has an interface of its own and one thread for packets, on
core 1; all are up at once and idle while another one is measured. `weir replay` sends UDP packets of
64 bytes in 1,000 flows from core 0. Each round lasts `--seconds` at each rate; at the rate `max` it
sends as fast as it can. Rows show the CPU time of a candidate's process per packet sent, which leaves out the kernel's
work for the receiving interface (it is the sender's), and what the candidate lost of all rounds by
its own count. Needs root and iproute2. A candidate that is not installed is a row that says
so.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests" / "netlab"), str(PROJECT / "peers" / "suricata")]
import settings
from sites import Missing, run

EXAMPLE_RULES = PROJECT / "examples" / "example.rules"
FLOWS = 1000
# A candidate has this long to take what waits in its ring.
SETTLE_S = 0.3
# Upper limits of Weir's CPU time per packet, divided by that of the other candidate.
TARGETS = {"suricata": 0.6, "tcpdump": 1.5}


def traffic():
    """A capture of UDP packets of 64 bytes with the frame check sequence, one of each flow."""
    capture = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for flow in range(FLOWS):
        payload = bytes(18)
        source = struct.pack(">I", 0x0A000001 + flow)
        destination = struct.pack(">I", 0x0A800001 + flow % 64)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), flow, 0, 64, 17, 0)
        ip = with_checksum(ip + source + destination, 10)
        # No checksum of UDP.
        udp = struct.pack(">HHHH", 20000 + flow, 7000, 8 + len(payload), 0)
        frame = bytes.fromhex("020000000002020000000001" + "0800") + ip + udp + payload
        capture += struct.pack("<IIII", 1_700_000_000, flow, len(frame), len(frame)) + frame
    return capture


def with_checksum(header, at):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:at] + struct.pack(">H", ~total & 0xFFFF) + header[at + 2 :]


class Sensor:
    """A candidate at its interface."""

    def __init__(self, name, folder, arguments):
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        self.namespace = f"weir-{os.getpid()}-{name}"
        self.sent = 0
        run("ip", "netns", "add", self.namespace)
        try:
            run("ip", "link", "add", "source", "netns", self.namespace, "type", "veth",
                "peer", "name", "sensor", "netns", self.namespace)
            for device in ("source", "sensor"):
                run("ip", "link", "set", device, "up", namespace=self.namespace)
                run("sysctl", "-qw", f"net.ipv6.conf.{device}.disable_ipv6=1",
                    namespace=self.namespace, check=False)
            self.log = open(self.folder / "log.txt", "w+")
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, "taskset", "-c", "1",
                 *map(str, COMMANDS[name](self.folder, arguments))],
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            )
            self.wait_until_it_listens()
        except BaseException:
            self.delete()
            raise

    def wait_until_it_listens(self):
        """Until there is a packet socket bound to the interface."""
        deadline = time.monotonic() + 60
        while True:
            if self.process.poll() is not None:
                raise Missing(f"it ended: {self.text()[-300:]}")
            sockets = run("ss", "-0", "-H", namespace=self.namespace).stdout
            if ":sensor" in sockets:
                break
            if time.monotonic() > deadline:
                raise Missing(f"it does not listen: {self.text()[-300:]}")
            time.sleep(0.1)
        time.sleep(1)

    def text(self):
        self.log.flush()
        return (self.folder / "log.txt").read_text(errors="replace")

    def cpu_ns(self):
        """CPU time of all threads so far."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total

    def round_ns(self, capture, rate, packets, weir):
        """Sends packets; the CPU time that each cost, and how many were sent in a second."""
        before = self.cpu_ns()
        replay = run("taskset", "-c", "0", weir, "replay", capture, "-i", "source", "--rate", rate,
                     "--loop", max(1, packets // FLOWS), "--json", "-", "--quiet",
                     namespace=self.namespace)
        report = json.loads(replay.stdout)
        time.sleep(SETTLE_S)
        self.sent += report["sent"]
        return (self.cpu_ns() - before) / report["sent"], report["packets_per_s"]

    def end(self):
        """Ends the candidate; how many packets it says it saw."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return SEEN[self.name](self.folder, self.text())

    def delete(self):
        with contextlib.suppress(AttributeError):
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        run("ip", "netns", "del", self.namespace, check=False)


def weir_command(folder, arguments):
    return [arguments.weir, "inspect", "-i", "sensor", "--rules", arguments.rules,
            "--eve", folder / "eve.json", "--json", folder / "report.json", "--quiet",
            *settings.variables_for_weir()]


def weir_seen(folder, _):
    report = json.loads((folder / "report.json").read_text())
    return report["packets"]


def suricata_command(folder, arguments):
    if not settings.program():
        raise Missing("Suricata is not installed")
    (folder / "log").mkdir()
    ring = {"interface": "sensor", "threads": 1, "use-mmap": "yes", "tpacket-v3": "yes",
            "block-size": 1 << 20, "ring-size": 100_000}
    command = settings.suricata([arguments.rules], folder, True, "all")
    command += ["--af-packet=sensor"]
    for key, value in ring.items():
        command += ["--set", f"af-packet.0.{key}={value}"]
    return command


def suricata_seen(folder, text):
    logs = text + "".join(path.read_text() for path in (folder / "log").glob("suricata.log"))
    counts = re.findall(r"packets: (\d+), drops: (\d+)", logs)
    received, dropped = map(int, counts[-1])
    return received - dropped


def tcpdump_command(folder, _):
    program = shutil.which("tcpdump")
    if not program:
        raise Missing("tcpdump is not installed")
    return [program, "-i", "sensor", "-B", 64 << 10, "-Z", "root", "-w", folder / "all.pcap"]


def tcpdump_seen(_, text):
    return int(re.search(r"(\d+) packets captured", text)[1])


COMMANDS = {"weir": weir_command, "suricata": suricata_command, "tcpdump": tcpdump_command}
SEEN = {"weir": weir_seen, "suricata": suricata_seen, "tcpdump": tcpdump_seen}


def at_rate(rate, arguments, folder):
    """Rows of all candidates at one rate."""
    capture = folder / "traffic.pcap"
    capture.write_bytes(traffic())
    sensors, rows = [], []
    try:
        for name in COMMANDS:
            try:
                sensors.append(Sensor(name, folder, arguments))
            except Missing as missing:
                rows.append({"sensor": name, "rate": rate, "missing": str(missing)})
        packets = int((1_000_000 if rate == "max" else int(rate)) * arguments.seconds)
        for sensor in sensors:
            sensor.round_ns(capture, rate, packets, arguments.weir)
        rounds = [
            [sensor.round_ns(capture, rate, packets, arguments.weir) for sensor in sensors]
            for _ in range(arguments.rounds)
        ]
        own = [cpu for cpu, _ in (of_round[0] for of_round in rounds)]
        for index, sensor in enumerate(sensors):
            cpu_ns = [of_round[index][0] for of_round in rounds]
            ratios = [mine / other for mine, other in zip(own, cpu_ns)]
            rows.append({
                "sensor": sensor.name,
                "rate": rate,
                "packets_per_s": statistics.median(of_round[index][1] for of_round in rounds),
                "cpu_ns_per_packet": statistics.quantiles(cpu_ns, n=4),
                "weir_cpu_ratio": statistics.quantiles(ratios, n=4),
                "sent": sensor.sent,
                "lost": sensor.sent - sensor.end(),
            })
    finally:
        for sensor in sensors:
            sensor.delete()
    return rows


def show(row):
    head = f"{row['sensor']:9} {row['rate']:>8}"
    if "missing" in row:
        return f"{head}  {row['missing']}"
    low, middle, high = row["cpu_ns_per_packet"]
    line = (f"{head} {row['packets_per_s']:>9.0f}/s  CPU {middle:7.1f} ns ({low:.1f} to {high:.1f})"
            f"  lost {row['lost']} of {row['sent']}")
    target = TARGETS.get(row["sensor"])
    if target is None:
        return line
    low, middle, high = row["weir_cpu_ratio"]
    verdict = "met" if low <= target else "not met"
    return f"{line}  Weir's CPU / its {middle:.2f} ({low:.2f} to {high:.2f}), target {target}: {verdict}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("--rules", type=pathlib.Path, default=EXAMPLE_RULES)
    parser.add_argument("--rates", default="100000,300000,max")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.weir = arguments.weir.resolve()
    rows = []
    for rate in arguments.rates.split(","):
        with tempfile.TemporaryDirectory() as folder:
            of_rate = at_rate(rate, arguments, pathlib.Path(folder))
        for row in of_rate:
            print(show(row), flush=True)
        rows += of_rate
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

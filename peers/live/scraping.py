#!/usr/bin/env python3
"""What it costs a live gateway to be watched and reloaded.

    scraping.py WEIR SENDER [--rounds N] [--seconds N] [--json PATH]

WEIR and SENDER (`weir-send` of `weir-live-peers`) are release builds. In a network namespace the sender
sends frames of 64 bytes as fast as it can to one end of a cable; `weir run` filters them and sends them on
to a second cable. In every other run status, metrics and a reload are requested once a second. Runs take
turns; the first round warms up.

The last line gives the packet rate with requests as a share of that without: median, and quartiles of the
rounds. Needs root, iproute2 and Python.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

from bench import Broken, verdict
from endurance import configuration, left

MOST_PACKETS_PER_S = 10_000_000
METRICS = "127.0.0.1:9898"
# In the namespace, a request for each line of its input: its own start costs the gateway nothing.
SCRAPER = f"""
import sys, urllib.request
for line in sys.stdin:
    with urllib.request.urlopen("http://{METRICS}/metrics", timeout=30) as response:
        print(len(response.read()), flush=True)
"""


def rate(bench, seconds, request):
    """Packets per second that leave the second cable, while `request` is called once a second."""
    before, began = left(bench), time.monotonic()
    sender = bench.start_sender(MOST_PACKETS_PER_S, f"--seconds={seconds}")
    while sender.poll() is None:
        request()
        try:
            sender.wait(max(0, 1 - (time.monotonic() - began) % 1))
        except subprocess.TimeoutExpired:
            continue
    bench.sent(sender)
    bench.settled()
    return (left(bench) - before) / seconds


def judge(bench, arguments):
    configuration(bench.folder, "forward", "interface")
    bench.run("ip", "link", "set", "dev", "lo", "up")
    weir = bench.start_weir("--metrics", METRICS)
    scraper = bench.start("python3", "-c", SCRAPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def requests():
        bench.status()
        scraper.stdin.write("\n")
        scraper.stdin.flush()
        if int(scraper.stdout.readline()) < 1000:
            raise Broken("there are no metrics")
        bench.request("reload")

    quiet, watched = [], []
    for _ in range(arguments.rounds + 1):
        quiet.append(rate(bench, arguments.seconds, lambda: None))
        watched.append(rate(bench, arguments.seconds, requests))
    if bench.end(weir):
        raise Broken(f"weir ended with status {weir.returncode}: {bench.log()}")
    quiet, watched = quiet[1:], watched[1:]
    shares = [with_requests / without for with_requests, without in zip(watched, quiet)]
    lower, median, upper = statistics.quantiles(shares, n=4, method="inclusive")
    if arguments.json:
        arguments.json.write_text(json.dumps(
            {"packets_per_s": quiet, "packets_per_s_with_requests": watched, "share": [lower, median, upper]}))
    return (f"{statistics.median(quiet):.0f} packets/s, with requests {statistics.median(watched):.0f}: "
            f"{median:.3f} ({lower:.3f}-{upper:.3f}) of the rate")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("sender", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    verdict(f"status, metrics and a reload every second, {arguments.rounds} rounds", arguments, judge)


if __name__ == "__main__":
    main()

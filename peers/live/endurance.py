#!/usr/bin/env python3
"""Live packets at the highest rate without loss, for a long time.

    endurance.py WEIR SENDER [--seconds N] [--work forward|sensor] [--port interface|xdp]
                 [--rate PACKETS_PER_S] [--share X]

WEIR and SENDER (`weir-send` of `weir-live-peers`) are release builds. In a network namespace the sender
sends frames of 64 bytes to one end of a cable; `weir run` receives them at the other. `forward` filters
them and sends them on to a second cable; `sensor` filters and inspects them. Ports are packet sockets
(AF_PACKET) or AF_XDP.

First the highest rate is searched at which bursts of two seconds pass without loss; the run then holds a
share of it (--share), or what --rate says. It must hold that

- in every status, one a second, packets = forwarded + dropped,
- received + missed = what the sender sent, and missed = 0: no packet is lost,
- with `forward`, as many packets leave the second cable as were received,
- resident memory grows by at most 1 MiB after the first tenth of the time.

The last line is the verdict, with figures. Needs root and iproute2.
"""

import argparse
import pathlib
import time

from bench import Broken, arrived, balanced, resident_kib, verdict

MOST_GROWTH_KIB = 1024
BURST_S = 2
# Packets per second that are tried, the highest first.
RATES = [int(1_000_000 * 0.8**step) for step in range(28)]

RULES = 'alert udp any any -> any 9000 (msg:"never"; content:"not in these packets"; sid:1; rev:1;)\n'


def configuration(folder, work, kind):
    (folder / "test.rules").write_text(RULES)
    port = '[[port]]\nname = "{}"\nkind = "{}"\nside = "plain"\ninterface = "{}"\n'
    text = port.format("in", kind, "b")
    if work == "forward":
        text += port.format("out", kind, "c")
        text += '[pipeline.forth]\nfrom = "in"\nto = "out"\nstages = ["filter"]\n'
    else:
        text += '[pipeline.sensor]\nfrom = "in"\nstages = ["filter", "inspect"]\n'
        text += '[inspect]\nrules = ["test.rules"]\n'
    text += '[filter]\ndefault = "allow"\n'
    (folder / "weir.toml").write_text(text)


def left(bench):
    """Packets that came out of the second cable."""
    path = "/sys/class/net/d/statistics/rx_packets"
    return int(bench.output("cat", path))


class Counts:
    """What was counted since the last status without traffic."""

    def __init__(self, bench, work):
        self.bench, self.work = bench, work
        self.before = self.read(bench.settled())

    def read(self, status):
        traffic = balanced(status)
        out = left(self.bench) if self.work == "forward" else 0
        return (*arrived(status), traffic["packets"], sum(traffic["drops"].values()), out)

    def since(self):
        now = self.read(self.bench.settled())
        difference = [after - before for after, before in zip(now, self.before)]
        self.before = now
        return difference


def check(sent, counts, work):
    """What is wrong with the counts of a run, or None."""
    received, missed, packets, dropped, out = counts
    if received + missed != sent:
        return f"sent {sent}, received {received} + missed {missed}: {sent - received - missed} are unaccounted for"
    if missed or packets != received:
        return f"received {received}, missed {missed}, processed {packets}"
    if dropped:
        return f"{dropped} dropped"
    if work == "forward" and out != received:
        return f"received {received}, but {out} left"
    return None


def highest_rate(bench, counts, work):
    """The highest rate at which two bursts in a row pass without loss."""
    for rate in RATES:
        for _ in range(2):
            began = time.monotonic()
            sent = bench.sent(bench.start_sender(rate, f"--seconds={BURST_S}"))
            wrong = check(sent, counts.since(), work)
            # The sender may be slower than it should be.
            reached = sent / BURST_S
            print(f"{rate} packets/s: sent {reached:.0f}, {wrong or 'no loss'}, "
                  f"{time.monotonic() - began:.1f} s", flush=True)
            if wrong:
                break
        else:
            return int(reached)
    raise Broken(f"packets are lost at {RATES[-1]} packets/s too")


def hold(bench, counts, arguments, rate):
    sender = bench.start_sender(rate, f"--seconds={arguments.seconds}")
    began = time.monotonic()
    snapshots, resident, warm = 0, 0, None
    while sender.poll() is None:
        status = bench.status()
        balanced(status)
        snapshots += 1
        resident = resident_kib(status)
        if warm is None and time.monotonic() - began > arguments.seconds / 10:
            warm = most = resident
        if warm is not None:
            most = max(most, resident)
        time.sleep(1)
    sent = bench.sent(sender)
    result = counts.since()
    figures = (f"{sent} packets sent in {arguments.seconds} s ({sent / arguments.seconds:.0f} packets/s), "
               f"received {result[0]} + missed {result[1]}; {snapshots} snapshots balanced")
    wrong = check(sent, result, arguments.work)
    if wrong:
        raise Broken(f"{wrong}; {figures}")
    if warm is None:
        raise Broken("no status came after the warm-up")
    figures += f"; resident {warm} KiB after the warm-up, at most {most} KiB later"
    if most - warm > MOST_GROWTH_KIB:
        raise Broken(f"memory grew; {figures}")
    return figures


def endure(bench, arguments):
    configuration(bench.folder, arguments.work, arguments.port)
    weir = bench.start_weir()
    counts = Counts(bench, arguments.work)
    rate = arguments.rate
    found = ""
    if rate is None:
        highest = highest_rate(bench, counts, arguments.work)
        rate = int(highest * arguments.share)
        found = f"; highest rate of bursts without loss {highest} packets/s"
    figures = hold(bench, counts, arguments, rate)
    if bench.end(weir):
        raise Broken(f"weir ended with status {weir.returncode}: {bench.log()}")
    return figures + found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weir", type=pathlib.Path)
    parser.add_argument("sender", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--work", choices=["forward", "sensor"], default="forward")
    parser.add_argument("--port", choices=["interface", "xdp"], default="interface")
    parser.add_argument("--rate", type=int, help="packets per second; without it, a search")
    parser.add_argument("--share", type=float, default=0.7,
                        help="of the rate that was found, for what else this machine does; 0.7")
    arguments = parser.parse_args()
    what = f"endurance of {arguments.seconds} s, {arguments.work}, {arguments.port}"
    verdict(what, arguments, endure)


if __name__ == "__main__":
    main()

"""Replay and record over a pair of interfaces, beside tcpdump: every packet, in order, unchanged."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import peers
from peers import check

CAPTURE = peers.EXAMPLES / "traffic.pcapng"
NUMBERS = itertools.count()


class Namespace:
    """A network namespace with two connected interfaces, `a` and `b`."""

    def __init__(self):
        self.name = f"weir-live-{os.getpid()}-{next(NUMBERS)}"
        done = subprocess.run(["ip", "netns", "add", self.name], capture_output=True, text=True)
        if done.returncode != 0:
            raise peers.Skip(f"there are no network namespaces: {done.stderr.strip()}")

    def ip(self, arguments):
        done = subprocess.run(["ip", "-n", self.name, *arguments.split()], capture_output=True, text=True)
        check(done.returncode == 0, f"ip {arguments}: {done.stderr.strip()}")

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.name, *map(str, arguments)]

    def add_pair(self):
        self.ip("link add name a type veth peer name b")
        self.ip("link set dev a up")
        self.ip("link set dev b up")

    def weir(self, *arguments):
        """Runs weir to its end: its exit status and standard error."""
        command = self.command(peers.need_weir(), *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr.strip()


@contextlib.contextmanager
def namespace():
    peers.need_program("ip")
    space = Namespace()
    try:
        # No packets but those of the tests.
        quiet = "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
        subprocess.run(space.command("sh", "-c", quiet), check=True)
        space.add_pair()
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as reports:
            space.reports = pathlib.Path(reports)
            yield space, pathlib.Path(folder)
    finally:
        subprocess.run(["ip", "netns", "delete", space.name], check=False)


class Recorder:
    """A `weir record` at work."""

    def __init__(self, space, target, *options, first=None, interface="b"):
        self.json = space.reports / f"{next(NUMBERS)}.json"
        command = space.command(
            peers.need_weir(), "record", "-i", interface, target, "--json", self.json, "--quiet", *options
        )
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        first = first or target
        # The interface is opened before the file is made.
        peers.until(lambda: first.exists() or self.process.poll() is not None, f"{first} exists")

    def end(self, with_signal=None, status=0):
        """Its document, once it has ended."""
        if with_signal is not None:
            self.process.send_signal(with_signal)
        _, error = self.process.communicate(timeout=120)
        check(self.process.returncode == status, f"weir record exits {self.process.returncode}: {error}")
        self.error = error.strip()
        return json.loads(self.json.read_text())


def frames(*paths):
    from scapy.utils import rdpcap

    return [frame for path in paths for frame in rdpcap(str(path))]


def contents(*paths):
    return [bytes(frame) for frame in frames(*paths)]


def replay(space, capture, *options, status=0):
    """Sends a capture to `a`: the document."""
    report = space.reports / f"{next(NUMBERS)}.json"
    found, error = space.weir("replay", capture, "-i", "a", "--json", report, "--quiet", *options)
    check(found == status, f"weir replay exits {found}: {error}")
    return json.loads(report.read_text())


def generate(folder, packets, *options):
    path = folder / f"generated-{next(NUMBERS)}.pcap"
    status, error = peers.weir("generate", path, "--packets", packets, "--quiet", *options)
    check(status == 0, f"weir generate exits {status}: {error}")
    return path


def described(command):
    """The members of a command's documents in docs/json.md."""
    page = (peers.ROOT / "docs" / "json.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    both = sections["Every document"] + sections[command]
    return set(re.findall(r"^\| `([^`]+)` \|", both, re.MULTILINE))


def members(document):
    found = set(document)
    for name, value in document.items():
        if isinstance(value, list):
            found |= {f"{name}[].{member}" for row in value for member in row}
    return found


def the_other_end_records_what_is_sent():
    sent = contents(CAPTURE)
    with namespace() as (space, folder):
        # The capture has packets that were larger than a wire's before the interface cut them.
        space.ip("link set dev a mtu 65535")
        space.ip("link set dev b mtu 65535")
        peer = subprocess.Popen(
            space.command("tcpdump", "-Z", "root", "-i", "b", "-U", "-c", len(sent), "-w", folder / "peer.pcap"),
            stderr=subprocess.PIPE,
            text=True,
        )
        heard = peer.stderr.readline()
        check("listening on" in heard, f"tcpdump reports: {heard.strip()}")
        counted = Recorder(space, folder / "counted.pcapng", "--count", len(sent))
        stopped = Recorder(space, folder / "stopped.pcap")
        outgoing = Recorder(space, folder / "outgoing.pcapng", "--count", len(sent), interface="a")
        document = replay(space, CAPTURE, "--rate", 4000)
        check(document["sent"] == len(sent) and not document["drops"], f"of {len(sent)}: {document}")
        check(members(document) == described("replay"), f"{members(document) ^ described('replay')}")
        found = counted.end()
        check((found["packets"], found["missed"]) == (len(sent), 0), found)
        check(members(found) == described("record"), f"{members(found) ^ described('record')}")
        check(not found["interrupted"], found)
        outgoing.end()
        found = stopped.end(signal.SIGTERM)
        check(found["interrupted"] and found["packets"] == len(sent), found)
        check(found["files"][0]["packets"] == len(sent), found)
        peer.wait(timeout=60)
        peer.stderr.close()
        for name in ("counted.pcapng", "stopped.pcap", "outgoing.pcapng", "peer.pcap"):
            check(contents(folder / name) == sent, f"{name} has other packets than were sent")
        times = [frame.time for frame in frames(folder / "counted.pcapng")]
        check(times == sorted(times) and times[0] > 1_600_000_000, "times do not increase")


def packets_keep_their_tags():
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
    from scapy.utils import wrpcap

    inner = IP(src="198.18.1.1", dst="198.18.2.1") / UDP(sport=1, dport=2) / (b"x" * 64)
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    sent = [ether / Dot1Q(vlan=7, prio=3) / inner, ether / Dot1AD(vlan=9) / Dot1Q(vlan=7) / inner, ether / inner]
    with namespace() as (space, folder):
        wrpcap(str(folder / "tagged.pcap"), sent)
        recorder = Recorder(space, folder / "out.pcapng", "--count", 3)
        replay(space, folder / "tagged.pcap", "--rate", "max")
        recorder.end()
        check(contents(folder / "out.pcapng") == [bytes(frame) for frame in sent], "tags are changed")
        tags = peers.tshark(folder / "out.pcapng", "vlan", ["vlan.id"])
        check(tags == [["7"], ["7"]] or tags == [["7"], ["9"]], f"tshark finds the tags {tags}")


def recordings_are_cut_and_ended():
    with namespace() as (space, folder):
        generated = generate(folder, 50, "--sizes", "fixed:1000")
        # A recording without a packet is a valid capture.
        quiet = Recorder(space, folder / "quiet.pcapng", "--seconds", "0.2")
        found = quiet.end()
        check(found["packets"] == 0 and not found["interrupted"], found)
        check(peers.weir("measure", folder / "quiet.pcapng", "--quiet")[0] == 0, "the empty capture is refused")
        # --snaplen cuts, and keeps the lengths.
        cut = Recorder(space, folder / "cut.pcap", "--snaplen", "96", "--count", "50")
        replay(space, generated, "--rate", "max")
        found = cut.end()
        check(found["bytes"] == 50 * 96 and found["wire_bytes"] == 50 * 1014, found)
        check(all(len(frame) == 96 and frame.wirelen == 1014 for frame in frames(folder / "cut.pcap")), "lengths")
        # Standard output is a stream.
        command = space.command(peers.need_weir(), "record", "-i", "b", "-", "--count", "50", "--quiet")
        stream = subprocess.Popen(command, stdout=subprocess.PIPE)
        # The file's header comes first, when the interface is open.
        stream.stdout.peek(1)
        replay(space, generated, "--rate", "max")
        (folder / "stream.pcapng").write_bytes(stream.stdout.read())
        stream.stdout.close()
        check(stream.wait(timeout=60) == 0, f"weir record exits {stream.returncode}")
        check(contents(folder / "stream.pcapng") == contents(generated), "standard output differs")


def files_rotate_and_old_ones_go():
    with namespace() as (space, folder):
        generated = generate(folder, 200, "--sizes", "fixed:1000")
        sent = contents(generated)
        # What an earlier recording left counts too.
        old = folder / "live.000004.pcapng"
        old.write_bytes(b"old")
        options = ("--rotate-bytes", "25000", "--keep", "3", "--count", "200")
        recorder = Recorder(space, folder / "live.pcapng", *options, first=folder / "live.000005.pcapng")
        replay(space, generated, "--rate", "max")
        found = recorder.end()
        check(found["packets"] == 200 and found["files_total"] == 9, found)
        check(sum(row["packets"] for row in found["files"]) == 200, found)
        left = sorted(folder.glob("live.0*.pcapng"))
        names = [path.name for path in left]
        check(names == ["live.000011.pcapng", "live.000012.pcapng", "live.000013.pcapng"], f"left are {names}")
        check(all(path.stat().st_size <= 25000 for path in left), "a file is too large")
        tail = contents(*left)
        check(tail == sent[-len(tail) :], "the newest files do not have the last packets")
        # By the clock, also while nothing comes.
        options = ("--rotate-seconds", "0.2", "--seconds", "1.1")
        recorder = Recorder(space, folder / "clock.pcap", *options, first=folder / "clock.000001.pcap")
        found = recorder.end()
        check(found["files_total"] > 1 and (folder / "clock.000002.pcap").exists(), found)


def a_file_that_was_moved_is_opened_again():
    with namespace() as (space, folder):
        generated = generate(folder, 100)
        live, moved = folder / "live.pcapng", folder / "moved.pcapng"
        recorder = Recorder(space, live, "--count", "200")
        replay(space, generated, "--rate", "max")
        peers.until(lambda: live.stat().st_size > 5000, "the first packets are in the file")
        # Without a move the file goes on.
        recorder.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        live.rename(moved)
        recorder.process.send_signal(signal.SIGHUP)
        peers.until(live.exists, "the file is there again")
        replay(space, generated, "--rate", "max")
        found = recorder.end()
        check(found["files_total"] == 2 and found["packets"] == 200, found)
        check(contents(moved) == contents(live) == contents(generated), "packets are lost")


def a_full_disk_is_told_and_what_was_written_remains():
    with namespace() as (space, folder):
        generated = generate(folder, 2000, "--sizes", "fixed:1000")
        disk = folder / "disk"
        disk.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, text=True)
        if done.returncode != 0:
            raise peers.Skip(f"nothing can be mounted: {done.stderr.strip()}")
        try:
            target = disk / "live.pcap"
            recorder = Recorder(space, target, "--count", "2000")
            replay(space, generated, "--rate", "20000")
            found = recorder.end(status=1)
            error = recorder.error
            check("live.pcap: appending failed at byte" in error and "what was written before remains" in error, error)
            kept = contents(target)
            check(0 < len(kept) < 2000 and kept == contents(generated)[: len(kept)], f"{len(kept)} are kept")
            rows = [row["packets"] for row in found["files"]]
            check(rows == [len(kept)] and found["unwritten"] == found["packets"] - len(kept) > 0, found)
            status, error = peers.weir("measure", target, "--quiet")
            check(status == 0, f"the capture is damaged: {error}")
        finally:
            subprocess.run(["umount", disk], check=True)
        # A device that is full from the beginning.
        report = folder / "full.json"
        command = ["record", "-i", "b", "/dev/full", "--json", report, "--quiet"]
        status, error = space.weir(*command)
        check(status == 1 and "No space left" in error, f"{status}: {error}")
        found = json.loads(report.read_text())
        check(found["unwritten"] == found["packets"] and found["files"][0]["packets"] == 0, found)


def a_recording_outlives_its_interface():
    with namespace() as (space, folder):
        generated = generate(folder, 100)
        target = folder / "live.pcapng"
        recorder = Recorder(space, target)
        size = 0

        def pass_all():
            nonlocal size
            # Until it is open again, packets are lost: the first that arrives shows that it is.
            before = size
            def grown():
                nonlocal size
                replay(space, generated, "--rate", "max")
                time.sleep(1.2)
                size = target.stat().st_size
                return size > before
            peers.until(grown, "packets are recorded")

        pass_all()
        space.ip("link set dev b down")
        space.ip("link set dev b up")
        pass_all()
        space.ip("link delete dev a")
        space.add_pair()
        pass_all()
        found = recorder.end(signal.SIGINT)
        check(found["interrupted"] and found["packets"] >= 300, found)
        recorded = contents(target)
        check(set(recorded) == set(contents(generated)) and len(recorded) == found["packets"], "other packets")


def what_cannot_be_sent_is_counted():
    from scapy.layers.inet import IP
    from scapy.utils import wrpcap

    with namespace() as (space, folder):
        generated = generate(folder, 100, "--sizes", "fixed:1000")
        document = replay(space, generated, "--rate", "max", "--loop", "3")
        check((document["sent"], document["loops"], document["drops"]) == (300, 3, {}), document)
        # Times of the capture: 100 packets at 1,000 a second.
        document = replay(space, generate(folder, 100, "--rate", "1000"))
        check(document["sent"] == 100 and document["packets_per_s"] < 2000, document)
        space.ip("link set dev a mtu 600")
        document = replay(space, generated, "--rate", "max", status=1)
        check((document["sent"], document["drops"]) == (0, {"too_long": 100}), document)
        space.ip("link set dev a down")
        document = replay(space, generate(folder, 10, "--sizes", "fixed:100"), status=1)
        check((document["sent"], document["drops"]) == (0, {"port_down": 10}), document)
        space.ip("link set dev a up")
        # Cut packets are sent as they are; a cut capture is sent as far as it is whole.
        cut = folder / "cut.pcap"
        cut.write_bytes(generate(folder, 10, "--sizes", "fixed:100").read_bytes()[:-1])
        document = replay(space, cut, "--loop", "2", status=1)
        check(document["truncated"] and document["sent"] == 9, document)
        raw = folder / "raw.pcap"
        wrpcap(str(raw), [IP(src="198.18.1.1", dst="198.18.2.1")])
        for arguments, words in [
            ((raw, "-i", "a"), "only Ethernet captures can be sent"),
            ((generated, "-i", "nosuch"), "there is no network interface nosuch"),
            (("-", "-i", "a", "--loop", "2"), "standard input can be sent once only"),
            ((generated, "-i", "a", "--rate", "0"), "packets per second"),
        ]:
            status, error = space.weir("replay", *arguments)
            check(status == 2 and words in error and len(error.splitlines()) == 1, f"{status}: {error}")
        for arguments, words in [
            (("-i", "nosuch", folder / "x.pcap"), "there is no network interface nosuch"),
            (("-i", "b", "-", "--rotate-bytes", "100"), "only files can be rotated"),
            (("-i", "b", folder / "x.pcap", "--keep", "2"), "--keep is for rotated files"),
            (("-i", "b", folder / "no" / "x.pcap"), "does not exist"),
            (("-i", "b", folder / "x.pcap.gz"), "read but not written"),
        ]:
            status, error = space.weir("record", *arguments)
            check(status == 2 and words in error and len(error.splitlines()) == 1, f"{status}: {error}")


def with_peers(test):
    def guarded():
        peers.need_weir()
        peers.need_scapy()
        peers.need_program("tcpdump")
        peers.need_program("tshark")
        test()

    return guarded


TESTS = [
    ("the other end records what is sent", the_other_end_records_what_is_sent),
    ("packets keep their tags", packets_keep_their_tags),
    ("recordings are cut and ended", recordings_are_cut_and_ended),
    ("files rotate and old ones go", files_rotate_and_old_ones_go),
    ("a file that was moved is opened again", a_file_that_was_moved_is_opened_again),
    ("a full disk is told, and what was written remains", a_full_disk_is_told_and_what_was_written_remains),
    ("a recording outlives its interface", a_recording_outlives_its_interface),
    ("what cannot be sent is counted", what_cannot_be_sent_is_counted),
]

if __name__ == "__main__":
    sys.exit(peers.run((name, with_peers(test)) for name, test in TESTS))

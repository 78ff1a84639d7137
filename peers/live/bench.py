"""One Weir in a network namespace between two cables, a - b and c - d, and a sender at `a`. For
`endurance.py` and `reloads.py`, as root.
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

CABLES = [("a", "b"), ("c", "d")]
STARTS_WITHIN_S = 20


class Broken(Exception):
    """What should hold and does not."""


class Bench:
    def __init__(self, folder, weir, sender):
        self.folder, self.weir, self.sender = folder, weir.absolute(), sender.absolute()
        self.namespace = f"weir-{os.getpid()}-bench"
        self.socket = folder / "control"
        self.processes = []

    def __enter__(self):
        self.ip("netns", "add", self.namespace)
        try:
            # There are no packets but those of the sender.
            self.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
            for one, other in CABLES:
                self.ip("-n", self.namespace, "link", "add", "name", one, "type", "veth",
                            "peer", "name", other)
                for end in (one, other):
                    self.ip("-n", self.namespace, "link", "set", "dev", end, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            self.end(process)
        subprocess.run(["ip", "netns", "del", self.namespace], check=False)

    @staticmethod
    def ip(*words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def inside(self, words):
        return ["ip", "netns", "exec", self.namespace, *map(str, words)]

    def run(self, *words):
        subprocess.run(self.inside(words), check=True, capture_output=True)

    def output(self, *words):
        done = subprocess.run(self.inside(words), check=True, capture_output=True, text=True)
        return done.stdout

    def start(self, *words, **options):
        process = subprocess.Popen(
            self.inside(words), **{"stdin": subprocess.DEVNULL, **options}, start_new_session=True)
        self.processes.append(process)
        return process

    @staticmethod
    def end(process):
        """Asks a program to end: its exit status."""
        # It is a child of what entered the namespace, and has its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            return process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()

    def start_weir(self, *options):
        """Starts `weir run` with the configuration `weir.toml` of the folder."""
        log = open(self.folder / "weir.log", "w")
        process = self.start(self.weir, "run", self.folder / "weir.toml", "--quiet",
                             f"--control={self.socket}", *options, stdout=log, stderr=log)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError):
                queues = self.status()["queues"]
                if queues and all(queue["state"] == "up" for queue in queues):
                    return process
            time.sleep(0.1)
        raise Broken(f"weir does not start: {self.log()}")

    def log(self):
        return (self.folder / "weir.log").read_text().strip()

    def request(self, command):
        """What the control socket answers to a command."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(self.socket))
            client.sendall(json.dumps({"command": command}).encode() + b"\n")
            with client.makefile() as lines:
                response = json.loads(lines.readline())
        if "error" in response:
            raise Broken(f"{command}: {response['error']}")
        return response["result"]

    def status(self):
        return self.request("status")

    def start_sender(self, rate, *options):
        """Without `--seconds`, it sends until `sent` is called."""
        return self.start(self.sender, "a", f"--rate={rate}", *options,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def sent(self, sender):
        """Waits for a sender's end: how many packets it sent."""
        text, _ = sender.communicate()
        self.processes.remove(sender)
        if sender.returncode:
            raise Broken(f"the sender ended with status {sender.returncode}")
        return json.loads(text)["sent"]

    def settled(self):
        """A status after which no packet comes: counters of ports are read ten times a second."""
        before = None
        while True:
            status = self.status()
            now = (status["packets"], arrived(status))
            if now == before:
                return status
            before = now
            time.sleep(0.5)


def verdict(what, arguments, judge):
    """Runs `judge` on a bench and prints the verdict with its figures; the exit status is 1 where
    something is broken."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Bench(pathlib.Path(folder), arguments.weir, arguments.sender) as bench:
                figures = judge(bench, arguments)
        except Broken as error:
            print(f"{what}: failed: {error}")
            sys.exit(1)
    print(f"{what}: passed: {figures}")


def arrived(status):
    """What the receiving queues received and missed."""
    queues = [queue["rx"] for queue in status["queues"] if queue["rx"]]
    return sum(rx["received"] for rx in queues), sum(rx["missed"] for rx in queues)


def balanced(status):
    """Checks that every packet of a status is accounted for."""
    traffic, balance = status["traffic"], status["balance"]
    if traffic is None:
        raise Broken("weir says that its accounts do not balance")
    came = traffic["packets"] + balance["created"]
    went = traffic["forwarded"] + sum(traffic["drops"].values()) + sum(
        balance[what] for what in ("held", "absorbed", "between_workers"))
    if came != went:
        raise Broken(f"{came} packets came, {went} are accounted for: {traffic}, {balance}")
    return traffic


def resident_kib(status):
    text = pathlib.Path(f"/proc/{status['pid']}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:"))

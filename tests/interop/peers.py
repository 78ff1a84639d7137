"""What the interoperability tests share: finding the peers, running them, counting checks."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


class Skip(Exception):
    """A test cannot be done here; the text says why."""


class Failure(Exception):
    """A check did not hold; the text says what was found."""


def check(condition, found):
    if not condition:
        raise Failure(found)


def until(condition, what):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise Failure(f"not within a minute: {what}")


def free_port():
    """One of this host that nobody listens at, for a server that is started next."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def until_it_listens(process, port, name):
    """Waits until a server that was started takes connections."""

    def is_up():
        check(process.poll() is None, f"{name} ends")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return False
        return True

    until(is_up, f"{name} answers")


def need_program(name):
    path = shutil.which(name)
    if path is None:
        raise Skip(f"{name} is not installed")
    return path


def need_scapy():
    # Without a route to anywhere scapy warns about it; no packet is sent here.
    os.environ.setdefault("SCAPY_USE_LIBPCAP", "no")
    try:
        import cryptography  # noqa: F401
        import scapy.all  # noqa: F401
        import scapy.layers.ipsec  # noqa: F401
    except ImportError as missing:
        raise Skip(f"scapy cannot be used: {missing}") from None


def need_weir():
    path = os.environ.get("WEIR")
    if not path:
        raise Skip("WEIR does not name a built weir program")
    if not os.access(path, os.X_OK):
        raise Failure(f"WEIR={path} is not a program")
    return path


def tshark(capture, display_filter, fields, options=(), decode_as=()):
    """The rows of `fields` of the packets of `capture` that pass `display_filter`."""
    command = [need_program("tshark"), "-n", "-r", str(capture), "-Y", display_filter]
    for option in options:
        command += ["-o", option]
    for rule in decode_as:
        command += ["-d", rule]
    command += ["-T", "fields", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"tshark exits {done.returncode}: {done.stderr.strip()[-300:]}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def weir(*arguments):
    """Runs weir; its exit status and standard error."""
    command = [need_weir(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


def run(tests):
    """Runs (name, function) pairs, prints a line for each and one for all; 1 if one failed.

    Where the peers are known to be there, WEIR_REQUIRE_PEERS=1 makes of every skip a failure.
    """
    passed = failed = skipped = 0
    for name, test in tests:
        try:
            with contextlib.redirect_stderr(sys.stdout):
                test()
        except Skip as reason:
            if os.environ.get("WEIR_REQUIRE_PEERS") == "1":
                failed += 1
                print(f"FAILED  {name}: required, but {reason}", flush=True)
            else:
                skipped += 1
                print(f"skipped {name}: {reason}", flush=True)
        except Failure as found:
            failed += 1
            print(f"FAILED  {name}: {found}", flush=True)
        else:
            passed += 1
            print(f"ok      {name}", flush=True)
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}", flush=True)
    return 1 if failed else 0

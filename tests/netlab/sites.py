"""Two sites, `left` and `right`, each a network namespace, connected by a cable or by the relay; and
the Weir gateways with static keys that connect them by a tunnel. For tests, as root.
"""

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import time
import typing

OUTER = {"left": "198.18.0.1", "right": "198.18.0.2"}
OUTER6 = {"left": "fd18::1", "right": "fd18::2"}
INNER = {"left": "10.77.0.1", "right": "10.77.0.2"}
INNER6 = {"left": "fd77::1", "right": "fd77::2"}
OTHER = {"left": "right", "right": "left"}
# Of the tunnels' devices: ESP and WireGuard in UDP fit 1,500 bytes with it.
INNER_MTU = 1400


class Missing(Exception):
    """Why a tunnel cannot be."""


def run(*words, namespace=None, check=True, **options):
    if namespace:
        words = ("ip", "netns", "exec", namespace, *words)
    return subprocess.run(
        [str(word) for word in words], check=check, capture_output=True, text=True, **options
    )


class Pair:
    """Two namespaces with a cable between them, and what runs in them.

    `relay` is the program `weir-relay` and its settings: it stands in the middle of the cable then.
    """

    def __init__(self, name, folder, relay=None):
        self.folder = folder / name
        self.folder.mkdir()
        self.names = {side: f"weir-{os.getpid()}-{name}-{side}" for side in OUTER}
        self.middle = f"weir-{os.getpid()}-{name}-relay" if relay else None
        self.processes = []
        self.relay = None
        for namespace in [*self.names.values(), *filter(None, [self.middle])]:
            done = run("ip", "netns", "add", namespace, check=False)
            if done.returncode:
                raise Missing(f"there are no network namespaces: {done.stderr.strip()}")
            run("ip", "link", "set", "lo", "up", namespace=namespace)
        if relay:
            self.start_relay(*relay)
        else:
            left, right = self.names["left"], self.names["right"]
            run("ip", "link", "add", "wire", "netns", left, "type", "veth",
                "peer", "name", "wire", "netns", right)
        for side, name in self.names.items():
            # Addresses are there at once.
            run("sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0",
                namespace=name)
            run("ip", "addr", "add", f"{OUTER[side]}/24", "dev", "wire", namespace=name)
            run("ip", "addr", "add", f"{OUTER6[side]}/64", "dev", "wire", "nodad", namespace=name)
            run("ip", "link", "set", "wire", "up", namespace=name)

    def start_relay(self, program, *settings):
        quiet = "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
        run("sh", "-c", quiet, namespace=self.middle)
        for side, name in self.names.items():
            run("ip", "link", "add", "wire", "netns", name, "type", "veth",
                "peer", "name", side, "netns", self.middle)
            run("ip", "link", "set", side, "up", namespace=self.middle)
            # The relay is a wire: what crosses it is segmented before.
            run("ip", "link", "set", "wire", "gso_max_segs", "1", namespace=name)
        self.relay = subprocess.Popen(
            ["ip", "netns", "exec", self.middle, program, *OUTER, *settings],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        if self.relay.stdout.readline() != "ready\n":
            raise Missing("the relay does not start")

    def stop_relay(self):
        """What became of the packets of both directions, from the left and from the right."""
        relay, self.relay = self.relay, None
        counts, _ = relay.communicate(timeout=10)
        return json.loads(counts)

    def start(self, side, *words, environment=None):
        """Starts a program on one side, its output in a file."""
        log = open(self.folder / f"{side}-{len(self.processes)}.log", "w")
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.names[side], *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )
        self.processes.append(process)
        return process

    def end(self, process):
        """Asks a program to end: its exit status."""
        # It is a child of what entered the namespace, and has its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        status = process.wait(10)
        self.processes.remove(process)
        return status

    def wait_for_device(self, side, device):
        deadline = time.monotonic() + 20
        while run("ip", "link", "show", device, namespace=self.names[side], check=False).returncode:
            if time.monotonic() > deadline:
                raise Missing(f"the device {device} did not appear: {self.logs()}")
            time.sleep(0.05)

    def address(self, side, device, mtu=INNER_MTU, ipv6=False):
        """Gives a tunnel's device its address and MTU, and switches it on."""
        name = self.names[side]
        run("ip", "link", "set", device, "mtu", mtu, "up", namespace=name)
        run("ip", "addr", "add", f"{INNER[side]}/32", "peer", INNER[OTHER[side]], "dev", device,
            namespace=name)
        if ipv6:
            run("ip", "addr", "add", f"{INNER6[side]}/128", "peer", INNER6[OTHER[side]], "dev", device,
                "nodad", namespace=name)

    def wait_for_echo(self):
        """Until a ping comes through."""
        for _ in range(100):
            if not run("ping", "-c", "1", "-W", "0.3", "-I", INNER["left"], INNER["right"],
                       namespace=self.names["left"], check=False).returncode:
                return
            time.sleep(0.1)
        raise Missing(f"no packet comes through: {self.logs()}")

    def logs(self):
        lines = []
        for log in sorted(self.folder.glob("*.log")):
            lines += [f"{log.name}: {line}" for line in log.read_text().splitlines()[-3:]]
        return " | ".join(lines)

    def processor_seconds(self):
        """What the tunnel's programs have used."""
        ticks = 0
        for process in self.processes:
            for pid in [process.pid, *children(process.pid)]:
                with contextlib.suppress(OSError):
                    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self.relay:
            self.relay.kill()
            self.relay.communicate()
        for name in [*self.names.values(), *filter(None, [self.middle])]:
            run("ip", "netns", "del", name, check=False)
        # The marks of these ledgers, whose number is in their header, are of use to nobody.
        for slots in self.folder.glob("*-ledger/slots"):
            number = slots.read_bytes()[16:32].hex()
            pathlib.Path(f"/run/weir/{number}.marks").unlink(missing_ok=True)


def children(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        for child in map(int, text.split()):
            yield child
            yield from children(child)


KEYS = {"left": "00112233445566778899aabbccddeeff 01020304",
        "right": "ffeeddccbbaa99887766554433221100 05060708"}

# Between what the tunnel leads: ESP in UDP over IPv4 and IPv6, by sockets of the gateways; and ESP
# itself, by TUN devices whose packets the kernel routes, so that its ends are addresses behind them.
ENDS = {
    "udp4": OUTER,
    "udp6": OUTER6,
    "esp4": {"left": "198.18.10.1", "right": "198.18.20.1"},
    "esp6": {"left": "fd18:10::1", "right": "fd18:20::1"},
}


def weir_sa(side, mtu=1500, more="", ends="udp4", of_each=1):
    """The SA file of one side; `more` are further lines of its associations, of which there are
    `of_each` per direction."""
    other = OTHER[side]
    names = {sender: [f"from-{sender}"] + [f"from-{sender}-{n}" for n in range(1, of_each)]
             for sender in OUTER}
    associations = "".join(
        f"""
[[sa]]
name = "{name}"
spi = {4096 + index + 16 * number}
suite = "aes-128-gcm-16"
key = "{number:02x}{KEYS[sender][2:]}"
mode = "tunnel"
tunnel = {{ source = "{ENDS[ends][sender]}", destination = "{ENDS[ends][OTHER[sender]]}" }}
nat_t = {str(ends.startswith("udp")).lower()}
direction = "{'outbound' if sender == side else 'inbound'}"
window = 4096
mtu = {mtu}
{more}
"""
        for index, sender in enumerate(OUTER)
        for number, name in enumerate(names[sender])
    )
    return associations + f"""
[[policy]]
direction = "outbound"
destination = ["{INNER[other]}", "{INNER6[other]}"]
action = "protect"
sa = {json.dumps(names[side])}

[[policy]]
direction = "inbound"
source = ["{INNER[other]}", "{INNER6[other]}"]
action = "protect"
sa = {json.dumps(names[other])}
"""


def weir_configuration(pair, side, ends="udp4"):
    """The configuration of one side, which names its SA file."""
    outside = {
        "udp4": f'kind = "udp"\naddress = "{OUTER[side]}:4500"',
        "udp6": f'kind = "udp"\naddress = "[{OUTER6[side]}]:4500"',
    }.get(ends, 'kind = "tun"\ninterface = "weir1"')
    return f"""
[[port]]
name = "inside"
kind = "tun"
interface = "weir0"
side = "plain"

[[port]]
name = "outside"
{outside}
side = "cipher"

[pipeline.outbound]
from = "inside"
to = "outside"
stages = ["protect"]

[pipeline.inbound]
from = "outside"
to = "inside"
stages = ["unprotect"]

[ipsec]
sa = "{pair.folder / f'{side}-sa.toml'}"
state = "{pair.folder / f'{side}-ledger'}"
"""


def start_weir(pair, side, weir, *options, ends="udp4"):
    """Starts the gateway of one side, whose SA file is there."""
    configuration = pair.folder / f"{side}.toml"
    configuration.write_text(weir_configuration(pair, side, ends))
    process = pair.start(side, weir, "run", configuration, "--quiet", *options)
    pair.wait_for_device(side, "weir0")
    pair.address(side, "weir0", ipv6=True)
    if ends.startswith("esp"):
        route_ends(pair, side, ends)
    return process


def write_sa(pair, side, text):
    path = pair.folder / f"{side}-sa.toml"
    path.touch(mode=0o600)
    path.write_text(text)


def route_ends(pair, side, ends):
    """What the kernel does for ESP without a socket: it routes between cable and `weir1`."""
    name, other = pair.names[side], OTHER[side]
    gateway = {"esp4": OUTER, "esp6": OUTER6}[ends][other]
    pair.wait_for_device(side, "weir1")
    run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
        "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.weir1.rp_filter=0", namespace=name)
    run("ip", "link", "set", "weir1", "mtu", "1500", "up", namespace=name)
    run("ip", "route", "replace", ENDS[ends][side], "dev", "weir1", namespace=name)
    run("ip", "route", "replace", ENDS[ends][other], "via", gateway, namespace=name)


class EspPacket(typing.NamedTuple):
    """From its SPI on, behind which are its sequence number and its IV."""

    esp: bytes


class Capture:
    """A capture of Ethernet (pcap) that may still be written."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.next = 24

    def frames(self):
        """The frames that have come since the last call."""
        self.file.seek(self.next)
        while len(header := self.file.read(16)) == 16:
            _, _, kept, _ = struct.unpack("<IIII", header)
            frame = self.file.read(kept)
            if len(frame) < kept:
                return
            self.next += 16 + kept
            yield frame

    def esp_packets(self):
        """The ESP packets among these, in UDP or not."""
        return (EspPacket(esp) for frame in self.frames() if (esp := esp_of(frame)))


def esp_of(frame):
    match frame[12:14]:
        case b"\x08\x00":
            protocol, payload = frame[23], frame[14 + 4 * (frame[14] & 15):]
        case b"\x86\xdd":
            protocol, payload = frame[20], frame[54:]
        case _:
            return None
    if protocol == 17 and 4500 in struct.unpack(">HH", payload[:4]):
        payload = payload[8:]
    elif protocol != 50:
        return None
    return payload if len(payload) >= 16 else None


def quotes_esp(frame):
    """Whether it is "destination unreachable" (RFC 792) about ESP: what a host says of packets that
    are still on their way when its gateway ends. ICMPv6 passes with what finds neighbours."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 1:
        return False
    error = frame[14 + 4 * (frame[14] & 15):]
    return error[:1] == b"\x03" and esp_of(frame[:14] + error[8:]) is not None


class Nonces:
    """How many ESP packets were sent, and how many of them have the SPI and the IV, or the SPI and the
    sequence number, of an earlier one."""

    def __init__(self):
        self.seen = set()
        self.packets = 0
        self.again = 0

    def add(self, packet):
        self.packets += 1
        for one in (packet.esp[:4] + b"iv" + packet.esp[8:16], packet.esp[:8]):
            self.again += one in self.seen
            self.seen.add(one)


def nonces(captures):
    """Those of captures of what gateways sent."""
    found = Nonces()
    for capture in captures:
        for packet in Capture(capture).esp_packets():
            found.add(packet)
    return found


def survey(captures):
    """The longest frame of captures, and how many are neither ESP, nor about ESP, nor what finds
    neighbours."""
    longest, others = 0, 0
    for capture in captures:
        for frame in Capture(capture).frames():
            longest = max(longest, len(frame))
            is_neighbours = frame[12:14] == b"\x08\x06" or frame[12:14] == b"\x86\xdd" and (
                frame[20] == 58 or frame[20] == 0)
            others += not is_neighbours and esp_of(frame) is None and not quotes_esp(frame)
    return longest, others


def kill(pair, process):
    """Kills a program at once (SIGKILL), and all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    pair.processes.remove(process)

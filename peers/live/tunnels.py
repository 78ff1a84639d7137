#!/usr/bin/env python3
"""Tunnels between two network namespaces, one after the other in each round: Weir's ESP gateway
beside a plain forwarder, strongSwan's user-space ESP, wireguard-go and boringtun.

    tunnels.py WEIR [--forwarder PROGRAM] [--rounds N] [--seconds N] [--work udp|tcp] [--json PATH]

WEIR is a release build, PROGRAM the bare forwarder (`weir-peers`, built with `make peers`). Each
candidate has a pair of namespaces of its own, `left` and `right`, connected by a cable with an MTU
of 1,500, and a tunnel between two TUN devices; iperf3 runs inside. `udp` floods datagrams of 64
bytes and counts what arrives, `tcp` is one connection. All candidates are up at once and idle
while another one is measured. A candidate that is not installed is a row that says so. Needs root.

WIREGUARD_GO and BORINGTUN name their programs where these are not on the PATH.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

OUTER = {"left": "198.18.0.1", "right": "198.18.0.2"}
INNER = {"left": "10.77.0.1", "right": "10.77.0.2"}
OTHER = {"left": "right", "right": "left"}
# Of the tunnels' devices: ESP and WireGuard in UDP fit 1,500 bytes with it.
INNER_MTU = 1400


class Missing(Exception):
    """Why a candidate cannot take part."""


def run(*words, namespace=None, check=True, **options):
    if namespace:
        words = ("ip", "netns", "exec", namespace, *words)
    return subprocess.run(
        [str(word) for word in words], check=check, capture_output=True, text=True, **options
    )


class Pair:
    """Two namespaces with a cable between them, and what runs in them."""

    def __init__(self, name, folder):
        self.folder = folder / name
        self.folder.mkdir()
        self.names = {side: f"weir-{os.getpid()}-{name}-{side}" for side in OUTER}
        self.processes = []
        for side in OUTER:
            run("ip", "netns", "add", self.names[side])
            run("ip", "link", "set", "lo", "up", namespace=self.names[side])
        left, right = self.names["left"], self.names["right"]
        run("ip", "link", "add", "wire", "netns", left, "type", "veth",
            "peer", "name", "wire", "netns", right)
        for side, name in self.names.items():
            run("ip", "addr", "add", f"{OUTER[side]}/24", "dev", "wire", namespace=name)
            run("ip", "link", "set", "wire", "up", namespace=name)

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

    def wait_for_device(self, side, device):
        deadline = time.monotonic() + 20
        while run("ip", "link", "show", device, namespace=self.names[side], check=False).returncode:
            if time.monotonic() > deadline:
                raise Missing(f"the device {device} did not appear: {self.logs()}")
            time.sleep(0.05)

    def address(self, side, device, mtu=INNER_MTU):
        """Gives a tunnel's device its address and MTU, and switches it on."""
        name = self.names[side]
        run("ip", "link", "set", device, "mtu", mtu, "up", namespace=name)
        run("ip", "addr", "add", f"{INNER[side]}/32", "peer", INNER[OTHER[side]], "dev", device,
            namespace=name)

    def wait_for_echo(self):
        """Until a ping comes through."""
        for _ in range(40):
            if not run("ping", "-c", "1", "-W", "1", "-I", INNER["left"], INNER["right"],
                       namespace=self.names["left"], check=False).returncode:
                return
            time.sleep(0.2)
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
        for name in self.names.values():
            run("ip", "netns", "del", name, check=False)


def children(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        for child in map(int, text.split()):
            yield child
            yield from children(child)


def program(name, variable=None):
    path = os.environ.get(variable or "", "") or shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


KEYS = {"left": "00112233445566778899aabbccddeeff 01020304",
        "right": "ffeeddccbbaa99887766554433221100 05060708"}


def weir_sa(side, mtu=1500, more=""):
    """The SA file of one side; `more` are further lines of its associations."""
    other = OTHER[side]
    associations = "".join(
        f"""
[[sa]]
name = "from-{sender}"
spi = {4096 + index}
suite = "aes-128-gcm-16"
key = "{KEYS[sender]}"
mode = "tunnel"
tunnel = {{ source = "{OUTER[sender]}", destination = "{OUTER[OTHER[sender]]}" }}
nat_t = true
direction = "{'outbound' if sender == side else 'inbound'}"
window = 4096
mtu = {mtu}
{more}
"""
        for index, sender in enumerate(OUTER)
    )
    return associations + f"""
[[policy]]
direction = "outbound"
destination = "{INNER[other]}"
action = "protect"
sa = "from-{side}"

[[policy]]
direction = "inbound"
source = "{INNER[other]}"
action = "protect"
sa = "from-{other}"
"""


def weir_configuration(pair, side):
    """The configuration of one side, which names its SA file."""
    return f"""
[[port]]
name = "inside"
kind = "tun"
interface = "weir0"
side = "plain"

[[port]]
name = "outside"
kind = "udp"
address = "{OUTER[side]}:4500"
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


def weir(pair, arguments):
    """Weir: TUN, AES-128-GCM, ESP in UDP."""
    for side in OUTER:
        sa = pair.folder / f"{side}-sa.toml"
        sa.touch(mode=0o600)
        sa.write_text(weir_sa(side))
        configuration = pair.folder / f"{side}.toml"
        configuration.write_text(weir_configuration(pair, side))
        pair.start(side, arguments.weir, "run", configuration, "--new-key", f"from-{side}",
                   "--quiet")
        pair.wait_for_device(side, "weir0")
        pair.address(side, "weir0")


def plain(pair, arguments):
    """A forwarder between TUN and UDP without encryption."""
    if not arguments.forwarder:
        raise Missing("--forwarder is not given")
    for side in OUTER:
        pair.start(side, arguments.forwarder, "forward", "tun-udp", "--device", "plain0",
                   "--local", f"{OUTER[side]}:4500", "--peer", f"{OUTER[OTHER[side]]}:4500")
        pair.wait_for_device(side, "plain0")
        pair.address(side, "plain0")


STRONGSWAN_PLUGINS = (
    "random nonce openssl pem pkcs1 pkcs8 x509 pubkey aes sha1 sha2 hmac kdf gcm ctr ccm cmac "
    "curve25519 gmp vici kernel-libipsec kernel-netlink socket-default updown"
)


def strongswan(pair, arguments):
    """strongSwan with kernel-libipsec: AES-128-GCM, ESP in UDP."""
    swanctl = program("swanctl")
    charon = next(
        (path for path in ("/usr/sbin/charon-systemd", "/usr/lib/ipsec/charon") if os.path.exists(path)),
        None,
    )
    if not charon or not os.path.exists("/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so"):
        raise Missing("strongSwan's charon with kernel-libipsec is not installed")
    for side, name in pair.names.items():
        run("ip", "addr", "add", f"{INNER[side]}/32", "dev", "lo", namespace=name)
        socket = pair.folder / f"{side}.vici"
        configuration = pair.folder / f"{side}.conf"
        configuration.write_text(
            f"""charon-systemd {{
  load_modular = no
  load = {STRONGSWAN_PLUGINS}
  filelog {{
    log {{
      path = {pair.folder / f"{side}-charon.log"}
      default = 1
    }}
  }}
  plugins {{
    vici {{ socket = unix://{socket} }}
    kernel-netlink {{ fwmark = !0x42 }}
    socket-default {{ fwmark = 0x42 }}
    kernel-libipsec {{ allow_peer_ts = yes }}
  }}
}}
"""
            .replace("charon-systemd", pathlib.Path(charon).name)
        )
        # Each has a run folder of its own, where it keeps its process number.
        pair.start(side, "unshare", "-m", "sh", "-c", f"mount -t tmpfs none /run && exec {charon}",
                   environment={"STRONGSWAN_CONF": str(configuration)})
        (pair.folder / f"{side}.swanctl").write_text(
            f"""connections {{ t {{
  version = 2
  local_addrs = {OUTER[side]}
  remote_addrs = {OUTER[OTHER[side]]}
  proposals = aes256-sha256-modp2048
  local {{
    auth = psk
    id = {OUTER[side]}
  }}
  remote {{
    auth = psk
    id = {OUTER[OTHER[side]]}
  }}
  children {{ c {{
    local_ts = {INNER[side]}/32
    remote_ts = {INNER[OTHER[side]]}/32
    esp_proposals = aes128gcm16
  }} }}
}} }}
secrets {{ ike-1 {{ secret = "not a secret" }} }}
"""
        )
    for side, name in pair.names.items():
        uri = f"unix://{pair.folder / f'{side}.vici'}"
        for _ in range(100):
            loaded = run(swanctl, "--load-all", "--file", pair.folder / f"{side}.swanctl",
                         "--uri", uri, namespace=name, check=False)
            if not loaded.returncode:
                break
            time.sleep(0.1)
        else:
            raise Missing(f"swanctl --load-all: {loaded.stderr.strip()} {pair.logs()}")
    initiated = run(swanctl, "--initiate", "--child", "c", "--uri",
                    f"unix://{pair.folder / 'left.vici'}", namespace=pair.names["left"], check=False)
    if initiated.returncode:
        raise Missing(f"swanctl --initiate: {initiated.stdout[-300:]} {pair.logs()}")


def wireguard(pair, start):
    """A user-space WireGuard; `start` starts it on one side, and names its device."""
    wg = program("wg")
    private = {side: run(wg, "genkey").stdout.strip() for side in OUTER}
    public = {side: run(wg, "pubkey", input=private[side]).stdout.strip() for side in OUTER}
    for side, name in pair.names.items():
        # The control socket is in a folder that all namespaces share: devices have other names.
        device = f"wg{os.getpid() % 10000}{pair.folder.name[:2]}{side[0]}"
        start(side, device)
        pair.wait_for_device(side, device)
        key = pair.folder / f"{side}.key"
        key.write_text(private[side])
        other = OTHER[side]
        for _ in range(50):
            done = run(wg, "set", device, "listen-port", "4500", "private-key", key,
                       "peer", public[other], "allowed-ips", f"{INNER[other]}/32",
                       "endpoint", f"{OUTER[other]}:4500", namespace=name, check=False)
            if not done.returncode:
                break
            time.sleep(0.1)
        else:
            raise Missing(f"wg set: {done.stderr.strip()}")
        pair.address(side, device)


def wireguard_go(pair, arguments):
    """wireguard-go."""
    path = program("wireguard-go", "WIREGUARD_GO")
    wireguard(pair, lambda side, device: pair.start(side, path, "--foreground", device))


def boringtun(pair, arguments):
    """boringtun-cli."""
    path = program("boringtun-cli", "BORINGTUN")
    wireguard(pair, lambda side, device: pair.start(
        side, path, "--foreground", "--disable-drop-privileges", device))


CANDIDATES = {
    "weir": weir,
    "plain": plain,
    "strongswan": strongswan,
    "wireguard-go": wireguard_go,
    "boringtun": boringtun,
}


def measure(pair, work, seconds):
    """Packets/s that arrived, or Gbit/s, and the tunnel's processor seconds per second."""
    server = subprocess.Popen(
        ["ip", "netns", "exec", pair.names["right"], "iperf3", "-s", "-1", "-B", INNER["right"]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    time.sleep(0.3)
    options = {"udp": ["-u", "-b", "0", "-l", "64"], "tcp": []}[work]
    before = pair.processor_seconds()
    client = run("iperf3", "-c", INNER["right"], "-B", INNER["left"], "-t", seconds, "-J",
                 *options, namespace=pair.names["left"], check=False, timeout=seconds + 30)
    used = pair.processor_seconds() - before
    server.kill()
    server.wait()
    result = json.loads(client.stdout)
    if "error" in result:
        raise RuntimeError(result["error"])
    end = result["end"]
    if work == "udp":
        total = end["sum"]
        arrived = total["packets"] - total["lost_packets"]
        return arrived / total["seconds"], used / total["seconds"]
    total = end["sum_received"]
    return total["bits_per_second"] / 1e9, used / total["seconds"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weir")
    parser.add_argument("--forwarder")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--work", choices=["udp", "tcp"], action="append")
    parser.add_argument("--only", choices=CANDIDATES, action="append")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    works = arguments.work or ["udp", "tcp"]
    rows, pairs = [], {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name in arguments.only or CANDIDATES:
                pair = Pair(name, pathlib.Path(folder))
                pairs[name] = pair
                try:
                    CANDIDATES[name](pair, arguments)
                    pair.wait_for_echo()
                except (Missing, subprocess.CalledProcessError) as reason:
                    detail = getattr(reason, "stderr", None) or reason
                    print(f"{name}: does not take part: {detail}")
                    rows.append({"subject": name, "missing": str(detail)})
                    pairs.pop(name).stop()
            samples = {(name, work): [] for name in pairs for work in works}
            for number in range(arguments.rounds):
                for work in works:
                    for name, pair in pairs.items():
                        samples[name, work].append(measure(pair, work, arguments.seconds))
                print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        finally:
            for pair in pairs.values():
                pair.stop()
    rows += report(samples, works, list(pairs))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


def report(samples, works, names):
    rows = []
    for work in works:
        unit, digits = {"udp": ("packets/s", 0), "tcp": ("Gbit/s", 2)}[work]
        print(f"\n{work}: {unit}, processor seconds per second, and the ratio to each other candidate")
        for name in names:
            rates = [rate for rate, _ in samples[name, work]]
            used = statistics.median(used for _, used in samples[name, work])
            low, middle, high = quartiles(rates)
            ratios = {
                other: quartiles([own / theirs for own, (theirs, _) in zip(rates, samples[other, work])])
                for other in names if other != name
            }
            shown = ", ".join(f"{other} {ratio[1]:.2f}" for other, ratio in ratios.items())
            print(f"{name:13} {middle:10.{digits}f} ({low:.{digits}f} to {high:.{digits}f})  "
                  f"{used:.2f}  {shown}")
            rows.append({
                "work": f"tunnel-{work}", "subject": name, "unit": unit, "median": middle,
                "quartiles": [low, high], "processor_seconds_per_second": used,
                "ratios": {other: ratio[1] for other, ratio in ratios.items()},
            })
    return rows


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


if __name__ == "__main__":
    main()

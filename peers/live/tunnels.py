#!/usr/bin/env python3
"""Tunnels between two network namespaces, one after the other in each round: Weir's ESP gateway
beside a plain forwarder, strongSwan's user-space ESP, wireguard-go and boringtun.

    tunnels.py WEIR [--forwarder PROGRAM] [--rounds N] [--seconds N] [--work udp|tcp] [--json PATH]

WEIR and PROGRAM (`weir-plain` of `weir-live-peers`, a forwarder without encryption) are release builds. Each
candidate has a pair of namespaces of its own, `left` and `right`, connected by a cable with an MTU
of 1,500, and a tunnel between two TUN devices; iperf3 runs inside. `udp` floods datagrams of 64
bytes and counts what arrives, `tcp` is one connection. All candidates are up at once and idle
while another one is measured. A candidate that is not installed is a row that says so. Needs root.

WIREGUARD_GO and BORINGTUN name their programs where these are not on the PATH.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "netlab"))
from sites import INNER, OTHER, OUTER, Missing, Pair, run, start_weir, weir_sa, write_sa


def program(name, variable=None):
    path = os.environ.get(variable or "", "") or shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


def weir(pair, arguments):
    """Weir: TUN, AES-128-GCM, ESP in UDP."""
    for side in OUTER:
        write_sa(pair, side, weir_sa(side))
        start_weir(pair, side, arguments.weir, "--new-key", f"from-{side}")


def plain(pair, arguments):
    """A forwarder between TUN and UDP without encryption."""
    if not arguments.forwarder:
        raise Missing("--forwarder is not given")
    for side in OUTER:
        pair.start(side, arguments.forwarder, "--device", "plain0",
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

"""The example's real traffic: tshark decrypts what its SA file protects, weir brings it back."""

import json
import pathlib
import shutil
import sys
import tempfile

import peers

CAPTURE = peers.EXAMPLES / "traffic.pcapng"
SITE_A = "(ip.{0} == 198.18.1.0/24 || ipv6.{0} == fd00:1::/48)"
SITE_B = "(ip.{0} == 198.18.2.0/24 || ipv6.{0} == fd00:2::/64)"
# Everything between the two sites, whatever its direction. Of an ICMP error only the outer
# addresses count; those inside run between the same two sites.
BETWEEN_SITES = " || ".join(
    f"({source.format('src')} && {destination.format('dst')})"
    for source, destination in ((SITE_A, SITE_B), (SITE_B, SITE_A))
)
# Errors that the router itself sends to site A quote packets between the sites.
FROM_ROUTER = "ip.src == 198.18.1.1 || ipv6.src == fd00:1::1"


def sa_file(directory):
    """The example's SA file, readable by its owner only."""
    path = directory / "sa.toml"
    shutil.copyfile(peers.EXAMPLES / "sa.toml", path)
    path.chmod(0o600)
    return path


def weir(directory, verb, source, target, *options):
    report = directory / f"{verb}.json"
    status, error = peers.weir(
        verb, source, target, "--sa", sa_file(directory), "--quiet", "--json", report, *options
    )
    peers.check(status == 0, f"weir {verb} exits {status}: {error}")
    return json.loads(report.read_text())


def tshark_decrypts_what_goes_between_the_sites():
    expected = len(
        peers.tshark(CAPTURE, f"({BETWEEN_SITES}) && !({FROM_ROUTER})", ["frame.number"])
    )
    peers.check(expected > 0, "no packet goes between the sites")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        protected, keys = directory / "protected.pcapng", directory / "keys"
        options = ["--repeatable-insecure", "--wireshark-keys", keys]
        report = weir(directory, "protect", CAPTURE, protected, *options)
        mode = keys.stat().st_mode & 0o777
        table = [f"uat:esp_sa:{line}" for line in keys.read_text().splitlines() if line[:1] == '"']
        decrypt = ["esp.enable_encryption_decode:TRUE", "esp.enable_authentication_check:TRUE"]
        options = [*decrypt, *table]
        good = len(peers.tshark(protected, "esp.icv_good == 1", ["frame.number"], options))
    peers.check(mode == 0o600, f"the file of keys has mode {mode:o}")
    found = (report["protected"], good)
    peers.check(
        found == (expected, expected), f"{expected} packets, (protected, good ICVs) are {found}"
    )


def weir_brings_every_packet_back():
    from scapy.utils import rdpcap

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        protected, back = directory / "protected.pcapng", directory / "back.pcapng"
        weir(directory, "protect", CAPTURE, protected, "--repeatable-insecure")
        weir(directory, "unprotect", protected, back)
        sent, got = rdpcap(str(CAPTURE)), rdpcap(str(back))
    peers.check(len(got) == len(sent), f"{len(sent)} packets, {len(got)} come back")
    other = [
        number
        for number, (one, another) in enumerate(zip(sent, got, strict=True), 1)
        if (bytes(one), one.time) != (bytes(another), another.time)
    ]
    peers.check(not other, f"packets {other[:5]} come back changed")


def with_peers(test):
    def guarded():
        peers.need_weir()
        peers.need_scapy()
        peers.need_program("tshark")
        test()

    return guarded


TESTS = [
    ("tshark decrypts what goes between the sites", tshark_decrypts_what_goes_between_the_sites),
    ("weir brings every packet back", weir_brings_every_packet_back),
]

if __name__ == "__main__":
    sys.exit(peers.run((name, with_peers(test)) for name, test in TESTS))

"""tshark decrypts and verifies what `weir protect` writes, for every suite that both know.

A packet counts when tshark says that its ICV is good, never when it merely does not say that
it is bad; and what it decrypted must be what was sent.
"""

import collections
import functools
import pathlib
import sys
import tempfile

import associations
import peers
import sa_file
import traffic

# The verdict on the ICV comes with decryption only.
DECRYPT = ["esp.enable_encryption_decode:TRUE", "esp.enable_authentication_check:TRUE"]
# Random payloads now and then look like some protocol to tshark's heuristics, and a dissector
# that fails leaves no verdict on the ESP packet around it.
DECODE_AS = [f"udp.port=={traffic.UDP_PORTS[1]},data", f"tcp.port=={traffic.TCP_PORTS[1]},data"]


def protect(directory, sas, frames):
    from scapy.utils import wrpcap

    plain, protected = directory / "plain.pcap", directory / "protected.pcapng"
    wrpcap(str(plain), [frame for _, frame in frames])
    sa = sa_file.write(directory, sas)
    status, error = peers.weir(
        "protect", plain, protected, "--sa", sa, "--repeatable-insecure", "--quiet"
    )
    peers.check(status == 0, f"weir protect exits {status}: {error}")
    return protected


def decrypted_payloads(capture, sas):
    """SPI: the payloads that tshark found in packets with a good ICV, in order."""
    options = [*DECRYPT, *(sa.for_tshark() for sa in sas)]
    # The data layer is what is left when all headers are off.
    fields = ["esp.spi", "data.data"]
    found = collections.defaultdict(list)
    for spi, payload in peers.tshark(
        capture, "esp.icv_good == 1", fields, options, DECODE_AS
    ):
        found[int(spi, 16)].append(payload)
    return found


def shape_is_decrypted(shape, **options):
    from scapy.layers.inet import TCP, UDP

    peers.need_program("tshark")
    sas = associations.associations(associations.TSHARK_SUITES, shape, **options)
    frames = traffic.frames(sas)
    with tempfile.TemporaryDirectory() as directory:
        capture = protect(pathlib.Path(directory), sas, frames)
        total = len(peers.tshark(capture, "esp", ["frame.number"]))
        found = decrypted_payloads(capture, sas)
    peers.check(total == len(frames), f"{len(frames)} packets sent, {total} are ESP")
    for sa in sas:
        sent = [
            bytes((frame.getlayer(UDP) or frame.getlayer(TCP)).payload).hex()
            for owner, frame in frames
            if owner is sa
        ]
        good = found[sa.spi]
        peers.check(
            len(good) == len(sent), f"{sa.suite}: {len(good)} of {len(sent)} ICVs are good"
        )
        peers.check(good == sent, f"{sa.suite}: the decrypted payloads are not those sent")


def tshark_refuses_a_flipped_byte():
    """The oracle itself: without this, `icv_good` might say yes to everything."""
    from scapy.utils import rdpcap, wrpcap

    peers.need_program("tshark")
    sas = associations.associations(associations.TSHARK_SUITES, ("tunnel", "ipv4", "ipv4"))
    frames = traffic.frames(sas)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        capture = protect(directory, sas, frames)
        spoilt = []
        for packet in rdpcap(str(capture)):
            data = bytearray(bytes(packet))
            data[-1] ^= 1  # the end of the ICV
            spoilt.append(packet.__class__(bytes(data)))
        wrpcap(str(directory / "spoilt.pcap"), spoilt)
        found = decrypted_payloads(directory / "spoilt.pcap", sas)
    good = sum(len(payloads) for payloads in found.values())
    peers.check(good == 0, f"{good} flipped packets have a good ICV")


def with_peers(test):
    @functools.wraps(test)
    def guarded(*arguments):
        peers.need_weir()
        peers.need_scapy()
        test(*arguments)

    return guarded


def tests():
    for shape in associations.SHAPES:
        name = f"tshark decrypts {associations.path_of(shape)}"
        yield name, functools.partial(shape_is_decrypted, shape)
    nat_t = functools.partial(shape_is_decrypted, ("tunnel", "ipv4", "ipv4"), nat_t=True)
    yield "tshark decrypts ESP in UDP", nat_t
    yield "tshark refuses a flipped byte", tshark_refuses_a_flipped_byte


if __name__ == "__main__":
    sys.exit(peers.run((name, with_peers(test)) for name, test in tests()))

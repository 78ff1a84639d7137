"""The suites of docs/mac-suites.md: an implementation in Python opens what weir sealed.

In both modes over both families, with 32-bit and with extended sequence numbers; a packet with
one byte flipped is refused by both, and weir counts it.
"""

import functools
import json
import dataclasses
import pathlib
import random
import re
import sys
import tempfile

import associations
import captures
import peers
import traffic

PAGE = peers.ROOT / "docs" / "mac-suites.md"
# As many sequence numbers as 32 bits tell apart.
SUBSPACE = 1 << 32
IP_HEADER_BYTES = {4: 20, 6: 40}
# RFC 4418, appendix: message, UMAC-32, UMAC-64, UMAC-96.
UMAC_TAGS = (
    (b"", "113145fb", "6e155fad26900be1", "32fedb100c79ad58f07ff764"),
    (b"abc", "abf3a3a0", "d4d7b9f6bd4fbfcf", "883c3d4b97a61976ffcf2323"),
    (b"abc" * 500, "abeb3c8b", "d4cf26ddefd5c01a", "8824a260c53c66a36c9260a6"),
)


def esp_at(packet):
    """Where ESP begins in an IP packet that has no options."""
    return IP_HEADER_BYTES[packet[0] >> 4]


def protected_bytes(sa, packet):
    """What ESP carries of an IP packet."""
    return packet if sa.mode == "tunnel" else packet[esp_at(packet) :]


def sealed_frames(sas, frames, options=("--repeatable-insecure",)):
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        sealed = captures.protect(directory, sas, [frame for _, frame in frames], options)
    peers.check(len(sealed) == len(frames), f"{len(frames)} packets in, {len(sealed)} out")
    return sealed


def open_frame(sa, frame, high_half):
    """Payload and next header, or None."""
    import mac_suites

    packet = traffic.ip_of(frame)
    esp = packet[esp_at(packet) :]
    spi = int.from_bytes(esp[:4], "big")
    peers.check(spi == sa.spi, f"{sa.suite}: SPI {spi:#x} in place of {sa.spi:#x}")
    return mac_suites.open_esp(sa.suite, sa.key, esp, high_half if sa.esn else None)


def check_opened(sa, sent_frame, ours, high_half=0):
    sent = protected_bytes(sa, traffic.ip_of(sent_frame))
    opened = open_frame(sa, ours, high_half)
    peers.check(opened is not None, f"{sa.suite}: a tag of weir's is wrong")
    peers.check(opened[0] == sent, f"{sa.suite}: {sent.hex()} became {opened[0].hex()}")


def python_opens_ours(shape, esn):
    sas = associations.associations(associations.PRIVATE, shape, esn=esn)
    frames = traffic.frames(sas)
    for (sa, frame), ours in zip(frames, sealed_frames(sas, frames), strict=True):
        check_opened(sa, frame, ours)


def flipped(frame, dice):
    """The frame with one bit changed, anywhere from the sequence number on."""
    packet = bytearray(traffic.ip_of(frame))
    packet[dice.randrange(esp_at(packet) + 4, len(packet))] ^= 1 << dice.randrange(8)
    return traffic.with_ip(frame, bytes(packet))


def both_refuse_ours_flipped(shape, esn):
    dice = random.Random(4)
    sas = associations.associations(associations.PRIVATE, shape, esn=esn)
    frames = traffic.frames(sas)
    sealed = [flipped(frame, dice) for frame in sealed_frames(sas, frames)]
    for (sa, _), ours in zip(frames, sealed, strict=True):
        peers.check(open_frame(sa, ours, 0) is None, f"{sa.suite}: Python takes a flipped packet")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        report = directory / "report.json"
        status, opened = captures.unprotect(directory, sas, sealed, ("--json", report))
        drops = json.loads(report.read_text())["drops"]
    peers.check(status == 1, f"weir unprotect exits {status} though no packet is genuine")
    peers.check(not opened, f"{len(opened)} of {len(sealed)} flipped packets came through")
    peers.check(sum(drops.values()) == len(sealed), f"{len(sealed)} packets, drops: {drops}")


def python_follows_us_past_32_bits(shape):
    """The SA file says that nearly 2^32 packets were sent before."""
    sas = associations.associations(associations.PRIVATE, shape, esn=True)
    frames = traffic.frames(sas)
    first = SUBSPACE - 5
    with tempfile.TemporaryDirectory() as directory:
        options = ["--state", pathlib.Path(directory) / "ledger", "--new-key", "all"]
        late = [dataclasses.replace(sa, first=first) for sa in sas]
        sealed = sealed_frames(late, frames, options)
    next_of = {sa.spi: first for sa in sas}
    for (sa, frame), ours in zip(frames, sealed, strict=True):
        check_opened(sa, frame, ours, next_of[sa.spi] // SUBSPACE)
        next_of[sa.spi] += 1


def rfc_4418_tags():
    import mac_suites

    for message, *tags in UMAC_TAGS:
        for tag_words, tag in enumerate(tags, start=1):
            found = mac_suites.umac(b"abcdefghijklmnop", tag_words, message, b"bcdefghi").hex()
            peers.check(found == tag, f"UMAC-{32 * tag_words}: {found} in place of {tag}")


def page_vectors():
    """Every row of the page's table."""
    import mac_suites

    key, spi = bytes(range(16)), bytes.fromhex("00001001")
    packets = (
        (bytes(range(36)), 7, 4),
        (bytes(range(64)), SUBSPACE + 9, 8),
        (bytes((7 * i + 3) % 256 for i in range(1440)), 7, 4),
    )
    page = PAGE.read_text()
    for suite in mac_suites.SUITES:
        row = re.search(rf"^\| `{re.escape(suite)}` \| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", page, re.M)
        peers.check(row is not None, f"the page has no test vectors of {suite}")
        for (text, sequence, sequence_bytes), tag in zip(packets, row.groups(), strict=True):
            number = sequence.to_bytes(8, "big")
            associated = spi + number[-sequence_bytes:]
            ciphertext, found = mac_suites.seal(suite, key, associated, number, text)
            peers.check(found.hex() == tag, f"{suite}: {found.hex()} in place of {tag}")
            if len(text) < 100:
                folded = re.sub(r"\s", "", page)
                peers.check(ciphertext.hex() in folded, f"{suite}: another ciphertext")


def with_peers(test):
    @functools.wraps(test)
    def guarded(*arguments):
        peers.need_weir()
        peers.need_scapy()
        test(*arguments)

    return guarded


def with_cryptography(test):
    @functools.wraps(test)
    def guarded():
        try:
            import cryptography  # noqa: F401
        except ImportError as missing:
            raise peers.Skip(f"there is no AES: {missing}") from None
        test()

    return guarded


def tests():
    yield "UMAC of RFC 4418", with_cryptography(rfc_4418_tags)
    yield "test vectors of docs/mac-suites.md", with_cryptography(page_vectors)
    for shape in associations.SHAPES:
        for esn in (False, True):
            what = f"{associations.path_of(shape)}, {64 if esn else 32}-bit sequence numbers"
            for name, test in (
                ("Python opens ours", python_opens_ours),
                ("both refuse ours with a byte flipped", both_refuse_ours_flipped),
            ):
                yield f"{name}: {what}", functools.partial(with_peers(test), shape, esn)
    shape = ("tunnel", "ipv4", "ipv6")
    past = functools.partial(with_peers(python_follows_us_past_32_bits), shape)
    yield f"Python follows us past 32 bits: {associations.path_of(shape)}", past


if __name__ == "__main__":
    sys.exit(peers.run(tests()))

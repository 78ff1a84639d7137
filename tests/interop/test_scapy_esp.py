"""scapy's ESP and weir's exchange packets: each opens what the other sealed.

All suites in both modes over both families, with 32-bit and with extended sequence numbers;
a packet with one byte flipped is refused by both.
"""

import functools
import pathlib
import random
import dataclasses
import sys
import tempfile

import associations
import captures
import peers
import traffic


# Flipped packets are one in seven of all: the suites and lengths take turns by other numbers.
EVERY = 7
# As many sequence numbers as 32 bits tell apart.
SUBSPACE = 1 << 32
# Most packets that weir takes in one batch.
BATCH_PACKETS = 256


def by_spi(sas):
    return {sa.spi: (sa, sa.for_scapy()) for sa in sas}


def esp_of(frame):
    """The outermost IP packet of a frame, parsed, and its SPI."""
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.ipsec import ESP

    data = traffic.ip_of(frame)
    packet = IP(data) if data[0] >> 4 == 4 else IPv6(data)
    peers.check(ESP in packet, f"not ESP: {packet.summary()}")
    return packet, packet[ESP].spi


def sealed_by_scapy(frames, sas):
    """Each frame with its IP packet sealed by scapy."""
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    scapy_sas = by_spi(sas)
    out = []
    for sa, frame in frames:
        data = traffic.ip_of(frame)
        packet = IP(data) if data[0] >> 4 == 4 else IPv6(data)
        out.append(traffic.with_ip(frame, bytes(scapy_sas[sa.spi][1].encrypt(packet))))
    return out


def flipped(frame, dice):
    """The frame with one byte changed, anywhere after the SPI."""
    from scapy.layers.ipsec import ESP

    packet, _ = esp_of(frame)
    data = bytearray(bytes(packet))
    sequence_number_at = len(data) - len(bytes(packet[ESP])) + 4
    data[dice.randrange(sequence_number_at, len(data))] ^= 1 << dice.randrange(8)
    return traffic.with_ip(frame, bytes(data))


def scapy_opens_ours(shape, **options):
    sas = associations.associations(associations.SUITES, shape, **options)
    frames = traffic.frames(sas)
    with tempfile.TemporaryDirectory() as directory:
        sealed = captures.protect(pathlib.Path(directory), sas, [frame for _, frame in frames])
    peers.check(len(sealed) == len(frames), f"{len(frames)} packets in, {len(sealed)} out")
    scapy_sas = by_spi(sas)
    for (sa, frame), ours in zip(frames, sealed, strict=True):
        packet, spi = esp_of(ours)
        peers.check(spi == sa.spi, f"{sa.suite}: SPI {spi:#x} in place of {sa.spi:#x}")
        opened = bytes(open_by_scapy(sa, scapy_sas[spi][1], packet))
        sent = traffic.ip_of(frame)
        peers.check(opened == sent, f"{sa.suite}: {sent.hex()} became {opened.hex()}")


def open_by_scapy(sa, scapy_sa, packet, high_half=0):
    from scapy.layers.ipsec import IPSecIntegrityError

    try:
        return scapy_sa.decrypt(packet, esn=high_half)
    except IPSecIntegrityError:
        raise peers.Failure(f"{sa.suite}: scapy finds a wrong ICV") from None


def we_open_scapys(shape, **options):
    sas = associations.associations(associations.SUITES, shape, **options)
    frames = traffic.frames(sas)
    with tempfile.TemporaryDirectory() as directory:
        status, opened = captures.unprotect(pathlib.Path(directory), sas, sealed_by_scapy(frames, sas))
    peers.check(status == 0, "weir unprotect verified nothing")
    peers.check(len(opened) == len(frames), f"{len(frames)} packets in, {len(opened)} out")
    for (sa, frame), ours in zip(frames, opened, strict=True):
        sent, got = bytes(frame), bytes(ours)
        peers.check(got == sent, f"{sa.suite}: {sent.hex()} became {got.hex()}")


def scapy_refuses_ours_flipped(shape, **options):
    from scapy.layers.ipsec import IPSecIntegrityError

    dice = random.Random(2)
    sas = associations.associations(associations.SUITES, shape, **options)
    frames = traffic.frames(sas)[::EVERY]
    with tempfile.TemporaryDirectory() as directory:
        sealed = captures.protect(pathlib.Path(directory), sas, [frame for _, frame in frames])
    peers.check(len(sealed) == len(frames), f"{len(frames)} packets in, {len(sealed)} out")
    scapy_sas = by_spi(sas)
    for frame in sealed:
        packet, spi = esp_of(flipped(frame, dice))
        sa, scapy_sa = scapy_sas[spi]
        try:
            scapy_sa.decrypt(packet)
        except IPSecIntegrityError:
            continue
        raise peers.Failure(f"{sa.suite}: scapy takes a flipped packet")


def we_refuse_scapys_flipped(shape, **options):
    dice = random.Random(3)
    sas = associations.associations(associations.SUITES, shape, **options)
    frames = traffic.frames(sas)[::EVERY]
    sealed = [flipped(frame, dice) for frame in sealed_by_scapy(frames, sas)]
    with tempfile.TemporaryDirectory() as directory:
        status, opened = captures.unprotect(pathlib.Path(directory), sas, sealed)
    peers.check(status == 1, f"weir unprotect exits {status} though no packet is genuine")
    peers.check(not opened, f"{len(opened)} of {len(sealed)} flipped packets came through")


def we_refuse_scapys_replayed(shape):
    """Each packet twice in a row, and then all of them once more."""
    sas = associations.associations(associations.SUITES, shape)
    frames = traffic.frames(sas)
    sealed = sealed_by_scapy(frames, sas)
    twice = [frame for frame in sealed for _ in range(2)]
    with tempfile.TemporaryDirectory() as directory:
        _, opened = captures.unprotect(pathlib.Path(directory), sas, twice + sealed)
    sent, got = [bytes(frame) for _, frame in frames], [bytes(frame) for frame in opened]
    peers.check(got == sent, f"{len(sealed)} packets, three times each: {len(got)} came through")


def we_follow_scapy_past_32_bits(shape):
    """A leap to just before the boundary, and a walk over it.

    What the leap may be is judged from the highest number verified before the batch, so the
    walk begins in a later batch than the leap.
    """
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    sas = associations.associations(associations.SUITES, shape, esn=True)
    frames = traffic.frames(sas)
    turns = len(traffic.PAYLOAD_BYTES)
    turns_of_a_batch = BATCH_PACKETS // len(sas) + 1
    numbers = [SUBSPACE - 100 + turn for turn in range(turns_of_a_batch)]
    numbers += [SUBSPACE - 5 + turn for turn in range(turns - turns_of_a_batch)]
    scapy_sas, next_of, sealed = by_spi(sas), {sa.spi: iter(numbers) for sa in sas}, []
    for sa, frame in frames:
        data = traffic.ip_of(frame)
        packet = IP(data) if data[0] >> 4 == 4 else IPv6(data)
        scapy_sa = scapy_sas[sa.spi][1]
        # Not as an argument: there scapy takes a low half of 0 for none.
        high, scapy_sa.seq_num = divmod(next(next_of[sa.spi]), SUBSPACE)
        esp = scapy_sa.encrypt(packet, esn=high)
        sealed.append(traffic.with_ip(frame, bytes(esp)))
    with tempfile.TemporaryDirectory() as directory:
        _, opened = captures.unprotect(pathlib.Path(directory), sas, sealed)
    peers.check(len(opened) == len(frames), f"{len(frames)} packets in, {len(opened)} out")
    for (sa, frame), ours in zip(frames, opened, strict=True):
        peers.check(bytes(ours) == bytes(frame), f"{sa.suite}: another packet came out")


def scapy_follows_us_past_32_bits(shape):
    """The SA file says that nearly 2^32 packets were sent before.

    A key of 3DES has come to its end by then.
    """
    from scapy.layers.ipsec import ESP

    suites = [suite for suite in associations.SUITES if not suite.startswith("3des")]
    sas = associations.associations(suites, shape, esn=True)
    frames = traffic.frames(sas)
    first = SUBSPACE - 5
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        options = ["--state", directory / "ledger", "--new-key", "all"]
        late = [dataclasses.replace(sa, first=first) for sa in sas]
        sealed = captures.protect(directory, late, [frame for _, frame in frames], options)
    peers.check(len(sealed) == len(frames), f"{len(frames)} packets in, {len(sealed)} out")
    scapy_sas, next_of = by_spi(sas), {sa.spi: first for sa in sas}
    for (sa, frame), ours in zip(frames, sealed, strict=True):
        packet, spi = esp_of(ours)
        high, low = divmod(next_of[spi], SUBSPACE)
        next_of[spi] += 1
        peers.check(packet[ESP].seq == low, f"{sa.suite}: {packet[ESP].seq} in place of {low}")
        opened = bytes(open_by_scapy(sa, scapy_sas[spi][1], packet, high))
        peers.check(opened == traffic.ip_of(frame), f"{sa.suite}: another packet came out")


def with_peers(test):
    @functools.wraps(test)
    def guarded(*arguments):
        peers.need_weir()
        peers.need_scapy()
        test(*arguments)

    return guarded


def tests():
    for shape in associations.SHAPES:
        for esn in (False, True):
            what = f"{associations.path_of(shape)}, {64 if esn else 32}-bit sequence numbers"
            for name, test in (
                ("scapy opens ours", scapy_opens_ours),
                ("we open scapy's", we_open_scapys),
                ("scapy refuses ours with a byte flipped", scapy_refuses_ours_flipped),
                ("we refuse scapy's with a byte flipped", we_refuse_scapys_flipped),
            ):
                yield f"{name}: {what}", functools.partial(test, shape, esn=esn)
    for shape in (("tunnel", "ipv4", "ipv6"), ("transport", "ipv6", "ipv6")):
        for name, test in (
            ("we follow scapy past 32 bits", we_follow_scapy_past_32_bits),
            ("scapy follows us past 32 bits", scapy_follows_us_past_32_bits),
        ):
            yield f"{name}: {associations.path_of(shape)}", functools.partial(test, shape)
    shape = ("tunnel", "ipv6", "ipv4")
    yield "scapy opens ours in UDP", functools.partial(scapy_opens_ours, shape, nat_t=True)
    yield "we open scapy's in UDP", functools.partial(we_open_scapys, shape, nat_t=True)
    yield "we refuse scapy's replayed", functools.partial(we_refuse_scapys_replayed, shape)


if __name__ == "__main__":
    sys.exit(peers.run((name, with_peers(test)) for name, test in tests()))

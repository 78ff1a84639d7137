"""What can be odd about TCP: every case leaves TEXT in the socket of a Linux server."""

import struct

from . import wire
from .wire import ACK, FIN, PUSH, RST, SYN, URGENT

PATTERN = b"swordfish-payload"
TEXT = b"what leads to it, swordfish-payload, and what follows.\n"
# In the middle of the pattern, so that no single segment has it.
CUT = TEXT.index(b"-payload")
LEFT, RIGHT = TEXT[:CUT], TEXT[CUT:]
DECOY = b"#" * len(RIGHT)
SIZE = len(TEXT)


def timestamp(value, echo=0):
    return b"\x08\x0a" + struct.pack("!II", value, echo)


def halves(c):
    c.open()
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def decoy(offset=CUT, data=DECOY, **fields):
    """Between the halves comes a segment that a receiver has to refuse."""

    def case(c):
        c.open()
        c.send(0, LEFT)
        c.send(offset, data, **fields)
        c.send(CUT, RIGHT)

    return case


def forged(*segment, **fields):
    """The same from the side of the server."""

    def case(c):
        c.open()
        c.send(0, LEFT)
        c.forge(*segment, **fields)
        c.send(CUT, RIGHT)

    return case


def segments(*places, odd=None):
    """The text in segments from one place to another, `odd` of them with other bytes."""

    def case(c):
        c.open()
        for index, (start, end) in enumerate(places):
            data = TEXT[start:end]
            c.send(start, b"#" * len(data) if index == odd else data)

    return case


def each_byte(step):
    places = [(at, min(at + step, SIZE)) for at in range(0, SIZE, step)]
    return segments(*places)


def with_options(options):
    def case(c):
        c.open()
        c.send(0, LEFT, options=options)
        c.send(CUT, RIGHT, options=options)

    return case


def old_timestamp(c):
    c.open(options=timestamp(1_000_000))
    c.send(0, LEFT, options=timestamp(1_000_010))
    c.send(CUT, DECOY, options=timestamp(900_000))
    c.send(CUT, RIGHT, options=timestamp(1_000_020))


def no_timestamp(c):
    """Linux takes segments without the option on a connection that has it."""
    c.open(options=timestamp(1_000_000))
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def timestamp_wraps(c):
    c.open(options=timestamp(0xFFFF_FFF0))
    c.send(0, LEFT, options=timestamp(0xFFFF_FFFF))
    c.send(CUT, RIGHT, options=timestamp(5))


def timestamps_not_agreed(c):
    """Old ones mean nothing where the SYN had none."""
    c.open()
    c.send(0, LEFT, options=timestamp(1_000_000))
    c.send(CUT, RIGHT, options=timestamp(1))


def data_in_syn(c):
    c.send(-1, b"#" * SIZE, flags=SYN)
    c.send(0, flags=ACK)
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def no_last_ack(c):
    """The first data complete the handshake."""
    c.send(-1, flags=SYN)
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def bad_last_ack(c):
    c.send(-1, flags=SYN)
    c.send(0, flags=ACK, bad_checksum=True)
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def syn_with_wrong_checksum(c):
    """Another number, and it was never received."""
    c.put(c.packet(7000, flags=SYN, bad_checksum=True))
    halves(c)


def syn_twice(c):
    c.send(-1, flags=SYN)
    c.send(-1, flags=SYN)
    c.send(0, flags=ACK)
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def syn_acks_twice(c):
    """One is forged, with another number, and the client does not believe it."""
    c.send(-1, flags=SYN)
    c.forge(5_000_000, flags=SYN | ACK)
    c.send(0, flags=ACK)
    c.send(0, LEFT)
    c.send(CUT, RIGHT)


def reset_before_syn(c):
    c.send(0, flags=RST)
    halves(c)


def port_used_again(c):
    """A first connection is reset, a second of the same ports has the text."""
    c.open()
    c.send(0, b"nothing yet")
    c.send(11, flags=RST)
    c.first += 500_000
    halves(c)


def port_used_again_after_fin(c):
    c.open()
    c.send(0, b"nothing yet")
    for connection in c.linux.connections():
        connection.close()
    c.take(0.06)
    c.send(11, flags=FIN | ACK)
    c.take(0.06)
    c.first += 500_000
    halves(c)


def fin_with_data(c):
    c.open()
    c.send(0, LEFT)
    c.send(CUT, RIGHT, flags=FIN | PUSH | ACK)


def data_after_fin(c):
    c.open()
    c.send(0, LEFT)
    c.send(CUT, RIGHT, flags=FIN | PUSH | ACK)
    c.send(SIZE + 1, b"# nothing of this is received")


def early_fin(c):
    """The end comes first, and what is before it later."""
    c.open()
    c.send(CUT, RIGHT, flags=FIN | PUSH | ACK)
    c.send(0, LEFT)


def urgent_byte(c):
    """An urgent byte is not part of the stream: the sensor must not see it in the pattern."""
    c.open()
    c.send(0, LEFT + b"!", flags=URGENT | PUSH | ACK, urgent=CUT + 1)
    c.send(CUT + 1, RIGHT)


def urgent_pointer_without_flag(c):
    c.open()
    c.send(0, LEFT, urgent=CUT)
    c.send(CUT, RIGHT)


def urgent_pointer_beyond(c):
    c.open()
    c.send(0, LEFT, flags=URGENT | PUSH | ACK, urgent=4000)
    c.send(CUT, RIGHT)


def keep_alives(c):
    c.open()
    c.send(0, LEFT)
    for _ in range(3):
        c.send(CUT - 1, b"#", flags=ACK)
    c.send(CUT, RIGHT)


def scaled_window(c):
    c.open(options=b"\x03\x03\x0e")
    c.send(0, LEFT, window=1)
    c.send(CUT, RIGHT, window=1)


def other_flags(flags):
    def case(c):
        c.open()
        c.send(0, LEFT, flags=ACK | flags)
        c.send(CUT, RIGHT, flags=ACK | flags)

    return case


def many_small_and_one_late(c):
    """One segment of the beginning is sent again only after all others."""
    c.open()
    c.send(0, TEXT[:4])
    for at in range(8, SIZE, 4):
        c.send(at, TEXT[at : at + 4])
    c.send(4, TEXT[4:8])


M = CUT
CASES = {
    "one segment": lambda c: (c.open(), c.send(0, TEXT)),
    "two halves": halves,
    "segments of one byte": each_byte(1),
    "segments of three bytes": each_byte(3),
    "second half first": segments((M, SIZE), (0, M)),
    "last segment of twelve first": lambda c: (
        c.open(), [c.send(at, TEXT[at : at + 5]) for at in reversed(range(0, SIZE, 5))]),
    "every second segment, then the others": lambda c: (
        c.open(), [c.send(at, TEXT[at : at + 4]) for at in [*range(0, SIZE, 8), *range(4, SIZE, 8)]]),
    "a late segment": many_small_and_one_late,
    "every segment twice": segments((0, M), (0, M), (M, SIZE), (M, SIZE)),
    "segments that overlap alike": segments((0, M), (M - 5, M + 5), (M, SIZE)),
    "delivered bytes are sent again with others": segments((0, M), (4, M), (M, SIZE), odd=1),
    "delivered bytes are sent again with others and more": lambda c: (
        c.open(), c.send(0, LEFT), c.send(4, b"#" * (M - 4) + RIGHT)),
    "queued bytes with others, then wholly covered": segments((M + 2, M + 5), (M, SIZE), (0, M), odd=0),
    "queued bytes, their left part with others": lambda c: (
        c.open(), c.send(M, RIGHT), c.send(M, b"###"), c.send(0, LEFT)),
    "queued bytes, their right end with others": lambda c: (
        c.open(), c.send(M, RIGHT), c.send(SIZE - 6, b"#" * 6), c.send(0, LEFT)),
    "queued bytes with others, the gap fills over them": lambda c: (
        c.open(), c.send(M, b"####"), c.send(0, TEXT)),
    "queued bytes of the same place with others": lambda c: (
        c.open(), c.send(M, RIGHT), c.send(M, DECOY), c.send(0, LEFT)),
    "wrong checksum": decoy(bad_checksum=True),
    "no ACK": decoy(flags=PUSH),
    "no flags": decoy(flags=0),
    "FIN without ACK": decoy(flags=FIN),
    "URG and PSH without ACK": decoy(flags=FIN | PUSH | URGENT),
    "acknowledges what was never sent": decoy(ack=200_000),
    "before the window": decoy(offset=CUT - 100_000),
    "beyond the window": decoy(offset=CUT + (1 << 20)),
    "half the numbers away": decoy(offset=CUT + (1 << 31)),
    "SYN": decoy(flags=SYN),
    "SYN at the next byte": decoy(flags=SYN | ACK),
    "SYN of another number": decoy(offset=900_000, flags=SYN, data=b""),
    "MD5 signature": decoy(options=b"\x13\x12" + bytes(16)),
    "header of 16 bytes": decoy(header_words=4),
    "header longer than the packet": decoy(data=b"####", header_words=15),
    "RST beyond the window": decoy(offset=CUT + 200_000, data=b"", flags=RST),
    "RST before the window": decoy(offset=CUT - 10, data=b"", flags=RST),
    "RST inside the window": decoy(offset=CUT + 10, data=b"", flags=RST),
    "RST and ACK inside the window": decoy(offset=CUT + 10, data=b"", flags=RST | ACK),
    "RST with a wrong checksum": decoy(data=b"", flags=RST, bad_checksum=True),
    "FIN with a wrong checksum": decoy(data=b"", flags=FIN | ACK, bad_checksum=True),
    "FIN before the window": decoy(offset=CUT - 10, data=b"", flags=FIN | ACK),
    "FIN beyond the window": decoy(offset=CUT + 200_000, data=b"", flags=FIN | ACK),
    "FIN of a byte never sent, acknowledging too much": decoy(data=b"", flags=FIN | ACK, ack=200_000),
    "server: RST of another number": forged(300_000, flags=RST),
    "server: RST inside the window": forged(10, flags=RST),
    "server: RST with a wrong checksum": forged(0, flags=RST, bad_checksum=True),
    "server: FIN of another number": forged(300_000, flags=FIN | ACK),
    "server: FIN with a wrong checksum": forged(0, flags=FIN | ACK, bad_checksum=True),
    "server: SYN and ACK again": forged(700_000, flags=SYN | ACK),
    "server: acknowledges what was never sent": forged(0, flags=ACK, ack=SIZE + 3000),
    "server: window of no bytes, wrong checksum": forged(0, flags=ACK, ack=CUT, window=0, bad_checksum=True),
    "old timestamp": old_timestamp,
    "timestamp left out": no_timestamp,
    "timestamps wrap": timestamp_wraps,
    "timestamps not agreed on": timestamps_not_agreed,
    "data in the SYN": data_in_syn,
    "handshake without its last ACK": no_last_ack,
    "last ACK with a wrong checksum": bad_last_ack,
    "SYN with a wrong checksum first": syn_with_wrong_checksum,
    "two SYNs": syn_twice,
    "SYN and ACK forged": syn_acks_twice,
    "RST before the SYN": reset_before_syn,
    "ports used again after RST": port_used_again,
    "ports used again after FIN": port_used_again_after_fin,
    "FIN with the last bytes": fin_with_data,
    "data after FIN": data_after_fin,
    "FIN before its data": early_fin,
    "urgent byte within the pattern": urgent_byte,
    "urgent pointer without its flag": urgent_pointer_without_flag,
    "urgent pointer beyond the data": urgent_pointer_beyond,
    "keep-alives with a byte": keep_alives,
    "scaled window": scaled_window,
    "old acknowledgement of data in order": lambda c: (
        c.open(), c.send(0, LEFT), c.send(CUT, RIGHT, ack=-0x2000_0000)),
    "no PSH": other_flags(0),
    "ECN flags": other_flags(0xC0),
    "reserved flags": other_flags(0xF00),
    "40 bytes of padding options": with_options(b"\1" * 40),
    "unknown option": with_options(b"\xfd\x08abcdef"),
    "option of length zero": with_options(b"\xfd\x00\x01\x01"),
    "option beyond the header": with_options(b"\xfd\x28\x01\x01"),
    "sequence numbers wrap": halves,
}
FIRST_SEQUENCE = {"sequence numbers wrap": (1 << 32) - 1 - CUT // 2}

"""Copies a pcapng file without the options that describe the recording machine.

    strip_host_names.py IN OUT

The section header's hardware, system and program names, and the interfaces' system, tell
a reader nothing about the traffic. Interface names and time resolutions stay.
"""

import struct
import sys

SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
INTERFACE_STATISTICS = 5
# Block type: bytes of its body before the options, and the options that stay.
KEPT = {
    SECTION_HEADER: (16, ()),
    INTERFACE_DESCRIPTION: (8, (2, 9)),  # if_name, if_tsresol
}


def options(body):
    """The (code, value) pairs of an option list."""
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def stripped(kind, body):
    fixed, kept = KEPT[kind]
    out = body[:fixed]
    for code, value in options(body[fixed:]):
        if code in kept:
            out += struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
    if len(out) > fixed:
        out += struct.pack("<HH", 0, 0)
    return out


def main(source, target):
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while header := reader.read(8):
            kind, total_bytes = struct.unpack("<II", header)
            body = reader.read(total_bytes - 8)[:-4]
            if kind == INTERFACE_STATISTICS:
                continue
            if kind == SECTION_HEADER and struct.unpack_from("<I", body)[0] != 0x1A2B3C4D:
                sys.exit(f"{source}: not a little-endian pcapng file")
            if kind in KEPT:
                body = stripped(kind, body)
            total = struct.pack("<I", len(body) + 12)
            writer.write(struct.pack("<I", kind) + total + body + total)


if __name__ == "__main__":
    main(*sys.argv[1:])

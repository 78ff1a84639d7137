"""A trunk port in user space: 802.1Q and 802.1ad over any Ethernet interface.

    vlan_trunk.py TRUNK TAP=TAGS [TAP=TAGS ...]

Creates a TAP interface per VLAN and carries frames between it and TRUNK, adding and taking
off the tags. TAGS is `20` (one 802.1Q tag) or `100.40` (an 802.1ad tag around an 802.1Q
tag). Not every kernel is built with VLAN interfaces, but TAP and packet sockets are
everywhere. Runs until it is terminated; prints `ready` when the interfaces exist.
"""

import contextlib
import fcntl
import select
import socket
import struct
import sys

ETH_P_ALL = 0x0003
TPID_8021Q = 0x8100
TPID_8021AD = 0x88A8

# <linux/if_tun.h>
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000

# <linux/if_packet.h>
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_OUTGOING = 4
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6
AUXDATA = struct.Struct("=IIIHHHH")

ADDRESSES_BYTES = 12
FRAME_BYTES = 65536


def tags(text):
    """The tags of a VLAN as they stand in the frame, outermost first."""
    ids = [int(part) for part in text.split(".")]
    tpids = [TPID_8021Q] if len(ids) == 1 else [TPID_8021AD, TPID_8021Q]
    return b"".join(struct.pack("!HH", tpid, vid) for tpid, vid in zip(tpids, ids, strict=True))


def open_tap(name):
    """A TAP interface `name`, not persistent: it goes with this process."""
    tap = open("/dev/net/tun", "r+b", buffering=0)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def receive(trunk):
    """One frame from the trunk with the tag that the kernel has moved aside put back."""
    frame, ancillary, _, address = trunk.recvmsg(FRAME_BYTES, socket.CMSG_SPACE(AUXDATA.size))
    if address[2] == PACKET_OUTGOING:
        return None
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = AUXDATA.unpack(data[: AUXDATA.size])
            if status & TP_STATUS_VLAN_VALID:
                if not status & TP_STATUS_VLAN_TPID_VALID:
                    tpid = TPID_8021Q
                tag = struct.pack("!HH", tpid, tci)
                frame = frame[:ADDRESSES_BYTES] + tag + frame[ADDRESSES_BYTES:]
    return frame


def to_vlan(frame, tap_of):
    """Hands a frame of the trunk, without its tags, to the VLAN that they name."""
    for length in (4, 8):
        tap = tap_of.get(frame[ADDRESSES_BYTES : ADDRESSES_BYTES + length])
        if tap is not None:
            # A TAP that is not up refuses frames; a port without a link loses them too.
            with contextlib.suppress(OSError):
                tap.write(frame[:ADDRESSES_BYTES] + frame[ADDRESSES_BYTES + length :])
            return


def main(arguments):
    trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    trunk.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    trunk.bind((arguments[0], ETH_P_ALL))

    tap_of = {}
    tags_of = {}
    for argument in arguments[1:]:
        name, text = argument.split("=")
        tap = open_tap(name)
        tap_of[tags(text)] = tap
        tags_of[tap] = tags(text)
    print("ready", flush=True)

    while True:
        for source in select.select([trunk, *tags_of], [], [])[0]:
            if source is trunk:
                frame = receive(trunk)
                if frame is not None:
                    to_vlan(frame, tap_of)
            else:
                frame = source.read(FRAME_BYTES)
                trunk.send(frame[:ADDRESSES_BYTES] + tags_of[source] + frame[ADDRESSES_BYTES:])


if __name__ == "__main__":
    main(sys.argv[1:])

"""Numbered datagrams, and what came of them: a number that arrives twice was replayed.

    numbered.py send ADDRESS PACKETS_PER_SECOND
    numbered.py receive COUNTS
    numbered.py replay ADDRESS CAPTURE SEED

`send` sends datagrams with numbers from 1 on from 96 ports, until it is ended; where there is no route for
a moment, numbers are left out. `receive` counts them, and writes to COUNTS as JSON, when it is ended, how
many numbers arrived, and which ones more often than once. `replay` sends the ESP packets of CAPTURE again
in an order that the seed decides, from 96 ports, to UDP port 4500 of ADDRESS, and prints how many.
"""

import json
import pathlib
import random
import signal
import socket
import sys
import time

PORT = 9000
# Enough that one of four associations has none in 4e-12 of all runs only.
FLOWS = 96


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def sockets(address):
    return [socket.socket(family_of(address), socket.SOCK_DGRAM) for _ in range(FLOWS)]


def send(address, per_second):
    flows = sockets(address)
    number, started = 0, time.monotonic()
    while True:
        for _ in range(int((time.monotonic() - started) * per_second) - number):
            number += 1
            try:
                flows[number % FLOWS].sendto(number.to_bytes(8, "big"), (address, PORT))
            except OSError:
                pass
        time.sleep(0.002)


def receive(counts):
    listener = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    listener.bind(("::", PORT))
    seen, again = set(), []

    def end(*_):
        pathlib.Path(counts).write_text(json.dumps({"arrived": len(seen), "again": again}))
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        number = int.from_bytes(listener.recv(64), "big")
        if number in seen:
            again.append(number)
        seen.add(number)


def replay(address, capture, seed):
    import sites

    packets = [packet.esp for packet in sites.Capture(capture).esp_packets()]
    random.Random(int(seed)).shuffle(packets)
    flows = sockets(address)
    for index, packet in enumerate(packets):
        flows[index % FLOWS].sendto(packet, (address, 4500))
        # No faster than the receiver takes them, so that none is lost before it is judged.
        if index % 32 == 0:
            time.sleep(0.002)
    print(len(packets))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["send", address, per_second]:
            send(address, int(per_second))
        case ["receive", counts]:
            receive(counts)
        case ["replay", address, capture, seed]:
            replay(address, capture, seed)
        case _:
            sys.exit(__doc__)

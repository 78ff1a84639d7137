"""Sends datagrams to one UDP service and waits for each answer.

    send_datagrams.py ADDRESS PORT MESSAGE [BYTES]

MESSAGE may hold `{n}`, the number of the datagram (five are sent). With BYTES, one datagram
of that length is sent instead, filled with the message over and over.
"""

import socket
import sys
import time


def main(address, port, message, length_bytes=None):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.connect((address, int(port)))
    if length_bytes is None:
        datagrams = [message.replace("{n}", str(n)).encode() for n in range(5)]
    else:
        filler = message.encode()
        times = int(length_bytes) // len(filler) + 1
        datagrams = [(filler * times)[: int(length_bytes)]]
    for datagram in datagrams:
        sock.send(datagram)
        sock.recv(65535)
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What can be odd about DNS: questions as dnsmasq takes them."""

import socket
import struct
import subprocess

import peers

from .tcp import PATTERN

NAME = PATTERN + b".example"
ADDRESS = bytes([192, 0, 2, 7])
RECURSION = 0x0100


def name(text):
    return b"".join(bytes([len(label)]) + label for label in text.split(b".")) + b"\0"


def message(questions, flags=RECURSION, more=b"", counts=(1, 0, 0, 0), number=0x1234):
    return struct.pack("!6H", number, flags, *counts) + questions + more


def question(text=NAME, kind=1, group=1, **parts):
    return message(name(text) + struct.pack("!HH", kind, group), **parts)


def extended(data=b"", size=1232, flags=0):
    """The record of RFC 6891."""
    return b"\0" + struct.pack("!HHIH", 41, size, flags, len(data)) + data


def with_record(record, **parts):
    return question(more=record, counts=(1, 0, 0, 1), **parts)


def odd_capitals(text):
    return bytes(byte ^ 0x20 if index % 2 and chr(byte).isalpha() else byte for index, byte in enumerate(text))


def prefixed(*messages):
    return b"".join(struct.pack("!H", len(each)) + each for each in messages)


OTHER = question(b"other.example", number=0x4321)
# Each is one datagram.
UDP_CASES = {
    "one question": question(),
    "name in capitals": question(NAME.upper()),
    "name in odd capitals": question(odd_capitals(NAME)),
    "not recursive": question(flags=0),
    "authentic data wanted": question(flags=RECURSION | 0x20),
    "checking disabled": question(flags=RECURSION | 0x10),
    "reserved flag": question(flags=RECURSION | 0x40),
    "response code": question(flags=RECURSION | 3),
    "authoritative": question(flags=RECURSION | 0x400),
    "number 0": question(number=0),
    "extended": with_record(extended()),
    "extended, signatures wanted": with_record(extended(flags=0x8000)),
    "extended, 300 bytes of padding": with_record(extended(struct.pack("!HH", 12, 300) + bytes(300))),
    "extended, unknown option": with_record(extended(struct.pack("!HH", 65001, 4) + b"abcd")),
    "extended, cookie": with_record(extended(struct.pack("!HH", 10, 8) + b"12345678")),
    "bytes behind the question": question(more=b"#" * 20),
    "subdomain": question(b"a.b.c." + NAME),
    "many labels": question(b"a." * 60 + NAME),
    "labels of 63 bytes": question(b".".join([b"a" * 63] * 3) + b"." + NAME),
    "label with dots and blanks": message(b"\x05a. .b" + name(NAME) + b"\0\1\0\1"),
    "label with a zero byte": message(b"\x03a\0b" + name(NAME) + b"\0\1\0\1"),
}
# Each is (the stream, bytes in a TCP segment).
TCP_CASES = {
    "one question": (prefixed(question()), 1400),
    "length alone": (prefixed(question()), 2),
    "segments of one byte": (prefixed(question()), 1),
    "two questions in a segment": (prefixed(OTHER, question()), 1400),
    "ten questions in a segment": (prefixed(*[OTHER] * 9, question()), 1400),
    "two questions in segments of five bytes": (prefixed(OTHER, question()), 5),
    "extended": (prefixed(with_record(extended())), 1400),
    "question behind one with a response code": (
        prefixed(question(b"other.example", flags=RECURSION | 2, number=0x4321), question()), 1400),
    "bytes behind the question": (prefixed(question(more=b"#" * 20)), 1400),
}


class Dnsmasq:
    def __init__(self):
        self.port = peers.free_port()
        command = [
            peers.need_program("dnsmasq"), "--keep-in-foreground", "--no-resolv", "--no-hosts",
            "--conf-file=/dev/null", f"--port={self.port}", "--listen-address=127.0.0.1", "--bind-interfaces",
            "--user=root", "--pid-file=", f"--address=/{NAME.decode()}/{socket.inet_ntoa(ADDRESS)}",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peers.until_it_listens(self.process, self.port, "dnsmasq")

    def over_udp(self, text):
        """Its answer; nothing where it has none."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.settimeout(2)
            asked.sendto(text, ("127.0.0.1", self.port))
            try:
                return asked.recv(1 << 16)
            except TimeoutError:
                return b""

    def over_tcp(self, text):
        with socket.create_connection(("127.0.0.1", self.port)) as asked:
            asked.settimeout(5)
            asked.sendall(text)
            asked.shutdown(socket.SHUT_WR)
            said = b""
            try:
                while more := asked.recv(1 << 16):
                    said += more
            except OSError:
                pass
            return said

    def close(self):
        self.process.terminate()
        self.process.wait()

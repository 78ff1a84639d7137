"""Linux's own TCP and IP as a receiver: packets go in through a TUN device, and what its sockets
were given comes out. The capture has what passed in either direction."""

import fcntl
import ipaddress
import os
import select
import socket
import struct
import subprocess

import peers

from . import wire
from .wire import ACK, FIN, PUSH, SYN

TUN_SET_INTERFACE = 0x400454CA
TUN_WITHOUT_INFORMATION = 0x1001
SERVERS = {4: ipaddress.ip_address("10.9.0.1"), 6: ipaddress.ip_address("fd09::1")}
TCP_PORT, UDP_PORT = 4000, 4001
# Linux acknowledges after 40 ms at the latest.
QUIET_S = 0.06
SOON_S = 0.002


class Linux:
    """The network namespace of this process gets a TUN device, and sockets behind it."""

    def __init__(self):
        try:
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            request = struct.pack("16sH22x", b"evasions", TUN_WITHOUT_INFORMATION)
            fcntl.ioctl(self.tun, TUN_SET_INTERFACE, request)
        except OSError as missing:
            raise peers.Skip(f"there is no TUN device: {missing}") from None
        for command in (
            "link set dev lo up",
            "addr add 10.9.0.1/16 dev evasions",
            "link set dev evasions up",
            "addr add fd09::1/64 dev evasions nodad",
        ):
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
            peers.check(done.returncode == 0, f"ip {command}: {done.stderr.strip()}")
        self.tcp = socket.create_server(("::", TCP_PORT), family=socket.AF_INET6, dualstack_ipv6=True)
        self.tcp.setblocking(False)
        self.udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.udp.bind(("::", UDP_PORT))
        self.udp.setblocking(False)

    def give(self, packet):
        try:
            os.write(self.tun, packet)
        except OSError:
            # It is not even an IP packet for the device.
            pass

    def answers(self, quiet_s):
        while select.select([self.tun], [], [], quiet_s)[0]:
            yield os.read(self.tun, 1 << 16)

    def datagrams(self):
        """What UDP got since the last call."""
        got = []
        while True:
            try:
                got.append(self.udp.recv(1 << 16))
            except BlockingIOError:
                return got

    def connections(self):
        """The connections since the last call, in order."""
        got = []
        while True:
            try:
                got.append(self.tcp.accept()[0])
            except BlockingIOError:
                return got


def received(connection):
    """What a connection was given so far."""
    connection.setblocking(False)
    text = b""
    while True:
        try:
            more = connection.recv(1 << 16)
        except (BlockingIOError, ConnectionResetError):
            return text
        if not more:
            return text
        text += more


class Client:
    """The other end of a connection with Linux, which sends what a case wants. Offsets count from
    the first byte of its data."""

    def __init__(self, linux, capture, address, first_sequence=1000, port=40000):
        self.linux, self.capture = linux, capture
        self.address, self.server = address, SERVERS[address.version]
        self.first, self.ports = first_sequence, (port, TCP_PORT)
        self.udp_ports = (port, UDP_PORT)
        self.server_next = 0

    def segment(self, offset, data=b"", flags=PUSH | ACK, ack=0, **fields):
        """A segment; `ack` is relative to what the server has sent."""
        acknowledged = self.server_next + ack if flags & ACK else 0
        sequence = self.first + 1 + offset
        return wire.tcp(self.address, self.server, self.ports, sequence, acknowledged, flags, data, **fields)

    def packet(self, *segment, **fields):
        return self.carry(self.segment(*segment, **fields))

    def carry(self, segment, **fields):
        make = wire.ipv4 if self.address.version == 4 else wire.ipv6
        return make(self.address, self.server, wire.TCP, segment, **fields)

    def put(self, *packets):
        """Sends packets, and takes what Linux answers at once."""
        for packet in packets:
            self.capture.ip(packet)
            self.linux.give(packet)
            self.take(SOON_S)

    def send(self, *segment, **fields):
        self.put(self.packet(*segment, **fields))

    def forge(self, offset, data=b"", flags=PUSH | ACK, ack=0, **fields):
        """Adds a packet of the server that it did not send, and that its receiver ignores; `offset`
        is relative to what the server has sent, `ack` to the client's first byte of data."""
        segment = wire.tcp(self.server, self.address, self.ports[::-1], self.server_next + offset,
                           self.first + 1 + ack, flags, data, **fields)
        self.capture.ip(wire.ip(self.server, self.address, wire.TCP, segment))

    def take(self, quiet_s):
        for packet in self.linux.answers(quiet_s):
            version = packet[0] >> 4
            destination = packet[16:20] if version == 4 else packet[24:40]
            protocol, start = (packet[9], 20) if version == 4 else (packet[6], 40)
            if destination != self.address.packed:
                continue
            self.capture.ip(packet)
            if protocol == wire.TCP:
                sequence, words_and_flags = struct.unpack("!4xI4xH", packet[start : start + 14])
                data = len(packet) - start - (words_and_flags >> 12) * 4
                if words_and_flags & wire.RST:
                    continue
                # What is sent again moves nothing.
                end = sequence + data + bool(words_and_flags & (SYN | FIN)) & 0xFFFFFFFF
                if words_and_flags & SYN or (end - self.server_next & 0xFFFFFFFF) < 1 << 31:
                    self.server_next = end

    def open(self, **fields):
        self.send(-1, flags=SYN, **fields)
        self.send(0, flags=ACK, **{k: v for k, v in fields.items() if k == "options" and v[:1] == b"\x08"})

    def finish(self):
        self.take(QUIET_S)

    def close(self, size):
        self.send(size, flags=FIN | ACK)
        self.take(QUIET_S)

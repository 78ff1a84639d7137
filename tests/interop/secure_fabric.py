"""Secure packets of InfiniBand and RoCEv2, written from docs/fabric-format.md."""

import dataclasses
import ipaddress
import zlib

from cryptography.hazmat.primitives import cmac, hashes
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

GCM_32, GCM_128, CMAC_32 = 1, 2, 3
NOTIFICATION = 0x81
RESPONSES = {13, 14, 15, 16, 17, 18}
WITHOUT_PAYLOAD = {12, 17, 18, 19, 20, 21}
# By the lower five bits of the operation code.
EXTENDED_BYTES = {
    3: 4, 5: 4, 9: 4, 6: 16, 10: 16, 12: 16, 11: 20, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28,
    20: 28, 22: 4, 23: 4,
}
LRH_BYTES, GRH_BYTES, BTH_BYTES = 8, 40, 12
OUTER_BYTES = {"Local": LRH_BYTES, "Global": LRH_BYTES + GRH_BYTES, "Ipv4": 28, "Ipv6": 48}


@dataclasses.dataclass(frozen=True)
class Endpoint:
    address: str
    queue_pair: int

    def to_bytes(self):
        if self.address.isdigit():
            kind, value = 1, int(self.address)
        else:
            address = ipaddress.ip_address(self.address)
            kind, value = {4: 4, 6: 6}[address.version], int(address)
        return bytes([kind]) + value.to_bytes(16, "big") + self.queue_pair.to_bytes(3, "big")


@dataclasses.dataclass(frozen=True)
class Keys:
    secret: bytes
    random: bytes
    sender: Endpoint
    receiver: Endpoint

    def derive(self, label, length):
        info = label.encode() + b"\0" + self.sender.to_bytes() + self.receiver.to_bytes()
        hkdf = HKDF(algorithm=hashes.SHA256(), length=length, salt=self.random, info=info)
        return hkdf.derive(self.secret)

    def gcm(self, label):
        output = self.derive(label, 28)
        return AESGCM(output[:16]), output[16:]


def unlisted_secret(secret, random):
    """The secret of all flows of a partition that are not listed."""
    info = b"weir fabric 1 unlisted\0"
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=random, info=info).derive(secret)


class Packet:
    """A packet whose headers are the bytes from LRH or IP header to payload."""

    def __init__(self, carrier, packet, timestamp_bits=0):
        self.carrier = carrier
        self.timestamp_bits = timestamp_bits
        self.is_native = carrier in ("Local", "Global")
        self.bth = OUTER_BYTES[carrier]
        self.opcode = packet[self.bth]
        header_bytes = self.bth + BTH_BYTES + extended_bytes(self.opcode)
        end = len(packet) - (2 if self.is_native else 0)
        self.headers = bytearray(packet[:header_bytes])
        self.rest = packet[header_bytes:end]
        self.psn = int.from_bytes(packet[self.bth + 9 : self.bth + 12], "big")

    @property
    def role(self):
        is_response = self.opcode == NOTIFICATION or self.opcode & 31 in RESPONSES
        return 1 if is_response else 0

    @property
    def is_authenticated_only(self):
        return self.opcode == NOTIFICATION or self.opcode & 31 in WITHOUT_PAYLOAD

    def set_fields(self, identifier, epoch):
        at = self.bth
        self.headers[at + 4] = self.headers[at + 4] & 0xFC | identifier
        self.headers[at + 8] = self.headers[at + 8] & 0x80 | epoch & 0x7F

    @property
    def timestamp(self):
        """The upper bits of the marking field, bits 10 to 47 of the DGID."""
        gid = int.from_bytes(self.headers[self.bth - 16 : self.bth], "big")
        return gid >> 118 - self.timestamp_bits & (1 << self.timestamp_bits) - 1

    def set_timestamp(self, seconds):
        if not self.timestamp_bits:
            return
        gid = int.from_bytes(self.headers[self.bth - 16 : self.bth], "big")
        gid ^= (self.timestamp ^ seconds & (1 << self.timestamp_bits) - 1) << 118 - self.timestamp_bits
        self.headers[self.bth - 16 : self.bth] = gid.to_bytes(16, "big")

    def is_fresh(self, seconds, tolerance_s):
        if not self.timestamp_bits:
            return True
        late = (seconds - self.timestamp) % (1 << self.timestamp_bits)
        return min(late, (1 << self.timestamp_bits) - late) <= tolerance_s

    def add_to_lengths(self, added):
        def add(at, value, mask=0xFFFF):
            word = int.from_bytes(self.headers[at : at + 2], "big")
            word = word & ~mask & 0xFFFF | (word & mask) + value
            self.headers[at : at + 2] = word.to_bytes(2, "big")

        if self.is_native:
            add(4, added // 4, 0x7FF)
        at = {"Local": (), "Global": (LRH_BYTES + 4,), "Ipv4": (2, 24), "Ipv6": (4, 44)}
        for offset in at[self.carrier]:
            add(offset, added)

    def associated_data(self):
        data = bytearray(self.headers)
        data[self.bth + 4] &= 0x3F
        if self.carrier == "Local":
            data[0] &= 0x0F
        if self.carrier == "Ipv4":
            for at in (1, 4, 5, 8, 10, 11, 26, 27):
                data[at] = 0
        if self.carrier == "Global":
            del data[:LRH_BYTES]
            gid = int.from_bytes(data[24:40], "big")
            if gid >> 118 in (0b1111111010, 0b1111111011):
                gid &= ~(((1 << 38 - self.timestamp_bits) - 1) << 80)
            data[24:40] = gid.to_bytes(16, "big")
        if self.carrier in ("Global", "Ipv6"):
            data[0] &= 0xF0
            data[1:4] = bytes(3)
            data[7] = 0
        if self.carrier == "Ipv6":
            data[46:48] = bytes(2)
        return bytes(data)

    def finished(self, behind_headers):
        """The packet with its checksums, and its VCRC."""
        packet = self.headers + behind_headers
        if self.is_native:
            return bytes(packet + vcrc(packet).to_bytes(2, "little"))
        udp = self.bth - 8
        if self.carrier == "Ipv4":
            packet[10:12] = bytes(2)
            packet[10:12] = ones_complement(packet[:20]).to_bytes(2, "big")
            addresses = packet[12:20]
        else:
            addresses = packet[8:40]
        if packet[udp + 6 : udp + 8] != bytes(2):
            packet[udp + 6 : udp + 8] = bytes(2)
            pseudo = addresses + (17).to_bytes(4, "big") + (len(packet) - udp).to_bytes(4, "big")
            checksum = ones_complement(pseudo + packet[udp:]) or 0xFFFF
            packet[udp + 6 : udp + 8] = checksum.to_bytes(2, "big")
        return bytes(packet)


def extended_bytes(opcode):
    if opcode == NOTIFICATION:
        return 0
    low, transport = opcode & 31, opcode >> 5
    in_front = 0
    if transport == 2:
        in_front = 4 if low in RESPONSES else 12
    if transport == 3:
        in_front = 8
    return in_front + EXTENDED_BYTES.get(low, 0)


def ones_complement(data):
    data = bytes(data) + bytes(len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def vcrc(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xD008 if crc & 1 else 0)
    return ~crc & 0xFFFF


def icrc(packet):
    """Of a packet with its lengths and both fields as they are sent."""
    data = bytearray(packet.headers)
    data[packet.bth + 4] = 0xFF
    ones = b"\xff" * 8
    if packet.carrier == "Local":
        data[0] |= 0xF0
        ones = b""
    if packet.carrier == "Global":
        del data[:LRH_BYTES]
    if packet.carrier == "Ipv4":
        for at in (1, 8, 10, 11, 26, 27):
            data[at] = 0xFF
    if packet.carrier in ("Global", "Ipv6"):
        data[0] |= 0x0F
        data[1:4] = b"\xff" * 3
        data[7] = 0xFF
    if packet.carrier == "Ipv6":
        data[46:48] = b"\xff" * 2
    return ones + bytes(data)


def nonce(iv, role, number):
    counted = role.to_bytes(4, "big") + number.to_bytes(8, "big")
    return bytes(a ^ b for a, b in zip(iv, counted, strict=True))


def cmac_tag(keys, packet, number, body):
    mac = cmac.CMAC(algorithms.AES(keys.derive("weir fabric 1 cmac-32", 16)))
    mac.update(packet.role.to_bytes(4, "big") + number.to_bytes(8, "big"))
    mac.update(packet.associated_data() + body)
    return mac.finalize()[:4]


def protect(keys, carrier, plain, epoch, number=None, timestamp_bits=0, seconds=0):
    """A secure packet; in extended mode if a number is given."""
    packet = Packet(carrier, plain, timestamp_bits)
    packet.set_timestamp(seconds)
    body = packet.rest[:-4]
    of_packet = epoch << 24 | packet.psn
    if packet.is_authenticated_only and number is None:
        packet.set_fields(CMAC_32, epoch)
        return packet.finished(body + cmac_tag(keys, packet, of_packet, body))
    if number is None:
        packet.set_fields(GCM_32, epoch)
        gcm, iv = keys.gcm("weir fabric 1 gcm-32")
        sealed = gcm.encrypt(nonce(iv, packet.role, of_packet), body, packet.associated_data())
        return packet.finished(sealed[:-12])
    packet.set_fields(GCM_128, 0)
    packet.add_to_lengths(20)
    gcm, iv = keys.gcm("weir fabric 1 gcm-128")
    sealed = gcm.encrypt(nonce(iv, 0, number), body, packet.associated_data())
    return packet.finished(sealed[:-16] + number.to_bytes(8, "big") + sealed[-16:])


def unprotect(keys, carrier, secure, epoch, timestamp_bits=0, seconds=0, tolerance_s=0):
    """The plain packet, or None where the time or the tag is wrong."""
    packet = Packet(carrier, secure, timestamp_bits)
    if not packet.is_fresh(seconds, tolerance_s):
        return None
    identifier = packet.headers[packet.bth + 4] & 3
    of_packet = epoch << 24 | packet.psn
    if identifier == CMAC_32:
        body, tag = packet.rest[:-4], packet.rest[-4:]
        if cmac_tag(keys, packet, of_packet, body) != tag:
            return None
    elif identifier == GCM_32:
        gcm, iv = keys.gcm("weir fabric 1 gcm-32")
        sealed, tag = packet.rest[:-4], packet.rest[-4:]
        start = nonce(iv, packet.role, of_packet)
        # What is encrypted twice is plain: the key stream, and with it the tag.
        body = gcm.encrypt(start, sealed, b"")[: len(sealed)]
        again = gcm.encrypt(start, body, packet.associated_data())
        if again[: len(sealed) + 4] != sealed + tag:
            return None
    elif identifier == GCM_128:
        gcm, iv = keys.gcm("weir fabric 1 gcm-128")
        sealed, number, tag = packet.rest[:-24], packet.rest[-24:-16], packet.rest[-16:]
        start = nonce(iv, 0, int.from_bytes(number, "big"))
        try:
            body = gcm.decrypt(start, sealed + tag, packet.associated_data())
        except Exception:  # cryptography.exceptions.InvalidTag
            return None
        packet.add_to_lengths(-20)
    else:
        return None
    packet.set_fields(0, 0)
    packet.set_timestamp(0)
    covered = icrc(packet) + body
    return packet.finished(body + zlib.crc32(covered).to_bytes(4, "little"))

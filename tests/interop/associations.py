"""Security associations as each of three programs wants them: weir, scapy and tshark.

The tests put one association per suite into one file, each with its own SPI and its own
destination network, so that a capture goes through all suites in one run.
"""

import dataclasses
import hashlib
import ipaddress
import itertools

CIPHERS = {
    # weir's name: (scapy's, tshark's, key bytes, salt bytes)
    "null": ("NULL", "NULL", 0, 0),
    "aes-128-cbc": ("AES-CBC", "AES-CBC [RFC3602]", 16, 0),
    "aes-192-cbc": ("AES-CBC", "AES-CBC [RFC3602]", 24, 0),
    "aes-256-cbc": ("AES-CBC", "AES-CBC [RFC3602]", 32, 0),
    "aes-128-ctr": ("AES-CTR", "AES-CTR [RFC3686]", 16, 4),
    "aes-192-ctr": ("AES-CTR", "AES-CTR [RFC3686]", 24, 4),
    "aes-256-ctr": ("AES-CTR", "AES-CTR [RFC3686]", 32, 4),
    "3des-cbc": ("3DES", "TripleDES-CBC [RFC2451]", 24, 0),
}
MACS = {
    # weir's name: (scapy's, tshark's, key bytes)
    "hmac-sha1-96": ("HMAC-SHA1-96", "HMAC-SHA-1-96 [RFC2404]", 20),
    "hmac-sha2-256-128": ("SHA2-256-128", "HMAC-SHA-256-128 [RFC4868]", 32),
    "hmac-sha2-384-192": ("SHA2-384-192", "HMAC-SHA-384-192 [RFC4868]", 48),
    "hmac-sha2-512-256": ("SHA2-512-256", "HMAC-SHA-512-256 [RFC4868]", 64),
}
AEADS = {
    "aes-128-gcm-16": ("AES-GCM", "AES-GCM with 16 octet ICV [RFC4106]", 16, 4),
    "aes-192-gcm-16": ("AES-GCM", "AES-GCM with 16 octet ICV [RFC4106]", 24, 4),
    "aes-256-gcm-16": ("AES-GCM", "AES-GCM with 16 octet ICV [RFC4106]", 32, 4),
    # tshark knows neither CCM nor GMAC.
    "aes-128-ccm-16": ("AES-CCM", None, 16, 3),
    "aes-192-ccm-16": ("AES-CCM", None, 24, 3),
    "aes-256-ccm-16": ("AES-CCM", None, 32, 3),
    "aes-128-gmac": ("AES-NULL-GMAC", None, 16, 4),
    "aes-192-gmac": ("AES-NULL-GMAC", None, 24, 4),
    "aes-256-gmac": ("AES-NULL-GMAC", None, 32, 4),
    # tshark has no ChaCha20-Poly1305 that works.
    "chacha20-poly1305": ("CHACHA20-POLY1305", None, 32, 4),
}
# Of private use: no other program knows them, mac_suites.py does.
PRIVATE = {
    "aes-128-ctr+umac-64": (None, None, 16, 0),
    "aes-128-ctr+umac-96": (None, None, 16, 0),
    "aes-128-ctr+mmh-mac-96": (None, None, 16, 0),
    "aes-128-ctr+mmh-mac-128": (None, None, 16, 0),
}
SUITES = [*AEADS, *(f"{cipher}+{mac}" for cipher, mac in itertools.product(CIPHERS, MACS))]
TSHARK_SUITES = [suite for suite in SUITES if suite not in AEADS or AEADS[suite][1]]

MODES = ("tunnel", "transport")
FAMILIES = ("ipv4", "ipv6")
# What the packets of an association are like: mode, family inside, family outside.
SHAPES = [("transport", family, family) for family in FAMILIES] + [
    ("tunnel", inside, outside) for inside in FAMILIES for outside in FAMILIES
]
GATEWAYS = {"ipv4": ("198.19.0.1", "198.19.0.2"), "ipv6": ("fd00:ffff::1", "fd00:ffff::2")}
FIRST_SPI = 0x1000
# RFC 3948: ESP in UDP.
NAT_T_PORT = 4500


def network(family, index):
    """The network that association number `index` protects the way to."""
    if family == "ipv4":
        return ipaddress.ip_network((int(ipaddress.ip_address("198.18.0.0")) + (index << 8), 24))
    return ipaddress.ip_network((int(ipaddress.ip_address("fd00::")) + (index << 64), 64))


def test_key(label, length_bytes):
    """A key that is the same in every run; for tests only."""
    return hashlib.shake_256(label.encode()).digest(length_bytes)


@dataclasses.dataclass(frozen=True)
class Association:
    """One direction of a tunnel or between two hosts, with everything it needs."""

    index: int
    suite: str
    mode: str
    inside: str
    outside: str
    esn: bool = False
    nat_t: bool = False
    # The sequence number that weir seals first, where not 1.
    first: int = 1

    @property
    def spi(self):
        return FIRST_SPI + self.index

    @property
    def names(self):
        """(row of the cipher or AEAD, row of the MAC or None)"""
        combined = AEADS | PRIVATE
        if self.suite in combined:
            return combined[self.suite], None
        cipher, mac = self.suite.split("+")
        return CIPHERS[cipher], MACS[mac]

    @property
    def key(self):
        return test_key(f"{self.suite} cipher", self.names[0][2])

    @property
    def salt(self):
        return test_key(f"{self.suite} salt", self.names[0][3])

    @property
    def integrity_key(self):
        mac = self.names[1]
        return test_key(f"{self.suite} integrity", mac[2]) if mac else b""

    @property
    def network(self):
        return network(self.inside, self.index)

    @property
    def gateways(self):
        return GATEWAYS[self.outside]

    def for_scapy(self):
        from scapy.layers.inet import IP, UDP
        from scapy.layers.inet6 import IPv6
        from scapy.layers.ipsec import ESP, SecurityAssociation

        cipher, mac = self.names
        options = {"crypt_algo": cipher[0]}
        if self.key:
            options["crypt_key"] = self.key + self.salt
        if mac:
            options |= {"auth_algo": mac[0], "auth_key": self.integrity_key}
        if self.mode == "tunnel":
            header = IP if self.outside == "ipv4" else IPv6
            source, destination = self.gateways
            options["tunnel_header"] = header(src=source, dst=destination)
        if self.nat_t:
            options["nat_t_header"] = UDP(sport=NAT_T_PORT, dport=NAT_T_PORT, chksum=0)
        return SecurityAssociation(ESP, spi=self.spi, esn_en=self.esn, esn=0, **options)

    def for_tshark(self):
        """A row of tshark's table of associations."""
        cipher, mac = self.names
        family = {"ipv4": "IPv4", "ipv6": "IPv6"}[self.outside]
        key = f"0x{(self.key + self.salt).hex()}" if self.key else ""
        cells = [family, "*", "*", f"0x{self.spi:08x}", cipher[1], key]
        cells += [mac[1], f"0x{self.integrity_key.hex()}"] if mac else ["NULL", ""]
        return "uat:esp_sa:" + ",".join(f'"{cell}"' for cell in cells)


def associations(suites, shape, **options):
    return [Association(index, suite, *shape, **options) for index, suite in enumerate(suites)]


def path_of(shape):
    """For the name of a test."""
    mode, inside, outside = shape
    return f"{mode}, {inside} in {outside}" if mode == "tunnel" else f"{mode}, {inside}"

"""What can be odd about TLS: how a ClientHello comes, as OpenSSL takes it."""

import ssl
import struct

from .tcp import PATTERN

NAME = PATTERN.decode() + ".example"


def hello(name=NAME, protocols=(), minimum=None, ciphers=None):
    """The record of a ClientHello that OpenSSL makes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    if minimum:
        context.minimum_version = minimum
    if ciphers:
        context.set_ciphers(ciphers)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def records(handshake, sizes, version=b"\x03\x01"):
    """A handshake message in records of these sizes, the last size for all others."""
    out, at, sizes = b"", 0, list(sizes)
    while at < len(handshake):
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        piece = handshake[at : at + size]
        out += b"\x16" + version + struct.pack("!H", len(piece)) + piece
        at += size
    return out


def in_records(*sizes, **parts):
    return records(hello()[5:], sizes, **parts)


def name_at():
    return hello()[5:].index(PATTERN) + len(PATTERN) // 2


# name -> (what the client says, bytes in a TCP segment)
CASES = {
    "one record": (hello(), 1400),
    "segments of one byte": (hello(), 1),
    "segments of seven bytes": (hello(), 7),
    "segment ends in the record's header": (hello(), 3),
    "records of one byte": (in_records(1), 1400),
    "records of three bytes": (in_records(3), 1400),
    "records of one byte in segments of one byte": (in_records(1), 1),
    "two records, cut in the name": (in_records(name_at(), 4000), 1400),
    "two records, cut in the handshake header": (in_records(2, 4000), 1400),
    "two records, cut behind the handshake header": (in_records(4, 4000), 1400),
    "three records, the name in the middle": (in_records(name_at() - 4, 8, 4000), 1400),
    "record of version 3.0": (in_records(4000, version=b"\x03\x00"), 1400),
    "record of version 3.3": (in_records(4000, version=b"\x03\x03"), 1400),
    "record of version 3.4": (in_records(4000, version=b"\x03\x04"), 1400),
    "TLS 1.2": (hello(ciphers="ECDHE-RSA-AES128-GCM-SHA256"), 1400),
    "TLS 1.3 alone": (hello(minimum=ssl.TLSVersion.TLSv1_3), 1400),
    "3,000 bytes of protocols": (hello(protocols=["h2"] * 1000), 1400),
    "3,000 bytes in records of 100": (records(hello(protocols=["h2"] * 1000)[5:], [100]), 1400),
    "name of three labels": (hello(name=f"a.b.{NAME}"), 1400),
    "long name": (hello(name=f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{NAME}"), 1400),
    "name in capitals": (hello(name=NAME.upper()), 1400),
}


def by_openssl(text):
    """The name that a server was asked for, and what it says."""
    names = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda connection, name, _: names.append(name)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(incoming, outgoing, server_side=True)
    incoming.write(text)
    try:
        server.do_handshake()
    except ssl.SSLError:
        # It wants more, or has no certificate to go on with: the name came before that.
        pass
    return (names or [None])[0], outgoing.read()

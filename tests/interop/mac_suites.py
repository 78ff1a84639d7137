"""ESP with AES-CTR and a universal-hash MAC, written from docs/mac-suites.md and RFC 4418.

Slow and plain: it is a judge of Weir's kernels and shares no code with them.
"""

import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

# Suite: (MAC, words of 4 bytes in a tag).
SUITES = {
    "aes-128-ctr+umac-64": ("umac", 2),
    "aes-128-ctr+umac-96": ("umac", 3),
    "aes-128-ctr+mmh-mac-96": ("mmh", 3),
    "aes-128-ctr+mmh-mac-128": ("mmh", 4),
}
IV_BYTES = 8


def aes(key, blocks):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(blocks) + encryptor.finalize()


def kdf(key, label, length_bytes):
    """Section "Keys": blocks of AES over an 8-byte label and an 8-byte counter from 1."""
    label = label.to_bytes(8, "big") if isinstance(label, int) else label
    count = -(-length_bytes // 16)
    blocks = b"".join(label + counter.to_bytes(8, "big") for counter in range(1, count + 1))
    return aes(key, blocks)[:length_bytes]


def padded(data, unit_bytes):
    """With zeros behind it up to a multiple of a unit, one unit at least."""
    return data + bytes(-len(data) % unit_bytes if data else unit_bytes)


def words(data, order):
    return [int.from_bytes(data[at : at + 4], order) for at in range(0, len(data), 4)]


# UMAC, RFC 4418.


def nh(key, block, length_bits):
    """Section 5.2.2; words of the message are little-endian (5.2.1), those of the key big."""
    total = length_bits
    k, m = words(key, "big"), words(block, "little")
    for at in range(0, len(m), 8):
        for i in range(at, at + 4):
            left = (m[i] + k[i]) % 2**32
            right = (m[i + 4] + k[i + 4]) % 2**32
            total += left * right
    return (total % 2**64).to_bytes(8, "big")


def l1_hash(key, message):
    blocks = [message[at : at + 1024] for at in range(0, len(message), 1024)] or [b""]
    return b"".join(nh(key, padded(block, 32), 8 * len(block)) for block in blocks)


def l2_hash(key, data):
    """Section 5.3, for messages of at most 2^24 bytes."""
    if len(data) <= 8:
        return bytes(8) + data
    prime, marker = 2**64 - 59, 2**64 - 60
    point = int.from_bytes(key[:8], "big") & 0x01FFFFFF01FFFFFF
    y = 1
    for at in range(0, len(data), 8):
        number = int.from_bytes(data[at : at + 8], "big")
        if number >= 2**64 - 2**32:
            y = (point * y + marker) % prime
            number -= 59
        y = (point * y + number) % prime
    return y.to_bytes(16, "big")


def l3_hash(key_1, key_2, data):
    prime = 2**36 - 5
    total = sum(
        int.from_bytes(data[2 * i : 2 * i + 2], "big")
        * (int.from_bytes(key_1[8 * i : 8 * i + 8], "big") % prime)
        for i in range(8)
    )
    word = total % prime % 2**32
    return bytes(a ^ b for a, b in zip(word.to_bytes(4, "big"), key_2, strict=True))


def umac(key, tag_words, message, nonce):
    """A tag of so many words; the nonce has 8 bytes."""
    l1_key = kdf(key, 1, 1024 + 16 * (tag_words - 1))
    l2_key = kdf(key, 2, 24 * tag_words)
    l3_key_1, l3_key_2 = kdf(key, 3, 64 * tag_words), kdf(key, 4, 4 * tag_words)
    hashed = b""
    for t in range(tag_words):
        a = l1_hash(l1_key[16 * t : 16 * t + 1024], message)
        b = l2_hash(l2_key[24 * t : 24 * t + 24], a)
        hashed += l3_hash(l3_key_1[64 * t : 64 * t + 64], l3_key_2[4 * t : 4 * t + 4], b)
    # Section 3.3: short pads are cut from one block.
    of_block = {1: 4, 2: 2}.get(tag_words, 1)
    index = nonce[-1] % of_block
    block = nonce[:-1] + bytes([nonce[-1] - index]) + bytes(16 - len(nonce))
    pad = aes(kdf(key, 0, 16), block)[4 * tag_words * index :][: 4 * tag_words]
    return bytes(a ^ b for a, b in zip(hashed, pad, strict=True))


# MMH-MAC.


def mmh32(key, message):
    total = sum(m * k for m, k in zip(message, key, strict=False)) % 2**64
    return total % (2**32 + 15) % 2**32


def toeplitz(key, tag_words, message):
    return [mmh32(key[t:], message) for t in range(tag_words)]


def mmh_mac(key, tag_words, message, nonce):
    key_1 = words(kdf(key, b"mmh-lvl1", 1088), "little")
    key_2 = words(kdf(key, b"mmh-lvl2", 1088), "little")
    if len(message) <= 1024:
        block = words(message.ljust(1024, b"\0"), "little")
        hashed = toeplitz(key_1, tag_words, [*block, len(message)])
    else:
        above = [len(message)]
        for at in range(0, len(message), 1024):
            block = words(message[at : at + 1024].ljust(1024, b"\0"), "little")
            above += toeplitz(key_1, tag_words, block)
        hashed = toeplitz(key_2, tag_words, above)
    pad_block = tag_words.to_bytes(8, "big") + nonce
    pad = words(aes(kdf(key, b"mmh-pad ", 16), pad_block), "little")
    tag = [(h + p) % 2**32 for h, p in zip(hashed, pad, strict=False)]
    return b"".join(word.to_bytes(4, "little") for word in tag)


# ESP.


def tag_bytes(suite):
    return 4 * SUITES[suite][1]


def tag(suite, key, associated, iv, ciphertext):
    mac, tag_words = SUITES[suite]
    function = {"umac": umac, "mmh": mmh_mac}[mac]
    return function(key, tag_words, associated + iv + ciphertext, iv)


def ctr(key, iv, text):
    """RFC 3686, under key and salt that are derived for it."""
    stream = kdf(key, b"ctr-key ", 20)
    block = stream[16:] + iv + (1).to_bytes(4, "big")
    encryptor = Cipher(algorithms.AES(stream[:16]), modes.CTR(block)).encryptor()
    return encryptor.update(text) + encryptor.finalize()


def seal(suite, key, associated, iv, text):
    """The ciphertext and the tag."""
    ciphertext = ctr(key, iv, text)
    return ciphertext, tag(suite, key, associated, iv, ciphertext)


def open_esp(suite, key, esp, high_half=None):
    """Payload and next header of an ESP packet from its SPI on; None where the tag is wrong.

    With extended sequence numbers, `high_half` is the half that is not sent.
    """
    header, iv = esp[:8], esp[8 : 8 + IV_BYTES]
    ciphertext, received = esp[16 : -tag_bytes(suite)], esp[-tag_bytes(suite) :]
    associated = header
    if high_half is not None:
        associated = header[:4] + high_half.to_bytes(4, "big") + header[4:]
    if not hmac.compare_digest(tag(suite, key, associated, iv, ciphertext), received):
        return None
    text = ctr(key, iv, ciphertext)
    return text[: len(text) - 2 - text[-2]], text[-1]

//! Packets that Weir seals are opened by implementations of others, and the reverse.

mod endpoints;
mod quic;
mod rfc9001;
mod srtp;
mod tls13;
mod wireguard;

use weir_crypto::{
    Descriptor, KeyId, KeyMaterial, NonceRule, Opener, OpeningKey, Sealer, SealingKey, Suite,
    Verdicts,
};

fn suite(name: &str) -> Suite {
    Suite::parse(name).expect("a suite")
}

/// The bytes of hexadecimal digits, which white space may separate.
fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let bytes = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two digits")
    });
    bytes.collect()
}

/// A sealer with one key, whose first packet gets number `first`.
fn sealer(suite: Suite, key: &[u8], rule: NonceRule, first: u64) -> (Sealer, KeyId) {
    let material = KeyMaterial::with_nonces(suite, key, rule).expect("key material");
    let mut sealer = Sealer::new();
    let key = sealer.add(SealingKey::new(material, first..).expect("a key"));
    (sealer, key)
}

/// An opener with one key.
fn opener(suite: Suite, key: &[u8], rule: NonceRule) -> (Opener, KeyId) {
    let material = KeyMaterial::with_nonces(suite, key, rule).expect("key material");
    let mut opener = Opener::new();
    let key = opener.add(OpeningKey::new(&material).expect("a key"));
    (opener, key)
}

/// Seals numbered packets, all of which are good.
fn seal(sealer: &mut Sealer, buffer: &mut [u8], packets: &[(Descriptor, u64)]) {
    let mut batch = sealer.batch(buffer);
    for (packet, number) in packets {
        batch.push_numbered(*packet, *number).expect("taken");
    }
    assert!(batch.run().all_good());
}

/// Opens numbered packets.
fn open(opener: &mut Opener, buffer: &mut [u8], packets: &[(Descriptor, u64)]) -> Verdicts {
    let mut batch = opener.batch(buffer);
    for (packet, number) in packets {
        batch.push_numbered(*packet, *number).expect("taken");
    }
    batch.run()
}

/// The repeatable payload of packet `number`.
fn payload(number: u64, bytes: usize) -> Vec<u8> {
    let byte = |at: usize| (number as usize).wrapping_mul(31).wrapping_add(at * 7) as u8;
    (0..bytes).map(byte).collect()
}

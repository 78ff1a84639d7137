//! Keys and packets for the tests.

pub mod laid;

use weir_crypto::mac::Algorithm;
use weir_crypto::{IvSource, KeyMaterial, OpeningKey, SealingKey, Suite};

/// Every suite, MACs alone too.
pub fn suites() -> impl Iterator<Item = Suite> {
    Suite::all().chain(Algorithm::all().map(Suite::Mac))
}

/// Whether the suite is a MAC alone, whose message is never encrypted and never cleared.
pub fn is_mac(suite: Suite) -> bool {
    matches!(suite, Suite::Mac(_))
}

pub fn parse(name: &str) -> Suite {
    Suite::parse(name).expect("a suite's name")
}

/// The keys of a suite, as in [`KeyMaterial::new`]; they differ from one `seed` to the next.
pub struct RawKey {
    pub suite: Suite,
    pub key: Vec<u8>,
    pub integrity_key: Vec<u8>,
}

impl RawKey {
    pub fn new(suite: Suite, seed: u8) -> RawKey {
        let bytes = |n: usize, salt: u8| -> Vec<u8> {
            (0..n as u8)
                .map(|i| i.wrapping_mul(29).wrapping_add(seed).wrapping_mul(101) ^ salt)
                .collect()
        };
        RawKey {
            suite,
            key: bytes(suite.key_bytes() + suite.salt_bytes(), 0x11),
            integrity_key: bytes(suite.integrity_key_bytes(), 0x77),
        }
    }

    pub fn material(&self) -> KeyMaterial {
        KeyMaterial::new(self.suite, &self.key, &self.integrity_key)
            .expect("lengths are the suite's")
    }
}

pub fn material(suite: Suite, seed: u8) -> KeyMaterial {
    RawKey::new(suite, seed).material()
}

/// Both keys of one direction, with numbers from 1.
pub fn key_pair(suite: Suite, seed: u8) -> (SealingKey, OpeningKey) {
    let opening = OpeningKey::new(&material(suite, seed)).expect("an opening key");
    let ivs = IvSource::RepeatableInsecure;
    let sealing = SealingKey::with_ivs(material(suite, seed), 1.., ivs).expect("a sealing key");
    (sealing, opening)
}

/// One packet's parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    pub aad: Vec<u8>,
    pub iv: Vec<u8>,
    pub payload: Vec<u8>,
    pub tag: Vec<u8>,
    /// Whether it has an extended sequence number.
    pub esn: bool,
}

impl Packet {
    /// A packet whose payload has `payload_bytes`, rounded up to the suite's blocks. That of an
    /// odd `seed` has an extended sequence number, where suite and AAD allow one.
    pub fn new(suite: Suite, aad_bytes: usize, payload_bytes: usize, seed: u8) -> Packet {
        let fill = |n: usize, salt: u8| -> Vec<u8> {
            (0..n)
                .map(|i| (i as u8).wrapping_mul(seed | 1).wrapping_add(salt))
                .collect()
        };
        let aad_bytes = aad_bytes.min(suite.max_aad_bytes());
        Packet {
            aad: fill(aad_bytes, 3),
            iv: vec![0xee; suite.iv_bytes()],
            payload: fill(payload_bytes.next_multiple_of(suite.block_bytes()), 5),
            tag: vec![0xee; suite.tag_bytes()],
            esn: seed % 2 == 1 && aad_bytes == 8 && !is_mac(suite),
        }
    }

    pub fn parts(&self) -> [&[u8]; 4] {
        [&self.aad, &self.iv, &self.payload, &self.tag]
    }
}

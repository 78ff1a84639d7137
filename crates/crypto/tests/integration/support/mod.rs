//! Packets for the tests: their keys and parts in buffers of their own.

pub mod laid;

use weir_crypto::{
    Aead, IvSource, KeyMaterial, KeyPolicy, OpenJob, OpeningKey, SealJob, SealingKey, Suite, Ticket,
};

/// Every suite with every way to keep its keys.
pub fn suites_and_policies() -> impl Iterator<Item = (Suite, KeyPolicy)> {
    Suite::all().flat_map(|suite| {
        let policies = match suite {
            Suite::Aead(Aead::AesGcm16(_)) => &KeyPolicy::ALL[..],
            _ => &[KeyPolicy::Precomputed],
        };
        policies.iter().map(move |&policy| (suite, policy))
    })
}

/// Key material of `suite` that differs from one `seed` to the next.
pub fn material(suite: Suite, seed: u8) -> KeyMaterial {
    let bytes = |n: usize, salt: u8| -> Vec<u8> {
        (0..n as u8)
            .map(|i| i.wrapping_mul(29).wrapping_add(seed).wrapping_mul(101) ^ salt)
            .collect()
    };
    KeyMaterial::new(
        suite,
        &bytes(suite.key_bytes() + suite.salt_bytes(), 0x11),
        &bytes(suite.integrity_key_bytes(), 0x77),
    )
    .expect("lengths are the suite's")
}

/// Both keys of one direction, with `reserved` counter values from 1.
pub fn key_pair(suite: Suite, seed: u8, reserved: u64) -> (SealingKey, OpeningKey) {
    let opening = OpeningKey::new(&material(suite, seed)).expect("an opening key");
    let mut sealing = SealingKey::new(material(suite, seed), 1, IvSource::RepeatableInsecure)
        .expect("a sealing key");
    sealing.allow_until(1 + reserved);
    (sealing, opening)
}

/// One packet's parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    pub prefix: Vec<u8>,
    pub iv: Vec<u8>,
    pub text: Vec<u8>,
    pub suffix: Vec<u8>,
    pub tag: Vec<u8>,
}

impl Packet {
    /// A packet whose text has `text_bytes`, rounded up to the suite's blocks.
    pub fn new(suite: Suite, prefix_bytes: usize, text_bytes: usize, seed: u8) -> Packet {
        let fill = |n: usize, salt: u8| -> Vec<u8> {
            (0..n)
                .map(|i| (i as u8).wrapping_mul(seed | 1).wrapping_add(salt))
                .collect()
        };
        let suffix_bytes = match suite {
            Suite::Aead(_) => 0,
            Suite::EncryptThenMac(..) => usize::from(seed % 2) * 4,
        };
        Packet {
            prefix: fill(prefix_bytes.min(suite.most_prefix_bytes()), 3),
            iv: vec![0xee; suite.iv_bytes()],
            text: fill(text_bytes.next_multiple_of(suite.block_bytes()), 5),
            suffix: fill(suffix_bytes, 7),
            tag: vec![0xee; suite.tag_bytes()],
        }
    }

    pub fn seal_job<'a>(&'a mut self, key: &'a SealingKey, ticket: Ticket) -> SealJob<'a> {
        SealJob {
            key,
            ticket,
            prefix: &self.prefix,
            iv: &mut self.iv,
            text: &mut self.text,
            suffix: &self.suffix,
            tag: &mut self.tag,
        }
    }

    pub fn open_job<'a>(&'a mut self, key: &'a OpeningKey) -> OpenJob<'a> {
        OpenJob {
            key,
            prefix: &self.prefix,
            iv: &self.iv,
            text: &mut self.text,
            suffix: &self.suffix,
            tag: &self.tag,
            verified: false,
        }
    }
}

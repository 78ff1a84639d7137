//! Whole batches against the kept crates, packet by packet, in every tier.

use ::hmac::{Hmac, KeyInit};
use aes::cipher::{BlockModeEncrypt, BlockSizeUser, InnerIvInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use weir_simd::{Tier, for_each_tier};

use super::{EtmJob, EtmKey, EtmOpenJob, EtmSealJob, open, seal};
use crate::keys::KeyMaterial;
use crate::mode::{CbcDecryptKey, CbcEncryptKey};
use crate::suite::{AesKeySize, Cipher, Mac, Suite};

/// What a generated packet is.
#[derive(Clone, Debug)]
struct Plan {
    cipher: Cipher,
    mac: Mac,
    prefix_bytes: usize,
    text_bytes: usize,
    suffix_bytes: usize,
    /// Where the text begins in its buffer.
    offset: usize,
    seed: u8,
}

fn plan() -> impl Strategy<Value = Plan> {
    let text_bytes = prop_oneof![4 => 0..160usize, 1 => 0..2500usize];
    (
        prop::sample::select(Cipher::ALL.to_vec()),
        prop::sample::select(Mac::ALL.to_vec()),
        (0..90usize, text_bytes, 0..9usize, 0..64usize),
        any::<u8>(),
    )
        .prop_map(|(cipher, mac, (prefix, text, suffix, offset), seed)| {
            let block_bytes = Suite::EncryptThenMac(cipher, mac).block_bytes();
            Plan {
                cipher,
                mac,
                prefix_bytes: prefix,
                text_bytes: text.next_multiple_of(block_bytes),
                suffix_bytes: suffix,
                offset,
                seed,
            }
        })
}

/// A batch of few suites, whose lanes fill, or of many, whose lanes do not; of one
/// suite also with runs of one shape.
fn batch() -> impl Strategy<Value = Vec<Plan>> {
    let mixed = prop::collection::vec(plan(), 1..=256);
    let alike = (plan(), prop::collection::vec(plan(), 1..=256)).prop_map(|(suite, mut plans)| {
        for plan in &mut plans {
            plan.cipher = suite.cipher;
            plan.mac = suite.mac;
            plan.text_bytes = plan.text_bytes.next_multiple_of(16);
        }
        plans
    });
    let run = (
        plan(),
        prop::collection::vec((any::<u8>(), 0..64usize), 1..=40),
    );
    let runs = (plan(), prop::collection::vec(run, 1..=6)).prop_map(|(suite, runs)| {
        let alike = runs.into_iter().flat_map(|(shape, packets)| {
            packets.into_iter().map(move |(seed, offset)| Plan {
                cipher: suite.cipher,
                mac: suite.mac,
                text_bytes: shape.text_bytes.next_multiple_of(16),
                offset,
                seed,
                ..shape
            })
        });
        alike.collect()
    });
    prop_oneof![mixed, alike, runs]
}

fn run(property: impl Fn(&[Plan]) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: 80,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[23; 32]);
    TestRunner::new_with_rng(config, rng)
        .run(&batch(), |plans| property(&plans))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// A packet in buffers of its own.
#[derive(Clone)]
struct Packet {
    prefix: Vec<u8>,
    iv: Vec<u8>,
    /// The text begins at `offset`.
    buffer: Vec<u8>,
    offset: usize,
    suffix: Vec<u8>,
    tag: Vec<u8>,
}

fn bytes(count: usize, seed: u8, salt: usize) -> Vec<u8> {
    let seed = usize::from(seed) | 1;
    (0..count)
        .map(|i| ((i + salt) * seed + (i * i + salt) / 5) as u8)
        .collect()
}

impl Plan {
    fn suite(&self) -> Suite {
        Suite::EncryptThenMac(self.cipher, self.mac)
    }

    fn key(&self) -> Vec<u8> {
        let suite = self.suite();
        bytes(suite.key_bytes() + suite.salt_bytes(), self.seed, 3)
    }

    fn integrity_key(&self) -> Vec<u8> {
        bytes(self.suite().integrity_key_bytes(), self.seed, 31)
    }

    fn material(&self) -> KeyMaterial {
        KeyMaterial::new(self.suite(), &self.key(), &self.integrity_key()).expect("a key")
    }

    fn packet(&self) -> Packet {
        Packet {
            prefix: bytes(self.prefix_bytes, self.seed, 5),
            iv: bytes(self.suite().iv_bytes(), self.seed, 7),
            buffer: bytes(self.offset + self.text_bytes, self.seed, 11),
            offset: self.offset,
            suffix: bytes(self.suffix_bytes, self.seed, 13),
            tag: vec![0; self.suite().tag_bytes()],
        }
    }

    /// The packet sealed by the kept crates.
    fn sealed_by_kept_crates(&self) -> Packet {
        let mut packet = self.packet();
        let text = &mut packet.buffer[packet.offset..];
        let key = self.key();
        match self.cipher {
            Cipher::Null => {}
            Cipher::AesCbc(AesKeySize::Aes128) => cbc::<Aes128>(&key, &packet.iv, text),
            Cipher::AesCbc(AesKeySize::Aes192) => cbc::<Aes192>(&key, &packet.iv, text),
            Cipher::AesCbc(AesKeySize::Aes256) => cbc::<Aes256>(&key, &packet.iv, text),
            Cipher::AesCtr(AesKeySize::Aes128) => ctr::<Aes128>(&key, &packet.iv, text),
            Cipher::AesCtr(AesKeySize::Aes192) => ctr::<Aes192>(&key, &packet.iv, text),
            Cipher::AesCtr(AesKeySize::Aes256) => ctr::<Aes256>(&key, &packet.iv, text),
            Cipher::TripleDesCbc => cbc::<des::TdesEde3>(&key, &packet.iv, text),
        }
        let covered = packet.parts().concat();
        let key = self.integrity_key();
        let tag = match self.mac {
            Mac::HmacSha1_96 => hmac::<Hmac<Sha1>>(&key, &covered),
            Mac::HmacSha2_256_128 => hmac::<Hmac<Sha256>>(&key, &covered),
            Mac::HmacSha2_384_192 => hmac::<Hmac<Sha384>>(&key, &covered),
            Mac::HmacSha2_512_256 => hmac::<Hmac<Sha512>>(&key, &covered),
        };
        let tag_bytes = packet.tag.len();
        packet.tag.copy_from_slice(&tag[..tag_bytes]);
        packet
    }
}

fn cbc<C>(key: &[u8], iv: &[u8], text: &mut [u8])
where
    C: aes::cipher::BlockCipherEncrypt + KeyInit + BlockSizeUser,
{
    let cipher = <C as KeyInit>::new_from_slice(key).expect("a key");
    let iv = iv.try_into().expect("a block");
    let (blocks, rest) = aes::cipher::Array::slice_as_chunks_mut(text);
    assert!(rest.is_empty());
    ::cbc::Encryptor::<C>::inner_iv_init(cipher, iv).encrypt_blocks(blocks);
}

fn ctr<C>(key: &[u8], iv: &[u8], text: &mut [u8])
where
    ::ctr::Ctr32BE<C>: KeyIvInit + StreamCipher,
    C: aes::cipher::BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>,
{
    let (key, salt) = key.split_at(key.len() - 4);
    let block = [salt, iv, &[0, 0, 0, 1]].concat();
    ::ctr::Ctr32BE::<C>::new_from_slices(key, &block)
        .expect("a key and a block")
        .apply_keystream(text);
}

fn hmac<H: ::hmac::Mac + KeyInit>(key: &[u8], covered: &[u8]) -> Vec<u8> {
    let mut mac = <H as KeyInit>::new_from_slice(key).expect("a key");
    mac.update(covered);
    mac.finalize().into_bytes().to_vec()
}

impl Packet {
    fn parts(&self) -> [&[u8]; 4] {
        [&self.prefix, &self.iv, self.text(), &self.suffix]
    }

    fn text(&self) -> &[u8] {
        &self.buffer[self.offset..]
    }
}

/// A job in either direction.
struct Job<'k, C> {
    key: &'k EtmKey<C>,
    packet: Packet,
    /// What became of it.
    verified: Option<bool>,
}

impl<'k, C: 'k> EtmJob<'k> for Job<'k, C> {
    type Direction = C;

    fn key(&self) -> Option<&'k EtmKey<C>> {
        Some(self.key)
    }

    fn part(&self, index: usize) -> &[u8] {
        self.packet.parts()[index]
    }

    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]) {
        let packet = &mut self.packet;
        (&packet.iv, &mut packet.buffer[packet.offset..])
    }
}

impl<'k> EtmSealJob<'k> for Job<'k, CbcEncryptKey> {
    fn finish(&mut self, write: impl FnOnce(&mut [u8])) {
        assert_eq!(self.verified, None, "sealed twice");
        self.verified = Some(true);
        write(&mut self.packet.tag);
    }
}

impl<'k> EtmOpenJob<'k> for Job<'k, CbcDecryptKey> {
    fn tag(&self) -> &[u8] {
        &self.packet.tag
    }

    fn conclude(&mut self, verified: bool) {
        assert_eq!(self.verified, None, "told twice");
        self.verified = Some(verified);
    }
}

fn keys<C: crate::mode::CbcKey>(plans: &[Plan], tier: Tier) -> Vec<EtmKey<C>> {
    let key = |plan: &Plan| EtmKey::new(&plan.material(), (plan.cipher, plan.mac), tier);
    plans.iter().map(|plan| key(plan).expect("a key")).collect()
}

fn jobs<'k, C>(keys: &'k [EtmKey<C>], packets: Vec<Packet>) -> Vec<Job<'k, C>> {
    keys.iter()
        .zip(packets)
        .map(|(key, packet)| Job {
            key,
            packet,
            verified: None,
        })
        .collect()
}

#[test]
fn batches_are_sealed_and_opened_as_the_kept_crates_do() {
    run(|plans| {
        let expected: Vec<Packet> = plans.iter().map(Plan::sealed_by_kept_crates).collect();
        for_each_tier(|tier| {
            let sealing = keys(plans, tier);
            let mut sealed = jobs(&sealing, plans.iter().map(Plan::packet).collect());
            seal(tier, &mut sealed);
            for ((job, expected), plan) in sealed.iter().zip(&expected).zip(plans) {
                assert_eq!(job.verified, Some(true), "{tier} {plan:?}");
                assert!(job.packet.buffer == expected.buffer, "{tier} {plan:?}");
                assert!(job.packet.tag == expected.tag, "{tier} {plan:?}");
            }

            let opening = keys(plans, tier);
            let mut opened = jobs(&opening, expected.clone());
            open(tier, &mut opened);
            for (job, plan) in opened.iter().zip(plans) {
                assert_eq!(job.verified, Some(true), "{tier} {plan:?}");
                assert!(job.packet.buffer == plan.packet().buffer, "{tier} {plan:?}");
            }
        });
        Ok(())
    });
}

#[test]
fn one_flipped_bit_is_refused() {
    run(|plans| {
        let sealed: Vec<Packet> = plans.iter().map(Plan::sealed_by_kept_crates).collect();
        for_each_tier(|tier| {
            let mut damaged = sealed.clone();
            // Every other packet, a bit of one part each.
            for (index, packet) in damaged.iter_mut().enumerate().step_by(2) {
                let offset = packet.offset;
                let parts = [
                    &mut packet.prefix[..],
                    &mut packet.iv,
                    &mut packet.buffer[offset..],
                    &mut packet.suffix,
                    &mut packet.tag,
                ];
                let mut parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                let turn = index / 2;
                let count = parts.len();
                let part = &mut parts[turn % count];
                let bit = turn * 67 % (part.len() * 8);
                part[bit / 8] ^= 1 << (bit % 8);
            }
            let opening = keys(plans, tier);
            let mut opened = jobs(&opening, damaged);
            open(tier, &mut opened);
            for (index, (job, plan)) in opened.iter().zip(plans).enumerate() {
                let is_damaged = index % 2 == 0;
                assert_eq!(job.verified, Some(!is_damaged), "{tier} {plan:?}");
                if !is_damaged {
                    assert!(job.packet.text() == plan.packet().text(), "{tier} {plan:?}");
                }
            }
        });
        Ok(())
    });
}

//! Whole batches against other crates, packet by packet, in every tier.

use ::hmac::{Hmac, KeyInit};
use aes::cipher::{BlockModeEncrypt, BlockSizeUser, InnerIvInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use weir_simd::{Tier, for_each_tier};

use super::{EtmKey, EtmPacket, open, seal};
use crate::keys::KeyMaterial;
use crate::suite::{AesKeySize, Cipher, Mac, Suite};

/// What a generated packet is.
#[derive(Clone, Debug)]
struct Plan {
    cipher: Cipher,
    mac: Mac,
    aad_bytes: usize,
    payload_bytes: usize,
    trailing_bytes: usize,
    /// Where the payload begins in its buffer.
    offset: usize,
    seed: u8,
}

fn plan() -> impl Strategy<Value = Plan> {
    let payload_bytes = prop_oneof![4 => 0..160usize, 1 => 0..2500usize];
    (
        prop::sample::select(Cipher::ALL.to_vec()),
        prop::sample::select(Mac::ALL.to_vec()),
        (0..90usize, payload_bytes, 0..9usize, 0..64usize),
        any::<u8>(),
    )
        .prop_map(|(cipher, mac, (aad, payload, trailing, offset), seed)| {
            let block_bytes = Suite::EncryptThenMac(cipher, mac).block_bytes();
            Plan {
                cipher,
                mac,
                aad_bytes: aad,
                payload_bytes: payload.next_multiple_of(block_bytes),
                trailing_bytes: trailing,
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
            plan.payload_bytes = plan.payload_bytes.next_multiple_of(16);
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
                payload_bytes: shape.payload_bytes.next_multiple_of(16),
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
    aad: Vec<u8>,
    iv: Vec<u8>,
    /// The payload begins at `offset`.
    buffer: Vec<u8>,
    offset: usize,
    trailing: Vec<u8>,
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
            aad: bytes(self.aad_bytes, self.seed, 5),
            iv: bytes(self.suite().iv_bytes(), self.seed, 7),
            buffer: bytes(self.offset + self.payload_bytes, self.seed, 11),
            offset: self.offset,
            trailing: bytes(self.trailing_bytes, self.seed, 13),
            tag: vec![0; self.suite().tag_bytes()],
        }
    }

    /// The packet sealed by other crates.
    fn sealed_by_crates(&self) -> Packet {
        let mut packet = self.packet();
        let payload = &mut packet.buffer[packet.offset..];
        let key = self.key();
        match self.cipher {
            Cipher::Null => {}
            Cipher::AesCbc(AesKeySize::Aes128) => cbc::<Aes128>(&key, &packet.iv, payload),
            Cipher::AesCbc(AesKeySize::Aes192) => cbc::<Aes192>(&key, &packet.iv, payload),
            Cipher::AesCbc(AesKeySize::Aes256) => cbc::<Aes256>(&key, &packet.iv, payload),
            Cipher::AesCtr(AesKeySize::Aes128) => ctr::<Aes128>(&key, &packet.iv, payload),
            Cipher::AesCtr(AesKeySize::Aes192) => ctr::<Aes192>(&key, &packet.iv, payload),
            Cipher::AesCtr(AesKeySize::Aes256) => ctr::<Aes256>(&key, &packet.iv, payload),
            Cipher::TripleDesCbc => cbc::<des::TdesEde3>(&key, &packet.iv, payload),
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
        [&self.aad, &self.iv, self.payload(), &self.trailing]
    }

    fn payload(&self) -> &[u8] {
        &self.buffer[self.offset..]
    }
}

fn keys<C: crate::mode::CbcKey>(plans: &[Plan], tier: Tier) -> Vec<EtmKey<C>> {
    let key = |plan: &Plan| EtmKey::new(&plan.material(), (plan.cipher, plan.mac), tier);
    plans.iter().map(|plan| key(plan).expect("a key")).collect()
}

/// The packets as kernels take them, all bad so far.
fn packets<'a, C>(keys: &'a [EtmKey<C>], packets: &'a mut [Packet]) -> Vec<EtmPacket<'a, C>> {
    keys.iter()
        .zip(packets)
        .enumerate()
        .map(|(index, (key, packet))| EtmPacket {
            index,
            key,
            aad: &packet.aad,
            iv: &mut packet.iv,
            payload: &mut packet.buffer[packet.offset..],
            trailing: &packet.trailing,
            tag: &mut packet.tag,
            is_good: false,
        })
        .collect()
}

#[test]
fn batches_are_sealed_and_opened_as_by_other_crates() {
    run(|plans| {
        let expected: Vec<Packet> = plans.iter().map(Plan::sealed_by_crates).collect();
        for_each_tier(|tier| {
            let sealing = keys(plans, tier);
            let mut sealed: Vec<Packet> = plans.iter().map(Plan::packet).collect();
            let mut these = packets(&sealing, &mut sealed);
            seal(tier, &mut these);
            assert!(these.iter().all(|packet| packet.is_good), "{tier}");
            for ((packet, expected), plan) in sealed.iter().zip(&expected).zip(plans) {
                assert!(packet.buffer == expected.buffer, "{tier} {plan:?}");
                assert!(packet.tag == expected.tag, "{tier} {plan:?}");
            }

            let opening = keys(plans, tier);
            let mut opened = expected.clone();
            let mut these = packets(&opening, &mut opened);
            open(tier, &mut these);
            assert!(these.iter().all(|packet| packet.is_good), "{tier}");
            for (packet, plan) in opened.iter().zip(plans) {
                assert!(packet.buffer == plan.packet().buffer, "{tier} {plan:?}");
            }
        });
        Ok(())
    });
}

#[test]
fn one_flipped_bit_is_refused() {
    run(|plans| {
        let sealed: Vec<Packet> = plans.iter().map(Plan::sealed_by_crates).collect();
        for_each_tier(|tier| {
            let mut damaged = sealed.clone();
            // Every other packet, a bit of one part each.
            for (index, packet) in damaged.iter_mut().enumerate().step_by(2) {
                let offset = packet.offset;
                let parts = [
                    &mut packet.aad[..],
                    &mut packet.iv,
                    &mut packet.buffer[offset..],
                    &mut packet.trailing,
                    &mut packet.tag,
                ];
                let mut parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                let number = index / 2;
                let count = parts.len();
                let part = &mut parts[number % count];
                let bit = number * 67 % (part.len() * 8);
                part[bit / 8] ^= 1 << (bit % 8);
            }
            let opening = keys(plans, tier);
            let received = damaged.clone();
            let mut these = packets(&opening, &mut damaged);
            open(tier, &mut these);
            let verdicts: Vec<bool> = these.iter().map(|packet| packet.is_good).collect();
            for (index, (packet, plan)) in damaged.iter().zip(plans).enumerate() {
                let is_damaged = index % 2 == 0;
                assert_eq!(verdicts[index], !is_damaged, "{tier} {plan:?}");
                match is_damaged {
                    // It stays encrypted.
                    true => assert!(packet.buffer == received[index].buffer, "{tier} {plan:?}"),
                    false => assert!(
                        packet.payload() == plan.packet().payload(),
                        "{tier} {plan:?}"
                    ),
                }
            }
        });
        Ok(())
    });
}

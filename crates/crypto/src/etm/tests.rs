//! Whole batches against other crates, packet by packet, in every tier.

use ::hmac::{Hmac, KeyInit};
use aes::cipher::{BlockModeEncrypt, BlockSizeUser, InnerIvInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use weir_simd::{Tier, for_each_tier};

use super::{EtmKey, EtmLayout, EtmPacket, EtmSecret, OneTimeEtmKeys, open, seal};
use crate::keys::{KeyMaterial, NonceRule};
use crate::limits::Lengths;
use crate::mac::hmac::digest_of;
use crate::suite::{AesKeySize, Cipher, Mac, Suite};

/// What a generated packet is.
#[derive(Clone, Debug)]
struct Plan {
    cipher: Cipher,
    mac: Mac,
    aad_bytes: usize,
    gap_bytes: usize,
    payload_bytes: usize,
    trailing_bytes: usize,
    /// Where the packet begins in its buffer.
    offset: usize,
    seed: u8,
}

fn plan() -> impl Strategy<Value = Plan> {
    let payload_bytes = prop_oneof![4 => 0..160usize, 1 => 0..2500usize];
    (
        prop::sample::select(Cipher::ALL.to_vec()),
        prop::sample::select(Mac::ALL.to_vec()),
        (0..90usize, payload_bytes, 0..9usize, 0..64usize),
        prop_oneof![3 => Just(0), 1 => 1..30usize],
        any::<u8>(),
    )
        .prop_map(
            |(cipher, mac, (aad, payload, trailing, offset), gap_bytes, seed)| {
                let block_bytes = Suite::EncryptThenMac(cipher, mac).block_bytes();
                Plan {
                    cipher,
                    mac,
                    aad_bytes: aad,
                    gap_bytes,
                    payload_bytes: payload.next_multiple_of(block_bytes),
                    trailing_bytes: trailing,
                    offset,
                    seed,
                }
            },
        )
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

/// A packet in a buffer of its own.
#[derive(Clone)]
struct Packet {
    /// The packet begins at `offset`.
    buffer: Vec<u8>,
    offset: usize,
    layout: EtmLayout,
    trailing: Vec<u8>,
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

    fn packet(&self) -> Packet {
        let iv = self.aad_bytes + self.gap_bytes;
        let payload = iv + self.suite().iv_bytes();
        let layout = EtmLayout {
            aad_bytes: self.aad_bytes,
            iv,
            payload,
            tag: payload + self.payload_bytes,
        };
        let mut buffer = bytes(self.offset + layout.tag, self.seed, 11);
        buffer.resize(buffer.len() + self.suite().tag_bytes(), 0);
        Packet {
            buffer,
            offset: self.offset,
            layout,
            trailing: bytes(self.trailing_bytes, self.seed, 13),
        }
    }

    /// The packet sealed by other crates.
    fn sealed_by_crates(&self) -> Packet {
        let mut packet = self.packet();
        let (iv, payload) = packet.iv_and_payload();
        let iv = &iv.to_vec();
        let key = self.key();
        match self.cipher {
            Cipher::Null => {}
            Cipher::AesCbc(AesKeySize::Aes128) => cbc::<Aes128>(&key, iv, payload),
            Cipher::AesCbc(AesKeySize::Aes192) => cbc::<Aes192>(&key, iv, payload),
            Cipher::AesCbc(AesKeySize::Aes256) => cbc::<Aes256>(&key, iv, payload),
            Cipher::AesCtr(AesKeySize::Aes128) => ctr::<Aes128>(&key, iv, payload),
            Cipher::AesCtr(AesKeySize::Aes192) => ctr::<Aes192>(&key, iv, payload),
            Cipher::AesCtr(AesKeySize::Aes256) => ctr::<Aes256>(&key, iv, payload),
            Cipher::TripleDesCbc => cbc::<des::TdesEde3>(&key, iv, payload),
        }
        let covered = packet.parts().concat();
        let key = self.integrity_key();
        let tag = match self.mac {
            Mac::HmacSha1_96 => hmac::<Hmac<Sha1>>(&key, &covered),
            Mac::HmacSha2_256_128 => hmac::<Hmac<Sha256>>(&key, &covered),
            Mac::HmacSha2_384_192 => hmac::<Hmac<Sha384>>(&key, &covered),
            Mac::HmacSha2_512_256 => hmac::<Hmac<Sha512>>(&key, &covered),
        };
        let place = &mut packet.buffer[packet.offset + packet.layout.tag..];
        place.copy_from_slice(&tag[..place.len()]);
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
    /// What the tag covers.
    fn parts(&self) -> [&[u8]; 3] {
        let packet = &self.buffer[self.offset..];
        let EtmLayout {
            aad_bytes, iv, tag, ..
        } = self.layout;
        [&packet[..aad_bytes], &packet[iv..tag], &self.trailing]
    }

    fn payload(&self) -> &[u8] {
        &self.buffer[self.offset..][self.layout.payload..self.layout.tag]
    }

    fn iv_and_payload(&mut self) -> (&mut [u8], &mut [u8]) {
        let packet = &mut self.buffer[self.offset..];
        let EtmLayout {
            iv, payload, tag, ..
        } = self.layout;
        packet[iv..tag].split_at_mut(payload - iv)
    }

    fn tag(&self) -> &[u8] {
        &self.buffer[self.offset + self.layout.tag..]
    }
}

fn keys<C: crate::mode::CbcKey>(plans: &[Plan], tier: Tier) -> Vec<EtmKey<C>> {
    let key = |plan: &Plan| {
        let (key, integrity_key) = (plan.key(), plan.integrity_key());
        let suite = plan.suite();
        let (key, salt) = KeyMaterial::check(suite, &key, &integrity_key).expect("a key");
        let secret = EtmSecret {
            key,
            salt,
            integrity_key: &integrity_key,
        };
        EtmKey::new(plan.cipher, digest_of(plan.mac), secret, tier)
    };
    plans.iter().map(|plan| key(plan).expect("a key")).collect()
}

/// The packets as kernels take them, all bad so far.
fn packets<'a, C>(
    keys: impl Iterator<Item = &'a EtmKey<C>>,
    packets: &'a mut [Packet],
) -> Vec<EtmPacket<'a, C>> {
    keys.zip(packets)
        .enumerate()
        .map(|(index, (key, packet))| EtmPacket {
            index,
            key,
            bytes: &mut packet.buffer[packet.offset..],
            layout: packet.layout,
            trailing: &packet.trailing,
            is_good: false,
        })
        .collect()
}

/// One-time keys, expanded.
fn one_time<C: crate::mode::CbcKey>(plans: &[Plan], tier: Tier) -> OneTimeEtmKeys<C> {
    let mut keys = OneTimeEtmKeys::new();
    for round in 0..2 {
        for index in 0..plans.len() {
            // In memory of other keys the second time.
            let plan = &plans[(index + 1 - round) % plans.len()];
            let (key, integrity_key) = (plan.key(), plan.integrity_key());
            let suite = plan.suite();
            let (key, salt) = KeyMaterial::check(suite, &key, &integrity_key).expect("a key");
            let secret = EtmSecret {
                key,
                salt,
                integrity_key: &integrity_key,
            };
            let lengths = Lengths::of(suite, &NonceRule::Explicit);
            let added = keys.add((plan.cipher, plan.mac), secret, lengths);
            assert_eq!(added.expect("a key"), index);
        }
        keys.expand(tier);
        if round == 0 {
            keys.clear();
            assert!(keys.get(0).is_none());
        }
    }
    keys
}

#[test]
fn batches_are_sealed_and_opened_as_by_other_crates() {
    run(|plans| {
        let expected: Vec<Packet> = plans.iter().map(Plan::sealed_by_crates).collect();
        for_each_tier(|tier| {
            let held = keys(plans, tier);
            let one_time_keys = one_time(plans, tier);
            let one_time_keys = (0..).map_while(|index| one_time_keys.get(index)).collect();
            for keys in [held.iter().collect::<Vec<_>>(), one_time_keys] {
                assert_eq!(keys.len(), plans.len());
                let mut sealed: Vec<Packet> = plans.iter().map(Plan::packet).collect();
                let mut these = packets(keys.into_iter(), &mut sealed);
                seal(tier, &mut these);
                assert!(these.iter().all(|packet| packet.is_good), "{tier}");
                for ((packet, expected), plan) in sealed.iter().zip(&expected).zip(plans) {
                    assert!(packet.buffer == expected.buffer, "{tier} {plan:?}");
                }
            }

            let held = keys(plans, tier);
            let one_time_keys = one_time(plans, tier);
            let one_time_keys = (0..).map_while(|index| one_time_keys.get(index)).collect();
            for keys in [held.iter().collect::<Vec<_>>(), one_time_keys] {
                assert_eq!(keys.len(), plans.len());
                let mut opened = expected.clone();
                let mut these = packets(keys.into_iter(), &mut opened);
                open(tier, &mut these);
                assert!(these.iter().all(|packet| packet.is_good), "{tier}");
                for ((packet, expected), plan) in opened.iter().zip(&expected).zip(plans) {
                    assert!(
                        packet.payload() == plan.packet().payload(),
                        "{tier} {plan:?}"
                    );
                    assert!(packet.tag() == expected.tag());
                }
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
                let EtmLayout {
                    aad_bytes,
                    iv,
                    payload,
                    tag,
                } = packet.layout;
                let (ahead, rest) = packet.buffer[packet.offset..].split_at_mut(iv);
                let (iv, rest) = rest.split_at_mut(payload - iv);
                let (payload, tag) = rest.split_at_mut(tag - payload);
                let aad = &mut ahead[..aad_bytes];
                let parts = [aad, iv, payload, &mut packet.trailing, tag];
                let mut parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                let number = index / 2;
                let count = parts.len();
                let part = &mut parts[number % count];
                let bit = number * 67 % (part.len() * 8);
                part[bit / 8] ^= 1 << (bit % 8);
            }
            let opening = keys(plans, tier);
            let received = damaged.clone();
            let mut these = packets(opening.iter(), &mut damaged);
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

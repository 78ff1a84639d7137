//! Every tier against an independent implementation, over batches.

use aes::cipher::KeyInit;
use ccm::aead::AeadInOut;
use ccm::consts::{U11, U16};
use weir_simd::{Tier, for_each_tier};

use super::{CcmKey, process};
use crate::aead::{AeadJob, AeadKey, Parts};
use crate::cipher::Block;
use crate::suite::AesKeySize;

const SIZES: [AesKeySize; 3] = [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256];

/// xorshift64*: the same packets in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| (self.next() >> 56) as u8).collect()
    }
}

struct TestKey {
    size: AesKeySize,
    bytes: Vec<u8>,
    salt: [u8; 4],
}

/// A packet in the middle of a buffer, whose other bytes must stay.
#[derive(Clone)]
struct TestPacket {
    key: usize,
    iv: [u8; 8],
    associated: Vec<u8>,
    buffer: Vec<u8>,
    at: usize,
    text_bytes: usize,
    tag: Block,
    verified: bool,
}

impl TestPacket {
    fn text(&self) -> &[u8] {
        &self.buffer[self.at..self.at + self.text_bytes]
    }
}

struct Job<'a, const OPEN: bool> {
    key: &'a CcmKey,
    packet: &'a mut TestPacket,
}

impl<const OPEN: bool> AeadJob for Job<'_, OPEN> {
    const OPEN: bool = OPEN;

    fn packet(&mut self) -> Option<Parts<'_>> {
        let packet = &mut *self.packet;
        Some(Parts {
            key: AeadKey::Ccm(self.key),
            iv: packet.iv,
            associated: &packet.associated,
            text: &mut packet.buffer[packet.at..packet.at + packet.text_bytes],
        })
    }

    fn finish(&mut self, tag: &Block) {
        if OPEN {
            self.packet.verified = self.packet.tag == *tag;
        } else {
            self.packet.tag = *tag;
        }
    }
}

fn run<const OPEN: bool>(tier: Tier, keys: &[TestKey], packets: &mut [TestPacket]) {
    let keys: Vec<CcmKey> = keys
        .iter()
        .map(|key| CcmKey::new(tier, key.size, &key.bytes, key.salt).expect("a key"))
        .collect();
    let mut jobs: Vec<Job<'_, OPEN>> = packets
        .iter_mut()
        .map(|packet| Job {
            key: &keys[packet.key],
            packet,
        })
        .collect();
    process(tier, &mut jobs);
}

/// The text and the tag by the oracle.
fn oracle(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Block) {
    fn seal<A: AeadInOut + KeyInit>(
        key: &TestKey,
        nonce: &[u8],
        packet: &TestPacket,
    ) -> (Vec<u8>, Block) {
        let mut text = packet.text().to_vec();
        let nonce = nonce.try_into().expect("11 bytes");
        let tag = A::new_from_slice(&key.bytes)
            .expect("a key")
            .encrypt_inout_detached(nonce, &packet.associated, text.as_mut_slice().into())
            .expect("a short packet");
        (text, tag.as_slice().try_into().expect("16 bytes"))
    }
    let nonce = [&key.salt[..3], &packet.iv].concat();
    match key.size {
        AesKeySize::Aes128 => seal::<ccm::Ccm<aes::Aes128, U16, U11>>(key, &nonce, packet),
        AesKeySize::Aes192 => seal::<ccm::Ccm<aes::Aes192, U16, U11>>(key, &nonce, packet),
        AesKeySize::Aes256 => seal::<ccm::Ccm<aes::Aes256, U16, U11>>(key, &nonce, packet),
    }
}

/// Seals `packets` under every tier, compares them with the oracle's, opens
/// them, and finds every damaged one.
fn check(random: &mut Random, keys: &[TestKey], packets: &[TestPacket]) {
    let expected: Vec<_> = packets
        .iter()
        .map(|packet| oracle(&keys[packet.key], packet))
        .collect();
    let damaged = random.below(8);
    for_each_tier(|tier| {
        let mut sealed = packets.to_vec();
        run::<false>(tier, keys, &mut sealed);
        for ((sealed, before), (text, tag)) in sealed.iter().zip(packets).zip(&expected) {
            let what = format!(
                "{tier}, {:?}, {} + {} bytes",
                keys[sealed.key].size,
                sealed.associated.len(),
                sealed.text_bytes
            );
            assert!(sealed.text() == text, "text: {what}");
            assert_eq!(sealed.tag, *tag, "tag: {what}");
            let end = before.at + before.text_bytes;
            assert_eq!(
                sealed.buffer[..before.at],
                before.buffer[..before.at],
                "{what}"
            );
            assert_eq!(sealed.buffer[end..], before.buffer[end..], "{what}");
        }

        let mut opened = sealed.clone();
        for (index, packet) in opened.iter_mut().enumerate() {
            if index % 8 == damaged {
                packet.tag[index % 16] ^= 1 << (index / 16 % 8);
            }
        }
        run::<true>(tier, keys, &mut opened);
        for (index, (opened, before)) in opened.iter().zip(packets).enumerate() {
            assert_eq!(opened.verified, index % 8 != damaged, "{tier}");
            assert!(opened.buffer == before.buffer, "{tier}");
        }
    });
}

fn test_keys(random: &mut Random, keys: usize) -> Vec<TestKey> {
    (0..keys)
        .map(|_| {
            let size = SIZES[random.below(3)];
            TestKey {
                size,
                bytes: random.bytes(size.key_bytes()),
                salt: random.next().to_le_bytes()[..4]
                    .try_into()
                    .expect("4 bytes"),
            }
        })
        .collect()
}

fn test_packet(
    random: &mut Random,
    keys: usize,
    associated_bytes: usize,
    text_bytes: usize,
) -> TestPacket {
    let at = random.below(65);
    let behind = random.below(65);
    TestPacket {
        key: random.below(keys),
        iv: random.next().to_le_bytes(),
        associated: random.bytes(associated_bytes),
        buffer: random.bytes(at + text_bytes + behind),
        at,
        text_bytes,
        tag: [0; 16],
        verified: false,
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees_with_the_oracle() {
    let mut random = Random(1);
    for first in (0..640).step_by(64) {
        let keys = test_keys(&mut random, 5);
        let packets: Vec<TestPacket> = (first..first + 64)
            .flat_map(|text_bytes| [0, 8, 12, 16].map(|associated| (associated, text_bytes)))
            .map(|(associated, text)| test_packet(&mut random, keys.len(), associated, text))
            .collect();
        check(&mut random, &keys, &packets);
    }
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree_with_the_oracle() {
    let mut random = Random(2);
    for packets in [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 255, 256, 257, 300,
    ] {
        let number = 1 + random.below(packets);
        let keys = test_keys(&mut random, number);
        let packets: Vec<TestPacket> = (0..packets)
            .map(|_| {
                let text_bytes = match random.below(4) {
                    0 => random.below(65),
                    1 => 64 * random.below(10),
                    2 => random.below(300),
                    _ => random.below(1600),
                };
                let associated_bytes = match random.below(8) {
                    0 => random.below(17),
                    1 => random.below(200),
                    _ => 8,
                };
                test_packet(&mut random, number, associated_bytes, text_bytes)
            })
            .collect();
        check(&mut random, &keys, &packets);
    }
}

/// Texts of more than 1,023 blocks use multiples of L that keys do not hold.
#[test]
fn the_longest_packets_agree_with_the_oracle() {
    let mut random = Random(3);
    let keys = test_keys(&mut random, 6);
    let packets: Vec<TestPacket> = [
        65_535, 65_520, 65_519, 40_000, 4096, 4095, 4097, 9000, 16_383, 16_384, 16_385, 32_768,
        140_001,
    ]
    .into_iter()
    .map(|text_bytes| test_packet(&mut random, 6, 8, text_bytes))
    .collect();
    check(&mut random, &keys, &packets);
}

#[test]
fn all_packets_of_a_batch_may_be_alike() {
    let mut random = Random(4);
    for text_bytes in [0, 1, 16, 64, 65, 100, 129, 192, 256, 576, 1420] {
        let keys = test_keys(&mut random, 3);
        let packets: Vec<TestPacket> = (0..33)
            .map(|_| test_packet(&mut random, 3, 12, text_bytes))
            .collect();
        check(&mut random, &keys, &packets);
    }
}

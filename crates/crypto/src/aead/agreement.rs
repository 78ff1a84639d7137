//! The tests that modes share: batches of random packets, sealed and opened
//! under every tier, agree with an independent implementation.

use std::fmt::Debug;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use weir_simd::{Tier, for_each_tier};

use super::{AeadJob, AeadKey, Parts};
use crate::cipher::Block;
use crate::suite::AesKeySize;

/// A mode, and what it is to agree with.
pub(super) trait Mode {
    /// In how many forms a key may be held.
    const FORMS: usize = 1;

    /// What is said of a batch; the same whether it is sealed or opened.
    type Report: PartialEq + Debug;

    /// Seals or opens all packets.
    fn run<const OPEN: bool>(
        tier: Tier,
        keys: &[TestKey],
        packets: &mut [TestPacket],
    ) -> Self::Report;

    /// The text and the tag by the oracle.
    fn oracle(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Block);
}

/// xorshift64*: the same packets in every run.
pub(super) struct Random(pub(super) u64);

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

pub(super) struct TestKey {
    pub(super) size: AesKeySize,
    pub(super) bytes: Vec<u8>,
    pub(super) salt: [u8; 4],
}

/// A packet in the middle of a buffer, whose other bytes must stay.
#[derive(Clone)]
pub(super) struct TestPacket {
    pub(super) key: usize,
    /// Below [`Mode::FORMS`].
    pub(super) form: usize,
    pub(super) iv: [u8; 8],
    pub(super) associated: Vec<u8>,
    buffer: Vec<u8>,
    at: usize,
    pub(super) text_bytes: usize,
    tag: Block,
    verified: bool,
}

impl TestPacket {
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[self.at..self.at + self.text_bytes]
    }

    /// Associated data and text.
    pub(super) fn ranges(&mut self) -> (&[u8], &mut [u8]) {
        let text = &mut self.buffer[self.at..self.at + self.text_bytes];
        (&self.associated, text)
    }

    pub(super) fn finish<const OPEN: bool>(&mut self, tag: &Block) {
        if OPEN {
            self.verified = self.tag == *tag;
        } else {
            self.tag = *tag;
        }
    }
}

/// A packet to seal or open.
pub(super) struct Job<'a, const OPEN: bool> {
    pub(super) key: AeadKey<'a>,
    pub(super) packet: &'a mut TestPacket,
}

impl<const OPEN: bool> AeadJob for Job<'_, OPEN> {
    const OPEN: bool = OPEN;

    fn packet(&mut self) -> Option<Parts<'_>> {
        let (key, iv) = (self.key, self.packet.iv);
        let (associated, text) = self.packet.ranges();
        Some(Parts {
            key,
            iv,
            associated,
            text,
        })
    }

    fn finish(&mut self, tag: &Block) {
        self.packet.finish::<OPEN>(tag);
    }
}

/// A packet sealed by a kept crate.
pub(super) fn sealed_by<A: AeadInOut + KeyInit>(
    key: &TestKey,
    nonce: &[u8],
    packet: &TestPacket,
) -> (Vec<u8>, Block) {
    let mut text = packet.text().to_vec();
    let nonce = nonce.try_into().expect("as long as the mode's");
    let tag = A::new_from_slice(&key.bytes)
        .expect("a key")
        .encrypt_inout_detached(nonce, &packet.associated, text.as_mut_slice().into())
        .expect("a short packet");
    (text, tag.as_slice().try_into().expect("16 bytes"))
}

/// Seals `packets` under every tier, compares them with the oracle's, opens
/// them, and finds every damaged one.
fn check<M: Mode>(random: &mut Random, keys: &[TestKey], packets: &[TestPacket]) {
    let expected: Vec<_> = packets
        .iter()
        .map(|packet| M::oracle(&keys[packet.key], packet))
        .collect();
    let damaged = random.below(8);
    for_each_tier(|tier| {
        let mut sealed = packets.to_vec();
        let report = M::run::<false>(tier, keys, &mut sealed);
        for ((sealed, before), (text, tag)) in sealed.iter().zip(packets).zip(&expected) {
            let what = format!(
                "{tier}, {:?}, form {}, {} + {} bytes",
                keys[sealed.key].size,
                sealed.form,
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
        let report_of_opening = M::run::<true>(tier, keys, &mut opened);
        assert_eq!(report_of_opening, report, "{tier}");
        for (index, (opened, before)) in opened.iter().zip(packets).enumerate() {
            assert_eq!(opened.verified, index % 8 != damaged, "{tier}");
            assert!(opened.buffer == before.buffer, "{tier}");
        }
    });
}

pub(super) fn test_keys(random: &mut Random, keys: usize) -> Vec<TestKey> {
    (0..keys)
        .map(|_| {
            let size = AesKeySize::ALL[random.below(3)];
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

pub(super) fn test_packet<M: Mode>(
    random: &mut Random,
    keys: usize,
    associated_bytes: usize,
    text_bytes: usize,
) -> TestPacket {
    let at = random.below(65);
    let behind = random.below(65);
    TestPacket {
        key: random.below(keys),
        form: random.below(M::FORMS),
        // The low bits of the last byte choose the shift of OCB's first offset.
        iv: random.next().to_le_bytes(),
        associated: random.bytes(associated_bytes),
        buffer: random.bytes(at + text_bytes + behind),
        at,
        text_bytes,
        tag: [0; 16],
        verified: false,
    }
}

pub(super) fn every_length_up_to_forty_blocks_agrees<M: Mode>() {
    let mut random = Random(1);
    for first in (0..640).step_by(64) {
        let keys = test_keys(&mut random, 5);
        let packets: Vec<TestPacket> = (first..first + 64)
            .flat_map(|text_bytes| [0, 8, 12, 16].map(|associated| (associated, text_bytes)))
            .map(|(associated, text)| test_packet::<M>(&mut random, keys.len(), associated, text))
            .collect();
        check::<M>(&mut random, &keys, &packets);
    }
}

pub(super) fn batches_of_any_size_length_and_number_of_keys_agree<M: Mode>() {
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
                test_packet::<M>(&mut random, number, associated_bytes, text_bytes)
            })
            .collect();
        check::<M>(&mut random, &keys, &packets);
    }
}

pub(super) fn the_longest_packets_agree<M: Mode>() {
    let mut random = Random(3);
    let keys = test_keys(&mut random, 6);
    let packets: Vec<TestPacket> = [
        65_535, 65_520, 65_519, 40_000, 4096, 4095, 4097, 9000, 16_383, 16_384, 16_385, 32_768,
        140_001,
    ]
    .into_iter()
    .map(|text_bytes| test_packet::<M>(&mut random, 6, 8, text_bytes))
    .collect();
    check::<M>(&mut random, &keys, &packets);
}

pub(super) fn packets_that_are_all_alike_agree<M: Mode>() {
    let mut random = Random(4);
    for form in 0..M::FORMS {
        for text_bytes in [0, 1, 16, 64, 65, 100, 129, 192, 256, 576, 1420] {
            let keys = test_keys(&mut random, 3);
            let packets: Vec<TestPacket> = (0..33)
                .map(|_| TestPacket {
                    form,
                    ..test_packet::<M>(&mut random, 3, 12, text_bytes)
                })
                .collect();
            check::<M>(&mut random, &keys, &packets);
        }
    }
}

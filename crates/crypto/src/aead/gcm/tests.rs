//! Every tier against an independent implementation, over batches.

use aes_gcm::aead::consts::U12;
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use weir_simd::{Tier, for_each_tier};

use super::{GcmJob, GcmKey, Packet, cells, process};
use crate::aead::agreement::{
    self, Mode, Random, TestKey, TestPacket, sealed_by, test_keys, test_packet,
};
use crate::cipher::Block;
use crate::keys::KeyPolicy;
use crate::lane_use::LaneUse;
use crate::suite::AesKeySize;

struct Job<'a, const OPEN: bool> {
    key: &'a GcmKey,
    packet: &'a mut TestPacket,
}

impl<const OPEN: bool> GcmJob for Job<'_, OPEN> {
    const OPEN: bool = OPEN;

    fn begin(&mut self) -> Option<Packet<'_>> {
        let nonce = self.key.nonce(self.packet.iv);
        let (associated, text) = self.packet.ranges();
        Some(Packet {
            key: self.key.view(),
            nonce,
            associated,
            text: cells(text),
        })
    }

    fn finish(&mut self, tag: &Block) {
        self.packet.finish::<OPEN>(tag);
    }
}

struct Gcm;

/// The forms of a key.
const POLICIES: [KeyPolicy; 4] = KeyPolicy::ALL;

impl Mode for Gcm {
    const FORMS: usize = POLICIES.len();

    type Report = LaneUse;

    fn run<const OPEN: bool>(tier: Tier, keys: &[TestKey], packets: &mut [TestPacket]) -> LaneUse {
        let keys: Vec<[GcmKey; 4]> = keys
            .iter()
            .map(|key| {
                POLICIES.map(|policy| {
                    GcmKey::new(tier, key.size, &key.bytes, key.salt, policy).expect("a key")
                })
            })
            .collect();
        let blocks = packets.iter().map(|packet| packet.text_bytes.div_ceil(16));
        let filled: usize = blocks.map(|blocks| blocks + 1).sum();
        let mut jobs: Vec<Job<'_, OPEN>> = packets
            .iter_mut()
            .map(|packet| Job {
                key: &keys[packet.key][packet.form],
                packet,
            })
            .collect();
        let lanes = process(tier, &mut jobs);
        assert_eq!(lanes.filled, filled as u64, "{tier}");
        match tier {
            Tier::Avx512 => assert!(lanes.offered >= lanes.filled),
            _ => assert_eq!(lanes.offered, lanes.filled),
        }
        lanes
    }

    fn oracle(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Block) {
        let nonce = [&key.salt[..], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<Aes128Gcm>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<AesGcm<aes::Aes192, U12>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<Aes256Gcm>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees_with_the_oracle() {
    agreement::every_length_up_to_forty_blocks_agrees::<Gcm>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree_with_the_oracle() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Gcm>();
}

#[test]
fn the_longest_packets_agree_with_the_oracle() {
    agreement::the_longest_packets_agree::<Gcm>();
}

#[test]
fn all_packets_of_a_batch_may_be_alike() {
    agreement::packets_that_are_all_alike_agree::<Gcm>();
}

#[test]
fn lanes_that_run_empty_are_counted() {
    const PRECOMPUTED: usize = 0;
    const ON_THE_FLY: usize = 3;
    let mut random = Random(5);
    let keys = test_keys(&mut random, 1);
    for (policy, text_bytes, filled, offered) in [
        // Five blocks each, on one and a half vectors, four packets at a time.
        (PRECOMPUTED, &[64; 4][..], 20, 24),
        // Six blocks, as a minimal packet in ESP has: nothing is empty.
        (PRECOMPUTED, &[68; 8], 48, 48),
        // A packet without three others like it takes whole vectors.
        (PRECOMPUTED, &[64; 5], 25, 32),
        (PRECOMPUTED, &[0], 1, 4),
        (PRECOMPUTED, &[1420], 90, 92),
        // Lanes of their own, which end together.
        (ON_THE_FLY, &[64; 8], 40, 40),
        (ON_THE_FLY, &[64; 3], 15, 20),
        (ON_THE_FLY, &[64; 5], 25, 40),
        (ON_THE_FLY, &[1, 64, 65, 128], 2 + 5 + 6 + 9, 36),
    ] {
        let packets: Vec<TestPacket> = text_bytes
            .iter()
            .map(|text_bytes| {
                let mut packet = test_packet::<Gcm>(&mut random, 1, 8, *text_bytes);
                packet.form = policy;
                packet
            })
            .collect();
        for_each_tier(|tier| {
            let lanes = Gcm::run::<false>(tier, &keys, &mut packets.clone());
            let offered = match tier {
                Tier::Avx512 => offered,
                _ => filled,
            };
            assert_eq!(lanes, LaneUse { filled, offered }, "{tier}, {text_bytes:?}");
        });
    }
}

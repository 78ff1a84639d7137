//! Every tier against an independent implementation, over batches.

use ocb3::aead::consts::U12;
use weir_simd::Tier;

use super::{Ocb3Key, process};
use crate::aead::AeadKey;
use crate::aead::agreement::{self, Job, Mode, TestKey, TestPacket, sealed_by};
use crate::cipher::Block;
use crate::suite::AesKeySize;

struct Ocb3;

impl Mode for Ocb3 {
    type Report = ();

    fn run<const OPEN: bool>(tier: Tier, keys: &[TestKey], packets: &mut [TestPacket]) {
        let keys: Vec<Ocb3Key> = keys
            .iter()
            .map(|key| Ocb3Key::new(tier, key.size, &key.bytes, key.salt, OPEN).expect("a key"))
            .collect();
        let mut jobs: Vec<Job<'_, OPEN>> = packets
            .iter_mut()
            .map(|packet| Job {
                key: AeadKey::Ocb3(&keys[packet.key]),
                packet,
            })
            .collect();
        process(tier, &mut jobs);
    }

    fn oracle(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Block) {
        let nonce = [&key.salt[..], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<ocb3::Ocb3<aes::Aes128, U12>>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<ocb3::Ocb3<aes::Aes192, U12>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<ocb3::Ocb3<aes::Aes256, U12>>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees_with_the_oracle() {
    agreement::every_length_up_to_forty_blocks_agrees::<Ocb3>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree_with_the_oracle() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Ocb3>();
}

/// Texts of more than 1,023 blocks use multiples of L that keys do not hold.
#[test]
fn the_longest_packets_agree_with_the_oracle() {
    agreement::the_longest_packets_agree::<Ocb3>();
}

#[test]
fn all_packets_of_a_batch_may_be_alike() {
    agreement::packets_that_are_all_alike_agree::<Ocb3>();
}

//! Every tier against an independent implementation, over batches.

use ccm::consts::{U11, U16};
use weir_simd::Tier;

use super::{CcmKey, process};
use crate::aead::AeadKey;
use crate::aead::agreement::{self, Job, Mode, TestKey, TestPacket, sealed_by};
use crate::cipher::Block;
use crate::suite::AesKeySize;

struct Ccm;

impl Mode for Ccm {
    type Report = ();

    fn run<const OPEN: bool>(tier: Tier, keys: &[TestKey], packets: &mut [TestPacket]) {
        let keys: Vec<CcmKey> = keys
            .iter()
            .map(|key| CcmKey::new(tier, key.size, &key.bytes, key.salt).expect("a key"))
            .collect();
        let mut jobs: Vec<Job<'_, OPEN>> = packets
            .iter_mut()
            .map(|packet| Job {
                key: AeadKey::Ccm(&keys[packet.key]),
                packet,
            })
            .collect();
        process(tier, &mut jobs);
    }

    fn oracle(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Block) {
        let nonce = [&key.salt[..3], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<ccm::Ccm<aes::Aes128, U16, U11>>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<ccm::Ccm<aes::Aes192, U16, U11>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<ccm::Ccm<aes::Aes256, U16, U11>>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees_with_the_oracle() {
    agreement::every_length_up_to_forty_blocks_agrees::<Ccm>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree_with_the_oracle() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Ccm>();
}

#[test]
fn the_longest_packets_agree_with_the_oracle() {
    agreement::the_longest_packets_agree::<Ccm>();
}

#[test]
fn all_packets_of_a_batch_may_be_alike() {
    agreement::packets_that_are_all_alike_agree::<Ccm>();
}

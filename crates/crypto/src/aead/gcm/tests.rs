//! Every tier against an independent implementation, over batches.

use aes_gcm::aead::consts::U12;
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};

use crate::aead::agreement::{self, Mode, TestKey, TestPacket, sealed_by};
use crate::suite::{Aead, AesKeySize, Suite};

struct Gcm;

impl Mode for Gcm {
    fn suite(size: AesKeySize) -> Suite {
        Suite::Aead(Aead::AesGcm16(size))
    }

    fn expected(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Vec<u8>) {
        let nonce = [&key.salt[..], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<Aes128Gcm>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<AesGcm<aes::Aes192, U12>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<Aes256Gcm>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees() {
    agreement::every_length_up_to_forty_blocks_agrees::<Gcm>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Gcm>();
}

#[test]
fn the_longest_packets_agree() {
    agreement::the_longest_packets_agree::<Gcm>();
}

#[test]
fn packets_that_are_all_alike_agree() {
    agreement::packets_that_are_all_alike_agree::<Gcm>();
}

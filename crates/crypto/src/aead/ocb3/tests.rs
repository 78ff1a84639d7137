//! Every tier against an independent implementation, over batches.

use ocb3::aead::consts::U12;

use crate::aead::agreement::{self, Mode, TestKey, TestPacket, sealed_by};
use crate::suite::{Aead, AesKeySize, Suite};

struct Ocb3;

impl Mode for Ocb3 {
    fn suite(size: AesKeySize) -> Suite {
        Suite::Aead(Aead::AesOcb3(size))
    }

    fn expected(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Vec<u8>) {
        let nonce = [&key.salt[..], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<ocb3::Ocb3<aes::Aes128, U12>>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<ocb3::Ocb3<aes::Aes192, U12>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<ocb3::Ocb3<aes::Aes256, U12>>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees() {
    agreement::every_length_up_to_forty_blocks_agrees::<Ocb3>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Ocb3>();
}

/// Payloads of more than 1,023 blocks use multiples of L that keys do not hold.
#[test]
fn the_longest_packets_agree() {
    agreement::the_longest_packets_agree::<Ocb3>();
}

#[test]
fn packets_that_are_all_alike_agree() {
    agreement::packets_that_are_all_alike_agree::<Ocb3>();
}

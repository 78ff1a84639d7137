//! Every tier against an independent implementation, over batches.

use std::marker::PhantomData;

use ccm::TagSize;
use ccm::aead::array::ArraySize;
use ccm::consts::{U8, U11, U12, U16};
use weir_simd::Tier;

use super::CcmKey;
use crate::aead::agreement::{self, Mode, TestKey, TestPacket, sealed_by};
use crate::suite::{Aead, AesKeySize, Suite};

/// With tags of this size.
struct Ccm<T>(PhantomData<T>);

impl<T: TagSize + ArraySize> Mode for Ccm<T> {
    fn suite(size: AesKeySize) -> Suite {
        Suite::Aead(match T::USIZE {
            8 => Aead::AesCcm8(size),
            12 => Aead::AesCcm12(size),
            _ => Aead::AesCcm16(size),
        })
    }

    fn expected(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Vec<u8>) {
        let nonce = [&key.salt[..3], &packet.iv].concat();
        match key.size {
            AesKeySize::Aes128 => sealed_by::<ccm::Ccm<aes::Aes128, T, U11>>(key, &nonce, packet),
            AesKeySize::Aes192 => sealed_by::<ccm::Ccm<aes::Aes192, T, U11>>(key, &nonce, packet),
            AesKeySize::Aes256 => sealed_by::<ccm::Ccm<aes::Aes256, T, U11>>(key, &nonce, packet),
        }
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees() {
    agreement::every_length_up_to_forty_blocks_agrees::<Ccm<U8>>();
    agreement::every_length_up_to_forty_blocks_agrees::<Ccm<U12>>();
    agreement::every_length_up_to_forty_blocks_agrees::<Ccm<U16>>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Ccm<U16>>();
}

#[test]
fn the_longest_packets_agree() {
    agreement::the_longest_packets_agree::<Ccm<U16>>();
}

#[test]
fn packets_that_are_all_alike_agree() {
    agreement::packets_that_are_all_alike_agree::<Ccm<U16>>();
}

#[test]
fn no_tag_has_another_length() {
    for tag_bytes in 0..20 {
        let key = CcmKey::new(
            Tier::Scalar,
            AesKeySize::Aes128,
            &[0; 16],
            [0; 4],
            tag_bytes,
        );
        assert_eq!(key.is_ok(), [8, 12, 16].contains(&tag_bytes));
    }
}

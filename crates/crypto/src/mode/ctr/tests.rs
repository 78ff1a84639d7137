//! Every tier against an independent implementation.

use aes::cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr32BE;
use weir_simd::for_each_tier;

use super::CtrKey;
use crate::suite::AesKeySize;

fn oracle(key: &[u8], counter_block: &[u8], text: &mut [u8]) {
    match key.len() {
        16 => Ctr32BE::<aes::Aes128>::new_from_slices(key, counter_block)
            .expect("lengths")
            .apply_keystream(text),
        24 => Ctr32BE::<aes::Aes192>::new_from_slices(key, counter_block)
            .expect("lengths")
            .apply_keystream(text),
        _ => Ctr32BE::<aes::Aes256>::new_from_slices(key, counter_block)
            .expect("lengths")
            .apply_keystream(text),
    }
}

#[test]
fn every_length_agrees_with_the_oracle_and_no_byte_behind_it_changes() {
    let key: Vec<u8> = (0..32).map(|i| i * 7 + 3).collect();
    let (salt, iv) = ([9, 8, 7, 6], [1, 2, 3, 4, 5, 6, 7, 8]);
    let counter_block = [&salt[..], &iv, &[0, 0, 0, 1]].concat();
    let lengths = (0..1100)
        .step_by(7)
        .chain(0..130)
        .chain([4095, 4096, 65_535]);
    for text_bytes in lengths {
        let text: Vec<u8> = (0..text_bytes + 70).map(|i| (i * i) as u8).collect();
        let at = text_bytes % 65;
        for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
            let key = &key[..size.key_bytes()];
            let mut expected = text.clone();
            oracle(key, &counter_block, &mut expected[at..at + text_bytes]);
            for_each_tier(|tier| {
                let ctr = CtrKey::new(size, tier, key, salt).expect("a key");
                let mut text = text.clone();
                ctr.apply(&iv, &mut text[at..at + text_bytes])
                    .expect("8 bytes");
                assert!(text == expected, "{tier} {size:?} {text_bytes}");
            });
        }
    }
}

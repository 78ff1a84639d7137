//! Every tier against an independent implementation.

use aes::cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr32BE;
use weir_simd::for_each_tier;

use super::{CtrKey, CtrText, apply_each};
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
                let part = &mut text[at..at + text_bytes];
                apply_each(&mut [ctr.text(&iv, part).expect("8 bytes")]);
                assert!(text == expected, "{tier} {size:?} {text_bytes}");
            });
        }
    }
}

/// Texts of any lengths and sizes of keys side by side.
#[test]
fn texts_side_by_side_agree_with_the_oracle() {
    let bytes: Vec<u8> = (0..4000usize).map(|i| (i * i / 3 + i) as u8).collect();
    let salt = [9, 8, 7, 6];
    let counts = [1, 2, 3, 5, 8, 9, 16, 33];
    for (round, count) in counts.into_iter().cycle().take(40).enumerate() {
        let size = |index: usize| AesKeySize::ALL[(index / (1 + round % 5)) % 3];
        let length = |index: usize| match round % 4 {
            0 => 64,
            1 => (index * 37 + round) % 150,
            2 => (index * 331 + 7 * round) % 1500,
            _ => 16 * (index % 9),
        };
        let key = |index: usize| &bytes[index..][..size(index).key_bytes()];
        let iv = |index: usize| [index as u8, 2, 3, 4, 5, 6, 7, round as u8];
        let plain: Vec<Vec<u8>> = (0..count)
            .map(|index| bytes[3 * index..][..length(index)].to_vec())
            .collect();
        let mut expected = plain.clone();
        for (index, text) in expected.iter_mut().enumerate() {
            let block = [&salt[..], &iv(index), &[0, 0, 0, 1]].concat();
            oracle(key(index), &block, text);
        }
        for_each_tier(|tier| {
            let keys: Vec<CtrKey> = (0..count)
                .map(|index| CtrKey::new(size(index), tier, key(index), salt).expect("a key"))
                .collect();
            let mut texts = plain.clone();
            let mut side_by_side: Vec<CtrText<'_>> = keys
                .iter()
                .zip(&mut texts)
                .enumerate()
                .map(|(index, (key, text))| {
                    CtrText::new(key.round_keys(), salt, &iv(index), text).expect("8 bytes")
                })
                .collect();
            apply_each(&mut side_by_side);
            assert!(texts == expected, "{tier} {round}");
        });
    }
}

/// Counters that start elsewhere, and those that wrap.
#[test]
fn counters_start_anywhere_and_wrap() {
    let (key, salt, iv) = ([7; 16], [9, 8, 7, 6], [1, 2, 3, 4, 5, 6, 7, 8]);
    for first in [0, 2, 255, u32::MAX - 40, u32::MAX] {
        let mut expected = vec![3; 1700];
        let block = [&salt[..], &iv, &first.to_be_bytes()].concat();
        oracle(&key, &block, &mut expected);
        for_each_tier(|tier| {
            let ctr = CtrKey::new(AesKeySize::Aes128, tier, &key, salt).expect("a key");
            let mut text = vec![3; 1700];
            let one = ctr.text(&iv, &mut text).expect("8 bytes");
            apply_each(&mut [one.counting_from(first)]);
            assert!(text == expected, "{tier} {first}");
        });
    }
}

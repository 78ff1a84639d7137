//! MMH-MAC against its definition in whole numbers.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;
use weir_simd::for_each_tier;

use super::key::MmhKey;
use crate::mac::batch::tags_of;
use crate::mac::{Algorithm, MacKey, TagWords};

fn encipher(key: &[u8; 16], block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    Aes128::new(key.into()).encrypt_block(&mut block);
    block.into()
}

fn words(bytes: &[u8]) -> Vec<u128> {
    let little_endian = |word: &[u8]| word.iter().rev().fold(0, |n, b| n << 8 | u128::from(*b));
    bytes.chunks(4).map(little_endian).collect()
}

fn derive(key: &[u8; 16], label: &[u8; 8]) -> Vec<u128> {
    let block = |i: u64| {
        let block = [*label, i.to_be_bytes()].concat();
        encipher(key, block.try_into().expect("16 bytes"))
    };
    (1..=65).flat_map(|i| words(&block(i))).collect()
}

/// Equation 4.5 of the dissertation, by division.
fn mmh32(key: &[u128], message: &[u128]) -> u128 {
    let sum: u128 = message.iter().zip(key).map(|(m, x)| m * x).sum();
    sum % (1 << 64) % ((1 << 32) + 15) % (1 << 32)
}

fn definition(key: &[u8; 16], nonce: u64, message: &[u8], tags: usize) -> Vec<u8> {
    let level_1 = derive(key, b"mmh-lvl1");
    let toeplitz = |key: &[u128], message: &[u128]| -> Vec<u128> {
        (0..tags).map(|t| mmh32(&key[t..], message)).collect()
    };
    let padded = |block: &[u8]| {
        let mut words = words(block);
        words.resize(256, 0);
        words
    };
    let length = message.len() as u128;
    let hash = if message.len() <= 1024 {
        let mut words = padded(message);
        words.push(length);
        toeplitz(&level_1, &words)
    } else {
        let mut above = vec![length];
        for block in message.chunks(1024) {
            above.extend(toeplitz(&level_1, &padded(block)));
        }
        toeplitz(&derive(key, b"mmh-lvl2"), &above)
    };
    let pad_key: Vec<u8> = derive(key, b"mmh-pad ")
        .iter()
        .flat_map(|word| (*word as u32).to_le_bytes())
        .take(16)
        .collect();
    let block = u128::from(nonce) | (tags as u128) << 64;
    let pad = encipher(&pad_key.try_into().expect("16 bytes"), block.to_be_bytes());
    let sums = hash.iter().zip(words(&pad)).map(|(hash, pad)| hash + pad);
    sums.flat_map(|sum| (sum as u32).to_le_bytes()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Batches of messages of mixed keys and lengths, on every tier.
    #[test]
    fn every_tier_tags_as_the_definition(
        seed: [u8; 16],
        nonce: u64,
        lengths in prop::collection::vec(
            prop_oneof![
                0..=70usize, 0..=130usize, 0..=1100usize, 1000..=2100usize, 0..=9100usize,
                60_000..=65_536usize,
            ],
            1..20,
        ),
        cut in 0..200usize,
        ones: bool,
        words in prop::sample::select(&TagWords::ALL[..]),
    ) {
        let bytes: Vec<u8> = (0..65_600u32)
            .map(|i| match ones {
                true => 0xff,
                false => (i.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed[i as usize % 16],
            })
            .collect();
        let raw = |index: usize| {
            let mut raw = seed;
            raw[0] ^= index as u8 % 5;
            raw
        };
        let messages: Vec<&[u8]> = lengths
            .iter()
            .enumerate()
            .map(|(index, length)| &bytes[index..index + length])
            .collect();
        let expected: Vec<Vec<u8>> = (0..)
            .zip(&messages)
            .map(|(i, message)| {
                let nonce = nonce.wrapping_add(i);
                definition(&raw(i as usize), nonce, message, words.count())
            })
            .collect();
        for_each_tier(|tier| {
            let key = |i| MacKey::new(tier, Algorithm::Mmh(words), &raw(i), [0; 4]);
            let keys: Vec<MacKey> = (0..5).map(|i| key(i).expect("16 bytes")).collect();
            let messages: Vec<(&MacKey, u64, [&[u8]; 2])> = messages
                .iter()
                .enumerate()
                .map(|(index, message)| {
                    let (head, rest) = message.split_at(cut.min(message.len()) * (index % 2));
                    let nonce = nonce.wrapping_add(index as u64);
                    (&keys[index % 5], nonce, [head, rest])
                })
                .collect();
            let tags = tags_of(tier, &messages);
            assert_eq!(tags, expected, "{tier} {lengths:?}");
        });
    }
}

/// What a key takes in memory.
#[test]
fn a_key_takes_2368_bytes() {
    assert_eq!(size_of::<MmhKey>(), 2368);
}

//! Every tier against an independent implementation.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use weir_simd::{Tier, for_each_tier};

use super::{decrypt, encrypt};
use crate::cipher::{Block, bitslice, expand, rounds};
use crate::suite::AesKeySize;

fn oracle<C: BlockCipherEncrypt + KeyInit>(key: &[u8], blocks: &mut [Block]) {
    let cipher = C::new_from_slice(key).expect("a key");
    let (blocks, rest) = Array::slice_as_chunks_mut(blocks.as_flattened_mut());
    assert!(rest.is_empty());
    cipher.encrypt_blocks(blocks);
}

#[test]
fn any_number_of_blocks_agrees_with_the_oracle_and_decrypts() {
    let key: Vec<u8> = (0..32u8).map(|i| i.wrapping_mul(13)).collect();
    for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
        let key = &key[..size.key_bytes()];
        let round_keys = expand(Tier::Scalar, size, key).expect("a key");
        let round_keys = &round_keys[..=rounds(size)];
        let mut inverse_keys = round_keys.to_vec();
        bitslice::invert(&mut inverse_keys);
        for count in (0..70).chain([100, 257]) {
            let before: Vec<Block> = (0..count)
                .map(|b| std::array::from_fn(|i| (b * 31 + i * i) as u8))
                .collect();
            let mut expected = before.clone();
            match size {
                AesKeySize::Aes128 => oracle::<aes::Aes128>(key, &mut expected),
                AesKeySize::Aes192 => oracle::<aes::Aes192>(key, &mut expected),
                AesKeySize::Aes256 => oracle::<aes::Aes256>(key, &mut expected),
            }
            for_each_tier(|tier| {
                let mut blocks = before.clone();
                encrypt(tier, round_keys, &mut blocks);
                assert!(blocks == expected, "{tier} {size:?} {count}");
                decrypt(tier, round_keys, &inverse_keys, &mut blocks);
                assert!(blocks == before, "{tier} {size:?} {count}");
            });
        }
    }
}

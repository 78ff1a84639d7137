//! Key expansion (FIPS 197 section 5.2): the same round keys from every tier.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::{Block, bitslice, simd};
use crate::kernel::InvalidLength;
use crate::simd::Wiped;
use crate::suite::AesKeySize;

/// Round keys of the longest schedule.
pub(crate) const MOST_ROUND_KEYS: usize = 15;

/// Rounds of a key size; there is one round key more.
pub(crate) const fn rounds(size: AesKeySize) -> usize {
    match size {
        AesKeySize::Aes128 => 10,
        AesKeySize::Aes192 => 12,
        AesKeySize::Aes256 => 14,
    }
}

/// The round keys of `key` in the order of encryption, followed by zeros.
pub(crate) fn expand(
    tier: Tier,
    size: AesKeySize,
    key: &[u8],
) -> Result<Wiped<[Block; MOST_ROUND_KEYS]>, InvalidLength> {
    if key.len() != size.key_bytes() {
        return Err(InvalidLength);
    }
    let mut round_keys = Wiped([[0; 16]; MOST_ROUND_KEYS]);
    if !simd::expand_each(tier, &[key], &mut [&mut *round_keys]) {
        let used = &mut round_keys[..=rounds(size)];
        expand_words(key, used.as_flattened_mut());
    }
    Ok(round_keys)
}

/// The round keys of one key, in the order of their use by the kernels of a tier.
pub(crate) struct AesRoundKeys {
    pub(crate) keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    pub(crate) rounds: usize,
    pub(crate) tier: Tier,
}

impl AesRoundKeys {
    /// The round keys of `key` for encryption.
    pub(crate) fn new(
        size: AesKeySize,
        tier: Tier,
        key: &[u8],
    ) -> Result<AesRoundKeys, InvalidLength> {
        Ok(AesRoundKeys {
            keys: expand(tier, size, key)?,
            rounds: rounds(size),
            tier,
        })
    }

    /// Round keys that are not there yet, of a key of this size.
    pub(crate) fn zeros(size: AesKeySize, tier: Tier) -> AesRoundKeys {
        AesRoundKeys {
            keys: Wiped([[0; 16]; MOST_ROUND_KEYS]),
            rounds: rounds(size),
            tier,
        }
    }

    /// Those that the rounds take, one more than there are rounds.
    #[inline]
    pub(crate) fn used(&self) -> &[Block] {
        self.keys.get(..=self.rounds).unwrap_or(&[])
    }

    /// A number below three: that of the key's size.
    #[inline]
    pub(crate) fn size_index(&self) -> u8 {
        match self.rounds {
            0..=10 => 0,
            11 | 12 => 1,
            _ => 2,
        }
    }
}

/// Fills the round keys of several keys of one size, side by side where `tier` has vectors
/// for it.
pub(crate) fn expand_each<'k>(
    tier: Tier,
    size: AesKeySize,
    keys: impl Iterator<Item = (&'k [u8], &'k mut AesRoundKeys)>,
) -> Result<(), InvalidLength> {
    const TOGETHER: usize = 16;
    let mut raw = ArrayVec::<&[u8], TOGETHER>::new();
    let mut expanded = ArrayVec::<&mut [Block; MOST_ROUND_KEYS], TOGETHER>::new();
    let mut keys = keys.peekable();
    while let Some((key, round_keys)) = keys.next() {
        if key.len() != size.key_bytes() {
            return Err(InvalidLength);
        }
        (round_keys.rounds, round_keys.tier) = (rounds(size), tier);
        raw.push(key);
        expanded.push(&mut *round_keys.keys);
        if !raw.is_full() && keys.peek().is_some() {
            continue;
        }
        if !simd::expand_each(tier, &raw, &mut expanded) {
            for (key, round_keys) in raw.iter().zip(&mut expanded) {
                **round_keys = *expand(tier, size, key)?;
            }
        }
        raw.clear();
        expanded.clear();
    }
    Ok(())
}

/// The scalar reference: word by word, in constant time.
fn expand_words(key: &[u8], schedule: &mut [u8]) {
    let key_bytes = key.len();
    schedule[..key_bytes].copy_from_slice(key);
    let mut rcon = 1u8;
    for at in (key_bytes..schedule.len()).step_by(4) {
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&schedule[at..at + 4]);
            u32::from_le_bytes(word)
        };
        let mut last = word(at - 4);
        if at % key_bytes == 0 {
            last = bitslice::substitute_word(last.rotate_right(8)) ^ u32::from(rcon);
            rcon = (rcon << 1) ^ (0x1b * (rcon >> 7));
        } else if key_bytes == 32 && at % key_bytes == 16 {
            last = bitslice::substitute_word(last);
        }
        let next = word(at - key_bytes) ^ last;
        schedule[at..at + 4].copy_from_slice(&next.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
    use weir_simd::for_each_tier;

    fn hex(text: &str) -> Vec<u8> {
        crate::engine::unhex(text).expect("hexadecimal")
    }

    /// FIPS 197 appendix A: key, and the last round key.
    #[test]
    fn the_last_round_keys_are_those_of_the_standard() {
        let examples = [
            (
                AesKeySize::Aes128,
                "2b7e151628aed2a6abf7158809cf4f3c",
                "d014f9a8c9ee2589e13f0cc8b6630ca6",
            ),
            (
                AesKeySize::Aes192,
                "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
                "e98ba06f448c773c8ecc720401002202",
            ),
            (
                AesKeySize::Aes256,
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "fe4890d1e6188d0b046df344706c631e",
            ),
        ];
        for_each_tier(|tier| {
            for (size, key, last) in examples {
                let round_keys = expand(tier, size, &hex(key)).expect("a key");
                assert_eq!(round_keys[rounds(size)][..], hex(last), "{tier} {size:?}");
                let rest = &round_keys[rounds(size) + 1..];
                assert!(rest.as_flattened().iter().all(|&byte| byte == 0));
            }
        });
    }

    #[test]
    fn keys_side_by_side_expand_as_by_themselves() {
        for_each_tier(|tier| {
            for size in AesKeySize::ALL {
                for count in 0..=9 {
                    let key = |seed: usize| -> Vec<u8> {
                        (0..size.key_bytes())
                            .map(|i| (i * 7 + seed * 31) as u8)
                            .collect()
                    };
                    let raw: Vec<Vec<u8>> = (0..count).map(key).collect();
                    let mut keys: Vec<AesRoundKeys> = raw
                        .iter()
                        .map(|_| AesRoundKeys::zeros(size, Tier::Scalar))
                        .collect();
                    let pairs = raw.iter().map(|key| &key[..]).zip(&mut keys);
                    expand_each(tier, size, pairs).expect("keys");
                    for (raw, key) in raw.iter().zip(&keys) {
                        let alone = AesRoundKeys::new(size, tier, raw).expect("a key");
                        assert!(*key.keys == *alone.keys, "{tier} {size:?} {count}");
                        assert_eq!(key.used(), alone.used());
                    }
                }
            }
        });
    }

    #[test]
    fn every_tier_expands_as_the_scalar_reference_which_encrypts_as_the_oracle() {
        for size in AesKeySize::ALL {
            for seed in 0..50u8 {
                let key: Vec<u8> = (0..size.key_bytes() as u8)
                    .map(|i| i.wrapping_mul(seed | 1).wrapping_add(seed ^ 0x3c))
                    .collect();
                let scalar = expand(Tier::Scalar, size, &key).expect("a key");
                for_each_tier(|tier| {
                    let other = expand(tier, size, &key).expect("a key");
                    assert_eq!(*other, *scalar, "{tier} {size:?}");
                });

                let planes = bitslice::PlaneKeys::new(&scalar[..=rounds(size)]);
                let mut blocks: [Block; 4] =
                    std::array::from_fn(|b| std::array::from_fn(|i| (b * 16 + i) as u8 ^ seed));
                let expected = blocks.map(|block| {
                    let mut block = Array(block);
                    match size {
                        AesKeySize::Aes128 => aes::Aes128::new_from_slice(&key)
                            .map(|aes| aes.encrypt_block(&mut block)),
                        AesKeySize::Aes192 => aes::Aes192::new_from_slice(&key)
                            .map(|aes| aes.encrypt_block(&mut block)),
                        AesKeySize::Aes256 => aes::Aes256::new_from_slice(&key)
                            .map(|aes| aes.encrypt_block(&mut block)),
                    }
                    .expect("a key");
                    block.0
                });
                planes.encrypt(&mut blocks);
                assert_eq!(blocks, expected, "{size:?}");
                let one = planes.encrypt_one([seed; 16]);
                assert_ne!(one, [seed; 16]);
            }
        }
    }
}

//! The key schedules of FIPS 197 section 5.2, one key per block of a vector.
//!
//! Each step turns the last word of a key into four equal words, on which the last round of the
//! cipher computes SubWord and adds the round constant (ShiftRows does nothing to equal
//! columns), and then sums words up:
//!
//! ```text
//! block        w0        w1           w2             w3
//! + w << 32    w0        w0+w1        w1+w2          w2+w3
//! + … << 64    w0        w0+w1        w0+w1+w2       w0+w1+w2+w3
//! ```

use super::super::{Block, MOST_ROUND_KEYS};
use super::unit::{AesUnit, Kernel};
use crate::simd::Wiped;

/// The constants of AES-128's rounds, from the first on (FIPS 197 section 5.2).
pub(crate) const ROUND_CONSTANTS: [u32; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Which four bytes of a block make RotWord of its last word.
const ROTATED: u32 = 0x0c0f_0e0d;

/// SubWord of the word that is made of these bytes, plus a constant, in every word.
#[inline(always)]
fn step<U: AesUnit>(unit: U, key: U::Vector, bytes: u32, constant: u32) -> U::Vector {
    unit.last_round(unit.pick(key, unit.words(bytes)), unit.words(constant))
}

/// The next four words, from the ones a key length before and a step.
#[inline(always)]
fn sum_up<U: AesUnit>(unit: U, key: U::Vector, step: U::Vector) -> U::Vector {
    let pairs = unit.xor(key, unit.up_a_word(key));
    unit.xor(unit.xor(pairs, unit.up_a_half(pairs)), step)
}

/// AES-128's round key after `key`, where `constant` is its round's.
#[inline(always)]
pub(crate) fn next_128<U: AesUnit>(unit: U, key: U::Vector, constant: u32) -> U::Vector {
    sum_up(unit, key, step(unit, key, ROTATED, constant))
}

/// AES-128: the key is round key 0.
#[inline(always)]
pub(crate) fn expand_128<U: AesUnit>(unit: U, key: U::Vector) -> [U::Vector; 11] {
    let mut keys = [key; 11];
    for round in 1..11 {
        keys[round] = next_128(unit, keys[round - 1], ROUND_CONSTANTS[round]);
    }
    keys
}

/// AES-192: `low` holds words 0 to 3 of the key, `high` words 4 and 5 in its lower half.
///
/// ```text
/// six words per step     low0 low0 low0 low0 high0 high0 low1 low1 low1 low1 high1 high1 low2 …
/// four per round key    └────── rk 0 ───────┘└─────── rk 1 ──────┘└─────── rk 2 ────────┘
/// ```
#[inline(always)]
pub(crate) fn expand_192<U: AesUnit>(
    unit: U,
    mut low: U::Vector,
    mut high: U::Vector,
) -> [U::Vector; 13] {
    let mut keys = [low; 13];
    for pair in 0..4 {
        let even_high = high;
        (low, high) = next_192(unit, low, high, 1 << (2 * pair));
        keys[3 * pair + 1] = unit.low_halves(even_high, low);
        keys[3 * pair + 2] = unit.middle_halves(low, high);
        (low, high) = next_192(unit, low, high, 2 << (2 * pair));
        keys[3 * pair + 3] = low;
    }
    keys
}

#[inline(always)]
fn next_192<U: AesUnit>(
    unit: U,
    low: U::Vector,
    high: U::Vector,
    constant: u32,
) -> (U::Vector, U::Vector) {
    let low = sum_up(unit, low, step(unit, high, 0x0407_0605, constant));
    let last_word = unit.pick(low, unit.words(0x0f0e_0d0c));
    let high = unit.xor(high, unit.up_a_word(high));
    (low, unit.xor(high, last_word))
}

/// AES-256: the halves of the key are round keys 0 and 1.
#[inline(always)]
pub(crate) fn expand_256<U: AesUnit>(unit: U, low: U::Vector, high: U::Vector) -> [U::Vector; 15] {
    let mut keys = [low; 15];
    keys[1] = high;
    for round in 2..15 {
        let step = match round % 2 {
            0 => step(unit, keys[round - 1], ROTATED, 1 << (round / 2 - 1)),
            // SubWord without RotWord and constant.
            _ => step(unit, keys[round - 1], 0x0f0e_0d0c, 0),
        };
        keys[round] = sum_up(unit, keys[round - 2], step);
    }
    keys
}

/// Writes the round keys of keys of one length, 16, 24 or 32 bytes, and returns true; of keys of
/// other lengths returns false.
pub(super) struct ExpandEach<'e, 'k> {
    pub(super) keys: &'e [&'k [u8]],
    pub(super) round_keys: &'e mut [&'k mut [Block; MOST_ROUND_KEYS]],
}

impl Kernel for ExpandEach<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) -> bool {
        let groups = self.round_keys.chunks_mut(U::BLOCKS);
        for (keys, round_keys) in self.keys.chunks(U::BLOCKS).zip(groups) {
            if !expand(unit, keys, round_keys) {
                return false;
            }
        }
        true
    }
}

/// As [`ExpandEach`], of as many keys as a vector has blocks, or fewer.
#[inline(always)]
pub(crate) fn expand<U: AesUnit>(
    unit: U,
    keys: &[&[u8]],
    round_keys: &mut [&mut [Block; MOST_ROUND_KEYS]],
) -> bool {
    const MOST: usize = 4;
    let mut halves = Wiped([[[0; 16]; MOST]; 2]);
    let bytes = keys.first().map_or(0, |key| key.len());
    for (place, key) in keys.iter().enumerate() {
        match key.split_first_chunk::<16>() {
            Some((low, high)) if key.len() == bytes && high.len() <= 16 => {
                halves[0][place] = *low;
                halves[1][place][..high.len()].copy_from_slice(high);
            }
            _ => return false,
        }
    }
    let (low, high) = (unit.load_blocks(&halves[0]), unit.load_blocks(&halves[1]));
    match bytes {
        16 => store(unit, &expand_128(unit, low), round_keys),
        24 => store(unit, &expand_192(unit, low, high), round_keys),
        32 => store(unit, &expand_256(unit, low, high), round_keys),
        _ => return false,
    }
    true
}

#[inline(always)]
fn store<U: AesUnit>(
    unit: U,
    vectors: &[U::Vector],
    round_keys: &mut [&mut [Block; MOST_ROUND_KEYS]],
) {
    let mut blocks = Wiped([[0; 16]; 4]);
    for (round, vector) in vectors.iter().enumerate() {
        if let [key] = round_keys {
            unit.store_first(*vector, &mut key[round]);
            continue;
        }
        unit.store_blocks(*vector, &mut *blocks);
        for (key, block) in round_keys.iter_mut().zip(&*blocks) {
            key[round] = *block;
        }
    }
}

//! Key expansion with AES instructions, one key or four keys per vector.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon_aes;
mod unit;

use weir_simd::Tier;

use super::{Block, MOST_ROUND_KEYS};

pub(crate) use unit::{AesLanes, AesUnit, Kernel, decrypt, encrypt, has_unit, run};

#[cfg(target_arch = "x86_64")]
pub(crate) use aesni::expand as expand_one;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::{expand_128_lanes, expand_192_lanes, expand_256_lanes, next_128_lanes};

/// Writes the round keys of `key` (16, 24 or 32 bytes) and returns true; or
/// returns false where `tier` has no kernel or the processor no `tier`.
pub(crate) fn expand(tier: Tier, key: &[u8], round_keys: &mut [Block; MOST_ROUND_KEYS]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier >= Tier::Aesni && tier.is_available() {
        // SAFETY: the tier, and with it AES-NI, SSSE3 and SSE4.1, is there.
        return unsafe { aesni::expand(key, round_keys) };
    }
    #[cfg(target_arch = "aarch64")]
    if tier == Tier::NeonAes && tier.is_available() {
        // SAFETY: the tier, and with it NEON and FEAT_AES, is there.
        return unsafe { neon_aes::expand(key, round_keys) };
    }
    let _ = (tier, key, round_keys);
    false
}

/// Writes the round keys of four keys of one length (16, 24 or 32 bytes) and returns true; or
/// returns false where `tier` has no kernel for that or the processor no `tier`.
pub(crate) fn expand_four(
    tier: Tier,
    keys: [&[u8]; 4],
    round_keys: [&mut [Block; MOST_ROUND_KEYS]; 4],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if tier == Tier::Avx512 && tier.is_available() {
        // SAFETY: the tier, and with it AVX-512 F and BW and VAES, is there.
        return unsafe { avx512::expand_four(keys, round_keys) };
    }
    let _ = (tier, keys, round_keys);
    false
}

/// The constants of AES-128's rounds, from the first on (FIPS 197 section 5.2).
#[cfg(target_arch = "x86_64")]
pub(crate) const ROUND_CONSTANTS: [i32; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Defines the key schedules of FIPS 197 section 5.2 over 128-bit lanes, each
/// lane a key, for one vector width.
///
/// Each step turns the last word of a key into four equal words, on which
/// AESENCLAST computes SubWord and adds the round constant (ShiftRows does
/// nothing to equal columns), and then sums words up:
///
/// ```text
/// lane         w0        w1           w2             w3
/// + w << 32    w0        w0+w1        w1+w2          w2+w3
/// + … << 64    w0        w0+w1        w0+w1+w2       w0+w1+w2+w3
/// ```
#[cfg(target_arch = "x86_64")]
macro_rules! schedules {
    (
        features $features:literal, vector $vector:ty,
        $zero:ident $set1:ident $shuffle_bytes:ident $shuffle_words:ident $last:ident $xor:ident
        $shift_left:ident $unpack_low:ident $align_right:ident,
        $next_128:ident $expand_128:ident $expand_192:ident $expand_256:ident
    ) => {
        /// SubWord(RotWord(w)) + constant in every word, where `PLACES` says
        /// which four bytes of the lane make RotWord(w).
        #[inline]
        #[target_feature(enable = $features)]
        fn step<const PLACES: i32>(key: $vector, constant: i32) -> $vector {
            $last($shuffle_bytes(key, $set1(PLACES)), $set1(constant))
        }

        /// The next four words, from the ones a key length before and a step.
        #[inline]
        #[target_feature(enable = $features)]
        fn sum_up(key: $vector, step: $vector) -> $vector {
            let pairs = $xor(key, $shift_left::<4>(key));
            $xor($xor(pairs, $shift_left::<8>(pairs)), step)
        }

        /// AES-128's round key after `key`, where `constant` is its round's.
        #[inline]
        #[target_feature(enable = $features)]
        pub(crate) fn $next_128(key: $vector, constant: i32) -> $vector {
            sum_up(key, step::<0x0c0f_0e0d>(key, constant))
        }

        /// AES-128: the key is round key 0.
        #[inline]
        #[target_feature(enable = $features)]
        pub(crate) fn $expand_128(key: $vector) -> [$vector; 11] {
            let mut keys = [key; 11];
            for round in 1..11 {
                keys[round] = $next_128(keys[round - 1], ROUND_CONSTANTS[round]);
            }
            keys
        }

        /// AES-192: `low` holds words 0 to 3 of the key, `high` words 4 and 5
        /// in its lower half.
        ///
        /// ```text
        /// six words per step     low0 low0 low0 low0 high0 high0 low1 low1 low1 low1 high1 high1 low2 …
        /// four per round key    └────── rk 0 ───────┘└─────── rk 1 ──────┘└─────── rk 2 ────────┘
        /// ```
        #[inline]
        #[target_feature(enable = $features)]
        pub(crate) fn $expand_192(low: $vector, high: $vector) -> [$vector; 13] {
            let mut keys = [$zero(); 13];
            let (mut low, mut high) = (low, high);
            keys[0] = low;
            for pair in 0..4 {
                let even_high = high;
                (low, high) = next_192(low, high, 1 << (2 * pair));
                keys[3 * pair + 1] = $unpack_low(even_high, low);
                keys[3 * pair + 2] = $align_right::<8>(high, low);
                (low, high) = next_192(low, high, 2 << (2 * pair));
                keys[3 * pair + 3] = low;
            }
            keys
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn next_192(low: $vector, high: $vector, constant: i32) -> ($vector, $vector) {
            let low = sum_up(low, step::<0x0407_0605>(high, constant));
            let last = $shuffle_words::<0xff>(low);
            (low, $xor($xor(high, $shift_left::<4>(high)), last))
        }

        /// AES-256: the halves of the key are round keys 0 and 1.
        #[inline]
        #[target_feature(enable = $features)]
        pub(crate) fn $expand_256(low: $vector, high: $vector) -> [$vector; 15] {
            let mut keys = [low; 15];
            keys[1] = high;
            for round in 2..15 {
                let step = if round % 2 == 0 {
                    step::<0x0c0f_0e0d>(keys[round - 1], 1 << (round / 2 - 1))
                } else {
                    // SubWord without RotWord and constant.
                    step::<0x0f0e_0d0c>(keys[round - 1], 0)
                };
                keys[round] = sum_up(keys[round - 2], step);
            }
            keys
        }
    };
}
#[cfg(target_arch = "x86_64")]
use schedules;

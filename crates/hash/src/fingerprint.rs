//! Fingerprints of 64 bits, for structures that need well-mixed bits.

use std::fmt;

use crate::columns::{KeyColumns, MAX_KEY_WORDS};
use crate::seed::{Seed, SeedStream};

/// A seeded 64-bit fingerprint of a key of 32-bit words, for the register
/// index and rank of a distinct counter.
///
/// The inner product Σ aᵢxᵢ + b mod 2⁶⁴ with random 64-bit aᵢ makes two keys
/// equal with probability at most 2⁻³³ (the difference is uniform over the
/// multiples of a power of two below 2³²), and one in 2⁶⁰ for an average pair.
/// Stafford's finaliser (variant 13, the one of SplitMix64) is a bijection, so
/// it keeps that bound; that its output bits look independent is observed and not
/// proven, as for every hash function in use with HyperLogLog.
///
/// ```
/// use weir_hash::{Fingerprint, Seed};
///
/// let fingerprint = Fingerprint::new(Seed::random()?);
/// assert_ne!(fingerprint.of(&[1]), fingerprint.of(&[2])); // but for probability 2⁻³³
/// # Ok::<(), weir_hash::SeedError>(())
/// ```
///
/// `Debug` shows no parameters: they may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    multipliers: [u64; MAX_KEY_WORDS],
    addend: u64,
}

impl Fingerprint {
    /// The function that `seed` draws.
    pub fn new(seed: Seed) -> Fingerprint {
        let mut stream = SeedStream::new(seed);
        Fingerprint {
            multipliers: std::array::from_fn(|_| stream.next_u64()),
            addend: stream.next_u64(),
        }
    }

    /// The fingerprints of a batch of keys, in their order. Replaces what `out` holds.
    pub fn of_columns(&self, keys: &KeyColumns, out: &mut Vec<u64>) {
        out.clear();
        out.resize(keys.len(), self.addend);
        for (word, a) in self.multipliers[..keys.words()].iter().enumerate() {
            for (sum, x) in out.iter_mut().zip(keys.column(word)) {
                *sum = sum.wrapping_add(a.wrapping_mul(u64::from(*x)));
            }
        }
        for sum in out {
            *sum = finalise(*sum);
        }
    }

    /// The fingerprint of a key. Words beyond [`MAX_KEY_WORDS`] and trailing zero words are
    /// ignored.
    #[inline]
    pub fn of(&self, key: &[u32]) -> u64 {
        let sum = self
            .multipliers
            .iter()
            .zip(key)
            .fold(self.addend, |sum, (a, x)| {
                sum.wrapping_add(a.wrapping_mul(u64::from(*x)))
            });
        finalise(sum)
    }
}

/// Stafford's variant 13 of MurmurHash3's finaliser.
#[inline]
fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2²⁰ sequential keys make 2³⁹ pairs, and differences below 2²⁰ meet with
    /// probability 2⁻⁶⁰·⁷ on average: a seed shows an equal pair with
    /// probability 3e-7, and this one does not.
    #[test]
    fn sequential_keys_have_distinct_fingerprints() {
        let fingerprint = Fingerprint::new(Seed::from_u64(1));
        let mut seen: Vec<u64> = (0..1 << 20).map(|x| fingerprint.of(&[x, 0, 6])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1 << 20);
    }

    /// From one of 2¹⁶ sequential keys to the next, each of the 64 bits turns in
    /// 32768 ± 128 cases. Seven standard deviations on 64 bits: false alarm
    /// below 64 · 2.6e-12 = 1.7e-10. The bare sum fails: its lowest bit turns
    /// always or never.
    #[test]
    fn neighbouring_keys_differ_in_half_of_the_bits() {
        let fingerprint = Fingerprint::new(Seed::from_u64(2));
        for bit in 0..64 {
            let turns = (0..1u32 << 16)
                .filter(|x| (fingerprint.of(&[*x]) ^ fingerprint.of(&[x + 1])) >> bit & 1 == 1)
                .count();
            assert!(turns.abs_diff(32_768) < 7 * 128, "bit {bit}: {turns}");
        }
    }

    #[test]
    fn batch_equals_one_by_one() {
        let fingerprint = Fingerprint::new(Seed::from_u64(3));
        let mut keys = KeyColumns::new(3, 20);
        let mut expected = Vec::new();
        for n in 0..20 {
            let key = [n, n * n, 7 - n % 7];
            assert!(keys.push(&key));
            expected.push(fingerprint.of(&key));
        }
        let mut out = vec![1; 3];
        fingerprint.of_columns(&keys, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn seeds_and_words_matter() {
        let (one, two) = (
            Fingerprint::new(Seed::from_u64(1)),
            Fingerprint::new(Seed::from_u64(2)),
        );
        assert_ne!(one.of(&[5]), two.of(&[5]));
        assert_ne!(one.of(&[5, 1]), one.of(&[1, 5]));
        assert_eq!(one.of(&[5]), one.of(&[5, 0, 0]));
    }
}

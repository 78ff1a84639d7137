//! Which keys a period has seen.

use weir_hash::{Fingerprint, KeyColumns, Seed};

/// Bits per key, m/n of the thesis, and functions per key: 0.8 % of the keys
/// that were not seen are taken for seen (Bloom, 1970), where no more than the
/// expected number were.
const BITS_PER_KEY: usize = 10;
const FUNCTIONS: u64 = 7;

/// A Bloom filter of keys. Its functions are h₁ + i·h₂ over two halves of a
/// fingerprint (Kirsch and Mitzenmacher, *Less Hashing, Same Performance*,
/// ESA 2006).
#[derive(Clone, Debug)]
pub(super) struct Tags {
    fingerprint: Fingerprint,
    words: Vec<u64>,
    fingerprints: Vec<u64>,
}

impl Tags {
    /// No keys yet; sized for `keys` keys, at least 1.
    pub fn new(keys: usize, seed: Seed) -> Tags {
        Tags {
            fingerprint: Fingerprint::new(seed),
            words: vec![0; keys.max(1).saturating_mul(BITS_PER_KEY).div_ceil(64)],
            fingerprints: Vec::new(),
        }
    }

    /// Tags the first `count` keys of a batch.
    pub fn insert(&mut self, keys: &KeyColumns, count: usize) {
        self.fingerprint.of_columns(keys, &mut self.fingerprints);
        let bits = self.bits();
        for fingerprint in self.fingerprints.iter().take(count) {
            for (word, mask) in places(*fingerprint, bits) {
                self.words[word] |= mask;
            }
        }
    }

    /// Whether a key was tagged, or seems so.
    pub fn contains(&self, key: &[u32]) -> bool {
        let fingerprint = self.fingerprint.of(key);
        places(fingerprint, self.bits()).all(|(word, mask)| self.words[word] & mask != 0)
    }

    fn bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }
}

/// Word and mask of each of a key's bits.
fn places(fingerprint: u64, bits: u64) -> impl Iterator<Item = (usize, u64)> {
    let (first, step) = (fingerprint & 0xffff_ffff, fingerprint >> 32 | 1);
    (0..FUNCTIONS).map(move |number| {
        let bit = (first + number * step) % bits;
        ((bit / 64) as usize, 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.82 % of 20,000 strangers are 164 ± 13; with the filter's own variation
    /// three times that number is exceeded with probability below 1e-20. A
    /// filter with one function would take 9.5 % of them.
    #[test]
    fn keys_are_known_and_strangers_are_not() {
        let mut tags = Tags::new(5000, Seed::from_u64(1));
        for start in (0..5000u32).step_by(100) {
            let mut columns = KeyColumns::new(1, 100);
            for key in start..start + 100 {
                assert!(columns.push(&[key]));
            }
            tags.insert(&columns, 100);
        }
        assert!((0..5000u32).all(|key| tags.contains(&[key])));
        let strangers = (5000..25_000u32).filter(|key| tags.contains(&[*key]));
        let count = strangers.count();
        assert!((40..500).contains(&count), "{count}");
    }

    #[test]
    fn keys_without_a_value_are_not_tagged() {
        let mut tags = Tags::new(10, Seed::from_u64(2));
        let mut columns = KeyColumns::new(1, 2);
        assert!(columns.push(&[1]) && columns.push(&[2]));
        tags.insert(&columns, 1);
        assert!(tags.contains(&[1]) && !tags.contains(&[2]));
    }
}

//! What traffic is made of: how often each gram occurs, by its neighbours.
//!
//! A profile counts the words of a filter that traffic looks at, and the bits
//! that it asks for there. The plan enters each pattern where that is seldom.
//! It is a matter of speed alone: any profile, or none, gives the same hits.

use std::fmt;
use std::sync::OnceLock;

use super::classes::{CLASSES, class_of};
use super::gram::Grams;

/// Words of the histogram of four-byte grams: those of the largest filter.
pub(super) const LOG2_FOUR: u32 = 16;
/// Words of the histogram of two-byte grams: those of the only filter.
pub(super) const LOG2_TWO: u32 = 15;
/// Counts per word: one for each bit.
pub(super) const BITS: usize = 32;

/// How a profile's file begins.
const MAGIC: &[u8; 16] = b"weir profile 03\n";

/// Statistics of the bytes of payloads.
#[derive(Clone)]
pub struct Profile {
    /// Counts of each bit of each word; nothing where there was no traffic.
    four: Vec<u32>,
    two: Vec<u32>,
    /// Counts of bytes by their class.
    classes: Vec<u32>,
    payload_bytes: u64,
}

/// Why bytes are no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Another format.
    #[error("no profile of traffic: it does not begin with \"weir profile 03\"")]
    Format,
    /// It ends too early, or goes on behind its end.
    #[error("a profile of traffic that is damaged at byte {0}")]
    Damaged(usize),
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("payload_bytes", &self.payload_bytes)
            .finish_non_exhaustive()
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::new()
    }
}

impl Profile {
    /// The profile of no traffic.
    pub fn new() -> Profile {
        Profile {
            four: vec![0; BITS << LOG2_FOUR],
            two: vec![0; BITS << LOG2_TWO],
            classes: vec![0; CLASSES],
            payload_bytes: 0,
        }
    }

    /// The profile that is used where no other is given: short samples of what
    /// common protocols and files begin with, written for this purpose
    /// (`typical.txt`), and as much of compressed data as of all of them, for
    /// which random bytes (a fixed seed) stand.
    pub fn typical() -> &'static Profile {
        static TYPICAL: OnceLock<Profile> = OnceLock::new();
        TYPICAL.get_or_init(|| {
            const SAMPLES: &str = include_str!("typical.txt");
            /// How often each sample occurs: so that what is in none of them
            /// counts as rare, not as unknown.
            const REPETITIONS: usize = 8;
            let mut profile = Profile::new();
            for sample in SAMPLES.lines() {
                let sample = unescape(sample);
                (0..REPETITIONS).for_each(|_| profile.add(&sample));
            }
            let mut noise = 1u64;
            let random: Vec<u8> = (0..profile.payload_bytes)
                .map(|_| {
                    // Knuth's MMIX generator; the top bits are its best.
                    noise = (noise.wrapping_mul(0x5851_f42d_4c95_7f2d))
                        .wrapping_add(0x1405_7b7e_f767_814f);
                    (noise >> 56) as u8
                })
                .collect();
            profile.add(&random);
            profile
        })
    }

    /// Adds a payload.
    pub fn add(&mut self, payload: &[u8]) {
        self.payload_bytes += payload.len() as u64;
        for place in Grams::Four.places(payload.len()) {
            if !Grams::Four.is_inside_run(payload, place, 0) {
                let count = &mut self.classes[class_of(payload[place])];
                *count = count.saturating_add(1);
            }
        }
        for (grams, counts) in [(Grams::Four, &mut self.four), (Grams::Two, &mut self.two)] {
            let shift = 32 - (counts.len() / BITS).ilog2();
            for place in grams.places(payload.len()) {
                if grams.is_inside_run(payload, place, 0) {
                    continue;
                }
                let word = (grams.hash(&payload[place..]) >> shift) as usize;
                let mut bits = grams.bits_of_text(payload, place);
                while bits != 0 {
                    let count = &mut counts[word * BITS + bits.trailing_zeros() as usize];
                    *count = count.saturating_add(1);
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Bytes of payloads that were added.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// For each of the 2^`log2_words` words of a filter of `grams` and each of
    /// its 32 bits, how often traffic asks for it.
    pub(super) fn counts(&self, grams: Grams, log2_words: u32) -> Vec<u32> {
        let counts = match grams {
            Grams::Four => &self.four,
            Grams::Two => &self.two,
        };
        if self.payload_bytes == 0 {
            return vec![0; BITS << log2_words];
        }
        // A filter of fewer words is indexed by fewer bits from the top.
        let words_per_word = (counts.len() / BITS) >> log2_words;
        let mut merged = vec![0u32; BITS << log2_words];
        for (sum, words) in merged
            .chunks_exact_mut(BITS)
            .zip(counts.chunks_exact(BITS * words_per_word.max(1)))
        {
            for word in words.chunks_exact(BITS) {
                for (sum, count) in sum.iter_mut().zip(word) {
                    *sum = sum.saturating_add(*count);
                }
            }
        }
        merged
    }

    /// The share of each class among the bytes outside of runs; the same for all
    /// where there was no traffic.
    pub(super) fn class_shares(&self) -> [f64; CLASSES] {
        let total: u64 = self.classes.iter().map(|count| u64::from(*count)).sum();
        std::array::from_fn(|class| match total {
            0 => 1.0 / CLASSES as f64,
            _ => f64::from(self.classes[class]) / total as f64,
        })
    }

    /// The profile as a file: counts in logarithmic steps of a fifth, runs of
    /// zeros by their length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.payload_bytes.to_le_bytes());
        let mut zeros = 0u32;
        for count in self.four.iter().chain(&self.two).chain(&self.classes) {
            match level_of(*count) {
                0 => zeros += 1,
                level => {
                    write_zeros(&mut bytes, &mut zeros);
                    bytes.push(level);
                }
            }
        }
        write_zeros(&mut bytes, &mut zeros);
        bytes
    }

    /// Reads what [`Profile::to_bytes`] wrote.
    ///
    /// # Errors
    /// The bytes are not a profile, or not all of one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Profile, ProfileError> {
        let mut profile = Profile::new();
        let rest = bytes.strip_prefix(MAGIC).ok_or(ProfileError::Format)?;
        let (total, mut rest) = rest
            .split_first_chunk()
            .ok_or(ProfileError::Damaged(bytes.len()))?;
        profile.payload_bytes = u64::from_le_bytes(*total);
        let Profile {
            four, two, classes, ..
        } = &mut profile;
        let mut counts = four.iter_mut().chain(two).chain(classes);
        while let Some((level, after)) = rest.split_first() {
            let damaged = ProfileError::Damaged(bytes.len() - rest.len());
            rest = after;
            if *level == 0 {
                let (zeros, after) = rest.split_first_chunk().ok_or(damaged)?;
                rest = after;
                let zeros = u32::from_le_bytes(*zeros) as usize;
                let last = zeros.checked_sub(1).and_then(|last| counts.nth(last));
                last.ok_or(damaged)?;
            } else {
                *counts.next().ok_or(damaged)? = count_of(*level);
            }
        }
        match counts.next() {
            None => Ok(profile),
            Some(_) => Err(ProfileError::Damaged(bytes.len())),
        }
    }
}

/// A line of samples: `\\`, `\r`, `\n`, `\t` and `\xNN` stand for bytes.
fn unescape(line: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'x') => {
                let mut digit = || {
                    let digit = rest.next().map(char::from).and_then(|c| c.to_digit(16));
                    digit.unwrap_or_default() as u8
                };
                digit() << 4 | digit()
            }
            Some(other) => other,
            None => byte,
        });
    }
    bytes
}

fn write_zeros(bytes: &mut Vec<u8>, zeros: &mut u32) {
    if *zeros > 0 {
        bytes.push(0);
        bytes.extend(zeros.to_le_bytes());
        *zeros = 0;
    }
}

/// Steps per doubling.
const STEPS: f64 = 5.0;

/// 0 for 0, then 1 + 5·log₂ of the count, rounded.
fn level_of(count: u32) -> u8 {
    match count {
        0 => 0,
        count => 1 + (STEPS * f64::from(count).log2()).round() as u8,
    }
}

fn count_of(level: u8) -> u32 {
    (f64::from(level - 1) / STEPS).exp2().round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_counts_to_a_fifteenth() {
        let mut profile = Profile::new();
        for number in 0u32..3000 {
            profile.add(
                format!("GET /index{}.html HTTP/1.1\r\n\0\0\0\0\0\0\0", number % 7).as_bytes(),
            );
        }
        let bytes = profile.to_bytes();
        let again = Profile::from_bytes(&bytes).expect("what was written");
        assert_eq!(again.payload_bytes(), profile.payload_bytes());
        for (count, read) in profile.four.iter().zip(&again.four) {
            assert!(count.abs_diff(*read) * 14 <= *count, "{count} as {read}");
        }
        assert_eq!(again.to_bytes(), bytes);
    }

    #[test]
    fn damage_is_told() {
        let bytes = Profile::new().to_bytes();
        assert_eq!(
            Profile::from_bytes(b"GIF89a").err(),
            Some(ProfileError::Format)
        );
        for end in MAGIC.len()..bytes.len() {
            let error = Profile::from_bytes(&bytes[..end]).err();
            assert!(matches!(error, Some(ProfileError::Damaged(_))), "{end}");
        }
        let mut longer = bytes.clone();
        longer.push(7);
        assert!(Profile::from_bytes(&longer).is_err());
        let mut forged = bytes;
        let end = forged.len();
        forged[end - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Profile::from_bytes(&forged).is_err());
    }

    #[test]
    fn samples_are_read_as_they_are_meant() {
        assert_eq!(unescape(r"a\r\n\t\\b\x00\xfF"), b"a\r\n\t\\b\0\xff");
        let bytes = Profile::typical().payload_bytes();
        assert!((100_000..1_000_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn narrower_filters_see_the_same_traffic() {
        let mut profile = Profile::new();
        profile.add(b"some traffic, and more of some traffic");
        let total = |log2| -> u64 {
            let counts = profile.counts(Grams::Four, log2);
            counts.into_iter().map(u64::from).sum()
        };
        assert_eq!(total(16), total(13));
        assert_eq!(total(13), 2 * 35, "a bit for either neighbour of each gram");
    }
}

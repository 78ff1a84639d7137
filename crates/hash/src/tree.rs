//! Messages of any length by a function of blocks: tree hashing.
//!
//! Wegman and Carter 1981, as section 4.2.3 of Y.-K. Lai's dissertation applies
//! it to MMH32. Each level splits its input into blocks and replaces each by T tags, with
//! a separate key per level, until one block is left. The last level hashes the length of
//! the message, too:
//!
//! ```text
//! message   ████ ████ ████ ████ ███░     key 1      ░ zeros
//! tags      ▓▓▓▓ ▓░░░                    key 2
//! tags      ▓▓░░ length                  key 3  ─►  T tags
//! ```
//!
//! **Property.** Let ε be the bound of the T tags of one level ([`Mmh32`]), of
//! which T agree at once for different blocks with probability ε at most. Two
//! messages that need the same number l of levels differ in their tags by a given
//! amount with probability at most l·ε: either some level makes the difference
//! vanish, or the last one sees it. Where they need different numbers of levels,
//! the key of the higher one's last level is independent of everything else, and
//! the length that it hashes is not zero: ε. Zeros that fill the last block cannot
//! be distinguished from words of the message, but lengths can.
//!
//! ```
//! use weir_hash::tree::MmhTree;
//! use weir_hash::{Seed, SeedStream};
//!
//! let mut stream = SeedStream::new(Seed::random()?);
//! // Three levels with blocks of 16 words, two tags of 32 bits.
//! let keys: Vec<Vec<u32>> = (0..3)
//!     .map(|_| (0..18).map(|_| stream.next_bits(32) as u32).collect())
//!     .collect();
//! let tree = MmhTree::<2>::new(&keys)?;
//! assert_ne!(tree.hash(b"a message")?, tree.hash(b"a message\0")?); // but for 2⁻⁵⁸
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::guarantee::{Group, Guarantee, Guaranteed, Property};
use crate::multilinear::{MessageError, Mmh32};

/// MMH32 with `T` Toeplitz tags in a tree of as many levels as there are keys.
#[derive(Clone, Copy)]
pub struct MmhTree<'k, const T: usize> {
    keys: &'k [Vec<u32>],
    block_words: usize,
}

impl<'k, const T: usize> MmhTree<'k, T> {
    /// The function of the keys of each level, of which the shortest decides how
    /// long a block is: `T` words shorter, since a length and T - 1 shifts have to
    /// fit.
    ///
    /// # Errors
    /// [`MessageError::TooLong`] where blocks would be no longer than the tags
    /// that take their place, so that a tree would not end.
    pub fn new(keys: &'k [Vec<u32>]) -> Result<MmhTree<'k, T>, MessageError> {
        let shortest = keys.iter().map(Vec::len).min().unwrap_or(0);
        let block_words = shortest.saturating_sub(T);
        match block_words > T {
            true => Ok(MmhTree { keys, block_words }),
            false => Err(MessageError::TooLong {
                most_words: block_words,
                given_words: T + 1,
            }),
        }
    }

    /// Words of a block.
    pub fn block_words(&self) -> usize {
        self.block_words
    }

    /// Bytes of the longest message.
    pub fn most_bytes(&self) -> usize {
        let last = self.block_words;
        let below = (1..self.keys.len()).fold(last, |words, _| words / T * self.block_words);
        4 * below
    }

    /// The tags of a message; its bytes are little-endian words.
    ///
    /// # Errors
    /// [`MessageError::TooLong`].
    pub fn hash(&self, message: &[u8]) -> Result<[u32; T], MessageError> {
        if message.len() > self.most_bytes() {
            return Err(MessageError::TooLong {
                most_words: self.most_bytes() / 4,
                given_words: message.len().div_ceil(4),
            });
        }
        let mut words: Vec<u32> = message
            .chunks(4)
            .map(|bytes| {
                let mut word = [0; 4];
                word[..bytes.len()].copy_from_slice(bytes);
                u32::from_le_bytes(word)
            })
            .collect();
        for key in self.keys {
            let level = Mmh32::<T>::new(key);
            if words.len() <= self.block_words {
                words.resize(self.block_words, 0);
                words.push(message.len() as u32);
                return level.hash(&words);
            }
            let tags: Result<Vec<[u32; T]>, MessageError> = words
                .chunks(self.block_words)
                .map(|block| level.hash(block))
                .collect();
            words = tags?.concat();
        }
        Err(MessageError::TooLong {
            most_words: self.most_bytes() / 4,
            given_words: words.len(),
        })
    }
}

impl<const T: usize> Guaranteed for MmhTree<'_, T> {
    /// For messages that need all levels.
    fn guarantee(&self) -> Guarantee {
        let level = Mmh32::<T>::new(&[]).guarantee();
        Guarantee {
            property: Property::AlmostDeltaUniversal(Group::Modulo(1 << 32)),
            epsilon: self.keys.len() as f64 * level.epsilon,
            source: "Wegman and Carter, JCSS 22, 1981, section 3; the module `tree`",
            key_bytes: self.keys.iter().map(|key| 4 * key.len()).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, SeedStream};

    fn keys(levels: usize, words: usize) -> Vec<Vec<u32>> {
        let mut stream = SeedStream::new(Seed::from_u64(4));
        let mut key = || (0..words).map(|_| stream.next_bits(32) as u32).collect();
        (0..levels).map(|_| key()).collect()
    }

    fn tree(keys: &[Vec<u32>]) -> MmhTree<'_, 2> {
        MmhTree::new(keys).expect("keys are long enough")
    }

    /// Extension by zeros, by whole words of them, and truncation: lengths differ
    /// and with them the tags, but for a probability of ε each.
    #[test]
    fn lengths_are_part_of_the_message() {
        let keys = keys(3, 10);
        let tree = tree(&keys);
        assert_eq!((tree.block_words(), tree.most_bytes()), (8, 4 * 8 * 4 * 4));
        let message = [0; 512];
        let tags: Vec<[u32; 2]> = (0..=512)
            .map(|bytes| tree.hash(&message[..bytes]).expect("not too long"))
            .collect();
        for (a, tag) in tags.iter().enumerate() {
            assert!(tags[..a].iter().all(|other| other != tag), "{a} bytes");
        }
        assert!(tree.hash(&[0; 513]).is_err());
    }

    /// A change anywhere, in trees of one, two and three levels.
    #[test]
    fn every_byte_counts_and_blocks_do_not_commute() {
        let keys = keys(3, 10);
        let tree = tree(&keys);
        for bytes in [1, 32, 33, 100, 256, 300, 512] {
            let message: Vec<u8> = (0..bytes).map(|i| i as u8 ^ 0x5a).collect();
            let tag = tree.hash(&message).expect("not too long");
            for at in 0..bytes {
                let mut other = message.clone();
                other[at] ^= 1;
                assert_ne!(tree.hash(&other), Ok(tag), "{bytes} bytes, at {at}");
            }
            if bytes >= 64 {
                let mut other = message.clone();
                let (a, b) = other.split_at_mut(32);
                a.swap_with_slice(&mut b[..32]);
                assert_ne!(tree.hash(&other), Ok(tag), "{bytes} bytes, swapped");
            }
        }
    }

    #[test]
    fn keys_that_make_no_tree_are_refused() {
        assert!(MmhTree::<2>::new(&keys(2, 4)).is_err());
        assert!(MmhTree::<2>::new(&keys(2, 5)).is_ok());
        assert!(MmhTree::<2>::new(&[]).is_err());
    }

    /// Two levels with four tags, the dissertation's case: the bound for one tag
    /// is 3·2⁻³⁰, and four tags beside each other, each in its own tree,
    /// would have (3·2⁻³⁰)⁴; here all tags go up together.
    #[test]
    fn four_tags_of_two_levels_are_within_the_published_figure_and_not_at_2_to_the_120() {
        let one = keys(2, 260);
        let bound = |tree: Guarantee| tree.epsilon;
        let single = bound(MmhTree::<1>::new(&one).expect("a tree").guarantee());
        assert_eq!(single, 3.0 * 2f64.powi(-30));
        let four = bound(MmhTree::<4>::new(&one).expect("a tree").guarantee());
        assert!(four <= single.powi(4));
        assert!(four > 2f64.powi(-120));
        // What the dissertation calls 2⁻¹²⁰ is four levels of nothing but 2⁻³⁰.
        assert!((single.powi(4).log2() + 113.66).abs() < 0.01);
        assert!((four.log2() + 116.66).abs() < 0.01);
    }
}

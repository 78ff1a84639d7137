//! Damage that is the same in every run.
//!
//! A [`Mutator`] takes inputs of a corpus in turn and changes a few places of
//! each, as files and packets are damaged and as attackers change them: bits
//! flipped, numbers set to the ends of their ranges, parts cut, repeated, or
//! put in from another input.

/// Longest input that is made.
pub const MAX_INPUT_BYTES: usize = 16 * 1024;

/// Most changes of one input.
const MAX_CHANGES: u64 = 6;

/// Makes inputs out of a corpus.
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    words: &'a [&'a [u8]],
    random: SplitMix64,
    next: usize,
}

impl<'a> Mutator<'a> {
    /// A mutator over `corpus` that inserts `words` now and then. The same
    /// arguments give the same inputs.
    pub fn new(corpus: &'a [Vec<u8>], words: &'a [&'a [u8]], seed: u64) -> Mutator<'a> {
        Mutator {
            corpus,
            words,
            random: SplitMix64(seed),
            next: 0,
        }
    }

    /// Replaces the contents of `input` by the next one.
    pub fn fill(&mut self, input: &mut Vec<u8>) {
        input.clear();
        if let Some(start) = self.corpus.get(self.next) {
            input.extend_from_slice(start);
        }
        self.next = (self.next + 1) % self.corpus.len().max(1);
        for _ in 0..=self.random.below(MAX_CHANGES) {
            self.change(input);
        }
        input.truncate(MAX_INPUT_BYTES);
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        match self.random.below(9) {
            0 => self.flip_bit(input),
            1 => self.set_byte(input),
            2 | 3 => self.set_number(input),
            4 => self.cut_out(input),
            5 => self.cut_off(input),
            6 => self.repeat(input),
            7 => self.insert_word(input),
            _ => self.splice(input),
        }
    }

    fn flip_bit(&mut self, input: &mut [u8]) {
        let bit = self.random.below(8);
        if let Some(byte) = self.place(input.len()).and_then(|at| input.get_mut(at)) {
            *byte ^= 1 << bit;
        }
    }

    fn set_byte(&mut self, input: &mut [u8]) {
        let value = self.random.next() as u8;
        if let Some(byte) = self.place(input.len()).and_then(|at| input.get_mut(at)) {
            *byte = value;
        }
    }

    /// Writes a number that length fields fear, in 1, 2, 4 or 8 bytes of
    /// either order.
    fn set_number(&mut self, input: &mut [u8]) {
        let near = [0, 1, u64::MAX, 1 << 63, 1 << 31, 1 << 16, 1 << 8, 1 << 7];
        let chosen = near[self.random.below(near.len() as u64) as usize];
        let number = match self.random.below(3) {
            0 => chosen,
            1 => chosen.wrapping_sub(1),
            _ => input.len() as u64,
        };
        let width = 1 << self.random.below(4);
        let little = number.to_le_bytes();
        let mut bytes = little[..width].to_vec();
        if self.random.below(2) == 0 {
            bytes.reverse();
        }
        if let Some(at) = self.place(input.len()) {
            let end = input.len().min(at + width);
            input[at..end].copy_from_slice(&bytes[..end - at]);
        }
    }

    fn cut_out(&mut self, input: &mut Vec<u8>) {
        let (at, end) = self.range(input.len());
        input.drain(at..end);
    }

    fn cut_off(&mut self, input: &mut Vec<u8>) {
        // Rarely: what is cut off cannot go wrong any more.
        if self.random.below(3) == 0 {
            let (at, _) = self.range(input.len());
            input.truncate(at);
        }
    }

    fn repeat(&mut self, input: &mut Vec<u8>) {
        let (at, end) = self.range(input.len());
        let part = input[at..end].to_vec();
        let to = self.random.below(input.len() as u64 + 1) as usize;
        input.splice(to..to, part);
    }

    fn insert_word(&mut self, input: &mut Vec<u8>) {
        let which = self.random.below(self.words.len().max(1) as u64) as usize;
        let at = self.random.below(input.len() as u64 + 1) as usize;
        if let Some(word) = self.words.get(which) {
            // Half of the words replace what is there.
            let end = match self.random.below(2) {
                0 => at,
                _ => input.len().min(at + word.len()),
            };
            input.splice(at..end, word.iter().copied());
        }
    }

    /// Puts a part of another input in.
    fn splice(&mut self, input: &mut Vec<u8>) {
        let which = self.random.below(self.corpus.len().max(1) as u64) as usize;
        let to = self.random.below(input.len() as u64 + 1) as usize;
        if let Some(other) = self.corpus.get(which) {
            let (at, end) = self.range(other.len());
            input.splice(to..to, other[at..end].iter().copied());
        }
    }

    /// A place in that many bytes.
    fn place(&mut self, bytes: usize) -> Option<usize> {
        match bytes {
            0 => None,
            _ => Some(self.random.below(bytes as u64) as usize),
        }
    }

    /// A range of up to 64 of that many bytes.
    fn range(&mut self, bytes: usize) -> (usize, usize) {
        let at = self.random.below(bytes as u64 + 1) as usize;
        let length = self.random.below(65) as usize;
        (at, bytes.min(at + length))
    }
}

/// Sebastiano Vigna's SplitMix64: small, and good enough to choose places.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let corpus = [b"one input".to_vec(), b"another one".to_vec(), Vec::new()];
        let make = |seed| {
            let mut mutator = Mutator::new(&corpus, &[b"word"], seed);
            let mut inputs = Vec::new();
            let mut input = Vec::new();
            for _ in 0..1000 {
                mutator.fill(&mut input);
                inputs.push(input.clone());
            }
            inputs
        };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn an_empty_corpus_still_gives_inputs() {
        let mut mutator = Mutator::new(&[], &[], 1);
        let mut input = b"left over".to_vec();
        for _ in 0..1000 {
            mutator.fill(&mut input);
            assert!(input.is_empty());
        }
    }
}

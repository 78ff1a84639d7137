//! The first stage: which places of a text may begin a window.
//!
//! A word-blocked Bloom filter: the hash of a gram chooses a word, its
//! neighbours choose the bits in it. One read for every second place of a text,
//! whatever the number of patterns. In the same pass runs of one byte are noted,
//! since their inside is passed over.

use weir_simd::Tier;

use super::gram::{FOLD, Grams, bit_before, bit_behind};
use super::simd;

/// Bytes of a span: what one call of the filter looks at.
pub(super) const SPAN_BYTES: usize = 1 << 15;
/// Bytes of a block, for which the ends of runs are a mask.
pub(super) const BLOCK_BYTES: usize = 64;
/// Equal bytes that are noted as a run.
pub(super) const RUN_BYTES: usize = 5;

/// Words, and what chooses one.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) grams: Grams,
    /// A power of two of them.
    pub(super) words: Vec<u32>,
    /// Bits of a hash that are not part of a word's number.
    pub(super) shift: u32,
}

/// Where a text passed.
pub(super) struct Passed {
    /// Places from the start of their span, of all spans since they were
    /// cleared, as many as `count`; then room for two spans at least.
    pub(super) places: Vec<u16>,
    pub(super) count: usize,
    /// Ends of runs in the last span, in blocks that hold some, as many as
    /// `run_count`; then room for one at least. Bit j of a block: the five bytes
    /// that end at its byte j are equal when folded.
    pub(super) runs: Vec<Block>,
    pub(super) run_count: usize,
}

/// Some bytes of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Where the block begins.
    pub(super) start: u32,
    /// A bit for each of its bytes.
    pub(super) mask: u64,
}

/// What kernels know of a block's runs by the pairs of equal bytes in it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRuns {
    /// Bit j: the gram of four bytes at byte j lies inside a run with both its
    /// neighbours, all in this block.
    pub(super) inside: u64,
    /// Bit j: the five bytes that end at byte j are equal when folded.
    pub(super) ends: u64,
}

/// Follows runs from block to block.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) struct RunFinder {
    equal_before: u64,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl RunFinder {
    /// Bit j of `equal_before`: byte j of the block before the first one equals
    /// the byte before it, when folded.
    #[inline(always)]
    pub(super) fn new(equal_before: u64) -> RunFinder {
        RunFinder { equal_before }
    }

    /// The runs of the next block, of which the same is known.
    #[inline(always)]
    pub(super) fn next(&mut self, equal: u64) -> BlockRuns {
        let before = std::mem::replace(&mut self.equal_before, equal);
        // Four bytes each of which equals the one before it end a run of five.
        let pairs = equal & (equal << 1 | before >> 63);
        let pairs_before = before & before << 1;
        BlockRuns {
            inside: equal & equal >> 1 & equal >> 2 & equal >> 3 & equal >> 4,
            ends: pairs & (pairs << 2 | pairs_before >> 62),
        }
    }
}

/// Places that a whole span may add, and those that a vector writes behind.
pub(super) const SPAN_PLACES: usize = SPAN_BYTES + 2 * BLOCK_BYTES;
const SPAN_RUNS: usize = SPAN_BYTES / BLOCK_BYTES + 2;

impl Passed {
    /// Room for `most_places` places and those of one more span.
    pub(super) fn new(most_places: usize) -> Passed {
        Passed {
            places: vec![0; most_places + SPAN_PLACES],
            count: 0,
            runs: vec![Block::default(); SPAN_RUNS],
            run_count: 0,
        }
    }

    /// Makes sure that a span's places fit.
    pub(super) fn make_room(&mut self) {
        let room = self.count + SPAN_PLACES;
        if self.places.len() < room {
            self.places.resize(room, 0);
        }
    }

    /// Places of all spans.
    #[cfg(test)]
    pub(super) fn places(&self) -> &[u16] {
        &self.places[..self.count]
    }

    /// Ends of runs in the last span.
    pub(super) fn runs(&self) -> &[Block] {
        &self.runs[..self.run_count]
    }

    /// Where kernels write.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(super) fn room(&mut self) -> (&mut [u16], &mut [Block]) {
        (&mut self.places, &mut self.runs)
    }

    /// Adds every `step`th place of the span at `from` that passes.
    pub(super) fn add_places(
        &mut self,
        text: &[u8],
        from: usize,
        grams: Grams,
        step: usize,
        passes: impl Fn(usize) -> bool,
    ) {
        let end = grams.places(text.len()).end.min(from + SPAN_BYTES);
        for place in (from..end).step_by(step).filter(|place| passes(*place)) {
            self.places[self.count] = (place - from) as u16;
            self.count += 1;
        }
    }

    /// Notes the runs of the span at `from`.
    pub(super) fn note_runs(&mut self, text: &[u8], from: usize) {
        for start in (from..text.len().min(from + SPAN_BYTES)).step_by(BLOCK_BYTES) {
            let ends = run_ends(text, start);
            if ends != 0 {
                self.runs[self.run_count] = Block {
                    start: start as u32,
                    mask: ends,
                };
                self.run_count += 1;
            }
        }
    }
}

impl Filter {
    pub(super) fn new(grams: Grams, words: Vec<u32>) -> Filter {
        Filter {
            grams,
            shift: 32 - words.len().ilog2(),
            words,
        }
    }

    /// Adds the places of the span at `from`, an even number, to `passed`, and
    /// notes its runs.
    pub(super) fn look(
        &self,
        tier: Tier,
        text: &[u8],
        from: usize,
        carried: usize,
        passed: &mut Passed,
    ) {
        passed.run_count = 0;
        if !simd::look(tier, self, text, from, carried, passed) {
            self.look_scalar(text, from, carried, passed);
        }
    }

    /// The definition.
    pub(super) fn look_scalar(
        &self,
        text: &[u8],
        from: usize,
        carried: usize,
        passed: &mut Passed,
    ) {
        let passes =
            |place| self.passes(text, place) && !self.grams.is_inside_run(text, place, carried);
        passed.add_places(text, from, self.grams, self.grams.step(), passes);
        if self.grams == Grams::Four {
            passed.note_runs(text, from);
        }
    }

    /// Whether the bits that the text's neighbours choose are set: both for four
    /// bytes. For two, the word is that of the gram at the odd place of `place`
    /// and the next, and the bit that of the byte on the other side of the two.
    fn passes(&self, text: &[u8], place: usize) -> bool {
        let word = |gram: &[u8]| self.words[(self.grams.hash(gram) >> self.shift) as usize];
        match self.grams {
            Grams::Four => {
                let bits = self.grams.bits_of_text(text, place);
                word(&text[place..]) & bits == bits
            }
            Grams::Two => {
                let at = |place: usize| text.get(place).copied().unwrap_or_default();
                let odd = place | 1;
                let bit = match place == odd {
                    true => bit_behind(at(place + 2)),
                    false => bit_before(at(place)),
                };
                word(&[at(odd), at(odd + 1)]) & bit != 0
            }
        }
    }

    /// Share of the bits that are set.
    pub(super) fn filled(&self) -> f64 {
        let bits = self.words.iter().map(|word| u64::from(word.count_ones()));
        bits.sum::<u64>() as f64 / (32 * self.words.len()) as f64
    }
}

fn run_ends(text: &[u8], start: usize) -> u64 {
    let first = start.saturating_sub(RUN_BYTES - 1);
    let block = &text[first..text.len().min(start + BLOCK_BYTES)];
    let mut ends = 0;
    for (index, run) in block.windows(RUN_BYTES).enumerate() {
        let end = first + index + RUN_BYTES - 1;
        let is_run = run.iter().all(|byte| byte | FOLD == run[0] | FOLD);
        ends |= u64::from(is_run && end >= start) << (end.saturating_sub(start));
    }
    ends
}

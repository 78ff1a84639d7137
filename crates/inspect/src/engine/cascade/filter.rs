//! The first stage: which places of a text may begin a window.
//!
//! A word-blocked Bloom filter: the hash of a gram chooses a word, its
//! neighbours choose the bits in it. One read per place, whatever the number of
//! contents. In the same pass runs of one byte are noted, since their inside is
//! passed over.

use weir_simd::Tier;

use super::gram::{FOLD, Grams};
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
    /// Blocks of the last span that hold ends of runs, as many as
    /// `run_count`; then room for one at least.
    pub(super) runs: Vec<RunEnds>,
    pub(super) run_count: usize,
}

/// Ends of runs in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunEnds {
    /// Where the block begins.
    pub(super) start: u32,
    /// Bit j: the five bytes that end at byte j of the block are equal when
    /// folded.
    pub(super) ends: u64,
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
            runs: vec![RunEnds::default(); SPAN_RUNS],
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

    /// Blocks of the last span that hold ends of runs.
    pub(super) fn runs(&self) -> &[RunEnds] {
        &self.runs[..self.run_count]
    }

    /// Where kernels write.
    #[inline(always)]
    pub(super) fn room(&mut self) -> (&mut [u16], &mut [RunEnds]) {
        (&mut self.places, &mut self.runs)
    }

    fn push(&mut self, place: usize) {
        self.places[self.count] = place as u16;
        self.count += 1;
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
        let end = text.len().min(from + SPAN_BYTES);
        let places = self.grams.places(text.len());
        for place in (from..end.min(places.end)).step_by(self.grams.step()) {
            if self.passes(text, place) && !self.grams.is_inside_run(text, place, carried) {
                passed.push(place - from);
            }
        }
        if self.grams == Grams::Four {
            for start in (from..end).step_by(BLOCK_BYTES) {
                let ends = run_ends(text, start);
                if ends != 0 {
                    passed.runs[passed.run_count] = RunEnds {
                        start: start as u32,
                        ends,
                    };
                    passed.run_count += 1;
                }
            }
        }
    }

    /// Whether all bits that the text's neighbours choose are set.
    fn passes(&self, text: &[u8], place: usize) -> bool {
        let hash = self.grams.hash(&text[place..]);
        let bits = self.grams.bits_of_text(text, place);
        self.words[(hash >> self.shift) as usize] & bits == bits
    }

    /// Bits that are set.
    pub(super) fn bits_set(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
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

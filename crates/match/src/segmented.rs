//! The thesis's engine (chapter 5): segmented Bloom filters over windows of
//! consecutive lengths, hashed by appending.
//!
//! ```text
//!  stage 0        stage 1        stage 2         stage 3
//!  lengths 1–4 ─► 5–8 ─────────► 9–12 ─────────► 13–16     states of the hashes of
//!     │              │              │               │      all windows go on from
//!   filter         filter         filter          filter   stage to stage
//!     ▼              ▼              ▼               ▼
//!   candidates: place and length ─► patterns of that hash ─► exact comparison
//! ```
//!
//! A pattern that is longer than the *cut-off length* is looked for by so many
//! bytes of its middle (the central-weighted scheme of section 5.3.1); what the
//! rest says is left to the comparison. Hashes are shift-add-xor of folded
//! bytes. The first function's is computed for all windows, in lanes; those of
//! the others where the first one's bit is set.
//!
//! The thesis leaves out patterns of one to four bytes. Here they have a stage
//! as the others. And its filters count: a pattern may be added, or taken away,
//! while nothing else is built anew ([`Segmented::insert`],
//! [`Segmented::remove`]).
//!
//! It is here to be read and to be measured beside the
//! [`Database`](super::Database), which reads one word where this computes and
//! looks up a hash for every length.

use hashbrown::HashMap;
use weir_hash::Seed;
use weir_hash::bloom::{Counter, Counting, Sizing};
use weir_hash::string::{ShiftAddXor, StringFamily};
use weir_simd::Tier;

use crate::engine::MOST_PATTERNS;
use crate::{BuildError, Engine, Haystack, Hits, Pattern};

/// Lengths of one stage.
const STAGE_LENGTHS: usize = 4;
/// Stages: the last length of the last one is the cut-off length.
const STAGES: usize = 4;
/// Longer patterns are looked for by their middle.
const CUT_OFF_BYTES: usize = STAGES * STAGE_LENGTHS;
/// Windows that are hashed together.
const BLOCK: usize = 64;
/// Functions of each filter.
const FUNCTIONS: usize = 4;
/// Bits of a filter per pattern, as many as the thesis's have: few windows pass
/// the first function.
const BITS_PER_CONTENT: usize = 41;
/// Filters have room for this many more patterns than they begin with.
const GROWTH: usize = 2;
/// Seed of the functions: a set that is known to an adversary can be avoided by
/// no choice of it, and a fixed one gives the same run twice.
const SEED: Seed = Seed::from_u64(5);

/// The engine. The module describes how it works.
pub struct Segmented {
    tier: Tier,
    family: ShiftAddXor,
    stages: [Counting; STAGES],
    /// Patterns by the length and first hash of what is looked for.
    patterns: HashMap<(u8, u32), Vec<Numbered>>,
    /// How many patterns there are of each length, up to the longest.
    lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Numbered {
    number: u32,
    pattern: Pattern,
}

/// What of a pattern is looked for: where it begins, and how many bytes it has
/// (figure 5.6).
fn reduced(pattern: &[u8]) -> (usize, usize) {
    let length = pattern.len().min(CUT_OFF_BYTES);
    ((pattern.len() - length) / 2, length)
}

impl Segmented {
    /// Builds the engine. Patterns are known by their place in the slice; empty
    /// ones occur nowhere.
    ///
    /// # Errors
    /// A pattern of more than 65,535 bytes.
    pub fn new(patterns: &[Pattern]) -> Result<Segmented, BuildError> {
        let mut counts = [0; STAGES];
        for pattern in patterns
            .iter()
            .filter(|pattern| !pattern.bytes().is_empty())
        {
            let (_, length) = reduced(pattern.bytes());
            counts[(length - 1) / STAGE_LENGTHS] += 1;
        }
        let stages = counts.map(|count| {
            let keys = GROWTH * count.max(BLOCK);
            let sizing = Sizing {
                bits: BITS_PER_CONTENT * keys,
                functions: FUNCTIONS,
                keys,
            };
            Counting::new(sizing, Counter::EightBits)
        });
        let mut engine = Segmented {
            tier: weir_simd::tier(),
            family: ShiftAddXor::draw(FUNCTIONS, CUT_OFF_BYTES, SEED),
            stages,
            patterns: HashMap::with_capacity(patterns.len()),
            lengths: Vec::new(),
        };
        for (number, pattern) in (0u32..).zip(patterns) {
            engine.insert(number, pattern.clone())?;
        }
        Ok(engine)
    }

    /// Adds a pattern under a number of the caller's choice.
    ///
    /// # Errors
    /// It has more than 65,535 bytes, or a number of 4,194,304 or more.
    pub fn insert(&mut self, number: u32, pattern: Pattern) -> Result<(), BuildError> {
        let bytes = pattern.bytes().len();
        if bytes > usize::from(u16::MAX) {
            return Err(BuildError::PatternBytes {
                number: number as usize,
                bytes,
            });
        }
        if number as usize >= MOST_PATTERNS {
            return Err(BuildError::Patterns(number as usize + 1));
        }
        if bytes == 0 {
            return Ok(());
        }
        let (hashes, length) = self.hashes(&pattern);
        self.stages[(length - 1) / STAGE_LENGTHS].insert(&hashes);
        if self.lengths.len() <= bytes {
            self.lengths.resize(bytes + 1, 0);
        }
        self.lengths[bytes] += 1;
        let key = (length as u8, hashes[0]);
        self.patterns
            .entry(key)
            .or_default()
            .push(Numbered { number, pattern });
        Ok(())
    }

    /// Takes a pattern away; says whether it was there.
    pub fn remove(&mut self, number: u32, pattern: &Pattern) -> bool {
        if pattern.bytes().is_empty() {
            return false;
        }
        let (hashes, length) = self.hashes(pattern);
        let key = (length as u8, hashes[0]);
        let Some(patterns) = self.patterns.get_mut(&key) else {
            return false;
        };
        let is_it = |found: &Numbered| found.number == number && found.pattern == *pattern;
        let Some(place) = patterns.iter().position(is_it) else {
            return false;
        };
        patterns.swap_remove(place);
        if patterns.is_empty() {
            self.patterns.remove(&key);
        }
        self.lengths[pattern.bytes().len()] -= 1;
        self.stages[(length - 1) / STAGE_LENGTHS]
            .remove(&hashes)
            .is_ok()
    }

    /// Hashes of what is looked for, under all functions, and its length.
    fn hashes(&self, pattern: &Pattern) -> (Vec<u32>, usize) {
        let (offset, length) = reduced(pattern.bytes());
        let window = pattern.bytes()[offset..offset + length].to_ascii_lowercase();
        let functions = 0..self.family.functions();
        let hashes = functions.map(|function| self.family.hash(function, &window));
        (hashes.collect(), length)
    }

    /// One text, whose bytes are also given in lower case.
    fn search(&self, index: u32, text: Haystack<'_>, folded: &[u8], hits: &mut Hits) {
        let mut hashes = [0; BLOCK];
        for start in (0..folded.len()).step_by(BLOCK) {
            let mut states = [self.family.start(0); BLOCK];
            let text_left = folded.len() - start;
            for length in 1..=CUT_OFF_BYTES.min(text_left) {
                // Windows that do not reach beyond the text.
                let windows = BLOCK.min(text_left - length + 1);
                let states = &mut states[..windows];
                let bytes = &folded[start + length - 1..];
                self.family
                    .append_to_each(self.tier, 0, states, length - 1, bytes);
                let hashes = &mut hashes[..windows];
                self.family.finish_each(self.tier, 0, states, hashes);
                let stage = self.stages[(length - 1) / STAGE_LENGTHS].bits();
                let mut passed = stage.are_set(0, hashes);
                while passed != 0 {
                    let window = passed.trailing_zeros() as usize;
                    passed &= passed - 1;
                    let place = start + window;
                    let bytes = &folded[place..place + length];
                    let is_candidate = (1..stage.functions())
                        .all(|function| stage.is_set(function, self.family.hash(function, bytes)));
                    if is_candidate {
                        self.compare(index, text, place, (length, hashes[window]), hits);
                    }
                }
            }
        }
    }

    /// The patterns that may lie around a window, against the text.
    fn compare(
        &self,
        index: u32,
        text: Haystack<'_>,
        place: usize,
        (length, hash): (usize, u32),
        hits: &mut Hits,
    ) {
        let patterns = self.patterns.get(&(length as u8, hash));
        for Numbered { number, pattern } in patterns.into_iter().flatten() {
            let bytes = pattern.bytes().len();
            let (offset, _) = reduced(pattern.bytes());
            let Some(start) = place.checked_sub(offset) else {
                continue;
            };
            let is_there = (text.bytes().get(start..start + bytes))
                .is_some_and(|found| pattern.matches(found));
            if is_there && start + bytes > text.carried() {
                hits.report(index, *number);
            }
        }
    }
}

impl Engine for Segmented {
    fn name(&self) -> &str {
        "segmented"
    }

    fn scan(&self, texts: &[Haystack<'_>], hits: &mut Hits) {
        hits.start(texts.len());
        for (index, text) in (0u32..).zip(texts) {
            let folded = text.bytes().to_ascii_lowercase();
            self.search(index, *text, &folded, hits);
        }
    }

    fn longest_pattern_bytes(&self) -> usize {
        self.lengths
            .iter()
            .rposition(|count| *count > 0)
            .unwrap_or(0)
    }

    fn memory_bytes(&self) -> usize {
        let filters = self.stages.iter().map(Counting::memory_bytes);
        let patterns = self.patterns.values().flatten();
        let patterns = patterns.map(|c| size_of::<Numbered>() + c.pattern.bytes().len());
        filters.sum::<usize>() + patterns.sum::<usize>()
    }

    fn explain(&self) -> String {
        let patterns: usize = self.lengths.iter().sum();
        let cut: usize = self.lengths.iter().skip(CUT_OFF_BYTES + 1).sum();
        format!(
            "{patterns} patterns, {cut} of them by {CUT_OFF_BYTES} bytes of their middle, in \
             {STAGES} stages of {STAGE_LENGTHS} lengths, {} functions each, {:.2} MB",
            self.family.functions(),
            self.memory_bytes() as f64 / 1e6
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"abAB\0 ".to_vec()), 0..most)
    }

    fn patterns() -> impl Strategy<Value = Vec<Pattern>> {
        let pattern =
            (prop_oneof![bytes(6), bytes(40)], any::<bool>()).prop_map(|(bytes, nocase)| {
                if nocase {
                    Pattern::nocase(bytes)
                } else {
                    Pattern::exact(bytes)
                }
            });
        proptest::collection::vec(pattern, 0..20)
    }

    fn numbers(engine: &Segmented, text: &[u8], carried: usize) -> Vec<u32> {
        let mut hits = Hits::default();
        engine.scan(&[Haystack::continued(text, carried)], &mut hits);
        let mut numbers: Vec<u32> = hits.in_order().iter().map(|hit| hit.pattern).collect();
        numbers.sort_unstable();
        numbers
    }

    proptest! {
        /// Hits are those of a plain search, before and after some patterns
        /// are taken away.
        #[test]
        fn hits_are_those_of_a_plain_search(
            patterns in patterns(),
            pieces in proptest::collection::vec((any::<prop::sample::Index>(), bytes(70)), 0..6),
            carried in 0usize..100,
        ) {
            let mut text = Vec::new();
            for (index, filling) in &pieces {
                if !patterns.is_empty() {
                    text.extend(patterns[index.index(patterns.len())].bytes());
                }
                text.extend(filling);
            }
            let carried = carried.min(text.len());
            let occurring = |parity: usize| -> Vec<u32> {
                let occurs = |pattern: &Pattern| {
                    let from = (carried + 1).saturating_sub(pattern.bytes().len());
                    pattern.occurs_in(text.get(from..).unwrap_or_default())
                };
                (0u32..)
                    .zip(&patterns)
                    .filter(|(number, pattern)| (*number as usize).is_multiple_of(parity) && occurs(pattern))
                    .map(|(number, _)| number)
                    .collect()
            };
            let mut engine = Segmented::new(&patterns).expect("few patterns");
            prop_assert_eq!(numbers(&engine, &text, carried), occurring(1));
            for (number, pattern) in (0u32..).zip(&patterns).skip(1).step_by(2) {
                prop_assert_eq!(engine.remove(number, pattern), !pattern.bytes().is_empty());
                prop_assert!(!engine.remove(number, pattern));
            }
            prop_assert_eq!(numbers(&engine, &text, carried), occurring(2));
        }
    }

    /// Table 5.1 of the thesis: the middle of a pattern is what tells it from
    /// others with the same beginning.
    #[test]
    fn the_middle_is_looked_for() {
        let pattern = br#"filename=|"ICQ_GREETINGS.EXE|"X"#;
        let (offset, length) = reduced(pattern);
        assert_eq!((offset, length), ((pattern.len() - 16) / 2, 16));
        assert_eq!(reduced(b"short"), (0, 5));
    }
}

//! The thesis's engine (chapter 5): segmented Bloom filters over windows of
//! consecutive lengths, hashed by appending.
//!
//! ```text
//!  stage 0        stage 1        stage 2         stage 3
//!  lengths 1–4 ─► 5–8 ─────────► 9–12 ─────────► 13–16     states of the hashes of
//!     │              │              │               │      all windows go on from
//!   filter         filter         filter          filter   stage to stage
//!     ▼              ▼              ▼               ▼
//!   candidates: place and length ─► contents of that hash ─► exact comparison
//! ```
//!
//! A content that is longer than the *cut-off length* is looked for by so many
//! bytes of its middle (the central-weighted scheme of section 5.3.1); what the
//! rest says is left to the comparison. Hashes are shift-add-xor of folded
//! bytes. The first function's is computed for all windows, in lanes; those of
//! the others where the first one's bit is set.
//!
//! The thesis leaves out contents of one to four bytes. Here they have a stage
//! as the others. And its filters count: a content may be added, or taken away,
//! while nothing else is built anew ([`Segmented::insert`],
//! [`Segmented::remove`]).
//!
//! It is here to be read and to be measured beside the
//! [`Cascade`](super::Cascade), which reads one word where this computes and
//! looks up a hash for every length.

use hashbrown::HashMap;
use weir_hash::Seed;
use weir_hash::bloom::{Counter, Counting, Sizing};
use weir_hash::string::{ShiftAddXor, StringFamily};
use weir_simd::Tier;

use super::{ContentEngine, EngineError, Hits, Needle, Text};

/// Lengths of one stage.
const STAGE_LENGTHS: usize = 4;
/// Stages: the last length of the last one is the cut-off length.
const STAGES: usize = 4;
/// Longer contents are looked for by their middle.
const CUT_OFF_BYTES: usize = STAGES * STAGE_LENGTHS;
/// Windows that are hashed together.
const BLOCK: usize = 64;
/// Functions of each filter.
const FUNCTIONS: usize = 4;
/// Bits of a filter per content, as many as the thesis's have: few windows pass
/// the first function.
const BITS_PER_CONTENT: usize = 41;
/// Filters have room for so many more contents than they begin with.
const GROWTH: usize = 2;
/// Seed of the functions: a set that is known to an adversary can be avoided by
/// no choice of it, and a fixed one gives the same run twice.
const SEED: Seed = Seed::from_u64(5);

/// The engine. The module describes how it works.
pub struct Segmented {
    tier: Tier,
    family: ShiftAddXor,
    stages: [Counting; STAGES],
    /// Contents by the length and first hash of what is looked for.
    contents: HashMap<(u8, u32), Vec<Content>>,
    /// How many contents there are of each length, up to the longest.
    lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Content {
    number: u32,
    needle: Needle,
}

/// What of a content is looked for: where it begins, and how many bytes it has
/// (figure 5.6).
fn reduced(content: &[u8]) -> (usize, usize) {
    let length = content.len().min(CUT_OFF_BYTES);
    ((content.len() - length) / 2, length)
}

impl Segmented {
    /// Builds the engine. Contents are known by their place in the slice; empty
    /// ones occur nowhere.
    ///
    /// # Errors
    /// A content of more than 65,535 bytes.
    pub fn new(needles: &[Needle]) -> Result<Segmented, EngineError> {
        let mut counts = [0; STAGES];
        for needle in needles.iter().filter(|needle| !needle.bytes().is_empty()) {
            let (_, length) = reduced(needle.bytes());
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
            contents: HashMap::with_capacity(needles.len()),
            lengths: Vec::new(),
        };
        for (number, needle) in (0u32..).zip(needles) {
            engine.insert(number, needle.clone())?;
        }
        Ok(engine)
    }

    /// Adds a content under a number of the caller's choice.
    ///
    /// # Errors
    /// It has more than 65,535 bytes.
    pub fn insert(&mut self, number: u32, needle: Needle) -> Result<(), EngineError> {
        let bytes = needle.bytes().len();
        if bytes > usize::from(u16::MAX) {
            return Err(EngineError::ContentBytes {
                number: number as usize,
                bytes,
            });
        }
        if bytes == 0 {
            return Ok(());
        }
        let (hashes, length) = self.hashes(&needle);
        self.stages[(length - 1) / STAGE_LENGTHS].insert(&hashes);
        if self.lengths.len() <= bytes {
            self.lengths.resize(bytes + 1, 0);
        }
        self.lengths[bytes] += 1;
        let key = (length as u8, hashes[0]);
        self.contents
            .entry(key)
            .or_default()
            .push(Content { number, needle });
        Ok(())
    }

    /// Takes a content away; says whether it was there.
    pub fn remove(&mut self, number: u32, needle: &Needle) -> bool {
        if needle.bytes().is_empty() {
            return false;
        }
        let (hashes, length) = self.hashes(needle);
        let key = (length as u8, hashes[0]);
        let Some(contents) = self.contents.get_mut(&key) else {
            return false;
        };
        let is_it = |content: &Content| content.number == number && content.needle == *needle;
        let Some(place) = contents.iter().position(is_it) else {
            return false;
        };
        contents.swap_remove(place);
        if contents.is_empty() {
            self.contents.remove(&key);
        }
        self.lengths[needle.bytes().len()] -= 1;
        self.stages[(length - 1) / STAGE_LENGTHS]
            .remove(&hashes)
            .is_ok()
    }

    /// Hashes of what is looked for, under all functions, and its length.
    fn hashes(&self, needle: &Needle) -> (Vec<u32>, usize) {
        let (offset, length) = reduced(needle.bytes());
        let window = needle.bytes()[offset..offset + length].to_ascii_lowercase();
        let functions = 0..self.family.functions();
        let hashes = functions.map(|function| self.family.hash(function, &window));
        (hashes.collect(), length)
    }

    /// One text, whose bytes are also given in lower case.
    fn search(&self, index: u32, text: Text<'_>, folded: &[u8], hits: &mut Hits) {
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

    /// The contents that may lie around a window, against the text.
    fn compare(
        &self,
        index: u32,
        text: Text<'_>,
        place: usize,
        (length, hash): (usize, u32),
        hits: &mut Hits,
    ) {
        let contents = self.contents.get(&(length as u8, hash));
        for Content { number, needle } in contents.into_iter().flatten() {
            let bytes = needle.bytes().len();
            let (offset, _) = reduced(needle.bytes());
            let Some(start) = place.checked_sub(offset) else {
                continue;
            };
            let is_there =
                (text.bytes().get(start..start + bytes)).is_some_and(|found| needle.matches(found));
            if is_there && start + bytes > text.carried() {
                hits.report(index, *number);
            }
        }
    }
}

impl ContentEngine for Segmented {
    fn name(&self) -> &str {
        "segmented"
    }

    fn scan(&self, texts: &[Text<'_>], hits: &mut Hits) {
        for (index, text) in (0u32..).zip(texts) {
            let folded = text.bytes().to_ascii_lowercase();
            self.search(index, *text, &folded, hits);
        }
    }

    fn longest_content_bytes(&self) -> usize {
        self.lengths
            .iter()
            .rposition(|count| *count > 0)
            .unwrap_or(0)
    }

    fn memory_bytes(&self) -> usize {
        let filters = self.stages.iter().map(Counting::memory_bytes);
        let contents = self.contents.values().flatten();
        let contents = contents.map(|c| size_of::<Content>() + c.needle.bytes().len());
        filters.sum::<usize>() + contents.sum::<usize>()
    }

    fn explain(&self) -> String {
        let contents: usize = self.lengths.iter().sum();
        let cut: usize = self.lengths.iter().skip(CUT_OFF_BYTES + 1).sum();
        format!(
            "{contents} contents, {cut} of them by {CUT_OFF_BYTES} bytes of their middle, in \
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

    fn needles() -> impl Strategy<Value = Vec<Needle>> {
        let needle =
            (prop_oneof![bytes(6), bytes(40)], any::<bool>()).prop_map(|(bytes, nocase)| {
                if nocase {
                    Needle::nocase(bytes)
                } else {
                    Needle::exact(bytes)
                }
            });
        proptest::collection::vec(needle, 0..20)
    }

    fn numbers(engine: &Segmented, text: &[u8], carried: usize) -> Vec<u32> {
        let mut hits = Hits::default();
        hits.start(1, 64);
        engine.scan(&[Text::continued(text, carried)], &mut hits);
        let mut numbers: Vec<u32> = hits.in_order().iter().map(|hit| hit.content).collect();
        numbers.sort_unstable();
        numbers
    }

    proptest! {
        /// Hits are those of a plain search, before and after some contents
        /// are taken away.
        #[test]
        fn hits_are_those_of_a_plain_search(
            needles in needles(),
            pieces in proptest::collection::vec((any::<prop::sample::Index>(), bytes(70)), 0..6),
            carried in 0usize..100,
        ) {
            let mut text = Vec::new();
            for (index, filling) in &pieces {
                if !needles.is_empty() {
                    text.extend(needles[index.index(needles.len())].bytes());
                }
                text.extend(filling);
            }
            let carried = carried.min(text.len());
            let occurring = |parity: usize| -> Vec<u32> {
                let occurs = |needle: &Needle| {
                    let from = (carried + 1).saturating_sub(needle.bytes().len());
                    needle.occurs_in(text.get(from..).unwrap_or_default())
                };
                (0u32..)
                    .zip(&needles)
                    .filter(|(number, needle)| (*number as usize).is_multiple_of(parity) && occurs(needle))
                    .map(|(number, _)| number)
                    .collect()
            };
            let mut engine = Segmented::new(&needles).expect("few contents");
            prop_assert_eq!(numbers(&engine, &text, carried), occurring(1));
            for (number, needle) in (0u32..).zip(&needles).skip(1).step_by(2) {
                prop_assert_eq!(engine.remove(number, needle), !needle.bytes().is_empty());
                prop_assert!(!engine.remove(number, needle));
            }
            prop_assert_eq!(numbers(&engine, &text, carried), occurring(2));
        }
    }

    /// Table 5.1 of the thesis: the middle of a content is what tells it from
    /// others with the same beginning.
    #[test]
    fn the_middle_is_looked_for() {
        let content = br#"filename=|"ICQ_GREETINGS.EXE|"X"#;
        let (offset, length) = reduced(content);
        assert_eq!((offset, length), ((content.len() - 16) / 2, 16));
        assert_eq!(reduced(b"short"), (0, 5));
    }
}

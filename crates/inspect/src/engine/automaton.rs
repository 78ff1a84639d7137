//! The automaton of Aho and Corasick (CACM 1975): the judge of other engines.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{ContentEngine, EngineError, Hits, Needle, Text};

/// One automaton over all contents, in any case; hits of contents whose case
/// matters are looked at again.
///
/// It is a table of transitions for few and short contents, and an automaton with
/// failure links for others, which takes some ten times their bytes. Time is
/// linear in the payload and in the number of matches.
#[derive(Debug)]
pub struct Automaton {
    automaton: AhoCorasick,
    /// Numbers of the contents, as the automaton has no empty ones.
    numbers: Vec<u32>,
    needles: Vec<Needle>,
}

/// Bytes of the longest content that a table is made for: the time that it takes
/// grows with the square of the length where a content repeats itself.
const LONGEST_OF_TABLE_BYTES: usize = 512;

impl Automaton {
    /// Builds the automaton. Contents are known by their place in the slice;
    /// empty ones occur nowhere.
    ///
    /// # Errors
    /// More than 2^31 bytes of contents.
    pub fn new(needles: &[Needle]) -> Result<Automaton, EngineError> {
        let (numbers, needles): (Vec<u32>, Vec<Needle>) = (0..)
            .zip(needles.iter().cloned())
            .filter(|(_, needle)| !needle.bytes().is_empty())
            .unzip();
        let is_long = |needle: &Needle| needle.bytes().len() > LONGEST_OF_TABLE_BYTES;
        let kind = (needles.iter().any(is_long)).then_some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder()
            .kind(kind)
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(needles.iter().map(Needle::bytes))?;
        Ok(Automaton {
            automaton,
            numbers,
            needles,
        })
    }
}

impl ContentEngine for Automaton {
    fn name(&self) -> &str {
        "aho-corasick"
    }

    fn scan(&self, texts: &[Text<'_>], hits: &mut Hits) {
        for (index, text) in (0u32..).zip(texts) {
            for found in self.automaton.find_overlapping_iter(text.bytes()) {
                let place = found.pattern().as_usize();
                let needle = &self.needles[place];
                if found.end() > text.carried()
                    && (needle.is_nocase() || text.bytes()[found.range()] == *needle.bytes())
                {
                    hits.report(index, self.numbers[place]);
                }
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.automaton.memory_usage()
    }

    fn explain(&self) -> String {
        format!(
            "{} contents in one automaton of {:.2} MB",
            self.needles.len(),
            self.memory_bytes() as f64 / 1e6
        )
    }

    fn longest_content_bytes(&self) -> usize {
        let lengths = self.needles.iter().map(|needle| needle.bytes().len());
        lengths.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Hit;
    use proptest::prelude::*;

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"abA\x00".to_vec()), 0..most)
    }

    /// A content that repeats itself takes a table far longer than links to build:
    /// minutes for this one.
    #[test]
    fn a_long_run_of_one_byte_is_found() {
        let needle = Needle::exact(vec![b'.'; 60_000]);
        let automaton = Automaton::new(std::slice::from_ref(&needle)).expect("one content");
        let payload = [b"x".as_slice(), needle.bytes()].concat();
        let mut hits = Hits::default();
        for (bytes, expected) in [(&payload[..60_000], 0), (&payload[..], 1)] {
            hits.start(1, 1);
            automaton.scan(&[Text::whole(bytes)], &mut hits);
            assert_eq!(hits.in_order().len(), expected);
        }
    }

    proptest! {
        /// The automaton reports what a search for one content after the
        /// other finds.
        #[test]
        fn hits_are_those_of_a_plain_search(
            contents in proptest::collection::vec((bytes(5), any::<bool>()), 0..12),
            payloads in proptest::collection::vec(bytes(20), 0..4),
        ) {
            let needles: Vec<Needle> = contents
                .into_iter()
                .map(|(bytes, nocase)| if nocase { Needle::nocase(bytes) } else { Needle::exact(bytes) })
                .collect();
            let automaton = Automaton::new(&needles).expect("few contents");
            let texts: Vec<Text<'_>> = payloads.iter().map(|bytes| Text::whole(bytes)).collect();
            let mut hits = Hits::default();
            hits.start(texts.len(), needles.len());
            automaton.scan(&texts, &mut hits);
            let mut found: Vec<_> = hits.in_order().to_vec();
            found.sort_unstable();
            let mut expected = Vec::new();
            for (payload, text) in (0u32..).zip(&texts) {
                for (content, needle) in (0u32..).zip(&needles) {
                    if needle.occurs_in(text.bytes()) {
                        expected.push(Hit { payload, content });
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}

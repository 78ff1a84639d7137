//! The automaton of Aho and Corasick (CACM 1975): the first engine, and the
//! judge of those to come.

use aho_corasick::{AhoCorasick, MatchKind};

use super::{ContentEngine, Hits};

/// One automaton over all contents.
///
/// It is a table of transitions for few contents, and an automaton with
/// failure links for many, which takes some ten times their bytes. Time is
/// linear in the payload and in the number of matches.
#[derive(Debug)]
pub struct Automaton {
    automaton: AhoCorasick,
}

/// The contents are too many for one automaton.
#[derive(Debug, thiserror::Error)]
#[error("the contents of the rules do not fit one automaton: {0}")]
pub struct AutomatonError(#[from] aho_corasick::BuildError);

impl Automaton {
    /// Builds the automaton. Contents are known by their place in the slice.
    ///
    /// # Errors
    /// More than 2^31 bytes of contents.
    pub fn new<C: AsRef<[u8]>>(contents: &[C]) -> Result<Automaton, AutomatonError> {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(contents)?;
        Ok(Automaton { automaton })
    }
}

impl ContentEngine for Automaton {
    fn name(&self) -> &str {
        "aho-corasick"
    }

    fn scan(&self, payloads: &[&[u8]], hits: &mut Hits) {
        for (index, payload) in (0u32..).zip(payloads) {
            for found in self.automaton.find_overlapping_iter(payload) {
                hits.report(index, found.pattern().as_u32());
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.automaton.memory_usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"abA\x00".to_vec()), 1..most)
    }

    proptest! {
        /// The automaton reports what a search for one content after the
        /// other finds.
        #[test]
        fn hits_are_those_of_a_plain_search(
            contents in proptest::collection::btree_set(bytes(5), 0..12),
            payloads in proptest::collection::vec(bytes(20), 0..4),
        ) {
            let contents: Vec<Vec<u8>> = contents.into_iter().collect();
            let automaton = Automaton::new(&contents).expect("few contents");
            let slices: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
            let mut hits = Hits::default();
            hits.start(slices.len(), contents.len());
            automaton.scan(&slices, &mut hits);
            let mut found: Vec<_> = hits.in_order().to_vec();
            found.sort_unstable();

            let occurs = |payload: &[u8], content: &[u8]| {
                payload.windows(content.len()).any(|text| text.eq_ignore_ascii_case(content))
            };
            let mut expected = Vec::new();
            for (payload, text) in (0u32..).zip(&slices) {
                for (content, bytes) in (0u32..).zip(&contents) {
                    if occurs(text, bytes) {
                        expected.push(crate::engine::Hit { payload, content });
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}

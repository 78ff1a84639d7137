//! The automaton of Aho and Corasick (CACM 1975): the judge of other engines.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{BuildError, Engine, Haystack, Hits, Pattern};

/// One automaton over all patterns, in any case; hits of patterns whose case
/// matters are looked at again.
///
/// It is a table of transitions for few and short patterns, and an automaton with
/// failure links for others, which takes some ten times their bytes. Time is
/// linear in the haystack and in the number of matches.
#[derive(Debug)]
pub struct Automaton {
    automaton: AhoCorasick,
    /// Numbers of the patterns, as the automaton has no empty ones.
    numbers: Vec<u32>,
    patterns: Vec<Pattern>,
}

/// Bytes of the longest pattern that a table is made for: the time that it takes
/// grows with the square of the length where a pattern repeats itself.
const LONGEST_OF_TABLE_BYTES: usize = 512;

impl Automaton {
    /// Builds the automaton. Patterns are known by their place in the slice;
    /// empty ones occur nowhere.
    ///
    /// # Errors
    /// More than 2^31 bytes of patterns.
    pub fn new(patterns: &[Pattern]) -> Result<Automaton, BuildError> {
        let (numbers, patterns): (Vec<u32>, Vec<Pattern>) = (0..)
            .zip(patterns.iter().cloned())
            .filter(|(_, pattern)| !pattern.bytes().is_empty())
            .unzip();
        let is_long = |pattern: &Pattern| pattern.bytes().len() > LONGEST_OF_TABLE_BYTES;
        let kind = (patterns.iter().any(is_long)).then_some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder()
            .kind(kind)
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(patterns.iter().map(Pattern::bytes))?;
        Ok(Automaton {
            automaton,
            numbers,
            patterns,
        })
    }
}

impl Engine for Automaton {
    fn name(&self) -> &str {
        "aho-corasick"
    }

    fn scan(&self, texts: &[Haystack<'_>], hits: &mut Hits) {
        hits.start(texts.len());
        for (index, text) in (0u32..).zip(texts) {
            for found in self.automaton.find_overlapping_iter(text.bytes()) {
                let place = found.pattern().as_usize();
                let pattern = &self.patterns[place];
                if found.end() > text.carried()
                    && (pattern.is_nocase() || text.bytes()[found.range()] == *pattern.bytes())
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
            "{} patterns in one automaton of {:.2} MB",
            self.patterns.len(),
            self.memory_bytes() as f64 / 1e6
        )
    }

    fn longest_pattern_bytes(&self) -> usize {
        let lengths = self.patterns.iter().map(|pattern| pattern.bytes().len());
        lengths.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hit;
    use proptest::prelude::*;

    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"abA\x00".to_vec()), 0..most)
    }

    /// A pattern that repeats itself takes a table far longer than links to build:
    /// minutes for this one.
    #[test]
    fn a_long_run_of_one_byte_is_found() {
        let pattern = Pattern::exact(vec![b'.'; 60_000]);
        let automaton = Automaton::new(std::slice::from_ref(&pattern)).expect("one pattern");
        let haystack = [b"x".as_slice(), pattern.bytes()].concat();
        let mut hits = Hits::default();
        for (bytes, expected) in [(&haystack[..60_000], 0), (&haystack[..], 1)] {
            automaton.scan(&[Haystack::whole(bytes)], &mut hits);
            assert_eq!(hits.in_order().len(), expected);
        }
    }

    proptest! {
        /// The automaton reports what a search for one pattern after the
        /// other finds.
        #[test]
        fn hits_are_those_of_a_plain_search(
            patterns in proptest::collection::vec((bytes(5), any::<bool>()), 0..12),
            haystacks in proptest::collection::vec(bytes(20), 0..4),
        ) {
            let patterns: Vec<Pattern> = patterns
                .into_iter()
                .map(|(bytes, nocase)| if nocase { Pattern::nocase(bytes) } else { Pattern::exact(bytes) })
                .collect();
            let automaton = Automaton::new(&patterns).expect("few patterns");
            let texts: Vec<Haystack<'_>> = haystacks.iter().map(|bytes| Haystack::whole(bytes)).collect();
            let mut hits = Hits::default();
            automaton.scan(&texts, &mut hits);
            let mut found: Vec<_> = hits.in_order().to_vec();
            found.sort_unstable();
            let mut expected = Vec::new();
            for (haystack, text) in (0u32..).zip(&texts) {
                for (number, pattern) in (0u32..).zip(&patterns) {
                    if pattern.occurs_in(text.bytes()) {
                        expected.push(Hit { haystack, pattern: number });
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}

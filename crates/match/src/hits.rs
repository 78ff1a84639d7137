//! What engines report for a batch.

use crate::cascade::{ScanStatistics, Scratch};

/// A pattern that occurs in a haystack, both by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit {
    /// Index of the haystack in its batch.
    pub haystack: u32,
    /// Index of the pattern in the list that the engine was built from.
    pub pattern: u32,
}

/// The hits of the last batch, and working memory for the next one. A pattern that is reported again for the
/// haystack for which it was reported last is not kept twice, so that runs of
/// one byte do not fill the memory.
#[derive(Default)]
pub struct Hits {
    hits: Vec<Hit>,
    /// For every pattern the last haystack it was reported for, plus one, in
    /// this batch and those before.
    last_haystack: Vec<u64>,
    /// Number of the batch's first haystack among all haystacks so far.
    first_haystack: u64,
    haystacks: u64,
    /// Working memory of the engine.
    scratch: Option<Box<Scratch>>,
}

impl Hits {
    /// Forgets the hits of the batch before.
    pub(crate) fn start(&mut self, haystack_count: usize) {
        self.hits.clear();
        self.first_haystack += self.haystacks;
        self.haystacks = haystack_count as u64;
    }

    /// Notes a hit.
    #[inline]
    pub(crate) fn report(&mut self, haystack: u32, pattern: u32) {
        let number = self.first_haystack + u64::from(haystack) + 1;
        if self.last_haystack.len() <= pattern as usize {
            self.last_haystack.resize(pattern as usize + 1, 0);
        }
        let last = &mut self.last_haystack[pattern as usize];
        if *last != number {
            *last = number;
            self.hits.push(Hit { haystack, pattern });
        }
    }

    /// Notes a hit that was not reported before.
    #[inline(always)]
    pub(crate) fn push(&mut self, haystack: u32, pattern: u32) {
        self.hits.push(Hit { haystack, pattern });
    }

    /// What the stages of a [`Database`](crate::Database) had to do so far.
    pub fn statistics(&self) -> ScanStatistics {
        let scratch = self.scratch.as_ref();
        scratch
            .map(|scratch| scratch.statistics())
            .unwrap_or_default()
    }

    pub(crate) fn take_scratch(&mut self) -> Box<Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    pub(crate) fn keep_scratch(&mut self, scratch: Box<Scratch>) {
        self.scratch = Some(scratch);
    }

    /// The hits of the batch in the order in which they were found, which is
    /// not that of haystacks.
    pub fn reported(&self) -> &[Hit] {
        &self.hits
    }

    /// The hits in order of haystacks.
    pub fn in_order(&mut self) -> &[Hit] {
        if !self.hits.is_sorted_by_key(|hit| hit.haystack) {
            self.hits.sort_unstable();
            self.hits.dedup();
        }
        &self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_hits_are_kept_once() {
        let mut hits = Hits::default();
        hits.start(3);
        for (haystack, pattern) in [(0, 1), (0, 1), (2, 0), (2, 1), (1, 1), (2, 1), (2, 900)] {
            hits.report(haystack, pattern);
        }
        let pairs: Vec<_> = hits
            .in_order()
            .iter()
            .map(|h| (h.haystack, h.pattern))
            .collect();
        assert_eq!(pairs, [(0, 1), (1, 1), (2, 0), (2, 1), (2, 900)]);
        hits.start(1);
        hits.report(0, 1);
        assert_eq!(hits.in_order().len(), 1, "another batch, another haystack");
    }
}

//! Finding the contents of many rules in many payloads at once.
//!
//! An engine answers one question for a whole batch: which of its contents
//! occur in which payload, in upper or lower case? What it reports is a
//! *hit*; every rule that owns the content is then verified. An engine must
//! report every occurring content, may report one more than once, and may
//! report one that does not occur: that costs time, not truth.

mod automaton;

pub use automaton::{Automaton, AutomatonError};

/// A content that occurs in a payload, both by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit {
    /// Index of the payload in its batch.
    pub payload: u32,
    /// Index of the content in the list that the engine was built from.
    pub content: u32,
}

/// Collects the hits of a batch. A content that is reported again for the
/// payload for which it was reported last is not kept twice, so that runs of
/// one byte do not fill the memory.
#[derive(Debug, Default)]
pub struct Hits {
    hits: Vec<Hit>,
    /// For every content the last payload it was reported for, plus one, in
    /// this batch and those before.
    last_payload: Vec<u64>,
    /// Number of the batch's first payload among all payloads so far.
    first_payload: u64,
    payloads: u64,
}

impl Hits {
    /// Makes ready for the next batch.
    pub(crate) fn start(&mut self, payload_count: usize, content_count: usize) {
        self.hits.clear();
        self.last_payload.resize(content_count, 0);
        self.first_payload += self.payloads;
        self.payloads = payload_count as u64;
    }

    /// Notes a hit.
    #[inline]
    pub fn report(&mut self, payload: u32, content: u32) {
        let number = self.first_payload + u64::from(payload) + 1;
        match self.last_payload.get_mut(content as usize) {
            Some(last) if *last != number => {
                *last = number;
                self.hits.push(Hit { payload, content });
            }
            _ => {}
        }
    }

    /// The hits in order of payloads.
    pub(crate) fn in_order(&mut self) -> &[Hit] {
        if !self.hits.is_sorted_by_key(|hit| hit.payload) {
            self.hits.sort_unstable();
            self.hits.dedup();
        }
        &self.hits
    }
}

/// An engine, built once from the contents of a rule set and then shared by
/// all shards.
pub trait ContentEngine: Send + Sync {
    /// Name for reports.
    fn name(&self) -> &str;

    /// Reports every content that occurs in a payload, in whatever case of
    /// the letters A to Z. Called once per batch.
    fn scan(&self, payloads: &[&[u8]], hits: &mut Hits);

    /// Heap memory of the tables, in bytes.
    fn memory_bytes(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_hits_are_kept_once() {
        let mut hits = Hits::default();
        hits.start(3, 2);
        for (payload, content) in [(0, 1), (0, 1), (2, 0), (2, 1), (1, 1), (2, 1), (7, 9)] {
            hits.report(payload, content);
        }
        let pairs: Vec<_> = hits
            .in_order()
            .iter()
            .map(|h| (h.payload, h.content))
            .collect();
        assert_eq!(pairs, [(0, 1), (1, 1), (2, 0), (2, 1)]);
        hits.start(1, 2);
        hits.report(0, 1);
        assert_eq!(hits.in_order().len(), 1, "another batch, another payload");
    }
}

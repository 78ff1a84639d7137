//! Finding the contents of many rules in many payloads at once.
//!
//! An engine answers one question for a whole batch: which of its contents
//! occur in which payload? What it reports is a *hit*; every rule that owns the
//! content is then verified. Contents are [`Needle`]s: bytes, and whether the
//! case of letters matters.
//!
//! * [`Cascade`] is the engine that runs: filters before comparisons;
//! * [`Segmented`] is that of the thesis, to be read and compared;
//! * [`Automaton`] is the judge that both are tested by.
//!
//! All are exact: they report what occurs ([`Needle::occurs_in`]) and nothing
//! else. An engine may report a hit more than once; [`Hits`] keeps it once.
//!
//! A payload that continues another one, as a segment of a stream does, is a
//! [`Text`] that begins with the last bytes of what came before: the *carried*
//! bytes, at least one less than the longest content has
//! ([`ContentEngine::longest_content_bytes`]). What ends among them was
//! reported before and is not reported again; what ends behind them is found,
//! wherever it begins. [`Continuation`] keeps these bytes for a stream.
//!
//! Engines are built once and never change. To replace the contents while
//! packets run, build another engine and let each shard take it between two
//! batches; a [`Hits`] serves any engine.

mod automaton;
mod cascade;
mod choice;
mod continuation;
mod needle;
mod segmented;

pub use automaton::Automaton;
pub use cascade::{Cascade, CascadeStatistics, Explanation, Profile, ProfileError};
pub use choice::{EngineChoice, EngineKind, UnknownEngine};
pub use continuation::Continuation;
pub use needle::Needle;
pub use segmented::Segmented;

/// A payload, and what of it was searched before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text<'a> {
    bytes: &'a [u8],
    carried: usize,
}

impl<'a> Text<'a> {
    /// A payload that stands for itself.
    pub fn whole(bytes: &'a [u8]) -> Text<'a> {
        Text { bytes, carried: 0 }
    }

    /// A payload whose first `carried` bytes are the end of what came before
    /// it; all of its bytes if there are fewer.
    pub fn continued(bytes: &'a [u8], carried: usize) -> Text<'a> {
        Text {
            bytes,
            carried: carried.min(bytes.len()),
        }
    }

    /// All bytes.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// How many of them were searched before.
    #[inline(always)]
    pub fn carried(self) -> usize {
        self.carried
    }
}

/// Why an engine cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A content is longer than any packet.
    #[error("content {number} has {bytes} bytes: use at most 65535")]
    ContentBytes {
        /// Its place in the list.
        number: usize,
        /// Its length.
        bytes: usize,
    },
    /// More contents than an engine can number.
    #[error("{0} contents: use at most 4194304")]
    Contents(usize),
    /// The automaton cannot be built.
    #[error("the contents do not fit one automaton: {0}")]
    Automaton(#[from] aho_corasick::BuildError),
}

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
#[derive(Default)]
pub struct Hits {
    hits: Vec<Hit>,
    /// For every content the last payload it was reported for, plus one, in
    /// this batch and those before.
    last_payload: Vec<u64>,
    /// Number of the batch's first payload among all payloads so far.
    first_payload: u64,
    payloads: u64,
    /// Working memory of the engine.
    scratch: Option<Box<cascade::Scratch>>,
}

impl Hits {
    /// Makes ready for the next batch.
    pub fn start(&mut self, payload_count: usize, content_count: usize) {
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

    /// Notes a hit that was not reported before.
    #[inline(always)]
    fn push(&mut self, payload: u32, content: u32) {
        self.hits.push(Hit { payload, content });
    }

    /// What the stages of a [`Cascade`] had to do so far.
    pub fn cascade_statistics(&self) -> CascadeStatistics {
        let scratch = self.scratch.as_ref();
        scratch
            .map(|scratch| scratch.statistics())
            .unwrap_or_default()
    }

    fn take_scratch(&mut self) -> Box<cascade::Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    fn keep_scratch(&mut self, scratch: Box<cascade::Scratch>) {
        self.scratch = Some(scratch);
    }

    /// The hits of the batch in the order in which they were found, which is
    /// not that of payloads.
    pub fn reported(&self) -> &[Hit] {
        &self.hits
    }

    /// The hits in order of payloads.
    pub fn in_order(&mut self) -> &[Hit] {
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

    /// Reports every content that occurs in a payload and ends behind its
    /// carried bytes. Called once per batch; payloads are known by their place
    /// in it.
    ///
    /// # Panics
    /// A payload of 4 GB or more.
    fn scan(&self, texts: &[Text<'_>], hits: &mut Hits);

    /// Bytes of the longest content.
    fn longest_content_bytes(&self) -> usize;

    /// Heap memory of the tables, in bytes.
    fn memory_bytes(&self) -> usize;

    /// How it looks for its contents, for people.
    fn explain(&self) -> String;
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

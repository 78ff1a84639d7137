//! Patterns that lie across the segments of a stream.

use crate::Haystack;

/// The last bytes of a stream, kept for its next segment.
#[derive(Clone, Debug, Default)]
pub struct Continuation {
    /// What was kept, and behind it the segment at hand.
    bytes: Vec<u8>,
    /// Bytes at the end of `bytes` to be kept for the next segment.
    kept: usize,
}

impl Continuation {
    /// The next segment behind the bytes that were kept, of which there are at
    /// most one less than the longest pattern has.
    pub fn extend(&mut self, segment: &[u8], longest_pattern_bytes: usize) -> Haystack<'_> {
        let searched = self.bytes.len() - self.kept;
        self.bytes.drain(..searched);
        let carried = self.bytes.len();
        self.bytes.extend_from_slice(segment);
        self.kept = longest_pattern_bytes
            .saturating_sub(1)
            .min(self.bytes.len());
        Haystack::continued(&self.bytes, carried)
    }

    /// Forgets what came before, as behind a gap.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.kept = 0;
    }

    /// Bytes that are kept for the next segment.
    pub fn kept_bytes(&self) -> usize {
        self.kept
    }
}

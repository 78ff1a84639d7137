//! Segments and fragments that came before their turn.

use std::collections::BTreeMap;

use weir_select::AddressSet;

/// What a segment costs beside its bytes, so that a flood of tiny ones counts.
const SEGMENT_BYTES: usize = 64;

/// Whose bytes a receiver keeps where two segments overlap that both wait for
/// what is missing in front of them (Novak and Sturges, "Target-based TCP stream
/// reassembly", 2007). Fragments of IP are kept alike, but by Linux: it gives up a datagram
/// of which two overlap (RFC 5722).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// Those of the segment that begins first; of two that begin together, those
    /// of the longer one.
    #[default]
    Linux,
    /// Those of the segment that begins first; of two that begin together, those
    /// of the one that came first. Windows does the same.
    Bsd,
    /// Those that came first.
    First,
    /// Those that came last.
    Last,
}

/// How hosts keep overlapping segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPolicy {
    /// Receivers.
    pub hosts: AddressSet,
    /// What they do.
    pub overlap: Overlap,
}

impl HostPolicy {
    /// What the receiver with this address does: the first policy that names it counts.
    pub(crate) fn overlap_at(policies: &[HostPolicy], ip_version: u8, receiver: u128) -> Overlap {
        let policy = policies
            .iter()
            .find(|policy| policy.hosts.contains(ip_version, receiver));
        policy.map_or_else(Overlap::default, |policy| policy.overlap)
    }
}

/// What is at the place of a mark of the end, among bytes.
const END_MARK: u8 = 0;

/// Bytes of a segment. The mark of the stream's end (FIN) has a place of its own behind
/// the last byte, and is covered and cut like one.
#[derive(Debug)]
pub(crate) struct Bytes {
    bytes: Box<[u8]>,
    /// The last one is the mark of the end.
    has_end: bool,
}

impl Bytes {
    /// The bytes without the mark.
    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - usize::from(self.has_end)]
    }

    pub(crate) fn has_end(&self) -> bool {
        self.has_end
    }
}

/// Segments ahead of their turn. They may overlap; none lies within another. Where
/// two overlap, the one that begins first has the bytes.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    segments: BTreeMap<u64, Bytes>,
    bytes: usize,
}

/// What is put in.
#[derive(Clone, Copy)]
struct New<'a> {
    bytes: &'a [u8],
    has_end: bool,
}

impl<'a> New<'a> {
    fn to(self, length: usize) -> New<'a> {
        New {
            bytes: &self.bytes[..length],
            has_end: self.has_end && length == self.bytes.len(),
        }
    }

    fn from(self, start: usize) -> New<'a> {
        New {
            bytes: &self.bytes[start..],
            has_end: self.has_end,
        }
    }
}

impl Ahead {
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Memory that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes + self.segments.len() * SEGMENT_BYTES
    }

    /// Place of the first byte that is here.
    pub(crate) fn first(&self) -> Option<u64> {
        self.segments.first_key_value().map(|(start, _)| *start)
    }

    /// Keeps a segment, or what is new of it. Says whether bytes of it differ
    /// from those that are here.
    pub(crate) fn insert(&mut self, start: u64, bytes: &[u8], overlap: Overlap) -> bool {
        let has_end = false;
        self.insert_new(start, New { bytes, has_end }, overlap)
    }

    /// The same of a segment with the mark of the stream's end.
    pub(crate) fn insert_last(&mut self, start: u64, bytes: &[u8], overlap: Overlap) -> bool {
        let marked = [bytes, &[END_MARK]].concat();
        let new = New {
            bytes: &marked,
            has_end: true,
        };
        self.insert_new(start, new, overlap)
    }

    fn insert_new(&mut self, start: u64, new: New<'_>, overlap: Overlap) -> bool {
        let end = start + new.bytes.len() as u64;
        let near: Vec<u64> = self.overlapping(start, end);
        if near.is_empty() {
            self.put(start, new);
            return false;
        }
        let differs = near.iter().any(|known| self.differs(*known, start, new));
        match overlap {
            Overlap::First => self.fill(start, new, &near),
            Overlap::Last => {
                for known in near {
                    self.cut_out(known, start, end);
                }
                self.put(start, new);
            }
            Overlap::Linux | Overlap::Bsd => self.lay_over(start, new, &near, overlap),
        }
        differs
    }

    /// Where the segments begin that share bytes with a range, ascending.
    fn overlapping(&self, start: u64, end: u64) -> Vec<u64> {
        let before = self.segments.range(..end).rev();
        let mut near: Vec<u64> = before
            .take_while(|(known, known_bytes)| **known + known_bytes.bytes.len() as u64 > start)
            .map(|(known, _)| *known)
            .collect();
        near.reverse();
        near
    }

    fn differs(&self, known: u64, start: u64, new: New<'_>) -> bool {
        let Some(known_bytes) = self.segments.get(&known) else {
            return false;
        };
        let from = known.max(start);
        let end = |start: u64, length: usize| start + length as u64;
        let known_end = end(known, known_bytes.bytes.len());
        let new_end = end(start, new.bytes.len());
        // The mark of one is beside the mark of the other, or behind its last byte.
        let marks_differ = known_bytes.has_end
            && (known_end < new_end || known_end == new_end && !new.has_end)
            || new.has_end && (new_end < known_end || known_end == new_end && !known_bytes.has_end);
        let known_bytes = &known_bytes.bytes[(from - known) as usize..];
        let bytes = &new.bytes[(from - start) as usize..];
        let mut both = known_bytes.iter().zip(bytes);
        marks_differ || both.any(|(one, other)| one != other)
    }

    /// As Linux' `tcp_data_queue_ofo`: segments stay whole, one that lies within
    /// another goes, and the order of their beginnings decides.
    fn lay_over(&mut self, start: u64, new: New<'_>, near: &[u64], overlap: Overlap) {
        let end = start + new.bytes.len() as u64;
        for known in near {
            let known_end = start_to_end(&self.segments, *known);
            let keeps_known = match known.cmp(&start) {
                std::cmp::Ordering::Less => known_end >= end,
                std::cmp::Ordering::Equal => known_end >= end || overlap == Overlap::Bsd,
                std::cmp::Ordering::Greater => false,
            };
            if keeps_known {
                // What reaches beyond a segment that begins with it goes on behind it.
                if known_end < end {
                    let rest = new.from((known_end - start) as usize);
                    let behind = self.overlapping(known_end, end);
                    self.lay_over(known_end, rest, &behind, overlap);
                }
                return;
            }
        }
        for known in near {
            if *known >= start && start_to_end(&self.segments, *known) <= end {
                self.remove(*known);
            }
        }
        self.put(start, new);
    }

    /// Keeps the bytes for which there are none.
    fn fill(&mut self, start: u64, new: New<'_>, near: &[u64]) {
        let end = start + new.bytes.len() as u64;
        let mut at = start;
        for known in near {
            if at < *known {
                let before = new.to((known - start) as usize);
                self.put(at, before.from((at - start) as usize));
            }
            at = at.max(start_to_end(&self.segments, *known));
        }
        if at < end {
            self.put(at, new.from((at - start) as usize));
        }
    }

    /// Takes a range out of a segment.
    fn cut_out(&mut self, known: u64, start: u64, end: u64) {
        let Some(removed) = self.remove(known) else {
            return;
        };
        let removed = New {
            bytes: &removed.bytes,
            has_end: removed.has_end,
        };
        if known < start {
            self.put(known, removed.to((start - known) as usize));
        }
        if known + removed.bytes.len() as u64 > end {
            self.put(end, removed.from((end - known) as usize));
        }
    }

    fn put(&mut self, start: u64, new: New<'_>) {
        self.bytes += new.bytes.len();
        let bytes = Bytes {
            bytes: new.bytes.into(),
            has_end: new.has_end,
        };
        if let Some(known) = self.segments.insert(start, bytes) {
            self.bytes -= known.bytes.len();
        }
    }

    fn remove(&mut self, start: u64) -> Option<Bytes> {
        let removed = self.segments.remove(&start)?;
        self.bytes -= removed.bytes.len();
        Some(removed)
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Ahead::default();
    }

    /// Takes out the bytes at `next` if they are here, and whatever lies
    /// before them.
    pub(crate) fn take(&mut self, next: u64) -> Option<Bytes> {
        while let Some(first) = self.first() {
            if first > next {
                return None;
            }
            let removed = self.remove(first)?;
            let old = (next - first) as usize;
            if old == 0 {
                return Some(removed);
            }
            if let Some(new @ [_, ..]) = removed.bytes.get(old..) {
                return Some(Bytes {
                    bytes: new.into(),
                    has_end: removed.has_end,
                });
            }
        }
        None
    }
}

fn start_to_end(segments: &BTreeMap<u64, Bytes>, start: u64) -> u64 {
    let known = segments.get(&start);
    start + known.map_or(0, |known| known.bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Segments<'a> = &'a [(u64, &'a [u8])];

    /// All bytes that are here, in order.
    fn text(ahead: &mut Ahead) -> Vec<Option<u8>> {
        let mut text = Vec::new();
        while let Some(first) = ahead.first() {
            let next = (text.len() as u64).max(first);
            text.resize(next as usize, None);
            if let Some(bytes) = ahead.take(next) {
                text.extend(bytes.data().iter().copied().map(Some));
            }
        }
        assert_eq!((ahead.bytes, ahead.memory_bytes()), (0, 0));
        text
    }

    fn kept(overlap: Overlap, segments: Segments<'_>) -> String {
        let mut ahead = Ahead::default();
        for (start, bytes) in segments {
            ahead.insert(*start, bytes, overlap);
        }
        let text = text(&mut ahead);
        text.iter()
            .map(|byte| byte.map_or('.', char::from))
            .collect()
    }

    /// The cases of Novak and Sturges: a segment that covers one, ends with it, begins
    /// with it, reaches into it from the left and from the right, or lies in it.
    #[test]
    fn each_policy_keeps_the_bytes_of_its_hosts() {
        let cases: [(Segments<'_>, [&str; 4]); 6] = [
            (
                &[(2, b"oo"), (1, b"nnnn")],
                [".nnnn", ".nnnn", ".noon", ".nnnn"],
            ),
            (&[(2, b"oo"), (1, b"nnn")], [".nnn", ".nnn", ".noo", ".nnn"]),
            (
                &[(1, b"oo"), (1, b"nnnn")],
                [".nnnn", ".oonn", ".oonn", ".nnnn"],
            ),
            (
                &[(2, b"ooo"), (1, b"nn")],
                [".nnoo", ".nnoo", ".nooo", ".nnoo"],
            ),
            (
                &[(1, b"ooo"), (3, b"nn")],
                [".ooon", ".ooon", ".ooon", ".oonn"],
            ),
            (
                &[(1, b"oooo"), (2, b"nn")],
                [".oooo", ".oooo", ".oooo", ".onno"],
            ),
        ];
        let policies = [Overlap::Linux, Overlap::Bsd, Overlap::First, Overlap::Last];
        for (segments, expected) in cases {
            let found = policies.map(|policy| kept(policy, segments));
            assert_eq!(found, expected, "{segments:?}");
        }
    }

    fn any_segments() -> impl Strategy<Value = Vec<(u64, Vec<u8>)>> {
        let segment = (0u64..40, proptest::collection::vec(any::<u8>(), 1..12));
        proptest::collection::vec(segment, 0..12)
    }

    proptest! {
        /// Whatever comes in whatever order: each byte is the first, or the last,
        /// that came for its place.
        #[test]
        fn first_and_last_are_by_arrival(segments in any_segments(), is_last in any::<bool>()) {
            let overlap = if is_last { Overlap::Last } else { Overlap::First };
            let mut ahead = Ahead::default();
            let mut expected: Vec<Option<u8>> = Vec::new();
            for (start, bytes) in &segments {
                let mut differs = false;
                for (at, byte) in (*start as usize..).zip(bytes) {
                    expected.resize(expected.len().max(at + 1), None);
                    differs |= expected[at].is_some_and(|known| known != *byte);
                    if is_last || expected[at].is_none() {
                        expected[at] = Some(*byte);
                    }
                }
                prop_assert_eq!(ahead.insert(*start, bytes, overlap), differs);
            }
            prop_assert_eq!(text(&mut ahead), expected);
        }

        /// Under every policy the places of all segments are covered, and each with a
        /// byte that came for it.
        #[test]
        fn every_policy_covers_what_came(segments in any_segments(), is_bsd in any::<bool>()) {
            let overlap = if is_bsd { Overlap::Bsd } else { Overlap::Linux };
            let mut ahead = Ahead::default();
            let mut came: Vec<Vec<u8>> = Vec::new();
            for (start, bytes) in &segments {
                ahead.insert(*start, bytes, overlap);
                for (at, byte) in (*start as usize..).zip(bytes) {
                    came.resize(came.len().max(at + 1), Vec::new());
                    came[at].push(*byte);
                }
            }
            let text = text(&mut ahead);
            prop_assert_eq!(text.len(), came.len());
            for (byte, came) in text.iter().zip(&came) {
                prop_assert!(byte.map_or(came.is_empty(), |byte| came.contains(&byte)));
            }
        }
    }
}

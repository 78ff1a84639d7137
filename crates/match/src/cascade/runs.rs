//! Patterns that are one byte repeated.
//!
//! Runs of zeros and spaces are a tenth of real traffic, and a run holds such a
//! pattern at every place. So these are not looked for by grams: the filter
//! notes where runs are, and their lengths tell what occurs in them.

use super::filter::{Block, RUN_BYTES};
use super::gram::FOLD;
use super::units::{Records, Unit};
use crate::Haystack;

/// The patterns whose folded bytes are all equal, by that byte.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// By length.
    units: Vec<Vec<RunUnit>>,
    /// Length of the shortest pattern of each byte; `u32::MAX` where there is
    /// none.
    shortest: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct RunUnit {
    slot: u32,
    bytes: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A letter in any case.
    AnyCase,
    /// One byte as it is.
    Exact(u8),
    /// Bytes that are equal only when folded, in their order.
    Mixed,
}

/// What a haystack has left to find, kept from haystack to haystack.
#[derive(Clone, Debug, Default)]
pub(super) struct RunState {
    /// For each byte the length of the shortest pattern not yet found.
    left: Vec<u32>,
    /// Bytes whose entry in `left` is to be restored.
    changed: Vec<u8>,
    /// Where the last run ends that went to the end of its block.
    done: usize,
}

impl Runs {
    pub(super) fn new<'a>(units: impl Iterator<Item = &'a Unit>) -> Runs {
        let mut runs = Runs {
            units: vec![Vec::new(); 256],
            shortest: vec![u32::MAX; 256],
        };
        for unit in units {
            let pattern = unit.pattern.bytes();
            let kind = if unit.pattern.is_nocase() {
                Kind::AnyCase
            } else if pattern.iter().all(|byte| *byte == pattern[0]) {
                Kind::Exact(pattern[0])
            } else {
                Kind::Mixed
            };
            runs.units[usize::from(pattern[0] | FOLD)].push(RunUnit {
                slot: unit.slot,
                bytes: pattern.len() as u32,
                kind,
            });
        }
        for (units, shortest) in runs.units.iter_mut().zip(&mut runs.shortest) {
            units.sort_by_key(|unit| unit.bytes);
            if let Some(first) = units.first() {
                *shortest = first.bytes;
            }
        }
        runs
    }

    /// Makes a state that another engine may have used that of this one.
    pub(super) fn take_over(&self, state: &mut RunState) {
        state.left.clone_from(&self.shortest);
        state.changed.clear();
    }

    /// Makes ready for the next haystack.
    pub(super) fn start(&self, state: &mut RunState) {
        for byte in state.changed.drain(..) {
            state.left[usize::from(byte)] = self.shortest[usize::from(byte)];
        }
        state.done = 0;
    }

    /// Calls `found` with the slots of what occurs in the runs of a span and
    /// ends behind the carried bytes: some of them again for another run.
    pub(super) fn search(
        &self,
        records: &Records,
        text: Haystack<'_>,
        blocks: &[Block],
        state: &mut RunState,
        mut found: impl FnMut(u32),
    ) {
        let (text, carried) = (text.bytes(), text.carried());
        for block in blocks {
            let mut ends = block.mask;
            while ends != 0 {
                let low = ends.trailing_zeros();
                let high = low + (ends >> low).trailing_ones();
                ends = if high < 64 {
                    ends & (u64::MAX << high)
                } else {
                    0
                };
                let start = block.start as usize + low as usize - (RUN_BYTES - 1);
                let mut end = block.start as usize + high as usize;
                if start < state.done {
                    continue;
                }
                let byte = text[start] | FOLD;
                if high == 64 {
                    end += length_of_run(&text[end..], byte);
                    state.done = end;
                }
                let left = state.left[usize::from(byte)];
                if end - start < left as usize || end <= carried {
                    continue;
                }
                let run = Run::new(text, start, end, carried);
                let mut next = u32::MAX;
                for unit in &self.units[usize::from(byte)] {
                    if unit.bytes as usize > end - start {
                        next = next.min(unit.bytes);
                        break;
                    }
                    if run.holds(unit, records) {
                        found(unit.slot);
                    } else {
                        next = next.min(unit.bytes);
                    }
                }
                state.left[usize::from(byte)] = next;
                state.changed.push(byte);
            }
        }
    }

    /// Calls `found` with slot, start and end of every occurrence in the runs of
    /// a span that ends behind the carried bytes.
    pub(super) fn search_all(
        &self,
        records: &Records,
        text: Haystack<'_>,
        blocks: &[Block],
        follower: &mut RunFollower,
        mut found: impl FnMut(u32, usize, usize),
    ) {
        let (text, carried) = (text.bytes(), text.carried());
        for block in blocks {
            let mut ends = block.mask;
            while ends != 0 {
                let last = block.start as usize + ends.trailing_zeros() as usize;
                ends &= ends - 1;
                follower.extend(text, last);
                let end = last + 1;
                if end <= carried {
                    continue;
                }
                for unit in &self.units[usize::from(text[last] | FOLD)] {
                    let bytes = unit.bytes as usize;
                    if bytes > end - follower.start {
                        break;
                    }
                    let start = end - bytes;
                    let occurs = match unit.kind {
                        Kind::AnyCase => true,
                        Kind::Exact(byte) => byte == text[last] && start >= follower.equal_from,
                        Kind::Mixed => text[start..end] == *records.pattern(unit.slot, bytes),
                    };
                    if occurs {
                        found(unit.slot, start, end);
                    }
                }
            }
        }
    }
}

/// Where the run begins that a search for every occurrence is in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunFollower {
    /// Behind the last byte of the run so far.
    end: usize,
    /// Its first byte.
    start: usize,
    /// From here on its bytes are equal, not only when folded.
    equal_from: usize,
}

impl RunFollower {
    /// Goes on to the byte at `last`, which ends five bytes that are equal when
    /// folded.
    fn extend(&mut self, text: &[u8], last: usize) {
        if last != self.end || self.end == 0 {
            self.start = last + 1 - RUN_BYTES;
            let equal = text[self.start..=last].iter().rev();
            self.equal_from = last + 1 - equal.take_while(|byte| **byte == text[last]).count();
        } else if text[last] != text[last - 1] {
            self.equal_from = last;
        }
        self.end = last + 1;
    }
}

/// How many bytes at the start are `byte` when folded.
fn length_of_run(text: &[u8], byte: u8) -> usize {
    let is_in_run = |other: &&u8| **other | FOLD == byte;
    let word = u64::from_le_bytes([byte; 8]);
    let fold = u64::from_le_bytes([FOLD; 8]);
    let (words, _) = text.as_chunks();
    let whole = words
        .iter()
        .take_while(|bytes| u64::from_le_bytes(**bytes) | fold == word)
        .count();
    whole * 8 + text[whole * 8..].iter().take_while(is_in_run).count()
}

/// A longest run of bytes that are equal when folded.
struct Run<'a> {
    /// The run, without what only carried bytes are part of.
    text: &'a [u8],
    start: usize,
    carried: usize,
    /// Length of the longest run of equal bytes with bit 5 clear and with bit 5
    /// set, that end behind the carried bytes.
    longest: [usize; 2],
}

impl Run<'_> {
    fn new(text: &[u8], start: usize, end: usize, carried: usize) -> Run<'_> {
        let text = &text[start..end];
        let differing = text.iter().fold(0, |bits, byte| bits | (byte ^ text[0]));
        let mut longest = [0; 2];
        let case = |byte: u8| usize::from(byte & FOLD != 0);
        if differing == 0 {
            longest[case(text[0])] = text.len();
        } else {
            let mut chunk_end = start;
            for chunk in text.chunk_by(|one, other| one == other) {
                chunk_end += chunk.len();
                if chunk_end > carried {
                    let longest = &mut longest[case(chunk[0])];
                    *longest = chunk.len().max(*longest);
                }
            }
        }
        Run {
            text,
            start,
            carried,
            longest,
        }
    }

    fn holds(&self, unit: &RunUnit, records: &Records) -> bool {
        let bytes = unit.bytes as usize;
        match unit.kind {
            Kind::AnyCase => bytes <= self.text.len(),
            Kind::Exact(byte) => bytes <= self.longest[usize::from(byte & FOLD != 0)],
            Kind::Mixed => {
                // What is found must end behind the carried bytes.
                let from = (self.carried + 1).saturating_sub(self.start + bytes);
                let text = self.text.get(from..).unwrap_or_default();
                memchr::memmem::find(text, records.pattern(unit.slot, bytes)).is_some()
            }
        }
    }
}

//! Every match with its offsets: in one haystack, in many, and in streams.

use std::mem;

use crate::cascade::{Database, Scratch};
use crate::{Haystack, ScanStatistics};

/// An occurrence of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// Index of the pattern in the list that the database was built from.
    pub pattern: usize,
    /// Offset of the first byte in the haystack, or in the stream.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

/// A search goes on by pieces of so many bytes, or of four times the longest
/// pattern: this bounds the memory for the matches of a piece.
const PIECE_BYTES: usize = 1 << 16;

/// Working memory of one thread for searches in one [`Database`]: some hundred
/// kilobytes that are allocated by the first search.
///
/// All matches are reported, also those that overlap: in order of their ends,
/// at the same end the longest first, of equal patterns the one with the lowest
/// index first. A database of *p* patterns of different lengths may thus find up
/// to *p* matches at every byte; where it matters only which patterns occur, use
/// [`Database::scan`](crate::Engine::scan), which is faster.
pub struct Scanner<'d> {
    database: &'d Database,
    scratch: Scratch,
    matches: Vec<(u32, Match)>,
    /// The last bytes of a stream, and the first of its next chunk.
    joined: Vec<u8>,
}

/// What a stream's next chunk has to know of those before it: as many bytes as
/// the longest pattern has, less one, and how many bytes there were.
///
/// A stream goes on with a scanner of the database that it was begun with. With
/// another one, matches that begin in a chunk before may be missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    kept: Vec<u8>,
    bytes: usize,
}

impl Stream {
    /// Bytes of the stream so far: the offset at which the next chunk begins. It
    /// wraps where an offset does not fit a `usize`.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that are kept for the next chunk.
    pub fn kept_bytes(&self) -> usize {
        self.kept.len()
    }

    /// Leaves out `bytes` bytes that were lost: no match reaches across them.
    pub fn skip(&mut self, bytes: usize) {
        self.kept.clear();
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// Keeps the end of what was kept and `chunk`.
    fn advance(&mut self, chunk: &[u8], most_kept: usize) {
        self.bytes = self.bytes.wrapping_add(chunk.len());
        if chunk.len() >= most_kept {
            self.kept.clear();
            self.kept.extend(&chunk[chunk.len() - most_kept..]);
        } else {
            let excess = (self.kept.len() + chunk.len()).saturating_sub(most_kept);
            self.kept.drain(..excess);
            self.kept.extend(chunk);
        }
    }
}

impl Database {
    /// Working memory for searches.
    pub fn scanner(&self) -> Scanner<'_> {
        Scanner {
            database: self,
            scratch: Scratch::default(),
            matches: Vec::new(),
            joined: Vec::new(),
        }
    }
}

impl<'d> Scanner<'d> {
    /// Every match in a haystack. The search goes on as far as the iterator is
    /// used, in pieces of 64 KiB or more.
    pub fn find_iter<'s, 'h>(&'s mut self, haystack: &'h [u8]) -> Matches<'s, 'd, 'h> {
        self.matches.clear();
        Matches {
            piece_bytes: self.piece_bytes(),
            scanner: self,
            haystack,
            searched: 0,
            next: 0,
        }
    }

    /// Calls `found` with every match in a haystack.
    pub fn for_each_match(&mut self, haystack: &[u8], found: impl FnMut(Match)) {
        self.find_iter(haystack).for_each(found);
    }

    /// Calls `found` with the index of a haystack and every match in it, haystack
    /// by haystack. Short haystacks together take less time than one by one.
    pub fn for_each_match_in_batch(
        &mut self,
        haystacks: &[&[u8]],
        mut found: impl FnMut(usize, Match),
    ) {
        let piece_bytes = self.piece_bytes();
        let mut first = 0;
        while first < haystacks.len() {
            let mut bytes = 0;
            let fits = |haystack: &&&[u8]| {
                bytes += haystack.len();
                bytes <= piece_bytes
            };
            let count = haystacks[first..].iter().take_while(fits).count();
            if count == 0 {
                self.for_each_match(haystacks[first], |each| found(first, each));
                first += 1;
                continue;
            }
            let texts: Vec<Haystack<'_>> = haystacks[first..first + count]
                .iter()
                .map(|bytes| Haystack::whole(bytes))
                .collect();
            self.search(&texts);
            for (haystack, each) in &self.matches {
                found(first + *haystack as usize, *each);
            }
            first += count;
        }
    }

    /// Calls `found` with every match that ends in the next chunk of a stream,
    /// also those that begin in a chunk before. Offsets count from the beginning
    /// of the stream.
    pub fn for_each_match_in_stream(
        &mut self,
        stream: &mut Stream,
        chunk: &[u8],
        mut found: impl FnMut(Match),
    ) {
        let most_kept = self.database.longest_bytes().saturating_sub(1);
        let at = |offset: usize, each: &Match| Match {
            start: each.start.wrapping_add(offset),
            end: each.end.wrapping_add(offset),
            ..*each
        };
        // What ends among the first bytes may begin before them; what ends behind
        // them does not.
        let mut searched = 0;
        if !stream.kept.is_empty() {
            searched = chunk.len().min(most_kept);
            let mut joined = mem::take(&mut self.joined);
            joined.clear();
            joined.extend(&stream.kept);
            joined.extend(&chunk[..searched]);
            self.search(&[Haystack::continued(&joined, stream.kept.len())]);
            let offset = stream.bytes.wrapping_sub(stream.kept.len());
            self.matches
                .iter()
                .for_each(|(_, each)| found(at(offset, each)));
            self.joined = joined;
        }
        self.matches.clear();
        let rest = Matches {
            piece_bytes: self.piece_bytes(),
            scanner: self,
            haystack: chunk,
            searched,
            next: 0,
        };
        rest.for_each(|each| found(at(stream.bytes, &each)));
        stream.advance(chunk, most_kept);
    }

    /// What the stages of the search had to do so far.
    pub fn statistics(&self) -> ScanStatistics {
        self.scratch.statistics()
    }

    fn piece_bytes(&self) -> usize {
        PIECE_BYTES.max(4 * self.database.longest_bytes())
    }

    /// Leaves the matches of a batch in `matches`, in order.
    fn search(&mut self, texts: &[Haystack<'_>]) {
        self.matches.clear();
        (self.database).find_all(texts, &mut self.scratch, &mut self.matches);
        self.matches.sort_unstable_by_key(|(haystack, each)| {
            (*haystack, each.end, each.start, each.pattern)
        });
        self.matches.dedup();
    }
}

/// The matches in a haystack: see [`Scanner::find_iter`].
pub struct Matches<'s, 'd, 'h> {
    scanner: &'s mut Scanner<'d>,
    haystack: &'h [u8],
    /// Bytes that were searched; matches that end among them are in the scanner.
    searched: usize,
    next: usize,
    piece_bytes: usize,
}

impl Iterator for Matches<'_, '_, '_> {
    type Item = Match;

    fn next(&mut self) -> Option<Match> {
        loop {
            if let Some((_, found)) = self.scanner.matches.get(self.next) {
                self.next += 1;
                return Some(*found);
            }
            if self.searched == self.haystack.len() {
                return None;
            }
            let most_carried = self.scanner.database.longest_bytes().saturating_sub(1);
            let carried = self.searched.min(most_carried);
            let from = self.searched - carried;
            self.searched = self.haystack.len().min(self.searched + self.piece_bytes);
            let piece = &self.haystack[from..self.searched];
            self.scanner.search(&[Haystack::continued(piece, carried)]);
            for (_, found) in &mut self.scanner.matches {
                found.start += from;
                found.end += from;
            }
            self.next = 0;
        }
    }
}

#[cfg(test)]
mod tests;

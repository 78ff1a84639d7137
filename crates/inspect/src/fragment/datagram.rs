//! One datagram, as far as its fragments came.

use weir_packet::wire::internet_checksum;

use super::piece::{IPV6_HEADER_BYTES, Piece};
use crate::ahead::{Ahead, Overlap};

/// Longest datagram: of IPv4 with its header, of IPv6 without.
const MAX_BYTES: usize = 65_535;

/// What a fragment is to its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is kept, or the same bytes came before.
    Kept,
    /// Its receiver does not take it; the datagram goes on waiting.
    Refused,
    /// Its receiver gives the datagram up.
    GivesUp,
}

#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) first_seen_ns: u64,
    /// It was dropped: its fragments are dropped when they come again.
    pub(super) is_dropped: bool,
    /// From the first fragment.
    header: Vec<u8>,
    protocol: u8,
    pieces: Ahead,
    /// What came, ascending and apart. Where Linux is the receiver, fragments side by side are one
    /// run only if they came in this order, at the end of the datagram.
    runs: Vec<(usize, usize)>,
    /// Behind the last byte that came.
    end: usize,
    /// Behind the last byte of the whole, once the last fragment came.
    length: Option<usize>,
}

impl Datagram {
    pub(super) fn new(first_seen_ns: u64) -> Datagram {
        Datagram {
            first_seen_ns,
            is_dropped: false,
            header: Vec::new(),
            protocol: 0,
            pieces: Ahead::default(),
            runs: Vec::new(),
            end: 0,
            length: None,
        }
    }

    /// What it takes beside itself: 0 before a fragment came.
    pub(super) fn memory_bytes(&self) -> usize {
        let runs_bytes = self.runs.capacity() * size_of::<(usize, usize)>();
        self.header.capacity() + self.pieces.memory_bytes() + runs_bytes
    }

    /// Puts in a fragment, as a receiver does that keeps bytes as `overlap` says.
    pub(super) fn insert(&mut self, piece: &Piece<'_>, overlap: Overlap) -> Fit {
        let is_linux = overlap == Overlap::Linux;
        let (start, mut bytes) = (piece.offset, piece.bytes);
        if piece.has_successor && !bytes.len().is_multiple_of(8) {
            if piece.key.is_ipv6 || !is_linux {
                return Fit::Refused;
            }
            bytes = &bytes[..bytes.len() / 8 * 8];
        }
        let end = start + bytes.len();
        if bytes.is_empty() {
            return Fit::GivesUp;
        }
        if end > MAX_BYTES {
            return match piece.key.is_ipv6 {
                true => Fit::Refused,
                false => Fit::GivesUp,
            };
        }
        let contradicts = match self.length {
            Some(length) => end > length || !piece.has_successor && end != length,
            None => !piece.has_successor && end < self.end,
        };
        if contradicts {
            return Fit::GivesUp;
        }
        let fit = match is_linux {
            true => self.insert_for_linux(start, bytes),
            false => {
                self.pieces.insert(start as u64, bytes, overlap);
                self.cover(start, end);
                Fit::Kept
            }
        };
        if fit == Fit::Kept {
            if start == 0 && self.header.is_empty() {
                self.header.extend_from_slice(piece.header);
                self.protocol = piece.protocol;
            }
            self.end = self.end.max(end);
            if !piece.has_successor {
                self.length = Some(end);
            }
        }
        fit
    }

    /// As `inet_frag_queue_insert` of Linux: a fragment that lies within a run is left out, and one
    /// that overlaps otherwise gives up the datagram.
    fn insert_for_linux(&mut self, start: usize, bytes: &[u8]) -> Fit {
        let end = start + bytes.len();
        let at = self.runs.partition_point(|run| run.1 <= start);
        let is_last = at == self.runs.len();
        match self.runs.get(at) {
            Some(run) if run.0 <= start && end <= run.1 => {
                // Nothing of it is kept.
                let differs = self.pieces.insert(start as u64, bytes, Overlap::First);
                return if differs { Fit::Refused } else { Fit::Kept };
            }
            Some(run) if run.0 < end => return Fit::GivesUp,
            _ => {}
        }
        self.pieces.insert(start as u64, bytes, Overlap::First);
        match self
            .runs
            .last_mut()
            .filter(|last| is_last && last.1 == start)
        {
            Some(last) => last.1 = end,
            None => self.runs.insert(at, (start, end)),
        }
        Fit::Kept
    }

    fn cover(&mut self, mut start: usize, mut end: usize) {
        self.runs.retain(|(known_start, known_end)| {
            let touches = *known_start <= end && start <= *known_end;
            if touches {
                start = start.min(*known_start);
                end = end.max(*known_end);
            }
            !touches
        });
        let at = self.runs.partition_point(|(known, _)| *known < start);
        self.runs.insert(at, (start, end));
    }

    pub(super) fn is_whole(&self) -> bool {
        let came: usize = self.runs.iter().map(|(start, end)| end - start).sum();
        self.length == Some(came)
    }

    /// Writes the datagram with a header that says nothing of fragments. Says whether it is one
    /// that a receiver takes: not too long.
    pub(super) fn write(&mut self, is_ipv6: bool, whole: &mut Vec<u8>) -> bool {
        whole.clear();
        whole.extend_from_slice(&self.header);
        let start = whole.len();
        while let Some(bytes) = self.pieces.take((whole.len() - start) as u64) {
            whole.extend_from_slice(bytes.data());
        }
        let counted_bytes = match is_ipv6 {
            true => whole.len() - IPV6_HEADER_BYTES,
            false => whole.len(),
        };
        let Ok(length) = u16::try_from(counted_bytes) else {
            return false;
        };
        if is_ipv6 {
            whole[4..6].copy_from_slice(&length.to_be_bytes());
            whole[6] = self.protocol;
        } else {
            whole[2..4].copy_from_slice(&length.to_be_bytes());
            whole[6..8].fill(0);
            whole[10..12].fill(0);
            let checksum = internet_checksum(&whole[..start]);
            whole[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        true
    }
}

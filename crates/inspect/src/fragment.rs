//! Datagrams put together from their fragments (RFC 791, section 3.2; RFC
//! 8200, section 4.5).
//!
//! What came first stays. Memory is bounded in fragments, bytes and time; the
//! oldest datagram goes first. A datagram whose fragments overlap with
//! different bytes is given up, as RFC 5722 requires for IPv6: no receiver can be
//! trusted to read it as we would.

use std::collections::VecDeque;

use weir_packet::wire::{Fragment, Network};

use crate::inspector::Packet;

/// Most datagrams that wait for fragments.
const MAX_DATAGRAMS: usize = 1024;
/// Most bytes of all of them.
const MAX_BYTES: usize = 16 << 20;
/// Most fragments of one.
const MAX_FRAGMENTS: usize = 512;
/// Time that a datagram waits.
const TIMEOUT_NS: u64 = 60_000_000_000;
/// Longest datagram, its header aside.
const MAX_DATAGRAM_BYTES: usize = 65_535;

const IPV6_HEADER_BYTES: usize = 40;
const FRAGMENT_HEADER: u8 = 44;
const FRAGMENT_HEADER_BYTES: usize = 8;

/// What fragments of one datagram have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    tunnel: u64,
    network: Network,
    source: u128,
    destination: u128,
    identification: u32,
    protocol: u8,
}

/// A fragment's place, and its bytes.
struct Piece<'a> {
    key: Key,
    offset: usize,
    has_successor: bool,
    /// The header that the whole datagram begins with.
    header: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn of(packet: &Packet<'a>) -> Option<Piece<'a>> {
        let bytes = packet.headers.ip_packet(packet.bytes);
        let piece = match packet.headers.network {
            Network::Ipv4 => ipv4_piece(bytes),
            _ => ipv6_piece(bytes),
        };
        let mut piece = piece?;
        piece.key.tunnel = packet.tunnel;
        Some(piece)
    }
}

#[derive(Debug)]
struct Datagram {
    key: Key,
    first_seen_ns: u64,
    /// From the first fragment.
    header: Vec<u8>,
    bytes: Vec<u8>,
    /// What came, ascending and apart.
    covered: Vec<(usize, usize)>,
    /// Length of the whole, once the last fragment came.
    length: Option<usize>,
    /// It was dropped: its fragments are dropped when they come again.
    is_dropped: bool,
}

/// What a packet is to the datagrams that wait for fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// No fragment, or not the last that is missing.
    Nothing,
    /// A fragment that completes a datagram.
    Completes,
    /// A fragment of a datagram that was dropped.
    Dropped,
}

/// Counts of a reassembler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FragmentCounts {
    pub(crate) reassembled: u64,
    pub(crate) evicted: u64,
    pub(crate) refused: u64,
}

/// Puts datagrams together.
#[derive(Debug, Default)]
pub(crate) struct Reassembler {
    /// The oldest first.
    datagrams: VecDeque<Datagram>,
    bytes: usize,
    counts: FragmentCounts,
}

impl Reassembler {
    pub(crate) fn counts(&self) -> FragmentCounts {
        self.counts
    }

    /// Takes in a packet. If it is the fragment that completes a datagram,
    /// writes that, from its IP header on, to `whole`.
    pub(crate) fn take(&mut self, packet: &Packet<'_>, whole: &mut Vec<u8>) -> Taken {
        let (headers, now_ns) = (&packet.headers, packet.timestamp_ns);
        if headers.fragment == Fragment::Whole || !headers.is_whole_ip() {
            return Taken::Nothing;
        }
        let Some(piece) = Piece::of(packet) else {
            self.counts.refused += 1;
            return Taken::Nothing;
        };
        self.make_room(now_ns, piece.bytes.len());
        let index = self.find_or_open(piece.key, now_ns);
        let datagram = &mut self.datagrams[index];
        if datagram.is_dropped {
            return Taken::Dropped;
        }
        let before = datagram.bytes.capacity();
        let fits = datagram.insert(&piece);
        self.bytes = self.bytes + datagram.bytes.capacity() - before;
        if !fits {
            self.counts.refused += 1;
            self.forget(index);
            return Taken::Nothing;
        }
        if !self.datagrams[index].is_whole() {
            return Taken::Nothing;
        }
        self.datagrams[index].write(whole);
        self.forget(index);
        self.counts.reassembled += 1;
        Taken::Completes
    }

    /// The datagram that a fragment completed was dropped with that fragment. The
    /// others went on: one that comes again must not complete it elsewhere.
    pub(crate) fn note_dropped(&mut self, packet: &Packet<'_>) {
        if let Some(piece) = Piece::of(packet) {
            self.make_room(packet.timestamp_ns, 0);
            let index = self.find_or_open(piece.key, packet.timestamp_ns);
            self.datagrams[index].is_dropped = true;
        }
    }

    fn find_or_open(&mut self, key: Key, now_ns: u64) -> usize {
        let known = self.datagrams.iter().position(|known| known.key == key);
        known.unwrap_or_else(|| {
            self.datagrams.push_back(Datagram {
                key,
                first_seen_ns: now_ns,
                header: Vec::new(),
                bytes: Vec::new(),
                covered: Vec::new(),
                length: None,
                is_dropped: false,
            });
            self.datagrams.len() - 1
        })
    }

    fn forget(&mut self, index: usize) {
        if let Some(datagram) = self.datagrams.remove(index) {
            self.bytes -= datagram.bytes.capacity();
        }
    }

    fn make_room(&mut self, now_ns: u64, more_bytes: usize) {
        while let Some(oldest) = self.datagrams.front() {
            let is_late = now_ns.abs_diff(oldest.first_seen_ns) > TIMEOUT_NS;
            let is_full = self.datagrams.len() >= MAX_DATAGRAMS
                || self.bytes + more_bytes + MAX_DATAGRAM_BYTES > MAX_BYTES;
            if !is_late && !is_full {
                return;
            }
            self.forget(0);
            self.counts.evicted += 1;
        }
    }
}

impl Datagram {
    /// Puts in a fragment. Says whether it fits what is there.
    fn insert(&mut self, piece: &Piece<'_>) -> bool {
        let (start, end) = (piece.offset, piece.offset + piece.bytes.len());
        let is_cut = piece.has_successor && !piece.bytes.len().is_multiple_of(8);
        if end > MAX_DATAGRAM_BYTES || is_cut || self.covered.len() >= MAX_FRAGMENTS {
            return false;
        }
        let reached = self.covered.last().map_or(0, |(_, end)| *end);
        if !piece.has_successor && *self.length.get_or_insert(end) != end
            || self.length.is_some_and(|length| end.max(reached) > length)
        {
            return false;
        }
        if start == 0 && self.header.is_empty() {
            self.header.extend_from_slice(piece.header);
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        for (known_start, known_end) in &self.covered {
            let (from, to) = (start.max(*known_start), end.min(*known_end));
            if from < to && self.bytes[from..to] != piece.bytes[from - start..to - start] {
                return false;
            }
        }
        self.bytes[start..end].copy_from_slice(piece.bytes);
        self.cover(start, end);
        true
    }

    fn cover(&mut self, mut start: usize, mut end: usize) {
        self.covered.retain(|(known_start, known_end)| {
            let touches = *known_start <= end && start <= *known_end;
            if touches {
                start = start.min(*known_start);
                end = end.max(*known_end);
            }
            !touches
        });
        let at = self.covered.partition_point(|(known, _)| *known < start);
        self.covered.insert(at, (start, end));
    }

    fn is_whole(&self) -> bool {
        self.length
            .is_some_and(|length| self.covered == [(0, length)])
    }

    /// Writes the datagram with a header that says nothing of fragments.
    fn write(&self, whole: &mut Vec<u8>) {
        whole.clear();
        whole.extend_from_slice(&self.header);
        whole.extend_from_slice(&self.bytes[..self.length.unwrap_or(0)]);
        let total = whole.len();
        match self.key.network {
            Network::Ipv4 => {
                let total = u16::try_from(total).unwrap_or(u16::MAX);
                whole[2..4].copy_from_slice(&total.to_be_bytes());
                whole[6..8].fill(0);
            }
            _ => {
                let after = total - IPV6_HEADER_BYTES;
                let after = u16::try_from(after).unwrap_or(u16::MAX);
                whole[4..6].copy_from_slice(&after.to_be_bytes());
                whole[6] = self.key.protocol;
            }
        }
    }
}

fn ipv4_piece(packet: &[u8]) -> Option<Piece<'_>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    let address = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    Some(Piece {
        key: Key {
            tunnel: 0,
            network: Network::Ipv4,
            source: u128::from(address(12)),
            destination: u128::from(address(16)),
            identification: u32::from(u16::from_be_bytes([header[4], header[5]])),
            protocol: header[9],
        },
        offset: usize::from(fragment & 0x1fff) * 8,
        has_successor: fragment & 0x2000 != 0,
        header: packet.get(..header_bytes)?,
        bytes: packet
            .get(header_bytes..)
            .filter(|bytes| !bytes.is_empty())?,
    })
}

/// The fragment header is found behind headers that every fragment repeats;
/// these are left out of the datagram.
fn ipv6_piece(packet: &[u8]) -> Option<Piece<'_>> {
    let header: &[u8; IPV6_HEADER_BYTES] = packet.first_chunk()?;
    let (mut next, mut at) = (header[6], IPV6_HEADER_BYTES);
    while next != FRAGMENT_HEADER {
        let (following, words) = (*packet.get(at)?, *packet.get(at + 1)?);
        next = following;
        at += (usize::from(words) + 1) * 8;
    }
    let fragment: &[u8; FRAGMENT_HEADER_BYTES] = packet.get(at..)?.first_chunk()?;
    let place = u16::from_be_bytes([fragment[2], fragment[3]]);
    let address = |at: usize| {
        let bytes = header[at..at + 16].iter();
        bytes.fold(0, |address, byte| address << 8 | u128::from(*byte))
    };
    Some(Piece {
        key: Key {
            tunnel: 0,
            network: Network::Ipv6,
            source: address(8),
            destination: address(24),
            identification: u32::from_be_bytes([
                fragment[4],
                fragment[5],
                fragment[6],
                fragment[7],
            ]),
            protocol: fragment[0],
        },
        offset: usize::from(place & !7),
        has_successor: place & 1 != 0,
        header,
        bytes: packet
            .get(at + FRAGMENT_HEADER_BYTES..)
            .filter(|bytes| !bytes.is_empty())?,
    })
}

#[cfg(test)]
mod tests;

//! Datagrams put together from their fragments (RFC 791, section 3.2; RFC
//! 8200, section 4.5), as their receiver does it.
//!
//! What becomes of fragments that overlap is the receiver's choice ([`Overlap`]); Linux gives up the
//! datagram, as RFC 5722 asks for IPv6. Memory is bounded in datagrams, bytes and time. A flood of
//! fragments without successors evicts its own. An inline inspector evicts nothing, since what it
//! has forgotten could be completed behind it: it refuses what does not fit.

mod datagram;
mod piece;

use weir_packet::wire::{Fault, Fragment, Network};

use crate::ahead::{HostPolicy, Overlap};
use crate::packet::Packet;
use crate::segmented_lru::SegmentedLru;
use datagram::{Datagram, Fit};
use piece::{Key, Piece};

/// Most datagrams that wait for fragments.
const MAX_DATAGRAMS: usize = 16_384;
/// Most bytes of all of them.
const MAX_BYTES: usize = 16 << 20;
/// Time that a datagram waits.
const TIMEOUT_NS: u64 = 60_000_000_000;
/// The same of IPv4 at Linux (`net.ipv4.ipfrag_time`).
const LINUX_IPV4_TIMEOUT_NS: u64 = 30_000_000_000;

/// What a packet is to the datagrams that wait for fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// No fragment, or not the last that is missing.
    Nothing,
    /// A fragment that completes a datagram.
    Completes,
    /// A fragment of a datagram that was dropped.
    Dropped,
    /// A fragment that its receiver does not take, or for which there is no space.
    Refused,
}

/// Counts of a reassembler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FragmentCounts {
    pub(crate) reassembled: u64,
    pub(crate) evicted: u64,
    pub(crate) refused: u64,
}

/// Puts datagrams together.
#[derive(Debug)]
pub(crate) struct Reassembler {
    datagrams: SegmentedLru<Key, Datagram>,
    policies: Vec<HostPolicy>,
    is_inline: bool,
    /// Memory of all datagrams.
    bytes: usize,
    counts: FragmentCounts,
}

impl Reassembler {
    /// Of the policies that name a receiver the first counts. Inline, fragments that are refused do not
    /// reach it.
    pub(crate) fn new(policies: Vec<HostPolicy>, is_inline: bool) -> Reassembler {
        Reassembler {
            datagrams: SegmentedLru::new(MAX_DATAGRAMS),
            policies,
            is_inline,
            bytes: 0,
            counts: FragmentCounts::default(),
        }
    }

    pub(crate) fn counts(&self) -> FragmentCounts {
        self.counts
    }

    /// Takes in a packet. If it is the fragment that completes a datagram,
    /// writes that, from its IP header on, to `whole`.
    pub(crate) fn take(&mut self, packet: &Packet<'_>, whole: &mut Vec<u8>) -> Taken {
        let headers = &packet.headers;
        if headers.fragment == Fragment::Whole || !headers.is_whole_ip() {
            return Taken::Nothing;
        }
        // An IPv6 host wants all headers in the first fragment (RFC 7112).
        let lacks_header = headers.network == Network::Ipv6
            && headers.fragment == Fragment::First
            && headers.fault == Some(Fault::BadTransportHeader);
        let piece = Piece::of(packet).filter(|_| !lacks_header);
        let taken = piece.map_or(Taken::Refused, |piece| {
            self.take_piece(&piece, packet.timestamp_ns, whole)
        });
        match taken {
            Taken::Refused => self.counts.refused += 1,
            Taken::Completes => self.counts.reassembled += 1,
            Taken::Nothing | Taken::Dropped => {}
        }
        taken
    }

    fn take_piece(&mut self, piece: &Piece<'_>, now_ns: u64, whole: &mut Vec<u8>) -> Taken {
        let key = piece.key;
        let ip_version = if key.is_ipv6 { 6 } else { 4 };
        let overlap = HostPolicy::overlap_at(&self.policies, ip_version, key.destination);
        let timeout_ns = match (overlap, key.is_ipv6) {
            (Overlap::Linux, false) => LINUX_IPV4_TIMEOUT_NS,
            _ => TIMEOUT_NS,
        };
        let Some(datagram) = self.find_or_open(key, now_ns, timeout_ns) else {
            return Taken::Refused;
        };
        if datagram.is_dropped {
            return Taken::Dropped;
        }
        let before = datagram.memory_bytes();
        let fit = datagram.insert(piece, overlap);
        let (is_whole, after) = (datagram.is_whole(), datagram.memory_bytes());
        let is_taken = is_whole && datagram.write(key.is_ipv6, whole);
        self.bytes = self.bytes + after - before;
        match fit {
            Fit::Kept if is_whole => {
                self.bytes -= after;
                self.datagrams.remove(&key);
                if is_taken {
                    Taken::Completes
                } else {
                    Taken::Refused
                }
            }
            Fit::Kept => {
                self.limit_memory();
                Taken::Nothing
            }
            Fit::GivesUp if !self.is_inline => {
                self.bytes -= after;
                self.datagrams.remove(&key);
                Taken::Refused
            }
            Fit::Refused | Fit::GivesUp => Taken::Refused,
        }
    }

    /// The datagram that a fragment completed was dropped with that fragment. The
    /// others went on: one that comes again must not complete it elsewhere.
    pub(crate) fn note_dropped(&mut self, packet: &Packet<'_>) {
        if let Some(piece) = Piece::of(packet)
            && let Some(datagram) = self.find_or_open(piece.key, packet.timestamp_ns, TIMEOUT_NS)
        {
            datagram.is_dropped = true;
        }
    }

    /// The datagram with this key, new where there is none that still waits; `None` where an inline
    /// inspector has no space for another one.
    fn find_or_open(&mut self, key: Key, now_ns: u64, timeout_ns: u64) -> Option<&mut Datagram> {
        let is_late =
            |datagram: &Datagram, timeout_ns| now_ns.abs_diff(datagram.first_seen_ns) > timeout_ns;
        if self.is_inline {
            while (self.datagrams.is_full() || self.bytes > MAX_BYTES)
                && (self.datagrams.oldest()).is_some_and(|oldest| is_late(oldest, TIMEOUT_NS))
            {
                self.evict();
            }
            let has_space = self.datagrams.contains(&key) || !self.datagrams.is_full();
            if self.bytes > MAX_BYTES || !has_space {
                return None;
            }
        }
        let (datagram, evicted) = self.datagrams.entry(key, || Datagram::new(now_ns));
        if let Some(evicted) = evicted {
            self.bytes -= evicted.memory_bytes();
            self.counts.evicted += 1;
        }
        if is_late(datagram, timeout_ns) {
            self.bytes -= datagram.memory_bytes();
            self.counts.evicted += 1;
            *datagram = Datagram::new(now_ns);
        }
        Some(datagram)
    }

    fn limit_memory(&mut self) {
        while self.bytes > MAX_BYTES && !self.is_inline {
            self.evict();
        }
    }

    fn evict(&mut self) {
        if let Some(evicted) = self.datagrams.evict() {
            self.bytes -= evicted.memory_bytes();
            self.counts.evicted += 1;
        }
    }
}

#[cfg(test)]
mod tests;

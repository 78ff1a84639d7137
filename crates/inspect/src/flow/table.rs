//! The table of flows: bounded, and without allocation for flows that are
//! known.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{Fault, FlowKey, Fragment};

use super::entry::{Brought, Flow, Key};
use super::tcp::{Segment, Unacceptable};
use crate::ahead::HostPolicy;
use crate::checksum::Sum;
use crate::header;
use crate::packet::Packet;

/// Bounds of a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Most flows that are kept. One more evicts one that was quiet.
    pub flows: usize,
    /// Most bytes of streams and messages that are kept. More take those of
    /// flows that were quiet: their packets are then matched one by one.
    pub stream_bytes: usize,
    /// Most bytes that one direction of a connection keeps behind a gap. More give
    /// up the gap.
    pub ahead_bytes: usize,
    /// Whether connections are followed whose beginning was not seen.
    pub midstream: bool,
}

impl FlowLimits {
    /// Flows by default: about 100 MB.
    pub const FLOWS: usize = 1 << 18;
    /// Bytes of streams and messages by default.
    pub const STREAM_BYTES: usize = 256 << 20;
    /// Bytes behind a gap by default.
    pub const AHEAD_BYTES: usize = 8 << 20;

    /// The limits of each of several inspectors that together keep no more than one with these.
    #[must_use]
    pub fn shared_by(self, inspectors: usize) -> FlowLimits {
        let inspectors = inspectors.max(1);
        FlowLimits {
            flows: (self.flows / inspectors).max(1),
            stream_bytes: self.stream_bytes / inspectors,
            ..self
        }
    }
}

impl Default for FlowLimits {
    /// Without midstream pickup.
    fn default() -> FlowLimits {
        FlowLimits {
            flows: Self::FLOWS,
            stream_bytes: Self::STREAM_BYTES,
            ahead_bytes: Self::AHEAD_BYTES,
            midstream: false,
        }
    }
}

/// What the table did, in flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCounts {
    /// New entries.
    pub(crate) opened: u64,
    /// Entries given up before their time, for lack of room.
    pub(crate) evicted: u64,
    /// Streams given up for lack of room.
    pub(crate) streams_evicted: u64,
}

/// Flows by key, evicted by the clock algorithm.
///
/// The hash is seeded anew for every table: with a fixed one, a sender could
/// choose addresses and ports that all fall into one place.
pub(crate) struct FlowTable {
    flows: Vec<Flow>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    limits: FlowLimits,
    policies: Vec<HostPolicy>,
    /// Bytes of all streams.
    stream_bytes: usize,
    hand: usize,
    counts: FlowCounts,
}

impl FlowTable {
    /// A table without flows. Of the policies that name a receiver the first counts.
    pub(crate) fn new(limits: FlowLimits, policies: Vec<HostPolicy>) -> FlowTable {
        FlowTable {
            flows: Vec::new(),
            places: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            limits: FlowLimits {
                flows: limits.flows.clamp(1, u32::MAX as usize),
                ..limits
            },
            policies,
            stream_bytes: 0,
            hand: 0,
            counts: FlowCounts::default(),
        }
    }

    pub(crate) fn counts(&self) -> FlowCounts {
        self.counts
    }

    /// Takes in a packet, of whose checksums `sum` is known. Tells the flow that
    /// it belongs to, and what it brought.
    pub(crate) fn track(&mut self, packet: &Packet<'_>, sum: Sum) -> (Option<usize>, Brought) {
        let Packet {
            headers,
            bytes,
            timestamp_ns: now_ns,
            network,
            ..
        } = packet;
        let now_ns = *now_ns;
        if header::has_refused_options(packet) {
            let brought = Brought {
                refused: Some(Unacceptable::IpOptions),
                ..Brought::default()
            };
            return (None, brought);
        }
        let is_readable = headers.fragment == Fragment::Whole
            && matches!(headers.fault, None | Some(Fault::PacketCut))
            && matches!(headers.protocol, TCP | UDP | SCTP | ICMP | ICMPV6);
        let key = FlowKey::from_headers(headers, bytes).filter(|_| is_readable);
        let Some(key) = key else {
            return (None, Brought::default());
        };
        let (key, is_reversed) = key.canonical();
        let key = (key, *network);
        let segment = (headers.protocol == TCP).then(|| Segment::from_headers(headers, bytes));
        let index = self.find_or_open(key, is_reversed, segment, sum, now_ns);
        let flow = &mut self.flows[index];
        flow.last_seen_ns = now_ns;
        let brought = flow.take_in(
            is_reversed,
            segment,
            packet,
            sum,
            (&self.limits, &self.policies),
        );
        (Some(index), brought)
    }

    /// A flow that [`track`](FlowTable::track) named.
    pub(crate) fn flow(&mut self, index: usize) -> &mut Flow {
        &mut self.flows[index]
    }

    /// Counts the memory of a flow's streams anew, and makes room where all
    /// streams together take more than they may.
    pub(crate) fn settle(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let now = flow.streams.as_ref().map_or(0, |s| s.memory_bytes());
        let before = std::mem::replace(&mut flow.memory_bytes, now);
        self.stream_bytes = self.stream_bytes + now - before;
        while self.stream_bytes > self.limits.stream_bytes {
            self.hand = (self.hand + 1) % self.flows.len();
            let flow = &mut self.flows[self.hand];
            if flow.streams.is_none() || std::mem::take(&mut flow.is_recent) {
                continue;
            }
            self.stream_bytes -= flow.memory_bytes;
            (flow.streams, flow.memory_bytes, flow.is_shed) = (None, 0, true);
            self.counts.streams_evicted += 1;
        }
    }

    fn find_or_open(
        &mut self,
        key: Key,
        is_reversed: bool,
        segment: Option<Segment>,
        sum: Sum,
        now_ns: u64,
    ) -> usize {
        let hash = self.hasher.hash_one(key);
        let flows = &self.flows;
        let known = self
            .places
            .find(hash, |place| flows[*place as usize].key == key);
        if let Some(place) = known {
            let place = *place as usize;
            let flow = &mut self.flows[place];
            let taken = segment.filter(|_| !flow.is_damaged(is_reversed, sum));
            let reopened = flow.reopened_by(taken);
            if reopened.is_some() || flow.is_over(taken, now_ns) {
                self.stream_bytes -= flow.memory_bytes;
                let (first, is_reversed) = match reopened {
                    Some((syn, is_reversed)) => (Some(syn), is_reversed),
                    None => (segment, is_reversed),
                };
                *flow = Flow::new(key, is_reversed, first, now_ns, self.limits.midstream);
                self.counts.opened += 1;
            } else {
                self.flows[place].is_recent = true;
            }
            return place;
        }
        let flow = Flow::new(key, is_reversed, segment, now_ns, self.limits.midstream);
        self.counts.opened += 1;
        let place = if self.flows.len() < self.limits.flows {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let place = self.make_room(now_ns);
            self.stream_bytes -= self.flows[place].memory_bytes;
            self.flows[place] = flow;
            place
        };
        let (flows, hasher) = (&self.flows, &self.hasher);
        self.places.insert_unique(hash, place as u32, |place| {
            hasher.hash_one(flows[*place as usize].key)
        });
        place
    }

    /// Takes out the first flow under the clock's hand that is over or was
    /// not looked at since the hand came by last.
    fn make_room(&mut self, now_ns: u64) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.flows.len();
            let flow = &mut self.flows[place];
            let is_over = flow.is_over(None, now_ns);
            if !is_over && std::mem::take(&mut flow.is_recent) {
                continue;
            }
            self.counts.evicted += u64::from(!is_over);
            let hash = self.hasher.hash_one(flow.key);
            if let Ok(entry) = self
                .places
                .find_entry(hash, |other| *other as usize == place)
            {
                entry.remove();
            }
            return place;
        }
    }
}

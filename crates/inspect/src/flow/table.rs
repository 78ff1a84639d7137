//! The table of flows: bounded, and without allocation for flows that are
//! known.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{Fault, FlowKey, Fragment, Headers};

use super::FlowState;
use super::application::{self, AppProtocol};
use super::tcp::{Connection, Segment, Stage};
use crate::rule::Direction;

/// Bounds of a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Most flows that are kept. One more evicts one that was quiet.
    pub flows: usize,
}

impl Default for FlowLimits {
    /// 262,144 flows, about 30 MB.
    fn default() -> FlowLimits {
        FlowLimits { flows: 1 << 18 }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// Time without packets after which a flow is over, by its protocol and how
/// far it has come; the values are those of Suricata's `suricata.yaml`.
mod timeout_ns {
    use super::SECOND_NS;

    pub(super) const TCP_NEW: u64 = 60 * SECOND_NS;
    pub(super) const TCP_ESTABLISHED: u64 = 600 * SECOND_NS;
    pub(super) const TCP_CLOSED: u64 = 60 * SECOND_NS;
    pub(super) const OTHER_NEW: u64 = 30 * SECOND_NS;
    pub(super) const OTHER_ESTABLISHED: u64 = 300 * SECOND_NS;
}

struct Flow {
    /// Of the two directions the one that sorts first.
    key: FlowKey,
    last_seen_ns: u64,
    /// The client sends in the direction opposite to `key`.
    client_is_reversed: bool,
    seen_from_client: bool,
    seen_from_server: bool,
    /// Found again since the clock's hand came by. A flow of one packet is
    /// not, so that a flood of them only evicts its own.
    is_recent: bool,
    connection: Option<Connection>,
    application: Option<AppProtocol>,
}

/// What the table did, in flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCounts {
    /// New entries.
    pub(crate) opened: u64,
    /// Entries given up before their time, for lack of room.
    pub(crate) evicted: u64,
}

/// Flows by key, evicted by the clock algorithm.
///
/// The hash is seeded anew for every table: with a fixed one, a sender could
/// choose addresses and ports that all fall into one place.
pub(crate) struct FlowTable {
    flows: Vec<Flow>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    limit: usize,
    hand: usize,
    counts: FlowCounts,
}

impl FlowTable {
    pub(crate) fn new(limits: FlowLimits) -> FlowTable {
        FlowTable {
            flows: Vec::new(),
            places: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            limit: limits.flows.clamp(1, u32::MAX as usize),
            hand: 0,
            counts: FlowCounts::default(),
        }
    }

    pub(crate) fn counts(&self) -> FlowCounts {
        self.counts
    }

    /// Takes in a packet and tells the state of its flow, this packet
    /// included.
    pub(crate) fn track(&mut self, headers: &Headers, bytes: &[u8], now_ns: u64) -> FlowState {
        let is_readable = headers.fragment == Fragment::Whole
            && matches!(headers.fault, None | Some(Fault::PacketCut))
            && matches!(headers.protocol, TCP | UDP | SCTP | ICMP | ICMPV6);
        let key = FlowKey::from_headers(headers, bytes).filter(|_| is_readable);
        let Some(key) = key else {
            return FlowState::default();
        };
        let (key, is_reversed) = key.canonical();
        let segment = (headers.protocol == TCP).then(|| Segment::from_headers(headers, bytes));
        let index = self.find_or_open(key, is_reversed, segment, now_ns);
        let flow = &mut self.flows[index];
        flow.last_seen_ns = now_ns;
        flow.take_in(is_reversed, segment, headers.payload(bytes))
    }

    fn find_or_open(
        &mut self,
        key: FlowKey,
        is_reversed: bool,
        segment: Option<Segment>,
        now_ns: u64,
    ) -> usize {
        let hash = self.hasher.hash_one(key);
        let flows = &self.flows;
        let known = self
            .places
            .find(hash, |place| flows[*place as usize].key == key);
        if let Some(place) = known {
            let place = *place as usize;
            if self.flows[place].is_over(segment, now_ns) {
                self.flows[place] = Flow::new(key, is_reversed, segment, now_ns);
                self.counts.opened += 1;
            } else {
                self.flows[place].is_recent = true;
            }
            return place;
        }
        let flow = Flow::new(key, is_reversed, segment, now_ns);
        self.counts.opened += 1;
        let place = if self.flows.len() < self.limit {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let place = self.make_room(now_ns);
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

impl Flow {
    fn new(key: FlowKey, is_reversed: bool, segment: Option<Segment>, now_ns: u64) -> Flow {
        let first_is_from_server = segment.is_some_and(Segment::is_syn_ack);
        Flow {
            key,
            last_seen_ns: now_ns,
            client_is_reversed: is_reversed != first_is_from_server,
            seen_from_client: false,
            seen_from_server: false,
            is_recent: false,
            connection: segment.map(Connection::new),
            application: None,
        }
    }

    fn timeout_ns(&self) -> u64 {
        match &self.connection {
            Some(connection) if connection.is_closed => timeout_ns::TCP_CLOSED,
            Some(connection) if connection.stage == Stage::Established => {
                timeout_ns::TCP_ESTABLISHED
            }
            Some(_) => timeout_ns::TCP_NEW,
            None if self.seen_from_client && self.seen_from_server => timeout_ns::OTHER_ESTABLISHED,
            None => timeout_ns::OTHER_NEW,
        }
    }

    /// Whether a packet at this time belongs to another flow between the same
    /// ends. Time may go back from one capture to the next, and within one by
    /// a little.
    fn is_over(&self, segment: Option<Segment>, now_ns: u64) -> bool {
        let reopened = match (&self.connection, segment) {
            (Some(connection), Some(segment)) => segment.is_syn() && connection.gives_way(),
            _ => false,
        };
        reopened || now_ns.abs_diff(self.last_seen_ns) > self.timeout_ns()
    }

    fn take_in(
        &mut self,
        is_reversed: bool,
        segment: Option<Segment>,
        payload: &[u8],
    ) -> FlowState {
        let direction = if is_reversed == self.client_is_reversed {
            self.seen_from_client = true;
            Direction::ToServer
        } else {
            self.seen_from_server = true;
            Direction::ToClient
        };
        let may_tell = self.application.is_none() && !payload.is_empty();
        let is_established = match (&mut self.connection, segment) {
            (Some(connection), Some(segment)) => {
                connection.advance(segment, direction);
                if may_tell && connection.is_first_data(segment, direction) {
                    self.application = application::of_stream(payload, direction);
                }
                connection.stage == Stage::Established
            }
            _ => {
                if may_tell && self.key.protocol == UDP {
                    self.application = application::of_datagram(payload);
                }
                self.seen_from_client && self.seen_from_server
            }
        };
        FlowState {
            direction: Some(direction),
            is_established,
            application: self.application,
        }
    }
}

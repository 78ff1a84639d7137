//! One flow: its state, and its streams.

use weir_packet::wire::FlowKey;
use weir_packet::wire::protocol::UDP;

use super::FlowRecord;
use super::identification;
use super::stream::{Arrival, Keeping, Stream};
use super::tcp::{Connection, FIN, RST, Segment, Stage, Taken, URG, Unacceptable};
use super::{FlowLimits, FlowState, StreamSizes};
use crate::ahead::{HostPolicy, Overlap};
use crate::application::AppProtocol;
use crate::checksum::Sum;
use crate::direction::Direction;
use crate::message::{Conversation, Event};
use crate::packet::Packet;
use crate::payload::Text;

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

/// Most first bytes of a stream by which its protocol is identified.
const MAX_TELLING_BYTES: usize = 1024;
/// The bits that rules set in a flow (`flowbits`), ascending: at most those that the
/// rules name.
#[derive(Debug, Default)]
pub(crate) struct FlowBits(Vec<u32>);

impl FlowBits {
    pub(crate) fn is_set(&self, bit: u32) -> bool {
        self.0.binary_search(&bit).is_ok()
    }

    pub(crate) fn put(&mut self, bit: u32, is_set: bool) {
        match (self.0.binary_search(&bit), is_set) {
            (Ok(at), false) => {
                self.0.remove(at);
            }
            (Err(at), true) => self.0.insert(at, bit),
            (Ok(_), true) | (Err(_), false) => {}
        }
    }
}

/// Both directions of a connection, and what they say to each other.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) to_server: Stream,
    pub(crate) to_client: Stream,
    conversation: Option<Conversation>,
    /// The protocol is known, and messages are read if it has any.
    is_told: bool,
    /// Where its conversation begins, where that is in a tunnel.
    start: Option<Box<Start>>,
}

/// Where the conversation in a tunnel begins.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    to_server: u64,
    to_client: u64,
    /// Transactions in front of it.
    transactions: u64,
}

impl Streams {
    /// One direction, and the messages of both.
    pub(crate) fn of(&mut self, direction: Direction) -> (&mut Stream, Option<&Conversation>) {
        let stream = match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        };
        (stream, self.conversation.as_ref())
    }

    /// Hands what a segment brought to both directions to the parser of messages. `notify` gets
    /// each event and what is in sight of the stream.
    pub(crate) fn converse(
        &mut self,
        arrivals: &[(Direction, &Arrival)],
        application: Option<AppProtocol>,
        notify: &mut dyn FnMut(Event<'_>, Text<'_>),
    ) {
        let Streams {
            to_server,
            to_client,
            conversation,
            is_told,
            start,
        } = self;
        let start = start.as_deref().copied().unwrap_or_default();
        let stream = |direction| match direction {
            Direction::ToServer => (&*to_server, start.to_server),
            Direction::ToClient => (&*to_client, start.to_client),
        };
        let is_new = !*is_told && application.is_some();
        if let (true, Some(application)) = (is_new, application) {
            *is_told = true;
            *conversation = Conversation::new(application, start.transactions);
            if let Some(conversation) = conversation {
                for direction in [Direction::ToServer, Direction::ToClient] {
                    let (stream, start) = stream(direction);
                    let text = stream.text();
                    if text.base > start {
                        conversation.skip_gap(direction, &mut |event| notify(event, text));
                    }
                    let bytes = stream.from(start);
                    conversation.feed(direction, bytes, &mut |event| notify(event, text));
                }
            }
        }
        if let Some(conversation) = conversation {
            for (direction, arrival) in arrivals {
                let direction = *direction;
                let text = stream(direction).0.text();
                if arrival.after_gap && !is_new {
                    conversation.skip_gap(direction, &mut |event| notify(event, text));
                }
                if arrival.new_bytes > 0 && !is_new {
                    let new = &text.bytes[text.bytes.len() - arrival.new_bytes..];
                    conversation.feed(direction, new, &mut |event| notify(event, text));
                }
                if arrival.is_last {
                    conversation.stop(direction, &mut |event| notify(event, text));
                }
            }
        }
        if let Some(tunnel) = conversation.as_ref().and_then(Conversation::tunnel) {
            let start_of =
                |stream: &Stream, bytes: usize| stream.end().saturating_sub(bytes as u64);
            self.start = Some(Box::new(Start {
                to_server: start_of(&self.to_server, tunnel.bytes_to_server),
                to_client: start_of(&self.to_client, tunnel.bytes_to_client),
                transactions: tunnel.transactions,
            }));
            self.conversation = None;
            self.is_told = false;
        }
    }

    /// Whether what is spoken in a tunnel is yet to be told.
    fn has_entered_tunnel(&self) -> bool {
        !self.is_told && self.start.is_some()
    }

    /// The bytes of a stream that may identify its protocol, if they did not before its last
    /// `new_bytes`.
    fn telling(&self, direction: Direction, new_bytes: usize) -> Option<&[u8]> {
        let start = self.start.as_deref().copied().unwrap_or_default();
        let (stream, start) = match direction {
            Direction::ToServer => (&self.to_server, start.to_server),
            Direction::ToClient => (&self.to_client, start.to_client),
        };
        let bytes = stream.from(start);
        let is_begun = stream.base() <= start;
        let known_bytes = bytes.len().saturating_sub(new_bytes);
        (is_begun && known_bytes < MAX_TELLING_BYTES).then_some(bytes)
    }

    /// Whether more of either stream may identify the protocol.
    fn may_tell(&self) -> bool {
        let both = [Direction::ToServer, Direction::ToClient];
        both.iter()
            .any(|direction| self.telling(*direction, 0).is_some())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let conversation = self.conversation.as_ref();
        size_of::<Streams>()
            + self.to_server.memory_bytes()
            + self.to_client.memory_bytes()
            + conversation.map_or(0, Conversation::memory_bytes)
    }
}

/// What a packet brought to its flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Brought {
    pub(crate) state: FlowState,
    /// To the stream of its direction.
    pub(crate) arrival: Arrival,
    /// To the other one, by what it acknowledges.
    pub(crate) answered: Arrival,
    /// A rule dropped its flow.
    pub(crate) is_dropped: bool,
    /// Why the receiver would refuse the packet.
    pub(crate) refused: Option<Unacceptable>,
    /// Sequence number that the receiver expects next, without this packet.
    pub(crate) receiver_next: Option<u32>,
}

/// Of the two directions of a flow the one that sorts first, and the network
/// that its addresses are of.
pub(super) type Key = (FlowKey, u64);

pub(crate) struct Flow {
    pub(super) key: Key,
    pub(super) last_seen_ns: u64,
    /// The client sends in the direction opposite to `key`.
    client_is_reversed: bool,
    seen_from_client: bool,
    seen_from_server: bool,
    /// Of packets from the client, and from the server: some came with a whole
    /// checksum, so that their host does not leave it to its network card.
    sums: (bool, bool),
    /// Found again since the clock's hand came by. A flow of one packet is
    /// not, so that a flood of them only evicts its own.
    pub(super) is_recent: bool,
    connection: Option<Connection>,
    application: Option<AppProtocol>,
    pub(crate) bits: FlowBits,
    /// Not there before the connection is established, and after its memory
    /// was needed elsewhere.
    pub(crate) streams: Option<Box<Streams>>,
    /// The streams were given up.
    pub(super) is_shed: bool,
    /// A rule dropped it: its packets are not forwarded any more.
    pub(crate) is_dropped: bool,
    /// A rule passed it: no rule is tried for its packets any more.
    pub(crate) is_passed: bool,
    /// What the table knows of the streams' memory.
    pub(super) memory_bytes: usize,
    start_ns: u64,
    /// Packets and bytes to the server, and to the client.
    to_server: (u64, u64),
    to_client: (u64, u64),
}

impl Flow {
    pub(super) fn new(
        key: Key,
        is_reversed: bool,
        segment: Option<Segment>,
        now_ns: u64,
        picks_up: bool,
    ) -> Flow {
        let first_is_from_server = segment.is_some_and(Segment::is_syn_ack);
        Flow {
            key,
            last_seen_ns: now_ns,
            client_is_reversed: is_reversed != first_is_from_server,
            seen_from_client: false,
            seen_from_server: false,
            sums: (false, false),
            is_recent: false,
            connection: segment.map(|segment| Connection::new(segment, picks_up)),
            application: None,
            bits: FlowBits::default(),
            streams: None,
            is_shed: false,
            is_dropped: false,
            is_passed: false,
            memory_bytes: 0,
            start_ns: now_ns,
            to_server: (0, 0),
            to_client: (0, 0),
        }
    }

    /// Lets it pass: nobody looks at its streams any more.
    pub(crate) fn pass(&mut self) {
        (self.is_passed, self.is_shed) = (true, true);
        self.streams = None;
    }

    /// What there is to tell of it with a packet that goes this way.
    pub(crate) fn record(&self, direction: Direction) -> FlowRecord {
        FlowRecord {
            id: self.id(),
            direction,
            application: self.application,
            start_ns: self.start_ns,
            packets_to_server: self.to_server.0,
            packets_to_client: self.to_client.0,
            bytes_to_server: self.to_server.1,
            bytes_to_client: self.to_client.1,
        }
    }

    /// [`FlowRecord::id`].
    pub(crate) fn id(&self) -> u64 {
        let words = self.key.0.words().map(u64::from);
        let hash = words.iter().fold(self.start_ns, |hash, word| {
            let product = u128::from((hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15))
                * u128::from(0xd6e8_feb8_6659_fd93_u64);
            (product >> 64) as u64 ^ product as u64
        });
        hash >> 11
    }

    /// Packets of both ends.
    pub(crate) fn packets(&self) -> u64 {
        self.to_server.0 + self.to_client.0
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
    pub(super) fn is_over(&self, segment: Option<Segment>, now_ns: u64) -> bool {
        let reopened = match (&self.connection, segment) {
            (Some(connection), Some(segment)) => segment.is_syn() && connection.gives_way(),
            _ => false,
        };
        reopened || now_ns.abs_diff(self.last_seen_ns) > self.timeout_ns()
    }

    /// The SYN of a new connection between the same ends, if the segment takes
    /// one, and whether that went against `key`.
    pub(super) fn reopened_by(&self, segment: Option<Segment>) -> Option<(Segment, bool)> {
        let (syn, direction) = self.connection.as_ref()?.reopened_by(segment?)?;
        let is_from_client = direction == Direction::ToServer;
        Some((syn, is_from_client == self.client_is_reversed))
    }

    /// Whether a packet has a checksum as if left to a network card, and its host does not do that.
    pub(super) fn is_damaged(&self, is_reversed: bool, sum: Sum) -> bool {
        let has_sum = match is_reversed == self.client_is_reversed {
            true => self.sums.0,
            false => self.sums.1,
        };
        sum == Sum::Partial && has_sum
    }

    pub(super) fn take_in(
        &mut self,
        is_reversed: bool,
        segment: Option<Segment>,
        packet: &Packet<'_>,
        sum: Sum,
        (limits, policies): (&FlowLimits, &[HostPolicy]),
    ) -> Brought {
        let payload = packet.headers.payload(packet.bytes);
        let picks_up = limits.midstream;
        if self.is_damaged(is_reversed, sum) {
            return Brought {
                refused: Some(Unacceptable::Checksum),
                ..Brought::default()
            };
        }
        let is_whole = sum == Sum::Whole;
        let direction = if is_reversed == self.client_is_reversed {
            self.sums.0 |= is_whole;
            Direction::ToServer
        } else {
            self.sums.1 |= is_whole;
            Direction::ToClient
        };
        let sums = match direction {
            Direction::ToServer => {
                self.seen_from_client = true;
                &mut self.to_server
            }
            Direction::ToClient => {
                self.seen_from_server = true;
                &mut self.to_client
            }
        };
        *sums = (sums.0 + 1, sums.1 + packet.captured_bytes());
        let mut brought = Brought::default();
        if self.is_dropped {
            // The receiver does not see it.
            brought.is_dropped = true;
            return brought;
        }
        let both_spoke = self.seen_from_client && self.seen_from_server;
        let is_established = match (&mut self.connection, segment) {
            (Some(connection), Some(segment)) => {
                let streams = self.streams.as_deref_mut();
                let stream = streams.map(|streams| streams.of(direction).0);
                let has_gap = stream.as_ref().is_some_and(|stream| stream.has_gap());
                let expected = stream.and_then(|stream| stream.next_sequence());
                let was_open = connection.stage != Stage::Opening;
                if picks_up && !was_open {
                    connection.pick_up_one_side(segment, direction);
                }
                let taken = connection.take(segment, direction, expected, has_gap);
                let has_stream = connection.stage == Stage::Established
                    || picks_up && connection.stage == Stage::Midstream;
                match taken {
                    Ok(taken) if has_stream && !self.is_shed => {
                        let keeping = Keeping {
                            overlap: self.overlap_at_receiver(direction, policies),
                            ahead_bytes: limits.ahead_bytes,
                        };
                        self.take_segment(
                            (segment, taken),
                            direction,
                            payload,
                            &keeping,
                            &mut brought,
                        );
                    }
                    Err(refusal) if has_stream => {
                        brought.refused = Some(refusal);
                        brought.arrival.is_in_stream = true;
                        self.doubt(segment, direction, payload, refusal);
                    }
                    _ => {}
                }
                // As in Suricata, the packet that ends the handshake is not yet part of what
                // is established, but its data are.
                has_stream && brought.refused.is_none() && (was_open || !payload.is_empty())
            }
            _ => {
                if self.application.is_none() && !payload.is_empty() && self.key.0.protocol == UDP {
                    self.application = identification::of_datagram(payload);
                }
                both_spoke
            }
        };
        brought.state = FlowState {
            direction: Some(direction),
            is_established,
            application: self.application,
            may_be_told: self.application.is_none()
                && self
                    .streams
                    .as_ref()
                    .is_some_and(|streams| streams.may_tell()),
            sizes: self.streams.as_ref().map(|streams| StreamSizes {
                from_client: 1 + streams.to_server.next(),
                from_server: 1 + streams.to_client.next(),
            }),
        };
        brought
    }

    /// How the receiver of a direction keeps overlapping segments.
    fn overlap_at_receiver(&self, direction: Direction, policies: &[HostPolicy]) -> Overlap {
        let key = &self.key.0;
        let goes_with_key = (direction == Direction::ToServer) != self.client_is_reversed;
        let receiver = if goes_with_key {
            key.destination
        } else {
            key.source
        };
        HostPolicy::overlap_at(policies, key.ip_version, receiver)
    }

    /// Keeps the payload of a segment that is refused for what may not have been
    /// seen: it counts where the receiver acknowledges it.
    fn doubt(
        &mut self,
        segment: Segment,
        direction: Direction,
        payload: &[u8],
        refusal: Unacceptable,
    ) {
        let depends_on_others = matches!(
            refusal,
            Unacceptable::Acknowledgement | Unacceptable::Window
        );
        if let (true, Some(streams)) = (depends_on_others, &mut self.streams) {
            streams.of(direction).0.doubt(segment.first_byte(), payload);
        }
    }

    /// Puts a segment into its stream.
    fn take_segment(
        &mut self,
        (segment, taken): (Segment, Taken),
        direction: Direction,
        payload: &[u8],
        keeping: &Keeping,
        brought: &mut Brought,
    ) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let streams = self.streams.get_or_insert_default();
        for side in [Direction::ToServer, Direction::ToClient] {
            if let Some(first) = connection.first_sequence(side) {
                streams.of(side).0.open(first);
            }
        }
        let first = segment.first_byte();
        let stream = streams.of(direction).0;
        stream.open(first);
        brought.receiver_next = stream.next_sequence();
        let is_whole = taken == Taken::Whole;
        if is_whole && segment.flags & URG != 0 {
            stream.note_urgent(segment.sequence.wrapping_add(segment.urgent.into()));
        }
        let has_end = segment.flags & FIN != 0;
        brought.arrival = stream.segment(first, payload, has_end, keeping);
        if is_whole && segment.acknowledges() {
            let (other, _) = streams.of(direction.opposite());
            brought.answered = other.acknowledged(segment.acknowledgement);
        }
        let is_finished = |streams: &mut Streams, side| streams.of(side).0.is_finished();
        if is_finished(streams, Direction::ToServer) && is_finished(streams, Direction::ToClient) {
            connection.is_closed = true;
        }
        let (stream, _) = streams.of(direction);
        brought.arrival.is_last = stream.is_finished() || segment.flags & RST != 0;
        let new_bytes = brought.arrival.new_bytes;
        if streams.has_entered_tunnel() {
            self.application = None;
        }
        if self.application.is_none() && new_bytes > 0 {
            let first = streams.telling(direction, new_bytes);
            self.application = first.and_then(|first| identification::of_stream(first, direction));
        }
    }
}

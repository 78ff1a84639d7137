//! What an end of a TCP connection takes, as seen from the side (RFC 9293,
//! section 3.10.7; RFC 5961; RFC 7323, section 5).
//!
//! ```text
//!  of one end's sequence numbers:
//!
//!  acknowledged     expected         sent            edge
//!  ─────┼──────────────┼───────────────┼───────────────┼─────
//!   by the other    in order at     highest that    of the window
//!       end         this place      was sent        that it was given
//! ```
//!
//! A segment that the receiver would refuse is refused here: whoever can send
//! packets must not be able to move the sensor's view of a connection away from
//! that of its ends. What cannot be known, because packets were not seen, is
//! not held against a segment.

use weir_packet::wire::Headers;

use crate::direction::Direction;

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const URG: u8 = 0x20;

/// Most SYNs of one end that are remembered until the other end acknowledges one.
const MAX_SYNS: usize = 4;
/// Farthest place from the expected one that is believed where no window is
/// known.
const MAX_DISTANCE_BYTES: u32 = 1 << 24;
/// Most sequence numbers that refused segments are believed to lie in.
const MAX_CLAIMED_BYTES: u32 = 1 << 30;
/// Largest window of a connection without window scaling.
const MAX_UNSCALED_WINDOW: u32 = 65_535;
/// How far a timestamp may be behind the newest: Linux lets one tick pass. A newest one of zero counts as none.
const MAX_TIMESTAMP_LAG: i32 = 1;
/// Largest shift of a window (RFC 7323, section 2.3).
const MAX_SCALE: u8 = 14;

/// Why a packet, or a segment of a connection, is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    /// Neither ACK nor SYN nor RST.
    NoAck,
    /// Its timestamp is older than the newest (PAWS).
    Timestamp,
    /// It is signed where the connection is not, or not where that is (RFC 2385).
    Signature,
    /// It lies behind the receiver's window.
    Window,
    /// A RST without the expected sequence number.
    Reset,
    /// A SYN inside a connection, or one that no SYN of the handshake fits.
    Syn,
    /// It acknowledges what was never sent, or what was acknowledged long ago.
    Acknowledgement,
    /// Its checksum is wrong.
    Checksum,
    /// Its IP or UDP length is false.
    Length,
    /// Its IP options or extension headers are not taken.
    IpOptions,
}

/// What the receiver takes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Whole,
    /// Its bytes, should they be missing here: all of it lies in front of what was acknowledged, and
    /// nothing else that it says counts.
    Payload,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its beginning was not seen.
    Midstream,
    /// A SYN was seen, and not all of the handshake.
    Opening,
    /// Each end acknowledged the other's SYN.
    Established,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stage: Stage,
    /// Whether a reset was seen, or all of both directions.
    pub(super) is_closed: bool,
    client: End,
    server: End,
    /// A SYN that came while the connection was open. If the other end takes
    /// it, a new connection has begun.
    reopening: Option<Box<(Segment, Direction)>>,
}

/// What is known of the sequence numbers of one end.
#[derive(Debug, Default)]
struct End {
    /// SYNs of which the other end may take one.
    syns: Box<[Syn]>,
    /// The one that it took, without its data.
    syn: Option<Syn>,
    /// Behind the last byte that it sent.
    sent: Option<u32>,
    /// Behind the last byte that the other end acknowledged.
    acknowledged: Option<u32>,
    /// Right edge of the window that the other end gave.
    edge: Option<u32>,
    /// The window that it gave last, and the widest.
    window: u32,
    widest_window: u32,
    /// Newest timestamp.
    timestamp: Option<u32>,
    has_finished: bool,
    /// Of segments that were refused since the last that was taken.
    claim: Option<Box<Claim>>,
}

/// What refused segments of one end say of both: true where packets in front of them were not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    /// From the first of its own sequence numbers to behind the last.
    first: u32,
    end: u32,
    /// The first of the numbers that the other end is said to have reached.
    acknowledgement: u32,
    /// Right edge of the window that is given to it.
    edge: u32,
}

/// A SYN, or SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Syn {
    isn: u32,
    data_bytes: u32,
    options: Options,
}

/// What a segment says in its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    scale: Option<u8>,
    timestamp: Option<u32>,
    is_signed: bool,
}

/// The fields of a TCP header that say what becomes of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) flags: u8,
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    payload_bytes: u32,
    pub(super) urgent: u16,
    window: u16,
    header_bytes: u8,
    options: Options,
}

impl Segment {
    pub(super) fn from_headers(headers: &Headers, bytes: &[u8]) -> Segment {
        let transport = headers.transport(bytes);
        let Some(header) = transport.first_chunk::<20>() else {
            return Segment::default();
        };
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let options = transport.get(20..usize::from(header[12] >> 4) * 4);
        Segment {
            flags: headers.tcp_flags,
            sequence: word(4),
            acknowledgement: word(8),
            payload_bytes: headers.payload(bytes).len() as u32,
            urgent: u16::from_be_bytes([header[18], header[19]]),
            window: u16::from_be_bytes([header[14], header[15]]),
            header_bytes: (header[12] >> 4) * 4,
            options: Options::read(options.unwrap_or_default()),
        }
    }

    /// Sequence number of the first byte of the payload.
    pub(super) fn first_byte(self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.flags & SYN != 0))
    }

    /// Sequence number behind the payload.
    pub(super) fn behind_payload(self) -> u32 {
        self.first_byte().wrapping_add(self.payload_bytes)
    }

    fn end(self) -> u32 {
        self.behind_payload()
            .wrapping_add(u32::from(self.flags & FIN != 0))
    }

    pub(super) fn acknowledges(self) -> bool {
        self.has(ACK, SYN | RST)
    }

    fn has(self, set: u8, clear: u8) -> bool {
        self.flags & (set | clear) == set
    }

    pub(super) fn is_syn(self) -> bool {
        self.has(SYN, ACK | RST | FIN)
    }

    pub(super) fn is_syn_ack(self) -> bool {
        self.has(SYN | ACK, RST | FIN)
    }
}

impl Options {
    /// Reads window scale and timestamp (RFC 7323, sections 2.2 and 3.2), and looks for
    /// a signature (RFC 2385, section 3.0).
    fn read(mut options: &[u8]) -> Options {
        let mut read = Options::default();
        loop {
            options = match options {
                [1, rest @ ..] => rest,
                [8, 10, a, b, c, d, _, _, _, _, rest @ ..] => {
                    read.timestamp = Some(u32::from_be_bytes([*a, *b, *c, *d]));
                    rest
                }
                [3, 3, scale, rest @ ..] => {
                    read.scale = Some((*scale).min(MAX_SCALE));
                    rest
                }
                [19, 18, signed @ ..] if signed.len() >= 16 => {
                    read.is_signed = true;
                    &signed[16..]
                }
                [2..=255, length @ 2..=255, ..] => match options.get(usize::from(*length)..) {
                    Some(rest) => rest,
                    None => return read,
                },
                _ => return read,
            };
        }
    }
}

/// Whether a sequence number lies behind another. Of two that are half of all numbers apart, each
/// lies behind the other, as for Linux.
fn is_after(sequence: u32, other: u32) -> bool {
    (other.wrapping_sub(sequence) as i32) < 0
}

fn later(one: Option<u32>, other: u32) -> u32 {
    one.filter(|one| is_after(*one, other)).unwrap_or(other)
}

impl End {
    fn has_timestamps(&self) -> bool {
        self.syn.is_some_and(|syn| syn.options.timestamp.is_some())
    }

    /// The window that a segment of this end gives the other one.
    fn window_of(&self, segment: &Segment, other: &End) -> u32 {
        let scale = match (self.syn, other.syn) {
            (Some(own), Some(other)) => own.options.scale.zip(other.options.scale),
            _ => None,
        };
        u32::from(segment.window) << scale.map_or(0, |(own, _)| own)
    }

    /// Whether a segment of this end, next in order, is as Linux foresees it: data, the
    /// window that was given last, and no options but the timestamps that were agreed on.
    /// It takes such data before it looks at what they acknowledge
    /// (`tcp_rcv_established`).
    fn is_foreseen(&self, segment: &Segment, other: &End) -> bool {
        let has_timestamps = self.has_timestamps() && other.has_timestamps();
        segment.payload_bytes > 0
            && segment.flags & !PSH == ACK
            && segment.header_bytes == if has_timestamps { 32 } else { 20 }
            && self.window_of(segment, other) == other.window
    }

    /// Remembers what a refused segment says.
    fn claim(&mut self, segment: Segment, edge: u32) {
        let (first, end) = (segment.sequence, segment.end());
        let new = Claim {
            first,
            end,
            acknowledgement: segment.acknowledgement,
            edge,
        };
        match &mut self.claim {
            Some(known) if end.wrapping_sub(known.first) <= MAX_CLAIMED_BYTES => {
                known.end = later(Some(known.end), end);
                known.edge = later(Some(known.edge), edge);
            }
            Some(known) => **known = new,
            None => self.claim = Some(Box::new(new)),
        }
    }

    /// Remembers a SYN; of too many the newest takes the place of the last.
    fn offer(&mut self, segment: Segment) {
        let syn = Syn {
            isn: segment.sequence,
            data_bytes: segment.payload_bytes,
            options: segment.options,
        };
        if self.syns.is_empty() {
            self.syns = Box::new([syn]);
            return;
        }
        let mut syns = std::mem::take(&mut self.syns).into_vec();
        syns.retain(|known| known.isn != syn.isn);
        syns.truncate(MAX_SYNS - 1);
        syns.push(syn);
        self.syns = syns.into();
    }

    /// The other end acknowledges a SYN, perhaps with data in it or behind it.
    /// Says whether there is one that fits.
    fn confirm(&mut self, acknowledgement: u32) -> bool {
        let fits = |syn: &&Syn| {
            let behind = acknowledgement.wrapping_sub(syn.isn);
            let sent = self.sent.map_or(0, |sent| sent.wrapping_sub(syn.isn));
            let sent = if sent <= MAX_UNSCALED_WINDOW { sent } else { 0 };
            (1..=(1 + syn.data_bytes).max(sent)).contains(&behind)
        };
        let Some(syn) = self.syns.iter().rev().find(fits).copied() else {
            return false;
        };
        if self.syn.is_none_or(|known| known.isn != syn.isn) {
            self.sent = Some(later(self.sent, acknowledgement));
            self.timestamp = syn.options.timestamp;
        }
        self.syn = Some(syn);
        self.acknowledged = Some(acknowledgement);
        true
    }

    /// It goes on behind a SYN that was not seen to be acknowledged.
    fn note_sent(&mut self, segment: Segment) {
        let behind = |syn: &Syn| segment.sequence.wrapping_sub(syn.isn);
        if (self.syns.iter()).any(|syn| (1..=MAX_UNSCALED_WINDOW).contains(&behind(syn))) {
            self.sent = Some(later(self.sent, segment.end()));
        }
    }

    /// Whether nobody sends that acknowledgement any more (RFC 5961, section 5.2), nor ever did where
    /// it lies in front of the first byte.
    fn is_long_ago(&self, acknowledgement: u32) -> bool {
        let Some(known) = self
            .acknowledged
            .filter(|known| is_after(*known, acknowledgement))
        else {
            return false;
        };
        let most = match self.syn {
            Some(syn) => {
                let acknowledged_bytes = known.wrapping_sub(syn.isn.wrapping_add(1));
                self.widest_window.min(acknowledged_bytes)
            }
            None => self.widest_window.max(MAX_UNSCALED_WINDOW),
        };
        known.wrapping_sub(acknowledgement) > most
    }

    /// The other end gives a window from an acknowledgement on.
    fn give(&mut self, acknowledgement: u32, window: u32) {
        let edge = acknowledgement.wrapping_add(window);
        self.edge = Some(later(self.edge, edge));
        self.window = window;
        self.widest_window = self.widest_window.max(window);
    }
}

impl Connection {
    /// A connection at the moment of its first packet. With `picks_up`, a
    /// SYN-ACK tells of the SYN that it takes.
    pub(super) fn new(first: Segment, picks_up: bool) -> Connection {
        let mut connection = Connection {
            stage: Stage::Midstream,
            is_closed: false,
            client: End::default(),
            server: End::default(),
            reopening: None,
        };
        let taken = Segment {
            sequence: first.acknowledgement.wrapping_sub(1),
            ..first
        };
        if first.is_syn() || first.is_syn_ack() && picks_up {
            connection.stage = Stage::Opening;
            let syn = if first.is_syn() { first } else { taken };
            connection.client.offer(syn);
        }
        connection
    }

    /// Where one end alone is seen, its second packet tells that the other took
    /// its SYN.
    pub(super) fn pick_up_one_side(&mut self, segment: Segment, direction: Direction) {
        let (from, to) = self.ends(direction);
        let is_unseen = to.syns.is_empty() && to.syn.is_none() && from.syn.is_none();
        let behind = |syn: &&Syn| segment.sequence.wrapping_sub(syn.isn);
        let fits = |syn: &&Syn| (1..=1 + syn.data_bytes).contains(&behind(syn));
        if is_unseen
            && segment.acknowledges()
            && let Some(syn) = from.syns.iter().find(fits).copied()
        {
            from.syn = Some(syn);
            to.syn = Some(Syn {
                isn: segment.acknowledgement.wrapping_sub(1),
                data_bytes: 0,
                options: Options::default(),
            });
            self.stage = Stage::Established;
        }
    }

    /// Whether a SYN now belongs to a new connection between the same ends.
    pub(super) fn gives_way(&self) -> bool {
        self.is_closed || self.stage == Stage::Midstream
    }

    /// The SYN that came while the connection was open, and which way it went, if
    /// the segment is the SYN-ACK that takes it.
    pub(super) fn reopened_by(&self, segment: Segment) -> Option<(Segment, Direction)> {
        let (syn, direction) = **self.reopening.as_ref()?;
        let takes_it =
            segment.is_syn_ack() && segment.acknowledgement == syn.sequence.wrapping_add(1);
        takes_it.then_some((syn, direction))
    }

    fn ends(&mut self, direction: Direction) -> (&mut End, &mut End) {
        match direction {
            Direction::ToServer => (&mut self.client, &mut self.server),
            Direction::ToClient => (&mut self.server, &mut self.client),
        }
    }

    /// First sequence number of a direction's stream, once the handshake is over.
    pub(super) fn first_sequence(&self, direction: Direction) -> Option<u32> {
        let end = match direction {
            Direction::ToServer => &self.client,
            Direction::ToClient => &self.server,
        };
        Some(end.syn?.isn.wrapping_add(1))
    }

    /// Takes in a further packet, or the first. `expected` is the sequence number
    /// that comes next in its direction, and `has_gap` says that something is there
    /// behind it.
    ///
    /// # Errors
    /// Its receiver would refuse it.
    pub(super) fn take(
        &mut self,
        segment: Segment,
        direction: Direction,
        expected: Option<u32>,
        has_gap: bool,
    ) -> Result<Taken, Unacceptable> {
        match self.stage {
            Stage::Opening => self.shake_hands(segment, direction),
            Stage::Midstream | Stage::Established => {
                let judged = self.judge(segment, direction, expected, has_gap);
                match judged {
                    Err(Unacceptable::Window | Unacceptable::Acknowledgement)
                        if self.agree(segment, direction) =>
                    {
                        self.judge(segment, direction, expected, has_gap)
                    }
                    _ => judged,
                }
            }
        }
    }

    /// Whether both ends say that they are further than was seen: what was refused of the other end
    /// is acknowledged by this segment, which goes on where that says. Either alone may be forged;
    /// of both, packets were not seen.
    fn agree(&mut self, segment: Segment, direction: Direction) -> bool {
        let (from, to) = self.ends(direction);
        let goes_on = |claim: &Claim| {
            let acknowledged_bytes = segment.acknowledgement.wrapping_sub(claim.first);
            !is_after(claim.acknowledgement, segment.sequence)
                && !is_after(segment.sequence, claim.edge)
                && acknowledged_bytes <= claim.end.wrapping_sub(claim.first)
        };
        match to.claim.take_if(|claim| goes_on(claim)) {
            Some(claim) => {
                to.sent = Some(later(to.sent, claim.end));
                from.acknowledged = Some(later(from.acknowledged, claim.acknowledgement));
                from.edge = Some(later(from.edge, claim.edge));
                true
            }
            None => {
                if segment.acknowledges() && !to.is_long_ago(segment.acknowledgement) {
                    let window = from.window_of(&segment, to);
                    from.claim(segment, segment.acknowledgement.wrapping_add(window));
                }
                false
            }
        }
    }

    /// The handshake, in whatever way: simultaneous, split, with several SYNs of
    /// either end. It is over when each end has acknowledged a SYN of the other.
    fn shake_hands(
        &mut self,
        segment: Segment,
        direction: Direction,
    ) -> Result<Taken, Unacceptable> {
        let (from, to) = self.ends(direction);
        if segment.flags & RST != 0 {
            let refuses_syn = segment.flags & ACK != 0 && to.confirm(segment.acknowledgement);
            let is_expected = from
                .syn
                .is_some_and(|syn| segment.sequence == syn.isn.wrapping_add(1));
            if !refuses_syn && !is_expected {
                return Err(Unacceptable::Reset);
            }
            self.is_closed = true;
            return Ok(Taken::Whole);
        }
        if segment.flags & SYN != 0 {
            if segment.flags & ACK != 0 {
                if !to.confirm(segment.acknowledgement) {
                    return Err(Unacceptable::Syn);
                }
                to.give(segment.acknowledgement, segment.window.into());
            }
            from.offer(segment);
        } else {
            if segment.flags & ACK == 0 {
                return Err(Unacceptable::NoAck);
            }
            let Some(syn) = from.syn else {
                // The other end's ACK was perhaps not seen.
                from.note_sent(segment);
                return Err(Unacceptable::Acknowledgement);
            };
            let place = segment.sequence.wrapping_sub(syn.isn.wrapping_add(1));
            if place > MAX_UNSCALED_WINDOW {
                return Err(Unacceptable::Window);
            }
            if !to.confirm(segment.acknowledgement) {
                return Err(Unacceptable::Acknowledgement);
            }
        }
        if from.syn.is_some() && to.syn.is_some() {
            (from.syns, to.syns) = (Box::default(), Box::default());
            self.stage = Stage::Established;
            if segment.flags & SYN == 0 {
                return self.judge(segment, direction, None, false);
            }
        }
        Ok(Taken::Whole)
    }

    /// A segment of a connection in a synchronised state.
    fn judge(
        &mut self,
        segment: Segment,
        direction: Direction,
        expected: Option<u32>,
        has_gap: bool,
    ) -> Result<Taken, Unacceptable> {
        let is_midstream = self.stage == Stage::Midstream;
        let (from, to) = self.ends(direction);
        let has = |flag| segment.flags & flag != 0;
        if !has(ACK | SYN | RST) {
            return Err(Unacceptable::NoAck);
        }
        if has(SYN) && !has(RST) {
            if is_midstream {
                return Ok(Taken::Whole);
            }
            let is_repeated = from.syn.is_some_and(|syn| syn.isn == segment.sequence);
            if segment.is_syn() && !is_repeated {
                self.reopening = Some(Box::new((segment, direction)));
            }
            return Err(Unacceptable::Syn);
        }
        let is_signed = |syn: Syn| syn.options.is_signed;
        if (from.syn).is_some_and(|syn| is_signed(syn) != segment.options.is_signed) {
            return Err(Unacceptable::Signature);
        }
        let has_timestamps = is_midstream || from.has_timestamps() && to.has_timestamps();
        let newest = from
            .timestamp
            .filter(|newest| has_timestamps && *newest != 0);
        if let (Some(newest), Some(timestamp)) = (newest, segment.options.timestamp)
            && (newest.wrapping_sub(timestamp) as i32) > MAX_TIMESTAMP_LAG
            && !has(RST)
        {
            return Err(Unacceptable::Timestamp);
        }
        let is_behind_window = match (from.edge, expected) {
            (Some(edge), _) => {
                is_after(segment.sequence, edge)
                    || segment.payload_bytes > 0 && segment.sequence == edge
            }
            (None, Some(expected)) => {
                let distance = segment.sequence.wrapping_sub(expected) as i32;
                distance.unsigned_abs() > MAX_DISTANCE_BYTES
            }
            (None, None) => false,
        };
        if is_behind_window && !has(RST) {
            return Err(Unacceptable::Window);
        }
        if has(RST) {
            if expected.is_some_and(|expected| segment.sequence != expected) {
                return Err(Unacceptable::Reset);
            }
            self.is_closed = true;
            return Ok(Taken::Whole);
        }
        if (from.acknowledged).is_some_and(|known| is_after(known, segment.end())) {
            return Ok(Taken::Payload);
        }
        let acknowledgement = segment.acknowledgement;
        let is_unsent = to.sent.is_some_and(|sent| is_after(acknowledgement, sent));
        let is_old = to.is_long_ago(acknowledgement);
        if is_old
            && !is_unsent
            && !has_gap
            && expected == Some(segment.sequence)
            && from.is_foreseen(&segment, to)
        {
            from.sent = Some(later(from.sent, segment.end()));
            return Ok(Taken::Whole);
        }
        if is_unsent || is_old {
            // Where it was sent, and not seen, the other end goes on behind it.
            return Err(Unacceptable::Acknowledgement);
        }
        let is_reordered = (to.acknowledged).is_some_and(|known| is_after(known, acknowledgement));
        if let Some(timestamp) = segment.options.timestamp
            && (from.acknowledged).is_none_or(|known| !is_after(segment.sequence, known))
            && newest.is_none_or(|newest| (newest.wrapping_sub(timestamp) as i32) <= 0)
            && !is_reordered
        {
            from.timestamp = Some(timestamp);
        }
        from.claim = None;
        from.sent = Some(later(from.sent, segment.end()));
        // Without a stream that would know, a FIN counts when it comes.
        from.has_finished |= has(FIN) && expected.is_none();
        to.acknowledged = Some(later(to.acknowledged, acknowledgement));
        if !is_midstream && to.acknowledged == Some(acknowledgement) {
            let window = from.window_of(&segment, to);
            to.give(acknowledgement, window);
        }
        self.is_closed |= self.client.has_finished && self.server.has_finished;
        Ok(Taken::Whole)
    }
}

#[cfg(test)]
mod tests;

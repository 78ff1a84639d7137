//! The reference: the two ends of a TCP connection, written from RFC 9293 (section 3.10.7), RFC 5961
//! and RFC 7323 (section 5), and where these leave a choice as Linux does it.
//!
//! What an end refuses was sent by somebody else; what it takes was sent by the other end. So the
//! numbers that an end has sent, the acknowledgements and the windows that it has given, are those
//! of the segments that the other end took.

/// Flags of a TCP header.
pub(super) mod flags {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const ACK: u8 = 0x10;
}

use flags::{ACK, FIN, RST, SYN};

/// A segment as its receiver gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub flags: u8,
    pub sequence: u32,
    pub acknowledgement: u32,
    /// In bytes, scaled.
    pub window_bytes: u32,
    pub timestamp: Option<u32>,
    pub payload: Vec<u8>,
    /// Its checksums are right, and all its fragments came.
    pub is_whole: bool,
}

impl Segment {
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sequence number behind it.
    pub fn end(&self) -> u32 {
        let marks = u32::from(self.has(SYN)) + u32::from(self.has(FIN));
        self.sequence
            .wrapping_add(self.payload.len() as u32)
            .wrapping_add(marks)
    }
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Refused,
    Taken,
    /// The connection is over: reset, or finished by both ends.
    Over,
    /// It depends on more than the segments. Nothing changed.
    InDoubt(Doubt),
}

/// Why nobody beside the path can say what becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It acknowledges bytes that its sender does not have: a packet is missing, or it is forged.
    AcknowledgesAhead,
    /// It acknowledges less than all versions of Linux take. Some take it as long as all else is in
    /// order (header prediction), some up to a window (RFC 5961, section 5.2).
    AcknowledgesLongAgo,
    /// It begins within the window and ends behind it. RFC 9293 cuts it, Linux before 6.17 keeps all
    /// of it, later versions none if the application has not read what came before. The same of a
    /// FIN at the edge; and of what the header of a segment at the edge says.
    CrossesEdge,
    /// A SYN-ACK to a SYN within the connection: its sender has forgotten the connection.
    Forgets,
    /// What is queued of it depends on whether queued segments that adjoin have become one. They
    /// have in Linux where the driver's buffers have space, and nobody else looks at the packets.
    DependsOnMerging,
}

/// A segment that waits for what is missing in front of it.
#[derive(Clone, Debug)]
struct Queued {
    sequence: u32,
    /// Behind its FIN, if it has one.
    end: u32,
    payload: Vec<u8>,
    has_fin: bool,
}

/// One end.
#[derive(Clone, Debug)]
pub struct Host {
    pub iss: u32,
    pub send_unacknowledged: u32,
    pub send_next: u32,
    /// Widest window that the other end gave.
    widest_window: u32,
    pub receive_next: u32,
    /// The newest acknowledgement that it sent.
    acknowledged: u32,
    /// Right edge of the window that it gave.
    pub given_edge: u32,
    /// Newest timestamp of the other end; `None` where these are not in use.
    pub timestamp: Option<u32>,
    queue: Vec<Queued>,
    pub delivered: Vec<u8>,
    is_finished: bool,
}

/// As Linux' `after`: of two numbers that are half of all apart, each lies behind the other.
fn is_after(sequence: u32, other: u32) -> bool {
    (other.wrapping_sub(sequence) as i32) < 0
}

fn later(one: u32, other: u32) -> u32 {
    if is_after(one, other) { one } else { other }
}

impl Host {
    fn new(
        iss: u32,
        peer_iss: u32,
        given_bytes: u32,
        got_bytes: u32,
        timestamp: Option<u32>,
    ) -> Host {
        let (sent, received) = (iss.wrapping_add(1), peer_iss.wrapping_add(1));
        Host {
            iss,
            send_unacknowledged: sent,
            send_next: sent,
            widest_window: got_bytes,
            receive_next: received,
            acknowledged: received,
            given_edge: received.wrapping_add(given_bytes),
            timestamp,
            queue: Vec::new(),
            delivered: Vec::new(),
            is_finished: false,
        }
    }

    /// First sequence number that it does not take.
    pub fn edge(&self) -> u32 {
        later(self.given_edge, self.receive_next)
    }

    /// Whether it has all that the other end sends.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Puts the payload of a segment that is taken into the stream.
    fn put(&mut self, segment: Queued) {
        let is_empty = segment.end == segment.sequence;
        if self.is_finished || is_empty || !is_after(segment.end, self.receive_next) {
            return;
        }
        if is_after(segment.sequence, self.receive_next) {
            self.queue(segment);
            return;
        }
        self.deliver(&segment);
        // `tcp_ofo_queue`
        while !self.is_finished
            && let Some(first) = self.queue.first()
            && !is_after(first.sequence, self.receive_next)
        {
            let first = self.queue.remove(0);
            if is_after(first.end, self.receive_next) {
                self.deliver(&first);
            }
        }
    }

    fn deliver(&mut self, segment: &Queued) {
        let old = self.receive_next.wrapping_sub(segment.sequence) as usize;
        self.delivered.extend(segment.payload.iter().skip(old));
        self.receive_next = segment.end;
        self.is_finished = segment.has_fin;
    }

    /// Whether a segment is queued otherwise where some of those that adjoin are one: they cover
    /// it together, or it covers some of them only; it adjoins one, and another has its beginning,
    /// which would be covered by the two. And where it adjoins an end: in one segment with a FIN in
    /// its midst, Linux loses a byte.
    fn depends_on_merging(&self, sequence: u32, end: u32) -> bool {
        if end == sequence || !is_after(sequence, self.receive_next) {
            return false;
        }
        let new = (sequence, end);
        let covers = |one: (u32, u32), other: (u32, u32)| {
            !is_after(one.0, other.0) && !is_after(other.1, one.1)
        };
        let has_beginning =
            |other: &Queued| !is_after(other.sequence, sequence) && is_after(other.end, sequence);
        let is_begun = self.queue.iter().any(has_beginning);
        self.queue.iter().any(|first| {
            let mut members = vec![(first.sequence, first.end)];
            let mut last = first.end;
            while let Some(next) = self.queue.iter().find(|next| next.sequence == last) {
                members.push((next.sequence, next.end));
                last = next.end;
            }
            let whole = (first.sequence, last);
            let is_covered = members.iter().any(|member| covers(*member, new));
            let covers_some = members.iter().any(|member| covers(new, *member));
            let adjoins = first.end == sequence;
            adjoins && (first.has_fin || is_begun)
                || members.len() > 1
                    && ((covers(whole, new) && !is_covered) || (covers_some && !covers(new, whole)))
        })
    }

    /// `tcp_data_queue_ofo`, without merging what adjoins ([`Doubt::DependsOnMerging`]).
    fn queue(&mut self, segment: Queued) {
        let is_covered = |known: &Queued| {
            !is_after(known.sequence, segment.sequence) && !is_after(segment.end, known.end)
        };
        if self.queue.iter().any(is_covered) {
            return;
        }
        self.queue.retain(|known| {
            is_after(segment.sequence, known.sequence) || is_after(known.end, segment.end)
        });
        let behind = |known: &Queued| is_after(known.sequence, segment.sequence);
        let at = self.queue.iter().position(behind);
        self.queue.insert(at.unwrap_or(self.queue.len()), segment);
    }
}

/// A connection behind its handshake.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The client, and the server.
    pub hosts: [Host; 2],
    /// Sequence numbers of SYNs within the connection.
    syns: Vec<u32>,
    is_over: bool,
}

/// How the handshake came out.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Initial sequence numbers of client and server.
    pub iss: [u32; 2],
    /// Windows that they gave, in bytes.
    pub window_bytes: [u32; 2],
    /// Their timestamps, where both use them.
    pub timestamps: Option<[u32; 2]>,
}

impl Connection {
    pub fn new(opening: &Opening) -> Connection {
        let Opening {
            iss,
            window_bytes,
            timestamps,
        } = *opening;
        let host = |own: usize| {
            let other = 1 - own;
            let timestamp = timestamps.map(|timestamps| timestamps[other]);
            Host::new(
                iss[own],
                iss[other],
                window_bytes[own],
                window_bytes[other],
                timestamp,
            )
        };
        Connection {
            hosts: [host(0), host(1)],
            syns: Vec::new(),
            is_over: false,
        }
    }

    /// A segment from the client (0) or the server (1) comes to the other one.
    pub fn take(&mut self, from: usize, segment: &Segment) -> Outcome {
        if self.is_over {
            return Outcome::Over;
        }
        let outcome = self.judge(from, segment);
        self.is_over = outcome == Outcome::Over;
        outcome
    }

    fn judge(&mut self, from: usize, segment: &Segment) -> Outcome {
        let is_forgotten = |syns: &[u32]| {
            segment.flags & (SYN | ACK | RST) == SYN | ACK
                && syns.contains(&segment.acknowledgement.wrapping_sub(1))
        };
        let [client, server] = &mut self.hosts;
        let (sender, receiver) = match from {
            0 => (client, server),
            _ => (server, client),
        };
        if !segment.is_whole {
            return Outcome::Refused;
        }
        if is_forgotten(&self.syns) {
            return Outcome::InDoubt(Doubt::Forgets);
        }
        if segment.flags & (SYN | ACK | RST) == SYN {
            self.syns.push(segment.sequence);
        }
        if !segment.has(ACK | SYN | RST) {
            return Outcome::Refused;
        }
        // PAWS (RFC 7323, section 5.3, R1). Linux lets one tick pass, and a zero counts as none.
        if let (Some(newest @ 1..), Some(timestamp)) = (receiver.timestamp, segment.timestamp)
            && (newest.wrapping_sub(timestamp) as i32) > 1
            && !segment.has(RST)
        {
            return Outcome::Refused;
        }
        // RFC 9293, section 3.10.7.4: the window, RST, SYN, and ACK.
        let (end, edge) = (segment.end(), receiver.edge());
        if is_after(receiver.acknowledged, end) || is_after(segment.sequence, edge) {
            return Outcome::Refused;
        }
        if segment.has(RST) {
            return match segment.sequence == receiver.receive_next {
                true => Outcome::Over,
                false => Outcome::Refused,
            };
        }
        if segment.has(SYN) {
            return Outcome::Refused;
        }
        let acknowledgement = segment.acknowledgement;
        if is_after(acknowledgement, receiver.send_next) {
            return Outcome::Refused;
        }
        if is_after(acknowledgement, sender.receive_next) {
            return Outcome::InDoubt(Doubt::AcknowledgesAhead);
        }
        // RFC 5961, section 5.2, and never before the first byte.
        let all = receiver
            .send_unacknowledged
            .wrapping_sub(receiver.iss.wrapping_add(1));
        let back = receiver.send_unacknowledged.wrapping_sub(acknowledgement);
        let is_new = !is_after(receiver.send_unacknowledged, acknowledgement);
        if !is_new && back > all.min(receiver.widest_window) {
            return Outcome::InDoubt(Doubt::AcknowledgesLongAgo);
        }
        let is_at_edge = segment.sequence == edge;
        let given = acknowledgement.wrapping_add(segment.window_bytes);
        let says_more = acknowledgement != receiver.send_unacknowledged
            || segment.timestamp.is_some()
            || is_after(given, sender.given_edge);
        if is_after(end, edge) && (!is_at_edge || says_more || segment.payload.is_empty()) {
            return Outcome::InDoubt(Doubt::CrossesEdge);
        }
        if receiver.depends_on_merging(segment.sequence, end) {
            return Outcome::InDoubt(Doubt::DependsOnMerging);
        }
        if is_new {
            receiver.send_unacknowledged = acknowledgement;
            // RFC 7323, section 4.3: behind the last acknowledgement there is a newer one to come.
            if let (Some(newest), Some(timestamp)) = (receiver.timestamp, segment.timestamp)
                && !is_after(segment.sequence, receiver.acknowledged)
                && (newest == 0 || (newest.wrapping_sub(timestamp) as i32) <= 0)
            {
                receiver.timestamp = Some(timestamp);
            }
        }
        receiver.widest_window = receiver.widest_window.max(segment.window_bytes);
        sender.acknowledged = later(sender.acknowledged, acknowledgement);
        sender.given_edge = later(sender.given_edge, given);
        if is_at_edge && is_after(end, edge) {
            // Out of the window: what it carries is left out.
            return Outcome::Taken;
        }
        sender.send_next = later(sender.send_next, end);
        if receiver.is_finished && is_after(end, receiver.receive_next) {
            // Data behind the end (RFC 1122, section 4.2.2.13).
            return match is_after(receiver.receive_next, segment.sequence) {
                true => Outcome::Over,
                false => Outcome::Taken,
            };
        }
        receiver.put(Queued {
            sequence: segment.sequence,
            end,
            payload: segment.payload.clone(),
            has_fin: segment.has(FIN),
        });
        match self.hosts.iter().all(|host| host.is_finished) {
            true => Outcome::Over,
            false => Outcome::Taken,
        }
    }
}

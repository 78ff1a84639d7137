//! The handshake of TCP (RFC 9293, section 3.5), as seen from the side.

use weir_packet::wire::Headers;

use crate::rule::Direction;

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its beginning was not seen.
    Midstream,
    /// The client's SYN was seen.
    SynSent,
    /// The server's SYN-ACK was seen.
    SynReceived,
    /// The client's ACK was seen.
    Established,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) stage: Stage,
    /// Whether a reset was seen, or the ends of both directions.
    pub(super) is_closed: bool,
    client_finished: bool,
    server_finished: bool,
    pub(super) client_isn: u32,
    pub(super) server_isn: u32,
}

/// The fields of a TCP header that the handshake is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) flags: u8,
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
}

impl Segment {
    pub(super) fn from_headers(headers: &Headers, bytes: &[u8]) -> Segment {
        let field = |at: usize| match headers.transport(bytes).get(at..at + 4) {
            Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        };
        Segment {
            flags: headers.tcp_flags,
            sequence: field(4),
            acknowledgement: field(8),
        }
    }

    /// Sequence number of the first byte of the payload.
    pub(super) fn first_byte(self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.flags & SYN != 0))
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

impl Connection {
    /// A connection at the moment of its first packet.
    pub(super) fn new(first: Segment) -> Connection {
        let is_syn = first.is_syn();
        Connection {
            stage: if is_syn {
                Stage::SynSent
            } else {
                Stage::Midstream
            },
            is_closed: false,
            client_finished: false,
            server_finished: false,
            client_isn: if is_syn { first.sequence } else { 0 },
            server_isn: 0,
        }
    }

    /// Whether a SYN now belongs to a new connection between the same ends.
    pub(super) fn gives_way(&self) -> bool {
        self.is_closed || self.stage == Stage::Midstream
    }

    /// Takes in a further packet, or the first.
    pub(super) fn advance(&mut self, segment: Segment, direction: Direction) {
        match (self.stage, direction) {
            (Stage::SynSent, Direction::ToServer) if segment.is_syn() => {
                // Sent again, perhaps by an impatient client with a new number.
                self.client_isn = segment.sequence;
            }
            (Stage::SynSent, Direction::ToClient)
                if segment.is_syn_ack() && follows(segment.acknowledgement, self.client_isn) =>
            {
                self.server_isn = segment.sequence;
                self.stage = Stage::SynReceived;
            }
            (Stage::SynReceived, Direction::ToServer)
                if segment.has(ACK, SYN | RST)
                    && follows(segment.acknowledgement, self.server_isn) =>
            {
                self.stage = Stage::Established;
            }
            _ => {}
        }
        if segment.flags & FIN != 0 {
            match direction {
                Direction::ToServer => self.client_finished = true,
                Direction::ToClient => self.server_finished = true,
            }
        }
        self.is_closed |= segment.flags & RST != 0 || self.client_finished && self.server_finished;
    }
}

/// Whether an acknowledgement number lies after an initial sequence number.
fn follows(acknowledgement: u32, isn: u32) -> bool {
    (1..1 << 31).contains(&acknowledgement.wrapping_sub(isn))
}

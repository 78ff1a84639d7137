//! Flows: who opened them, whether they are established, what they speak.
//!
//! A flow is a pair of ends and a protocol; both directions share one entry.
//! TCP is established by its handshake, SYN, SYN-ACK and ACK with numbers
//! that fit; a connection whose beginning was not seen never is. UDP, SCTP and
//! ICMP are established when both ends have spoken. The client is the sender
//! of the SYN (the receiver of a SYN-ACK that comes first), otherwise the
//! sender of the first packet.
//!
//! The bytes of an established connection are put together again: see
//! [`stream`].
//!
//! Fragments, and packets whose transport header cannot be read, are not part
//! of any flow.

mod entry;
mod identification;
mod stream;
mod table;
mod tcp;

pub use table::FlowLimits;

pub(crate) use entry::{Brought, Flow, FlowBits};
pub(crate) use stream::{Arrival, Missing, Stream};
pub(crate) use table::FlowTable;
pub(crate) use tcp::Unacceptable;

use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::rule::FlowCondition;

/// A flow at the moment of an alert, this packet included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Identifier of the flow: the same in both directions, in every process, and another one for
    /// the next connection between the same ports. It has 53 bits, which every reader of JSON keeps.
    pub id: u64,
    /// Which way the packet that matched goes.
    pub direction: Direction,
    /// What the flow speaks, if that is known.
    pub application: Option<AppProtocol>,
    /// Time of its first packet, nanoseconds since 1970.
    pub start_ns: u64,
    /// Packets of the client.
    pub packets_to_server: u64,
    /// Packets of the server.
    pub packets_to_client: u64,
    /// Bytes of the client's packets, as they were captured; of packets in
    /// tunnels without what is around them.
    pub bytes_to_server: u64,
    /// The same of the server's.
    pub bytes_to_client: u64,
}

/// Bytes of both streams of a connection so far, by their sequence numbers: that
/// of the SYN is one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamSizes {
    pub(crate) from_client: u64,
    pub(crate) from_server: u64,
}

/// What is known of a packet's flow at the moment of this packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowState {
    /// `None` where the packet is not part of a flow.
    pub(crate) direction: Option<Direction>,
    pub(crate) is_established: bool,
    pub(crate) application: Option<AppProtocol>,
    /// The protocol is not known yet, and more of the stream may identify it.
    pub(crate) may_be_told: bool,
    /// `None` where the packet is not part of a stream.
    pub(crate) sizes: Option<StreamSizes>,
}

impl FlowCondition {
    /// Whether a packet of such a flow is meant. A packet without a flow meets
    /// no condition.
    pub(crate) fn matches(&self, state: &FlowState) -> bool {
        if state.direction.is_none() {
            return *self == FlowCondition::default();
        }
        let direction = match self.direction {
            Some(wanted) => state.direction == Some(wanted),
            None => true,
        };
        let established = match self.established {
            Some(wanted) => state.is_established == wanted,
            None => true,
        };
        direction && established
    }
}

#[cfg(test)]
mod tests;

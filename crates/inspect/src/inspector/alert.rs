//! What an inspector says.

use std::sync::Arc;

use weir_packet::wire::FlowKey;

use crate::flow::AppProtocol;
use crate::message::Transaction;
use crate::rule::Direction;

/// A flow at the moment of an alert, this packet included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
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

/// A rule that a packet matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Index of the record among those inspected together.
    pub packet: usize,
    /// Index of the rule in its set.
    pub rule: u32,
    /// Flow of the packet that matched: of what was carried through a tunnel,
    /// of the whole datagram where a fragment completed one.
    pub flow: FlowKey,
    /// First two bytes of an ICMP or ICMPv6 message: type and code.
    pub icmp: Option<(u8, u8)>,
    /// The flow so far; `None` where the packet is not part of one.
    pub flow_record: Option<FlowRecord>,
    /// The exchange of messages that matched, or was under way where a stream
    /// did; `None` where the flow has none that is understood.
    pub transaction: Option<Arc<Transaction>>,
}

//! What an inspector says.

use std::sync::Arc;

use weir_packet::wire::FlowKey;

use crate::flow::FlowRecord;
use crate::message::Transaction;

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

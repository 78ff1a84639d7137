//! What an inspector says.

use weir_packet::wire::FlowKey;

/// A rule that a packet matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

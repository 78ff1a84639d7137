//! What an inline inspector decides about packets.

use crate::reject::Reply;
use crate::rule::RejectTo;

weir_stream::drop_reasons! {
    /// Why an inline inspector drops packets.
    pub enum InspectDrop {
        /// An inspection rule with the action drop matched it.
        RuleDrop = "rule_drop",
        /// An inspection rule with the action reject matched it.
        RuleReject = "rule_reject",
        /// An inspection rule dropped its flow with an earlier packet.
        FlowDropped = "flow_dropped",
        /// An inspection rule dropped the datagram of which it is a fragment.
        DatagramDropped = "datagram_dropped",
        /// A fragment that contradicts others of its datagram, or for which there is no space.
        FragmentRefused = "fragment_refused",
        /// A checksum is wrong.
        ChecksumWrong = "checksum_wrong",
        /// Its IP or UDP header claims more bytes than it has.
        LengthWrong = "length_wrong",
        /// Its IP options or extension headers are such that its receiver drops it.
        OptionsRefused = "options_refused",
        /// A TCP segment with data that its receiver would not take.
        SegmentRefused = "segment_refused",
        /// It has other bytes for a place of a TCP stream than an earlier packet.
        StreamConflict = "stream_conflict",
    }
}

/// A packet that an inline inspector does not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the record among those inspected together.
    pub packet: usize,
    /// Why.
    pub reason: InspectDrop,
    /// What the ends are sent.
    pub replies: Vec<Reply>,
}

/// What a rule matched, which decides how far its action reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Matched {
    /// The packet by itself.
    Packet,
    /// A stream or a message: all that follows in the flow belongs to it.
    Flow,
}

/// What the rules with actions `drop` and `reject` that matched a packet say
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The rest of the flow goes with the packet.
    pub(super) drops_flow: bool,
    /// Who is told.
    pub(super) reject: Option<RejectTo>,
}

impl Verdict {
    pub(super) fn reason(self) -> InspectDrop {
        match self.reject {
            Some(_) => InspectDrop::RuleReject,
            None => InspectDrop::RuleDrop,
        }
    }
}

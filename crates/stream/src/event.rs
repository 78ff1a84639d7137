//! What stages notice about records and about the stream, kept beside the batch.

use weir_packet::wire::{FlowKey, KeyKind};

/// Something noticed about a record, or about the stream as a whole. A record may
/// raise any number of events and still be forwarded.
///
/// An event keeps what the record was when it was noticed: by the time that a
/// sink writes it, the record may be encrypted or dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Arrival number of the record, if it is about one.
    pub arrival: Option<u64>,
    /// Time of the record, or end of the interval that it is about, nanoseconds
    /// since 1970.
    pub timestamp_ns: u64,
    /// Flow of the record; all zero where it has none. Of an alarm the key, and
    /// the rest is zero.
    pub flow: FlowKey,
    /// First ICMP or ICMPv6 type and code, where the flow is one.
    pub icmp: Option<(u8, u8)>,
    /// Outermost VLAN tag, where there is one.
    pub vlan_tci: Option<u16>,
    /// Interface on which the record arrived.
    pub interface: Option<u16>,
    /// What was noticed.
    pub kind: EventKind,
    /// What else the stage says of it: members of a JSON object, as in
    /// `"a":1,"b":{}`, for sinks that write such. Made when it is noticed,
    /// since what it speaks of may be gone when it is written.
    pub members: Option<Box<str>>,
}

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// An inspection rule matched.
    Alert {
        /// Index into the rule set that the stage had at that time.
        rule: u32,
    },
    /// A security association passed its soft lifetime and wants a successor.
    SoftLifetime {
        /// Security parameters index.
        spi: u32,
    },
    /// What a key had in an interval is not what the intervals before let expect.
    Alarm {
        /// The part of the flow that is the key.
        key: KeyKind,
        /// What it had: bytes or packets, estimated.
        observed: f64,
        /// What was forecast.
        forecast: f64,
        /// How large the change is, in the measure of whoever looks for it.
        score: f64,
    },
}

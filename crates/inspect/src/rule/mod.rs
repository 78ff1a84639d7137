//! Rules in the language of Snort 2, Snort 3 and Suricata.
//!
//! ```text
//!  file ── text ── header, options ── Rule        what loads
//!          words   variables, contents,  └─ Fault  what does not: reason, place, word
//!          of it   patterns
//! ```
//!
//! A [`Rule`] is what its text means: the header as a
//! [`Selector`](weir_select::Selector), the options as conditions with their
//! values. What the engine does not have is refused here, with the keyword's
//! name, so that a rule that loads is a rule that is wholly evaluated.

mod classification;
mod fault;
mod header;
mod keyword;
mod names;
mod options;
mod pcre;
mod state;
mod string;
mod text;
mod translate;
mod variables;
mod word;

pub use classification::{Classification, ClassificationError};
pub use fault::{FaultKind, RuleFault, Unsupported};
pub use keyword::{Keyword, KeywordEffect, keywords};
pub use state::{BitAction, HostBit, Rate, RateKind, StateConditions, Track};
pub use variables::{VariableError, Variables};

pub(crate) use header::HeaderReader;
pub(crate) use names::Names;
pub(crate) use options::read_rule;
pub(crate) use pcre::Patterns;
pub(crate) use text::{Lines, RuleTexts};

use std::sync::Arc;

use weir_select::Selector;

use crate::application::AppProtocol;
use crate::buffer::Buffer;
use crate::direction::Direction;
use crate::payload::Payload;
use crate::range::NumberRange;

/// What a rule requests when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Raise an alert.
    Alert,
    /// Drop the packet where the inspector is inline, and raise an alert.
    Drop,
    /// The same, and send a TCP RST or an ICMP error.
    Reject(RejectTo),
    /// Raise no alert for this packet, whatever other rules say.
    Pass,
}

/// Which end of a rejected packet gets a TCP RST or an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectTo {
    /// The sender (`reject`, `rejectsrc`).
    Source,
    /// The receiver (`rejectdst`).
    Destination,
    /// Both (`rejectboth`).
    Both,
}

impl RejectTo {
    /// The ends that two rules name together.
    pub(crate) fn and(self, other: RejectTo) -> RejectTo {
        if self == other { self } else { RejectTo::Both }
    }
}

/// Part of a rule's header that its selector cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleProtocol {
    /// Any IP packet, fragments included.
    Ip,
    /// TCP, UDP, SCTP or ICMP, by the selector's protocol.
    Transport,
    /// A flow whose first bytes are of an application protocol. What stands in
    /// front of the byte that tells, such as a greeting that could be of two
    /// protocols, is matched with what comes after it in the same direction.
    Application(AppProtocol),
}

/// The `flow` option. The default requires nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowCondition {
    /// Which way the packet goes.
    pub direction: Option<Direction>,
    /// Whether the flow is established (`Some(true)`), is not
    /// (`Some(false)`), or either.
    pub established: Option<bool>,
}

/// How the flags of a `flags` option are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlagsTest {
    /// These and no others.
    Exactly,
    /// These and perhaps others (`+`).
    All,
    /// At least one of these (`*`).
    Any,
    /// Not all of these (`!`), as in Suricata.
    NotAll,
}

/// The `flags` option: a condition on the flags of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpFlags {
    /// Flags that are looked for, FIN (1) to CWR (128).
    pub flags: u8,
    /// Flags that do not count, as in `flags:S,12`.
    pub ignored: u8,
    /// How they are meant.
    pub test: FlagsTest,
}

impl TcpFlags {
    /// Whether a header with these flags is meant.
    pub fn matches(&self, flags: u8) -> bool {
        let flags = flags & !self.ignored;
        match self.test {
            FlagsTest::Exactly => flags == self.flags,
            FlagsTest::All => flags & self.flags == self.flags,
            FlagsTest::Any => flags & self.flags != 0,
            FlagsTest::NotAll => flags & self.flags != self.flags,
        }
    }
}

/// What contents without a buffer are looked for in, where a rule says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextScope {
    /// The payloads of packets, one by one.
    Packet,
    /// The reassembled stream.
    Stream,
}

/// Whose bytes a `stream_size` option counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamEnd {
    /// Those of the server.
    Server,
    /// Those of the client.
    Client,
    /// Both: the condition holds for each.
    Both,
    /// Either: it holds for one of them.
    Either,
}

/// The `stream_size` option: a condition on the bytes of a TCP stream so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamBytes {
    /// Whose bytes.
    pub end: StreamEnd,
    /// How many.
    pub bytes: NumberRange,
}

/// Conditions on the packet itself. The default requires nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketConditions {
    /// The `dsize` option.
    pub payload_bytes: Option<NumberRange>,
    /// The `flags` options.
    pub tcp_flags: Vec<TcpFlags>,
    /// The `itype` option.
    pub icmp_type: Option<NumberRange>,
    /// The `icode` option.
    pub icmp_code: Option<NumberRange>,
    /// The `icmp_id` option: the identifier of an echo.
    pub icmp_id: Option<u16>,
    /// The `stream_size` options.
    pub stream_bytes: Vec<StreamBytes>,
    /// The words `no_stream` and `only_stream` of `flow`, and the protocol
    /// `tcp-pkt`.
    pub scope: Option<TextScope>,
}

impl PacketConditions {
    /// Whether some condition can only be asked of a packet, so that the
    /// rule's contents are meant for its payload alone.
    pub(crate) fn needs_packet(&self) -> bool {
        self.payload_bytes.is_some()
            || !self.tcp_flags.is_empty()
            || !self.stream_bytes.is_empty()
            || self.scope == Some(TextScope::Packet)
    }
}

/// What a rule requires of one buffer.
#[derive(Clone, Debug)]
pub struct BufferTest {
    /// Which part of a message.
    pub buffer: Buffer,
    /// Whether a dot is put in front of it (`dotprefix`).
    pub is_dotted: bool,
    /// What it is matched against.
    pub payload: Payload,
}

/// One rule. All its conditions must hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What to do.
    pub action: Action,
    /// What the header says beside the selector.
    pub protocol: RuleProtocol,
    /// Addresses, ports and protocol of the header.
    pub selector: Selector,
    /// Whether packets of the opposite direction are meant too (`<>`).
    pub both_ways: bool,
    /// The `flow` option. Its direction is also that of the buffers which only
    /// one direction has.
    pub flow: FlowCondition,
    /// Conditions on the packet.
    pub packet: PacketConditions,
    /// Bits, rates and silence.
    pub state: StateConditions,
    /// What is required of the payload or the stream.
    pub payload: Payload,
    /// What is required of the parts of a message, in the order in which the rule
    /// names them, but those that set a variable before those that use it.
    pub buffers: Vec<BufferTest>,
    /// How many of them are looked at before the payload.
    pub(crate) payload_at: usize,
    /// A variable that one text sets is used for another.
    pub(crate) shares_variables: bool,
    /// Text, numbers, class and references.
    pub description: Description,
}

/// Which end of a packet a rule calls its victim (`target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The sender.
    Source,
    /// The receiver.
    Destination,
}

/// What a rule says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Generator of the rule: 1 unless it says otherwise.
    pub gid: u32,
    /// Number of the rule.
    pub sid: u32,
    /// Revision of the rule.
    pub rev: u32,
    /// The `msg` option.
    pub message: String,
    /// Short name of the rule's class.
    pub classtype: Option<String>,
    /// Text of the rule's class; empty where the class is not known.
    pub category: Arc<str>,
    /// 1 is the most urgent. From the `priority` option, or the class, or 3.
    pub priority: u8,
    /// The `reference` options: system and identifier, as in `("cve",
    /// "2014-0160")`.
    pub references: Vec<(String, String)>,
    /// The `metadata` options: key and value.
    pub metadata: Vec<(String, String)>,
    /// The `target` option.
    pub target: Option<Target>,
}

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
mod content;
mod fault;
mod header;
mod options;
mod pcre;
mod text;
mod translate;
mod variables;

pub use fault::{FaultKind, RuleFault, Unsupported};
pub use variables::{VariableError, Variables};

pub(crate) use header::HeaderReader;
pub(crate) use options::read_rule;
pub(crate) use pcre::Patterns;
pub(crate) use text::{Lines, RuleTexts};

use weir_select::Selector;

use crate::flow::AppProtocol;
use crate::payload::Payload;

/// What a rule asks for when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Raise an alert.
    Alert,
    /// Drop the packet: here, where nothing stands in the way of packets, an
    /// alert.
    Drop,
    /// Drop the packet and tell its sender: here an alert.
    Reject,
    /// Raise no alert for this packet, whatever other rules say.
    Pass,
}

/// Part of a rule's header that its selector cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleProtocol {
    /// Any IP packet, fragments included.
    Ip,
    /// TCP, UDP, SCTP or ICMP, by the selector's protocol.
    Transport,
    /// A flow whose first bytes are of an application protocol. Packets in
    /// front of the one that tells, such as a greeting that could be of two
    /// protocols, are not matched.
    Application(AppProtocol),
}

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client, which opened the flow.
    ToServer,
    /// To the client.
    ToClient,
}

/// The `flow` option. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowCondition {
    /// Which way the packet goes.
    pub direction: Option<Direction>,
    /// Whether the flow is established (`Some(true)`), is not
    /// (`Some(false)`), or either.
    pub established: Option<bool>,
}

/// The `dsize` option: a condition on the number of payload bytes, both ends
/// included. `100<>300` excludes both, as in Snort 3 and Suricata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadBytes {
    /// Fewest bytes.
    pub least: u32,
    /// Most bytes.
    pub most: u32,
    /// Whether the range is what must not be.
    pub negated: bool,
}

impl PayloadBytes {
    /// Whether a payload has such a length.
    pub fn matches(&self, bytes: usize) -> bool {
        (self.least as usize <= bytes && bytes <= self.most as usize) != self.negated
    }
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
    /// The `flow` option.
    pub flow: FlowCondition,
    /// The `dsize` option.
    pub payload_bytes: Option<PayloadBytes>,
    /// The `flags` options.
    pub tcp_flags: Vec<TcpFlags>,
    /// The `content` and `pcre` options.
    pub payload: Payload,
    /// Text, numbers, class and references.
    pub description: Description,
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
    pub category: &'static str,
    /// 1 is the most urgent. From the `priority` option, or the class, or 3.
    pub priority: u8,
    /// The `reference` options: system and identifier, as in `("cve",
    /// "2014-0160")`.
    pub references: Vec<(String, String)>,
    /// The `metadata` options: key and value.
    pub metadata: Vec<(String, String)>,
}

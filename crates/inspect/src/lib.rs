//! Content inspection by rules in the language of Snort and Suricata.
//!
//! ```text
//!  rule files ─ rule ──────── RuleSet ─────────────────────┐ shared by all shards
//!               text, header,  engine: longest content      │
//!               options        of each rule; headers        │
//!                                                           ▼
//!  batch ── flow ──────────── engine ──────── header ── flow, flags, payload ── alert
//!           direction, state,  contents that   of the    all other contents
//!           protocol           occur           rule      and patterns
//!                              = hits          = candidates  (else a false candidate)
//! ```
//!
//! * [`RuleSet::load`] reads rules, tells what it could not take and why
//!   ([`LoadReport`]), and makes the rest ready.
//! * [`Inspector`] is the pure core: it matches packets, one by one as they
//!   are, without reassembly. A rule raises at most one alert per packet.
//! * [`InspectStage`] puts it into a pipeline, [`EveWriter`] writes its alerts
//!   as lines of EVE JSON, [`InspectSummary`] is the last of them.
//!
//! The engine that finds contents stands behind [`ContentEngine`] and can be
//! replaced; what it reports is verified by [`Payload`], whose module tells
//! how the options of a rule are searched for together.
//!
//! Fragments are matched by rules of protocol `ip` alone, over the bytes after
//! the IP header.

#![forbid(unsafe_code)]

mod engine;
mod eve;
mod flow;
mod inspector;
mod payload;
mod rule;
mod rule_set;
mod stage;
mod summary;
#[cfg(test)]
mod test_packets;

pub use engine::{Automaton, AutomatonError, ContentEngine, Hit, Hits};
pub use eve::EveWriter;
pub use flow::{AppProtocol, FlowLimits};
pub use inspector::{InspectStatistics, Inspector, MAX_ALERTS_PER_PACKET, Packet};
pub use payload::{MAX_PATTERN_SEARCHES, Payload};
pub use rule::{
    Action, Description, Direction, FaultKind, FlagsTest, FlowCondition, PayloadBytes, Rule,
    RuleFault, RuleProtocol, TcpFlags, Unsupported, VariableError, Variables,
};
pub use rule_set::{FileReport, LoadError, LoadReport, MAX_LISTED_FAULTS, RuleFile, RuleSet};
pub use stage::InspectStage;
pub use summary::InspectSummary;

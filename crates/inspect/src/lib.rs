//! Content inspection by rules in the language of Snort and Suricata.
//!
//! ```text
//!  rule files ─ rule ──────── RuleSet ─────────────────────┐ shared by all shards
//!               text, header,  groups: longest content      │
//!               options        of each rule; headers        │
//!                                                           ▼
//!  packet ── fragment ── flow ──── message ──── group ── trial ── alert
//!            datagrams   streams,  parts of     contents   header, flow, bits,
//!                        protocol  HTTP, DNS,   that occur all other contents
//!                                  TLS          = hits     and patterns
//! ```
//!
//! * [`RuleSet::load`] reads rules, tells what it could not take and why
//!   ([`LoadReport`]), and makes the rest ready.
//! * [`Inspector`] is the pure core: it puts datagrams and streams together,
//!   and matches them and the messages in them. An alert names the packet that
//!   completes a match; a rule raises at most one per packet.
//! * [`InspectStage`] puts it into a pipeline, [`EveWriter`] writes its alerts
//!   as lines of EVE JSON, [`InspectSummary`] is the last of them;
//!   [`AlertedPackets`] writes the packets behind them.
//!
//! [`weir_match`] finds the contents of all rules at once; what it reports is verified by [`Payload`],
//! whose module tells how the options of a rule are searched for together.
//!
//! Fragments by themselves are matched by rules of protocol `ip` alone, over
//! the bytes after the IP header; the datagram that they make is matched with
//! the fragment that completes it. Of a packet that a capture cut short, what
//! is there is matched, and counts as its payload.
//!
//! ```
//! use std::sync::Arc;
//! use weir_inspect::{Inspector, Packet, RuleFile, RuleSet, Variables};
//! use weir_packet::wire::{Headers, LinkType};
//!
//! let mut variables = Variables::default();
//! variables.define("HOME_NET=198.18.0.0/15")?;
//! let text = br#"alert udp any any -> $HOME_NET 53 (msg:"a"; content:"|07|version"; sid:1;)
//! alert tcp any any -> any 80 (msg:"b"; content:"x"; base64_data; sid:2;)"#;
//! let file = RuleFile { name: "my.rules", text };
//! let (rules, report) = RuleSet::load(&[file], &variables)?;
//! assert_eq!((report.loaded, report.skipped["keyword base64_data"]), (1, 1));
//!
//! let bytes = b"E\0\0\x24\0\0\0\0\x40\x11\0\0\xc6\x12\0\x01\xc6\x12\0\x02\
//!               \x04\xd2\0\x35\0\x10\0\0\x07version";
//! let packet = Packet {
//!     headers: Headers::parse(LinkType::RawIp, bytes),
//!     bytes,
//!     ..Packet::default()
//! };
//! let mut inspector = Inspector::new(Arc::new(rules));
//! let mut alerts = Vec::new();
//! inspector.inspect(&[packet], |alert| alerts.push((alert.packet, alert.rule)));
//! assert_eq!(alerts, [(0, 0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod ahead;
mod alerted;
mod anomaly;
mod application;
mod buffer;
mod checksum;
mod direction;
mod eve;
mod flow;
mod fragment;
mod group;
mod header;
mod inspector;
mod live;
mod message;
mod packet;
mod payload;
mod profile_stage;
mod range;
mod rate;
mod reject;
mod rule;
mod rule_set;
mod segmented_lru;
mod stage;
mod summary;
#[cfg(test)]
mod test_packets;
mod virtual_network;
mod words;

pub use ahead::{HostPolicy, Overlap};
pub use alerted::{AlertedPackets, AlertedStatistics, MAX_ALERTED_FLOWS, MAX_WAITING_BYTES};
pub use anomaly::{Anomaly, AnomalyKind};
pub use application::AppProtocol;
pub use buffer::Buffer;
pub use checksum::Checksums;
pub use direction::Direction;
pub use eve::EveWriter;
pub use flow::{FlowLimits, FlowRecord};
pub use inspector::{
    Alert, FalseCandidates, GroupStatistics, InspectDrop, InspectOptions, InspectStatistics,
    Inspector, MAX_ALERTS_PER_PACKET, Refusal, RefusedPackets, RuleCost,
};
pub use live::{InspectSnapshot, LiveRules};
pub use message::{
    DnsQuestion, DnsRecord, HttpRecord, Ja3, TlsRecord, Transaction, TransactionRecord,
};
pub use packet::{MAX_TUNNELS, Packet};
pub use payload::{MAX_PATTERN_SEARCHES, MAX_PATTERN_STEPS, MAX_TRIED_BYTES, Payload};
pub use profile_stage::ProfileStage;
pub use range::NumberRange;
pub use reject::Reply;
pub use rule::{
    Action, BitAction, BufferTest, Classification, ClassificationError, Description, FaultKind,
    FlagsTest, FlowCondition, HostBit, Keyword, KeywordEffect, PacketConditions, Rate, RateKind,
    RejectTo, Rule, RuleFault, RuleProtocol, StateConditions, StreamBytes, StreamEnd, Target,
    TcpFlags, TextScope, Track, Unsupported, VariableError, Variables, keywords,
};
pub use rule_set::{
    FileReport, ForeignRules, LoadError, LoadReport, MAX_LISTED_FAULTS, RuleFile, RuleSet,
};
pub use stage::InspectStage;
pub use summary::{AlertCount, AlertCounts, InspectSummary, ProfiledRule};
pub use virtual_network::Vlans;
pub use words::{ALERT, ANOMALY, INSPECT};

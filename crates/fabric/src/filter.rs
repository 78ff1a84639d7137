//! Ingress filters by partition key.
//!
//! A node that sends packets with P_Keys of partitions it does not belong to is stopped only by the
//! channel adapter at the other end, after the packets have crossed the fabric. A filter at the
//! switch port stops them where they enter. There are three schemes ([`Scheme`]):
//!
//! - *duplicate table* (DT): every port of every switch looks up every packet;
//! - *ingress filtering* (IF): ports that lead to nodes look up every packet;
//! - *stateful ingress filtering* (SIF): ports that lead to nodes look up packets only while the node
//!   behind them attacks ([`StatefulFilter`]).
//!
//! [`PortFilter`] is the filter of one port under any of them. Filters are state machines: P_Keys and
//! the time go in, verdicts come out. The caller passes only packets whose P_Key counts: no packet of
//! virtual lane 15, whose queue pair 0 compares none.
//!
//! Source: Manhee Lee, dissertation, chapter III, section E.3 "Stateful Ingress Filtering" and
//! table I "Partition enforcement overhead" ([`cost`]). P_Keys and their comparison: InfiniBand
//! Architecture Specification, volume 1, "Partition Key Matching".
//!
//! ```
//! use weir_fabric::filter::{PartitionTable, StatefulFilter, Verdict};
//!
//! const QUIET_NS: u64 = 1_000_000_000;
//! let mut filter = StatefulFilter::new(PartitionTable::new([0xffff, 0x8001]), QUIET_NS);
//! let mut verdicts = Vec::new();
//!
//! // No trap yet: nothing is looked up, and the forged key 0x8666 passes.
//! filter.judge(0, &[0xffff, 0x8666], &mut verdicts);
//! assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass]);
//!
//! // Its receiver has sent a trap to the subnet manager, which names the key to this port.
//! filter.trap(1_000, 0x8666);
//! filter.judge(2_000, &[0xffff, 0x8666], &mut verdicts);
//! assert_eq!(verdicts, [Verdict::Pass, Verdict::Drop]);
//!
//! // A second without violations ends it.
//! filter.judge(2_000 + QUIET_NS, &[0xffff, 0x8666], &mut verdicts);
//! assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass]);
//! ```

pub mod cost;
mod partition;
mod stateful;

pub use partition::{DEFAULT_FULL, DEFAULT_LIMITED, Direction, FULL_MEMBER, PartitionTable};
pub use stateful::{State, StatefulFilter, TrapEffect};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet goes on.
    Pass,
    /// The packet is discarded for its P_Key.
    Drop,
}

/// Where in a fabric a port of a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// A node sends into it.
    Ingress,
    /// It leads to a switch, or to a node that receives.
    Transit,
}

/// Which ports filter, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Every port, always.
    DuplicateTable,
    /// Ingress ports, always.
    Ingress,
    /// Ingress ports, while the node behind them attacks.
    StatefulIngress,
}

impl Scheme {
    /// The filter of a port that has the role `role` and the valid P_Keys `table`. A stateful filter
    /// switches itself off after `quiet_ns` without violations.
    #[must_use]
    pub fn port_filter(self, role: PortRole, table: PartitionTable, quiet_ns: u64) -> PortFilter {
        match (self, role) {
            (Scheme::StatefulIngress, PortRole::Ingress) => {
                PortFilter::Stateful(StatefulFilter::new(table, quiet_ns))
            }
            (Scheme::DuplicateTable | Scheme::Ingress, PortRole::Ingress) => {
                PortFilter::Table(TableFilter::new(table, Direction::FromNode))
            }
            (Scheme::DuplicateTable, PortRole::Transit) => {
                PortFilter::Table(TableFilter::new(table, Direction::ToNode))
            }
            (Scheme::Ingress | Scheme::StatefulIngress, PortRole::Transit) => PortFilter::None,
        }
    }
}

/// The filter of one port.
#[derive(Clone, Debug)]
pub enum PortFilter {
    /// Everything passes, and nothing is looked up.
    None,
    /// Every packet is looked up in the table of valid P_Keys.
    Table(TableFilter),
    /// Packets are looked up while the node behind the port attacks.
    Stateful(StatefulFilter),
}

impl PortFilter {
    /// Judges packets that arrive at `now_ns`: `verdicts` becomes one verdict per P_Key.
    pub fn judge(&mut self, now_ns: u64, p_keys: &[u16], verdicts: &mut Vec<Verdict>) {
        match self {
            PortFilter::None => pass_all(p_keys.len(), verdicts),
            PortFilter::Table(filter) => filter.judge(p_keys, verdicts),
            PortFilter::Stateful(filter) => filter.judge(now_ns, p_keys, verdicts),
        }
    }

    /// Packets that were looked up in a table so far.
    #[must_use]
    pub fn lookups(&self) -> u64 {
        match self {
            PortFilter::None => 0,
            PortFilter::Table(filter) => filter.lookups(),
            PortFilter::Stateful(filter) => filter.lookups(),
        }
    }
}

/// A filter that looks up every packet in the table of valid P_Keys. It holds that table, 8 KiB, and
/// two counters.
#[derive(Clone, Debug)]
pub struct TableFilter {
    valid: PartitionTable,
    direction: Direction,
    lookups: u64,
    violations: u64,
}

impl TableFilter {
    /// A filter for packets that go in `direction`, with the P_Keys of the node or nodes at that end.
    #[must_use]
    pub fn new(valid: PartitionTable, direction: Direction) -> TableFilter {
        TableFilter {
            valid,
            direction,
            lookups: 0,
            violations: 0,
        }
    }

    /// Judges packets: `verdicts` becomes one verdict per P_Key.
    pub fn judge(&mut self, p_keys: &[u16], verdicts: &mut Vec<Verdict>) {
        self.lookups += p_keys.len() as u64;
        let valid = &self.valid;
        self.violations += match self.direction {
            Direction::FromNode => judge_each(p_keys, verdicts, |p_key| valid.may_send(p_key)),
            Direction::ToNode => judge_each(p_keys, verdicts, |p_key| valid.accepts(p_key)),
        };
    }

    /// Packets that were looked up so far: all of them.
    #[must_use]
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// Packets that were dropped so far.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }
}

fn pass_all(packets: usize, verdicts: &mut Vec<Verdict>) {
    verdicts.clear();
    verdicts.resize(packets, Verdict::Pass);
}

/// Replaces `verdicts` by those of `permits`. Returns the number of packets dropped.
fn judge_each(p_keys: &[u16], verdicts: &mut Vec<Verdict>, permits: impl Fn(u16) -> bool) -> u64 {
    let mut dropped = 0;
    verdicts.clear();
    verdicts.extend(p_keys.iter().map(|&p_key| {
        let passes = permits(p_key);
        dropped += u64::from(!passes);
        if passes { Verdict::Pass } else { Verdict::Drop }
    }));
    dropped
}

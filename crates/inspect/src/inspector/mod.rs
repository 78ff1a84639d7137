//! The pure core: packets in, the rules that they match out.
//!
//! ```text
//!  packet ── Reassembler ── flow ── stream ── messages ── trial of the rules
//!            fragments      table   in order   parts       whose content is
//!                                                          in a text of theirs
//! ```
//!
//! One packet can bring several texts: its payload, what it adds to a stream,
//! the parts of messages that it completes. Each is searched for the contents
//! of its own group of rules; the rules found so are tried one by one. A rule
//! raises at most one alert per packet, whatever the number of texts.
//!
//! A packet that carries another one through a tunnel is inspected as it is,
//! and then what it carries.

mod alert;
mod conditions;
mod cost;
mod messages;
mod packet;
mod statistics;
mod streams;
mod trial;

use std::sync::Arc;

use weir_packet::wire::{Fragment, Headers, LinkType};
use weir_select::Tuple;

use crate::engine::Hits;
use crate::flow::{Arrival, FlowLimits, FlowTable, Missing};
use crate::fragment::Reassembler;
use crate::live::ForeignRules;
use crate::message::{Derived, Transaction};
use crate::payload::Cursors;
use crate::rate::SharedTrackers;
use crate::rule::Direction;
use crate::rule_set::RuleSet;
pub use alert::{Alert, FlowRecord};
pub use cost::{GroupStatistics, RuleCost};
pub(crate) use packet::pair_number;
pub use packet::{MAX_TUNNELS, Packet};
pub use statistics::{FalseCandidates, InspectStatistics};
use trial::{Subject, Trial};

/// Most alerts that one packet raises; more are counted as suppressed.
pub const MAX_ALERTS_PER_PACKET: usize = 255;

/// Matches packets against a rule set. It keeps the state of flows, so one
/// inspector sees all packets of a flow, in order.
pub struct Inspector {
    rules: Arc<RuleSet>,
    flows: FlowTable,
    fragments: Reassembler,
    trackers: SharedTrackers,
    statistics: InspectStatistics,
    scratch: Scratch,
    /// A datagram put together from fragments.
    datagram: Vec<u8>,
}

/// Working memory, kept from packet to packet.
#[derive(Default)]
struct Scratch {
    /// By [`GroupKey::index`](crate::group::GroupKey::index): hits, and bytes
    /// searched and hits found so far.
    hits: Vec<Hits>,
    searched: Vec<(u64, u64)>,
    /// What each rule cost, by its number, where that is asked for.
    costs: Option<Vec<RuleCost>>,
    /// Rules to be tried for the text at hand.
    candidates: Vec<u32>,
    /// Rules about packets whose content was found where the packet's payload
    /// was searched as part of its stream.
    of_packet: Vec<u32>,
    /// Selectors of the rules without contents that the packet meets, and the
    /// packet for which they were looked up.
    selectors: Vec<u32>,
    selected_for: u64,
    /// For every header the last packet for which it was looked at, and
    /// whether it matched.
    header_verdicts: Vec<(u64, bool)>,
    cursors: Cursors,
    /// The step that failed when a rule was tried last, and what was known to
    /// be missing before it was tried.
    failed: Option<usize>,
    missing: Option<Missing>,
    /// How often the rules were replaced.
    generation: u64,
    derived: Derived,
    name: Vec<u8>,
    /// Rules that the packet matched, and in which transaction.
    matched: Vec<(u32, Option<Arc<Transaction>>)>,
    packet_number: u64,
}

impl Inspector {
    /// An inspector that has seen no packet.
    pub fn new(rules: Arc<RuleSet>) -> Inspector {
        Inspector::with_limits(rules, FlowLimits::default())
    }

    /// An inspector whose flow table has other bounds.
    pub fn with_limits(rules: Arc<RuleSet>, limits: FlowLimits) -> Inspector {
        Inspector::counting_with(SharedTrackers::default(), rules, limits)
    }

    /// An inspector that counts rates and keeps bits of hosts together with
    /// those of other shards.
    pub(crate) fn counting_with(
        trackers: SharedTrackers,
        rules: Arc<RuleSet>,
        limits: FlowLimits,
    ) -> Inspector {
        Inspector {
            scratch: Scratch {
                hits: rules.groups().iter().map(|_| Hits::default()).collect(),
                searched: vec![(0, 0); rules.groups().len()],
                header_verdicts: vec![(0, false); rules.headers().len()],
                ..Scratch::default()
            },
            rules,
            flows: FlowTable::new(limits),
            fragments: Reassembler::default(),
            trackers,
            statistics: InspectStatistics::default(),
            datagram: Vec::new(),
        }
    }

    /// The rules that packets are matched against.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// Goes on with other rules, made by [`RuleSet::reload`] from those at
    /// hand, or from any before them. All that is known of flows, streams,
    /// messages, bits and rates stays; a rule whose number is in both sets
    /// keeps what it waits for and what it counted.
    ///
    /// # Errors
    /// [`ForeignRules`]: the rules were not made so. Nothing changes.
    pub fn replace_rules(&mut self, rules: Arc<RuleSet>) -> Result<(), ForeignRules> {
        if !rules.is_kin_of(&self.rules) {
            return Err(ForeignRules);
        }
        self.scratch.header_verdicts = vec![(0, false); rules.headers().len()];
        if let Some(costs) = &mut self.scratch.costs {
            costs.resize(costs.len().max(rules.highest_number()), RuleCost::default());
        }
        self.scratch.generation += 1;
        self.rules = rules;
        Ok(())
    }

    /// Measures from now on what every rule costs, which costs time itself.
    pub fn profile_rules(&mut self) {
        let rules = self.rules.highest_number();
        (self.scratch.costs).get_or_insert_with(|| vec![RuleCost::default(); rules]);
    }

    /// What every rule cost, by its index, if that was measured.
    pub fn rule_costs(&self) -> Option<Vec<RuleCost>> {
        let costs = self.scratch.costs.as_ref()?;
        let rules = 0..self.rules.rules().len() as u32;
        Some(
            rules
                .map(|rule| costs[self.rules.number(rule) as usize])
                .collect(),
        )
    }

    /// What the groups of rules were searched for.
    pub fn group_statistics(&self) -> Vec<GroupStatistics> {
        let groups = self.rules.groups().iter().zip(&self.scratch.searched);
        groups
            .filter_map(|(group, (bytes, hits))| {
                let group = group.as_ref()?;
                Some(GroupStatistics {
                    name: group.key.name(),
                    contents: group.content_count as u64,
                    bytes: *bytes,
                    hits: *hits,
                })
            })
            .collect()
    }

    /// What was done so far.
    pub fn statistics(&self) -> InspectStatistics {
        let (flows, fragments) = (self.flows.counts(), self.fragments.counts());
        let mut false_candidates_by_stage = self.statistics.false_candidates_by_stage;
        for hits in &self.scratch.hits {
            false_candidates_by_stage.add_engine(&hits.cascade_statistics());
        }
        InspectStatistics {
            false_candidates_by_stage,
            flows: flows.opened,
            flows_evicted: flows.evicted,
            streams_evicted: flows.streams_evicted,
            datagrams_reassembled: fragments.reassembled,
            datagrams_evicted: fragments.evicted,
            fragments_refused: fragments.refused,
            ..self.statistics
        }
    }

    /// Inspects packets in order of arrival and calls `raise` for each alert:
    /// in the order of packets; those of one packet before those of the
    /// datagram that it completes, and of the packet that it carries through a
    /// tunnel; of these ascending by rule, each rule once. Packets that are
    /// not IP match nothing.
    pub fn inspect(&mut self, packets: &[Packet<'_>], mut raise: impl FnMut(Alert)) {
        for (index, packet) in packets.iter().enumerate() {
            self.inspect_levels(index, *packet, &mut raise);
        }
    }

    /// A packet, and the packets in it.
    fn inspect_levels(&mut self, index: usize, packet: Packet<'_>, raise: &mut impl FnMut(Alert)) {
        for packet in packet.levels() {
            self.inspect_one(index, &packet, raise);
            if packet.headers.fragment != Fragment::Whole {
                self.take_fragment(index, &packet, raise);
            }
        }
    }

    /// A datagram that this fragment completes is inspected as well, with the
    /// fragment's time and interface.
    fn take_fragment(&mut self, index: usize, packet: &Packet<'_>, raise: &mut impl FnMut(Alert)) {
        let mut datagram = std::mem::take(&mut self.datagram);
        if self.fragments.take(packet, &mut datagram) {
            let whole = Packet {
                headers: Headers::parse(LinkType::RawIp, &datagram),
                bytes: &datagram,
                ..*packet
            };
            self.inspect_levels(index, whole, raise);
        }
        self.datagram = datagram;
    }

    /// Inspects one packet by itself and as part of its flow.
    fn inspect_one(&mut self, index: usize, packet: &Packet<'_>, raise: &mut impl FnMut(Alert)) {
        self.statistics.packets += 1;
        self.scratch.packet_number += 1;
        self.scratch.cursors.start_packet();
        self.scratch.matched.clear();
        let (is_passed, place) = self.try_rules(packet);
        if is_passed {
            self.statistics.passed_packets += 1;
            return;
        }
        let matched = &mut self.scratch.matched;
        if matched.is_empty() {
            return;
        }
        matched.sort_by_key(|(rule, _)| *rule);
        matched.dedup_by_key(|(rule, _)| *rule);
        if matched.len() > MAX_ALERTS_PER_PACKET {
            self.statistics.alerts_limited += 1;
            matched.truncate(MAX_ALERTS_PER_PACKET);
        }
        self.statistics.alerts += matched.len() as u64;
        let (flow, icmp) = (packet.flow(), packet.icmp());
        let flow_record = place.map(|(index, direction)| self.flows.flow(index).record(direction));
        for (rule, transaction) in matched.drain(..) {
            raise(Alert {
                packet: index,
                rule,
                flow,
                icmp,
                flow_record,
                transaction,
            });
        }
    }

    /// Matches one packet: the rules go to [`Scratch::matched`]. Says whether
    /// a rule lets it pass, and which flow it belongs to and how.
    fn try_rules(&mut self, packet: &Packet<'_>) -> (bool, Option<(usize, Direction)>) {
        let (index, brought) = self.flows.track(packet);
        let mut trial = Trial {
            rules: &self.rules,
            trackers: &self.trackers,
            statistics: &mut self.statistics,
            scratch: &mut self.scratch,
            subject: Subject {
                packet,
                payload: packet.payload(),
                flow: brought.state,
                tuple: Tuple::from_headers(&packet.headers, packet.bytes, packet.interface),
            },
            is_passed: false,
        };
        match index {
            Some(index) => {
                trial.flow(self.flows.flow(index), &brought);
                let is_passed = trial.is_passed;
                self.flows.settle(index);
                let direction = brought.state.direction.unwrap_or(Direction::ToServer);
                (is_passed, Some((index, direction)))
            }
            None => {
                trial.packet(&Arrival::default(), None);
                (trial.is_passed, None)
            }
        }
    }
}

#[cfg(test)]
mod tests;

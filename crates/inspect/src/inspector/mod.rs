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
mod options;
mod statistics;
mod streams;
mod trial;
mod verdict;

use std::sync::Arc;

use weir_match::Hits;
use weir_packet::wire::{Fragment, Headers, LinkType};
use weir_select::Tuple;

use crate::anomaly::{Anomalies, Anomaly, AnomalyKind};
use crate::checksum::{self, Checksums, Sum};
use crate::direction::Direction;
use crate::flow::{Arrival, FlowTable, Missing, Unacceptable};
use crate::fragment::{Reassembler, Taken};
use crate::header;
use crate::message::{Derived, Transaction};
use crate::packet::Packet;
use crate::payload::Cursors;
use crate::rate::SharedTrackers;
use crate::reject::{self, Reply};
use crate::rule_set::{ForeignRules, RuleSet};
use crate::virtual_network::Vlans;
pub use alert::Alert;
pub use cost::{GroupStatistics, RuleCost};
pub use options::InspectOptions;
pub use statistics::{FalseCandidates, InspectStatistics, RefusedPackets};
use trial::{Subject, Trial};
pub use verdict::{InspectDrop, Refusal};
use verdict::{Matched, Verdict};

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
    is_inline: bool,
    checksums: Checksums,
    vlans: Vlans,
    /// Of the packets that were inspected together last.
    refusals: Vec<Refusal>,
    anomalies: Anomalies,
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
    /// What each rule cost, by its number, where that is requested.
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
        Inspector::with_options(rules, &InspectOptions::default())
    }

    /// An inspector with other options than the default ones.
    pub fn with_options(rules: Arc<RuleSet>, options: &InspectOptions) -> Inspector {
        Inspector::counting_with(SharedTrackers::default(), rules, options)
    }

    /// An inspector that counts rates and keeps bits of hosts together with
    /// those of other shards.
    pub(crate) fn counting_with(
        trackers: SharedTrackers,
        rules: Arc<RuleSet>,
        options: &InspectOptions,
    ) -> Inspector {
        Inspector {
            scratch: Scratch {
                hits: rules.groups().iter().map(|_| Hits::default()).collect(),
                searched: vec![(0, 0); rules.groups().len()],
                header_verdicts: vec![(0, false); rules.headers().len()],
                ..Scratch::default()
            },
            rules,
            flows: FlowTable::new(options.limits, options.policies.clone()),
            fragments: Reassembler::new(options.policies.clone(), options.is_inline),
            trackers,
            statistics: InspectStatistics::default(),
            is_inline: options.is_inline,
            checksums: options.checksums,
            vlans: options.vlans,
            refusals: Vec::new(),
            anomalies: Anomalies::new(options.anomalies_per_second),
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
            false_candidates_by_stage.add_engine(&hits.statistics());
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
        self.refusals.clear();
        self.anomalies.clear();
        for (index, packet) in packets.iter().enumerate() {
            let record = Record { index, packet };
            if let Some(refused) = self.inspect_levels(&record, *packet, &mut raise) {
                self.refusals.push(Refusal {
                    packet: index,
                    reason: refused.reason,
                    replies: refused.replies,
                });
            }
        }
    }

    /// Those of the packets that were inspected together last which an inline
    /// inspector does not let through, in their order. There are none where it
    /// is not inline.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What those of the packets that were inspected together last did that no receiver takes, in
    /// their order, as far as it is to be told
    /// ([`anomalies_per_second`](InspectOptions::anomalies_per_second)).
    pub fn anomalies(&self) -> &[Anomaly] {
        self.anomalies.found()
    }

    /// A packet, and the packets in it. Behind one that is refused, none is
    /// looked at.
    fn inspect_levels(
        &mut self,
        record: &Record<'_>,
        packet: Packet<'_>,
        raise: &mut impl FnMut(Alert),
    ) -> Option<Refused> {
        for packet in packet.levels(self.vlans) {
            self.statistics.packets += 1;
            let sum = match self.checksums {
                Checksums::Verify => checksum::of(&packet),
                Checksums::Ignore => Sum::Unknown,
            };
            self.statistics.checksums_offloaded += u64::from(sum == Sum::Partial);
            if sum == Sum::Wrong {
                self.statistics
                    .packets_refused
                    .count(Unacceptable::Checksum);
                (self.anomalies).note(record.index, &packet, None, AnomalyKind::Checksum);
                let refused = Refused::silently(InspectDrop::ChecksumWrong);
                return self.is_inline.then_some(refused);
            }
            if header::has_false_length(&packet) {
                self.statistics.packets_refused.count(Unacceptable::Length);
                let kind = AnomalyKind::of_refused(Unacceptable::Length, &packet);
                self.anomalies.note(record.index, &packet, None, kind);
                let refused = Refused::silently(InspectDrop::LengthWrong);
                return self.is_inline.then_some(refused);
            }
            let mut refused = self.inspect_one(record, &packet, sum, raise);
            if refused.is_none()
                && packet.headers.fragment != Fragment::Whole
                && !header::has_refused_options(&packet)
            {
                refused = self.take_fragment(record, &packet, raise);
            }
            if refused.is_some() {
                return refused;
            }
        }
        None
    }

    /// A datagram that this fragment completes is inspected as well, with the
    /// fragment's time and interface.
    fn take_fragment(
        &mut self,
        record: &Record<'_>,
        packet: &Packet<'_>,
        raise: &mut impl FnMut(Alert),
    ) -> Option<Refused> {
        let mut datagram = std::mem::take(&mut self.datagram);
        let refused = match self.fragments.take(packet, &mut datagram) {
            Taken::Nothing => None,
            Taken::Dropped => Some(Refused::silently(InspectDrop::DatagramDropped)),
            Taken::Refused => {
                let kind = AnomalyKind::of_fragment(packet);
                self.anomalies.note(record.index, packet, None, kind);
                let refused = Refused::silently(InspectDrop::FragmentRefused);
                self.is_inline.then_some(refused)
            }
            Taken::Completes => {
                let whole = Packet {
                    headers: Headers::parse(LinkType::RawIp, &datagram),
                    bytes: &datagram,
                    is_cut: false,
                    is_checksum_trusted: false,
                    ..*packet
                };
                let refused = self.inspect_levels(record, whole, raise);
                if refused.is_some() {
                    self.fragments.note_dropped(packet);
                }
                refused
            }
        };
        self.datagram = datagram;
        refused
    }

    /// Inspects one packet by itself and as part of its flow.
    fn inspect_one(
        &mut self,
        record: &Record<'_>,
        packet: &Packet<'_>,
        sum: Sum,
        raise: &mut impl FnMut(Alert),
    ) -> Option<Refused> {
        self.scratch.packet_number += 1;
        self.scratch.cursors.start_packet();
        self.scratch.matched.clear();
        let judged = self.try_rules(record.index, packet, sum);
        if judged.is_passed {
            self.statistics.passed_packets += 1;
            return None;
        }
        self.raise_matched(record.index, packet, judged.place, raise);
        if !self.is_inline {
            return None;
        }
        let refused = match judged.verdict {
            Some(verdict) => Refused {
                reason: verdict.reason(),
                replies: verdict.reject.map_or_else(Vec::new, |to| {
                    reject::replies(record.packet, packet, to, judged.receiver_next)
                }),
            },
            None => Refused::silently(judged.refused?),
        };
        Some(refused)
    }

    /// Raises an alert for every rule in [`Scratch::matched`].
    fn raise_matched(
        &mut self,
        index: usize,
        packet: &Packet<'_>,
        place: Option<(usize, Direction)>,
        raise: &mut impl FnMut(Alert),
    ) {
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

    /// Matches one packet: the rules go to [`Scratch::matched`].
    fn try_rules(&mut self, record_index: usize, packet: &Packet<'_>, sum: Sum) -> Judged {
        let (index, brought) = self.flows.track(packet, sum);
        let flow_id = index.map(|index| self.flows.flow(index).id());
        if let Some(refusal) = brought.refused {
            self.statistics.packets_refused.count(refusal);
            let kind = AnomalyKind::of_refused(refusal, packet);
            (self.anomalies).note(record_index, packet, flow_id, kind);
        }
        if brought.arrival.differs {
            (self.anomalies).note(record_index, packet, flow_id, AnomalyKind::Overlap);
        }
        if brought.arrival.after_gap || brought.answered.after_gap {
            (self.anomalies).note(record_index, packet, flow_id, AnomalyKind::Gap);
        }
        if brought.refused == Some(Unacceptable::Checksum) {
            return Judged {
                refused: Some(InspectDrop::ChecksumWrong),
                ..Judged::default()
            };
        }
        if brought.is_dropped {
            return Judged {
                refused: Some(InspectDrop::FlowDropped),
                ..Judged::default()
            };
        }
        if index.is_some_and(|index| self.flows.flow(index).is_passed) {
            return Judged {
                is_passed: true,
                ..Judged::default()
            };
        }
        let is_fragment = packet.headers.fragment != Fragment::Whole;
        let mut trial = Trial {
            rules: &self.rules,
            trackers: &self.trackers,
            statistics: &mut self.statistics,
            scratch: &mut self.scratch,
            subject: Subject {
                packet,
                payload: if is_fragment { &[] } else { packet.payload() },
                flow: brought.state,
                is_set_aside: is_fragment || brought.refused.is_some(),
                tuple: Tuple::from_headers(&packet.headers, packet.bytes, packet.interface),
            },
            passed: None,
            verdict: None,
        };
        match index {
            Some(index) => trial.flow(self.flows.flow(index), &brought),
            None => trial.packet(&Arrival::default(), None),
        }
        let Trial {
            passed, verdict, ..
        } = trial;
        if let Some(index) = index {
            let drops_flow = verdict.is_some_and(|verdict| verdict.drops_flow);
            if passed == Some(Matched::Flow) {
                self.flows.flow(index).pass();
            } else if self.is_inline && drops_flow && passed.is_none() {
                self.flows.flow(index).is_dropped = true;
            }
            self.flows.settle(index);
        }
        let direction = brought.state.direction.unwrap_or(Direction::ToServer);
        Judged {
            is_passed: passed.is_some(),
            place: index.map(|index| (index, direction)),
            verdict,
            refused: match brought.refused {
                Some(Unacceptable::IpOptions) => Some(InspectDrop::OptionsRefused),
                // What has none may be answered by an ACK, and needs that.
                Some(_) if !packet.payload().is_empty() => Some(InspectDrop::SegmentRefused),
                _ => (brought.arrival.differs).then_some(InspectDrop::StreamConflict),
            },
            receiver_next: brought.receiver_next,
        }
    }
}

/// A record whose packets are inspected.
struct Record<'a> {
    /// Its index among those inspected together.
    index: usize,
    packet: &'a Packet<'a>,
}

/// Why a packet is not let through, and what the ends are sent.
struct Refused {
    reason: InspectDrop,
    replies: Vec<Reply>,
}

impl Refused {
    fn silently(reason: InspectDrop) -> Refused {
        Refused {
            reason,
            replies: Vec::new(),
        }
    }
}

/// What comes of a packet.
#[derive(Default)]
struct Judged {
    /// A rule lets it pass.
    is_passed: bool,
    /// Its flow, and which way it goes there.
    place: Option<(usize, Direction)>,
    /// Of the rules that drop and reject.
    verdict: Option<Verdict>,
    /// Why it is not let through, whatever the rules say.
    refused: Option<InspectDrop>,
    /// Sequence number that its receiver expects.
    receiver_next: Option<u32>,
}

#[cfg(test)]
mod tests;

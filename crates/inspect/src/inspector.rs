//! The pure core: packets in, the rules that they match out.

use std::sync::Arc;

use serde::Serialize;
use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{Fault, Fragment, Headers};
use weir_select::Tuple;
use weir_stream::BATCH_RECORDS;

use crate::engine::{Hits, Text};
use crate::flow::{FlowLimits, FlowState, FlowTable};
use crate::payload::Cursors;
use crate::rule::{Rule, RuleProtocol};
use crate::rule_set::RuleSet;

/// Most alerts that one packet raises; more are counted as suppressed.
pub const MAX_ALERTS_PER_PACKET: usize = 255;

/// A packet as the inspector sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<'a> {
    /// Where its headers lie.
    pub headers: Headers,
    /// The record, from its link header on.
    pub bytes: &'a [u8],
    /// Time of arrival, nanoseconds since 1970.
    pub timestamp_ns: u64,
    /// Interface on which it arrived.
    pub interface: u16,
}

impl<'a> Packet<'a> {
    /// The transport header can be read, and the packet is no fragment.
    fn is_whole(&self) -> bool {
        self.headers.fragment == Fragment::Whole
            && matches!(self.headers.fault, None | Some(Fault::PacketCut))
    }

    /// What contents are looked for in: the bytes after the header of TCP,
    /// UDP, SCTP or ICMP; otherwise those after the IP header.
    fn payload(&self) -> &'a [u8] {
        if self.is_whole() && matches!(self.headers.protocol, TCP | UDP | SCTP | ICMP | ICMPV6) {
            self.headers.payload(self.bytes)
        } else if self.headers.is_ip() {
            self.headers.transport(self.bytes)
        } else {
            &[]
        }
    }
}

/// What an inspector did. Counts of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InspectStatistics {
    /// Packets inspected.
    pub packets: u64,
    /// Payload bytes searched.
    pub payload_bytes: u64,
    /// Pairs of a packet and a rule whose header matches, and whose longest
    /// content is in the payload (or that has none): what was verified.
    pub candidates: u64,
    /// Of these, pairs that turned out not to match.
    pub false_candidates: u64,
    /// Of the false candidates, those given up because a pattern had more
    /// matches to follow up than [`MAX_PATTERN_SEARCHES`].
    ///
    /// [`MAX_PATTERN_SEARCHES`]: crate::MAX_PATTERN_SEARCHES
    pub search_limited: u64,
    /// Alerts raised.
    pub alerts: u64,
    /// Packets that a rule with action `pass` let go unseen by the others.
    pub passed_packets: u64,
    /// Packets that matched more than [`MAX_ALERTS_PER_PACKET`] rules; the
    /// rest of the rules were not tried.
    pub alerts_limited: u64,
    /// Flows seen.
    pub flows: u64,
    /// Flows forgotten before their time, because the table was full: what
    /// came later of them is not established.
    pub flows_evicted: u64,
}

impl InspectStatistics {
    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &InspectStatistics) {
        let InspectStatistics {
            packets,
            payload_bytes,
            candidates,
            false_candidates,
            search_limited,
            alerts,
            passed_packets,
            alerts_limited,
            flows,
            flows_evicted,
        } = other;
        self.packets += packets;
        self.payload_bytes += payload_bytes;
        self.candidates += candidates;
        self.false_candidates += false_candidates;
        self.search_limited += search_limited;
        self.alerts += alerts;
        self.passed_packets += passed_packets;
        self.alerts_limited += alerts_limited;
        self.flows += flows;
        self.flows_evicted += flows_evicted;
    }
}

/// Matches packets against a rule set. It keeps the state of flows, so one
/// inspector sees all packets of a flow, in order.
pub struct Inspector {
    rules: Arc<RuleSet>,
    flows: FlowTable,
    statistics: InspectStatistics,
    scratch: Scratch,
}

/// Working memory, kept from batch to batch.
#[derive(Default)]
struct Scratch {
    hits: Hits,
    /// Rules to be verified for the packet at hand.
    candidates: Vec<u32>,
    selectors: Vec<u32>,
    /// For every header the last packet for which it was looked at, and
    /// whether it matched.
    header_verdicts: Vec<(u64, bool)>,
    cursors: Cursors,
    packet_number: u64,
}

impl Inspector {
    /// An inspector that has seen no packet.
    pub fn new(rules: Arc<RuleSet>) -> Inspector {
        Inspector::with_limits(rules, FlowLimits::default())
    }

    /// An inspector whose flow table has other bounds.
    pub fn with_limits(rules: Arc<RuleSet>, limits: FlowLimits) -> Inspector {
        Inspector {
            scratch: Scratch {
                header_verdicts: vec![(0, false); rules.headers().len()],
                ..Scratch::default()
            },
            rules,
            flows: FlowTable::new(limits),
            statistics: InspectStatistics::default(),
        }
    }

    /// The rules that packets are matched against.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// What was done so far.
    pub fn statistics(&self) -> InspectStatistics {
        let flows = self.flows.counts();
        InspectStatistics {
            flows: flows.opened,
            flows_evicted: flows.evicted,
            ..self.statistics
        }
    }

    /// Inspects packets in order of arrival and calls `raise` with the index
    /// of a packet and that of a rule for each alert: ascending by packet,
    /// then by rule, each pair once. Packets that are not IP match nothing.
    pub fn inspect(&mut self, packets: &[Packet<'_>], mut raise: impl FnMut(usize, u32)) {
        for (chunk, packets) in packets.chunks(BATCH_RECORDS).enumerate() {
            let first = chunk * BATCH_RECORDS;
            self.inspect_batch(packets, |index, rule| raise(first + index, rule));
        }
    }

    fn inspect_batch(&mut self, packets: &[Packet<'_>], mut raise: impl FnMut(usize, u32)) {
        let Inspector {
            rules,
            flows,
            statistics,
            scratch,
        } = self;
        let mut payloads = [Text::default(); BATCH_RECORDS];
        let payloads = &mut payloads[..packets.len()];
        for (payload, packet) in payloads.iter_mut().zip(packets) {
            *payload = Text::whole(packet.payload());
            statistics.payload_bytes += payload.bytes().len() as u64;
        }
        scratch.hits.start(packets.len(), rules.content_count());
        rules.engine().scan(payloads, &mut scratch.hits);
        let mut hits = scratch.hits.in_order();
        for (index, packet) in packets.iter().enumerate() {
            let of_packet = hits.partition_point(|hit| hit.payload as usize <= index);
            let (hits_here, later) = hits.split_at(of_packet);
            hits = later;
            if !packet.headers.is_ip() {
                continue;
            }
            statistics.packets += 1;
            scratch.packet_number += 1;
            let flow = flows.track(&packet.headers, packet.bytes, packet.timestamp_ns);
            let tuple = Tuple::from_headers(&packet.headers, packet.bytes, packet.interface);

            let candidates = &mut scratch.candidates;
            candidates.clear();
            rules.table().all(&tuple, &mut scratch.selectors);
            candidates.extend(scratch.selectors.iter().map(|s| rules.rule_of_table(*s)));
            for hit in hits_here {
                let owners = rules.owners(hit.content).iter();
                candidates.extend(owners.filter(|rule| {
                    rules.headers_of(**rule).any(|header| {
                        let verdict = &mut scratch.header_verdicts[header as usize];
                        if verdict.0 != scratch.packet_number {
                            let selector = &rules.headers()[header as usize];
                            *verdict = (scratch.packet_number, selector.matches(&tuple));
                        }
                        verdict.1
                    })
                }));
            }
            candidates.sort_unstable();
            candidates.dedup();
            verify(
                rules,
                candidates,
                &Subject {
                    packet,
                    payload: payloads[index].bytes(),
                    flow,
                },
                &mut scratch.cursors,
                statistics,
                |rule| raise(index, rule),
            );
        }
    }
}

/// A packet and all that rules are asked about it.
struct Subject<'a> {
    packet: &'a Packet<'a>,
    payload: &'a [u8],
    flow: FlowState,
}

/// Verifies the candidates of one packet and raises alerts for those that
/// match. A matching rule with action `pass` ends it.
fn verify(
    rules: &RuleSet,
    candidates: &[u32],
    subject: &Subject<'_>,
    cursors: &mut Cursors,
    statistics: &mut InspectStatistics,
    mut raise: impl FnMut(u32),
) {
    let mut alerts = 0;
    for number in candidates {
        if alerts == MAX_ALERTS_PER_PACKET {
            statistics.alerts_limited += 1;
            break;
        }
        statistics.candidates += 1;
        let rule = &rules.rules()[*number as usize];
        let conditions = rule.holds_before_payload(subject);
        let matched = conditions && rule.payload.matches(subject.payload, cursors);
        if !matched {
            statistics.false_candidates += 1;
            statistics.search_limited += u64::from(conditions && cursors.is_limited);
        } else if *number < rules.pass_count {
            statistics.passed_packets += 1;
            break;
        } else {
            alerts += 1;
            raise(*number);
        }
    }
    statistics.alerts += alerts as u64;
}

impl Rule {
    /// All conditions but those of the header's selector and of the payload.
    fn holds_before_payload(&self, subject: &Subject<'_>) -> bool {
        let Subject {
            packet,
            payload,
            flow,
        } = subject;
        let protocol = match self.protocol {
            RuleProtocol::Ip => true,
            RuleProtocol::Transport => packet.is_whole(),
            RuleProtocol::Application(wanted) => flow.application == Some(wanted),
        };
        let is_tcp = packet.headers.protocol == TCP && packet.is_whole();
        protocol
            && self.flow.matches(flow)
            && self
                .payload_bytes
                .is_none_or(|bytes| bytes.matches(payload.len()))
            && (self.tcp_flags.iter())
                .all(|flags| is_tcp && flags.matches(packet.headers.tcp_flags))
    }
}

#[cfg(test)]
mod tests;

//! What rules require besides texts: protocol and flow, the packet's own fields,
//! bits; and what they leave behind when they match.

use std::sync::Arc;

use weir_packet::wire::protocol::{ICMP, ICMPV6, TCP};

use super::trial::{Subject, Trial};
use super::verdict::Matched;
use crate::flow::{FlowBits, StreamSizes};
use crate::message::Transaction;
use crate::range::NumberRange;
use crate::rate::{Counted, Ends};
use crate::rule::{
    Action, BitAction, FlowCondition, PacketConditions, Rule, RuleProtocol, StreamBytes, StreamEnd,
};

impl Trial<'_> {
    /// Whether the rule is of a protocol that the stream may still turn out to
    /// speak.
    pub(super) fn may_be_of_protocol(&self, rule: &Rule) -> bool {
        matches!(rule.protocol, RuleProtocol::Application(_)) && self.subject.flow.may_be_told
    }

    /// All conditions but those of the header's selector, of bits and of texts.
    pub(super) fn holds_before_texts(&self, rule: &Rule) -> bool {
        let Subject {
            packet,
            payload,
            flow,
            ..
        } = &self.subject;
        let protocol = match rule.protocol {
            RuleProtocol::Ip => true,
            RuleProtocol::Transport => packet.is_whole(),
            RuleProtocol::Application(wanted) => {
                flow.application == Some(wanted) || flow.may_be_told
            }
        };
        let is_tcp = packet.headers.protocol == TCP && packet.is_whole();
        let asked = &rule.packet;
        protocol
            && rule.flow.matches(flow)
            && asked
                .payload_bytes
                .is_none_or(|bytes| bytes.matches(payload.len()))
            && (asked.tcp_flags.iter())
                .all(|flags| is_tcp && flags.matches(packet.headers.tcp_flags))
            && self.icmp_matches(rule)
            && (asked.stream_bytes.iter())
                .all(|wanted| flow.sizes.is_some_and(|sizes| wanted.matches(sizes)))
    }

    fn icmp_matches(&self, rule: &Rule) -> bool {
        let asked = &rule.packet;
        if (asked.icmp_type, asked.icmp_code, asked.icmp_id) == (None, None, None) {
            return true;
        }
        let packet = self.subject.packet;
        let message = packet.headers.transport(packet.bytes);
        let is_icmp = packet.is_whole() && matches!(packet.headers.protocol, ICMP | ICMPV6);
        let [kind, code, _, _, high, low, ..] = message else {
            return false;
        };
        let holds = |range: Option<NumberRange>, value: u8| {
            range.is_none_or(|range| range.matches(usize::from(value)))
        };
        let identifier = u16::from_be_bytes([*high, *low]);
        is_icmp
            && holds(asked.icmp_type, *kind)
            && holds(asked.icmp_code, *code)
            && asked.icmp_id.is_none_or(|wanted| wanted == identifier)
    }

    fn ends(&self) -> Ends {
        Ends {
            source: self.subject.tuple.key.source,
            destination: self.subject.tuple.key.destination,
        }
    }

    pub(super) fn state_holds(&self, rule: &Rule, bits: Option<&FlowBits>) -> bool {
        let flow_bits = rule.state.flow_bits.iter().all(|(action, names)| {
            let is_set = |name: &u32| bits.is_some_and(|bits| bits.is_set(*name));
            match action {
                BitAction::IsSet => names.iter().any(is_set),
                BitAction::IsNotSet => names.iter().any(|name| !is_set(name)),
                BitAction::Set | BitAction::Unset | BitAction::Toggle => true,
            }
        });
        if !flow_bits || rule.state.host_bits.is_empty() {
            return flow_bits;
        }
        let now_ns = self.subject.packet.timestamp_ns;
        let mut trackers = self.trackers.lock();
        let mut host_bits = rule.state.host_bits.iter();
        host_bits.all(|bit| trackers.holds(bit, self.ends(), now_ns))
    }

    /// A rule matched: what it remembers, what it does to the packet and to its
    /// flow, and whether it is an alert, which tells of the transaction.
    pub(super) fn matched(
        &mut self,
        index: u32,
        subject: Matched,
        bits: Option<&mut FlowBits>,
        transaction: Option<&Arc<Transaction>>,
    ) {
        let rule = &self.rules.rules()[index as usize];
        let now_ns = self.subject.packet.timestamp_ns;
        if let Some(bits) = bits {
            for (action, names) in &rule.state.flow_bits {
                for name in names {
                    match action {
                        BitAction::Set => bits.put(*name, true),
                        BitAction::Unset => bits.put(*name, false),
                        BitAction::Toggle => bits.put(*name, !bits.is_set(*name)),
                        BitAction::IsSet | BitAction::IsNotSet => {}
                    }
                }
            }
        }
        let counted = match (&rule.state.rate, &rule.state.host_bits[..]) {
            (None, []) => Counted::Alert,
            _ => self.count(index, now_ns),
        };
        if rule.action == Action::Pass {
            if counted == Counted::Alert {
                let of_flow = subject == Matched::Flow || rule.is_about_flow_alone();
                self.passed = self.passed.max(Some(match of_flow {
                    true => Matched::Flow,
                    false => Matched::Packet,
                }));
            }
            return;
        }
        if counted != Counted::TooFew {
            self.carry_out(rule, subject);
        }
        if rule.state.is_silent {
            return;
        }
        if counted == Counted::Alert {
            self.scratch.matched.push((index, transaction.cloned()));
        } else {
            self.statistics.alerts_suppressed += 1;
        }
    }

    /// Notes what a rule that matched does to the packet and to its flow.
    fn carry_out(&mut self, rule: &Rule, subject: Matched) {
        let reject = match rule.action {
            Action::Drop => None,
            Action::Reject(to) => Some(to),
            Action::Alert | Action::Pass => return,
        };
        let verdict = self.verdict.get_or_insert_default();
        verdict.drops_flow |= subject == Matched::Flow || rule.is_about_flow_alone();
        verdict.reject = match (verdict.reject, reject) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
    }

    /// Changes the bits of hosts as a rule says, and counts its match.
    fn count(&mut self, index: u32, now_ns: u64) -> Counted {
        let rule = &self.rules.rules()[index as usize];
        let (number, ends) = (self.rules.number(index), self.ends());
        let mut trackers = self.trackers.lock();
        let evicted = trackers.evicted;
        for bit in &rule.state.host_bits {
            trackers.change(bit, ends, now_ns);
        }
        let is_silent = rule.state.is_silent && rule.action != Action::Pass;
        let rate = rule.state.rate.as_ref().filter(|_| !is_silent);
        let counted = rate.map_or(Counted::Alert, |rate| {
            trackers.count(number, rate, ends, now_ns)
        });
        self.statistics.trackers_evicted += trackers.evicted - evicted;
        counted
    }
}

impl Rule {
    /// Whether nothing but addresses, ports and protocol decides. As in Suricata, what it does is
    /// done to both directions of a flow.
    pub(super) fn is_about_flow_alone(&self) -> bool {
        self.payload.is_empty()
            && self.buffers.is_empty()
            && self.packet == PacketConditions::default()
            && self.flow == FlowCondition::default()
    }
}

impl StreamBytes {
    fn matches(&self, sizes: StreamSizes) -> bool {
        let holds = |bytes: u64| {
            self.bytes
                .matches(usize::try_from(bytes).unwrap_or(usize::MAX))
        };
        let (client, server) = (holds(sizes.from_client), holds(sizes.from_server));
        match self.end {
            StreamEnd::Client => client,
            StreamEnd::Server => server,
            StreamEnd::Both => client && server,
            StreamEnd::Either => client || server,
        }
    }
}

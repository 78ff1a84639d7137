//! One packet against the rules: which are tried, for which text, and how each
//! fares.

use std::time::Instant;

use weir_match::Haystack;
use weir_packet::wire::protocol::{TCP, UDP};
use weir_select::Tuple;

use super::statistics::RuleStage;
use super::verdict::{Matched, Verdict};
use super::{InspectStatistics, Packet, RuleCost, Scratch};
use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::flow::{Arrival, Brought, Flow, FlowBits, FlowState};
use crate::group::GroupKey;
use crate::message::{EventContent, Part};
use crate::payload::Text;
use crate::rate::SharedTrackers;
use crate::rule::{BufferTest, Rule, TextScope};
use crate::rule_set::RuleSet;

/// What a trial counts for beside the bytes that it looks at.
const TRIAL_BYTES: usize = 64;

/// A packet and all that rules are asked about it.
pub(super) struct Subject<'a> {
    pub(super) packet: &'a Packet<'a>,
    pub(super) payload: &'a [u8],
    pub(super) flow: FlowState,
    /// The receiver does not take its payload, or not yet: that of a fragment is looked at in the
    /// datagram.
    pub(super) is_set_aside: bool,
    pub(super) tuple: Tuple,
}

/// How a rule fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Match,
    Not,
    /// Not yet: more of the text could make it a match.
    Later,
}

/// Whose turn it is among the rules that are tried for a stream or a message.
pub(super) struct Turn {
    /// The first one is tried in any case.
    is_owed: bool,
    /// Number of the first rule that was put off.
    pub(super) next: Option<u32>,
}

/// The rules against one packet.
pub(super) struct Trial<'a> {
    pub(super) rules: &'a RuleSet,
    pub(super) trackers: &'a SharedTrackers,
    pub(super) statistics: &'a mut InspectStatistics,
    pub(super) scratch: &'a mut Scratch,
    pub(super) subject: Subject<'a>,
    /// What the rules with action `pass` that matched let pass.
    pub(super) passed: Option<Matched>,
    /// What the rules with actions `drop` and `reject` that matched say.
    pub(super) verdict: Option<Verdict>,
}

impl Trial<'_> {
    /// A packet of a flow: the messages that it completes, the streams that it
    /// makes longer, the packet itself.
    pub(super) fn flow(&mut self, flow: &mut Flow, brought: &Brought) {
        let messages_before = flow.packets().saturating_sub(1);
        let Flow { bits, streams, .. } = flow;
        let direction = self.subject.flow.direction.unwrap_or(Direction::ToServer);
        if let Some(streams) = streams {
            for arrival in [&brought.arrival, &brought.answered] {
                self.statistics.stream_gaps += u64::from(arrival.after_gap);
                self.statistics.overlaps_differing += u64::from(arrival.differs);
            }
            // What the packet acknowledges came before what it brings.
            let arrivals = [
                (direction.opposite(), &brought.answered),
                (direction, &brought.arrival),
            ];
            let application = self.subject.flow.application;
            streams.converse(&arrivals, application, &mut |event, text| {
                self.message(event, text, bits);
            });
            for (of, arrival) in arrivals {
                if arrival.new_bytes == 0 {
                    continue;
                }
                let (stream, conversation) = streams.of(of);
                if of == direction {
                    self.stream(of, arrival, stream, conversation, bits);
                } else {
                    self.turn();
                    self.stream(of, arrival, stream, conversation, bits);
                    self.turn();
                }
            }
        }
        let is_question = self.subject.packet.headers.protocol == UDP
            && self.subject.flow.application == Some(AppProtocol::Dns);
        if is_question {
            self.datagram_of_dns(direction, messages_before, bits);
        }
        self.packet(&brought.arrival, Some(bits));
    }

    /// Looks at the packet as one of the other direction.
    pub(super) fn turn(&mut self) {
        let Subject { flow, tuple, .. } = &mut self.subject;
        flow.direction = flow.direction.map(Direction::opposite);
        tuple.key = tuple.key.reversed();
        self.scratch.packet_number += 1;
    }

    /// The packet by itself. One that is part of a stream was looked at there,
    /// but for the rules about packets; where it was searched there, it is not
    /// searched again for these.
    pub(super) fn packet(&mut self, arrival: &Arrival, mut bits: Option<&mut FlowBits>) {
        let Subject {
            packet,
            payload,
            flow,
            is_set_aside,
            ..
        } = &self.subject;
        let (payload, direction, is_set_aside) = (*payload, flow.direction, *is_set_aside);
        let payload_text = Haystack::whole(payload);
        self.scratch.candidates.clear();
        match (packet.is_whole(), packet.headers.protocol, direction) {
            (true, TCP, Some(direction)) => {
                if arrival.is_payload {
                    let Scratch {
                        candidates,
                        of_packet,
                        ..
                    } = &mut *self.scratch;
                    candidates.append(of_packet);
                } else {
                    self.search(GroupKey::Tcp(direction), payload_text);
                }
            }
            (true, UDP, _) => self.search(GroupKey::UdpPacket, payload_text),
            _ => self.search(GroupKey::OtherPacket, payload_text),
        }
        self.add_rules_by_header();
        let candidates = self.take_candidates();
        for rule in &candidates {
            let asked = &self.rules.rules()[*rule as usize];
            if asked.packet.scope == Some(TextScope::Stream)
                || is_set_aside && !asked.payload.is_empty()
                || arrival.is_in_stream && asked.is_about_stream()
                || !self.may_try()
            {
                continue;
            }
            let outcome = self.judge(*rule, Text::whole(payload), None, bits.as_deref());
            if outcome == Outcome::Match {
                self.matched(*rule, Matched::Packet, bits.as_deref_mut(), None);
            }
        }
        self.scratch.candidates = candidates;
    }

    /// Looks for the contents of a group, and makes candidates of the rules
    /// that they belong to.
    pub(super) fn search(&mut self, key: GroupKey, text: Haystack<'_>) {
        let Some(group) = self.rules.group(key) else {
            return;
        };
        if text.bytes().is_empty() {
            return;
        }
        let hits = &mut self.scratch.hits[key.index()];
        group.engine.scan(&[text], hits);
        let found = hits.in_order();
        let counts = &mut self.scratch.searched[key.index()];
        *counts = (
            counts.0 + text.bytes().len() as u64,
            counts.1 + found.len() as u64,
        );
        self.statistics.payload_bytes += text.bytes().len() as u64;
        let class = group.port_class(&self.subject.tuple);
        for hit in found {
            let elsewhere = group.add_owners(hit.pattern, class, &mut self.scratch.candidates);
            self.statistics.false_candidates_by_stage.header += elsewhere;
        }
    }

    /// Makes candidates of the rules that are found by their header alone.
    pub(super) fn add_rules_by_header(&mut self) {
        let Scratch {
            selectors,
            selected_for,
            candidates,
            packet_number,
            ..
        } = &mut *self.scratch;
        if std::mem::replace(selected_for, *packet_number) != *packet_number {
            self.rules.table().all(&self.subject.tuple, selectors);
        }
        let rules = selectors
            .iter()
            .map(|selector| self.rules.rule_of_table(*selector));
        candidates.extend(rules);
    }

    /// The candidates whose header matches, each once, in order.
    pub(super) fn take_candidates(&mut self) -> Vec<u32> {
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        candidates.sort_unstable();
        candidates.dedup();
        let found = candidates.len();
        candidates.retain(|rule| self.header_matches(*rule));
        self.statistics.false_candidates_by_stage.header += (found - candidates.len()) as u64;
        candidates
    }

    pub(super) fn header_matches(&mut self, rule: u32) -> bool {
        let (rules, scratch) = (self.rules, &mut *self.scratch);
        rules.headers_of(rule).any(|header| {
            let verdict = &mut scratch.header_verdicts[header as usize];
            if verdict.0 != scratch.packet_number {
                let selector = &rules.headers()[header as usize];
                *verdict = (scratch.packet_number, selector.matches(&self.subject.tuple));
            }
            verdict.1
        })
    }

    /// Whether another rule may be tried for this packet; where not, that is
    /// counted.
    pub(super) fn may_try(&mut self) -> bool {
        let may_look = self.scratch.cursors.may_look();
        self.statistics.trials_put_off += u64::from(!may_look);
        may_look
    }

    /// Puts first the rule whose turn it is, since a packet before put it off,
    /// then those behind it, then the others. Returns the turn: that rule is
    /// tried whatever was looked at for the packet already, so that with every
    /// packet the turn comes to another rule at least.
    pub(super) fn in_turn(&self, turn: Option<u32>, candidates: &mut [u32]) -> Turn {
        let first = turn.and_then(|number| self.rules.with_number(number));
        if let Some(first) = first {
            let behind = candidates.partition_point(|rule| *rule < first);
            candidates.rotate_left(behind % candidates.len().max(1));
        }
        Turn {
            is_owed: first.is_some(),
            next: None,
        }
    }

    /// Whether a rule may be tried, or is put off and has its turn later.
    pub(super) fn has_turn(&mut self, turn: &mut Turn, number: u32) -> bool {
        let may_try = std::mem::take(&mut turn.is_owed) || self.may_try();
        if !may_try {
            turn.next.get_or_insert(number);
        }
        may_try
    }

    /// Tries a rule whose header matches.
    pub(super) fn judge(
        &mut self,
        number: u32,
        text: Text<'_>,
        content: Option<EventContent<'_>>,
        bits: Option<&FlowBits>,
    ) -> Outcome {
        self.statistics.candidates += 1;
        self.scratch.failed = None;
        self.scratch.cursors.look_at(TRIAL_BYTES);
        let began = self.scratch.costs.is_some().then(Instant::now);
        let rule = &self.rules.rules()[number as usize];
        let (outcome, stage) = if !self.holds_before_texts(rule) {
            (Outcome::Not, RuleStage::Conditions)
        } else if self.may_be_of_protocol(rule) {
            (Outcome::Later, RuleStage::Conditions)
        } else if self.state_holds(rule, bits) {
            (self.texts_match(rule, text, content), RuleStage::Texts)
        } else if content.is_some_and(|content| content.goes_on()) {
            // The bit may be set before the message ends.
            (Outcome::Later, RuleStage::Bits)
        } else {
            (Outcome::Not, RuleStage::Bits)
        };
        if outcome != Outcome::Match {
            self.statistics.false_candidates += 1;
            self.statistics.false_candidates_by_stage.count(stage);
        }
        if let (Some(costs), Some(began)) = (&mut self.scratch.costs, began) {
            costs[self.rules.number(number) as usize].merge(&RuleCost {
                trials: 1,
                matches: u64::from(outcome == Outcome::Match),
                time: began.elapsed(),
            });
        }
        outcome
    }

    /// Whether a rule matches the packet by itself, whatever it was found by.
    #[cfg(test)]
    pub(super) fn matches_packet(&mut self, rule: u32) -> bool {
        let payload = Text::whole(self.subject.payload);
        self.header_matches(rule) && self.judge(rule, payload, None, None) == Outcome::Match
    }

    /// Every text that the rule asks for, in its order.
    fn texts_match(
        &mut self,
        rule: &Rule,
        text: Text<'_>,
        content: Option<EventContent<'_>>,
    ) -> Outcome {
        self.scratch.cursors.start_rule();
        let (mut outcome, mut is_limited) = (Outcome::Match, false);
        let (before, behind) = rule.buffers.split_at(rule.payload_at);
        let tests = before.iter().map(Some);
        let tests = tests.chain([None]).chain(behind.iter().map(Some));
        for test in tests {
            let of_text = match test {
                Some(test) => self.part_matches(test, content),
                None => self.payload_matches(rule, text, content),
            };
            is_limited |= self.scratch.cursors.is_limited;
            if of_text != Outcome::Match {
                outcome = of_text;
            }
            // What follows may need a variable of a text that is still to come.
            if outcome == Outcome::Not || outcome == Outcome::Later && rule.shares_variables {
                break;
            }
        }
        let given_up = std::mem::take(&mut self.scratch.cursors.given_up);
        self.statistics.pattern_limit += given_up;
        self.statistics.search_limited += u64::from(is_limited && outcome != Outcome::Match);
        outcome
    }

    fn part_matches(&mut self, test: &BufferTest, content: Option<EventContent<'_>>) -> Outcome {
        let Scratch {
            cursors, derived, ..
        } = &mut *self.scratch;
        let part = match &content {
            Some(content) => content.part(test.buffer, derived),
            None => Part::Absent,
        };
        let (bytes, is_all) = match part {
            Part::Absent => return Outcome::Not,
            Part::Later => return Outcome::Later,
            Part::Here(_, _) if test.is_dotted => {
                (derived.dotted(test.buffer).unwrap_or_default(), true)
            }
            Part::Here(bytes, is_all) => (bytes, is_all),
        };
        let matches = test.payload.matches(Text::whole(bytes), cursors);
        if !is_all && (!matches || test.payload.waits_for_end()) {
            Outcome::Later
        } else if matches {
            Outcome::Match
        } else {
            Outcome::Not
        }
    }

    fn payload_matches(
        &mut self,
        rule: &Rule,
        text: Text<'_>,
        content: Option<EventContent<'_>>,
    ) -> Outcome {
        if rule.payload.is_empty() {
            return Outcome::Match;
        }
        let cursors = &mut self.scratch.cursors;
        if rule.payload.matches(text, cursors) {
            return Outcome::Match;
        }
        self.scratch.failed = rule.payload.missing_step(cursors);
        let may_match_later = match &content {
            Some(content) => content.goes_on(),
            None => rule.payload.may_match_later(),
        };
        if may_match_later {
            Outcome::Later
        } else {
            Outcome::Not
        }
    }
}

impl Rule {
    /// Whether its contents are meant for streams, where there is one.
    pub(super) fn is_about_stream(&self) -> bool {
        !self.payload.is_empty() && !self.packet.needs_packet()
    }
}

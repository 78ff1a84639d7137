//! Rules about the parts of a message.

use std::sync::Arc;

use weir_match::Haystack;

use super::trial::{Outcome, Trial};
use super::verdict::Matched;
use crate::application::AppProtocol;
use crate::buffer::Buffer;
use crate::direction::Direction;
use crate::flow::FlowBits;
use crate::group::GroupKey;
use crate::message::{Event, EventContent, Memory, Part, Told, question_names};
use crate::payload::Text;

impl Trial<'_> {
    /// A datagram that is a message of DNS, and its place among those of its
    /// flow.
    pub(super) fn datagram_of_dns(
        &mut self,
        direction: Direction,
        number: u64,
        bits: &mut FlowBits,
    ) {
        let key = GroupKey::Part(Buffer::DnsQuery, direction);
        if self.rules.group(key).is_none() {
            return;
        }
        let payload = self.subject.payload;
        let (mut name, mut memory) = (std::mem::take(&mut self.scratch.name), Memory::default());
        question_names(payload, &mut name, |name| {
            memory.clear();
            let event = Event {
                protocol: AppProtocol::Dns,
                direction,
                content: EventContent::Parts(
                    &[(Buffer::DnsQuery, name)],
                    Told::Dns(payload, number),
                ),
                memory: &mut memory,
            };
            self.message(event, Text::whole(payload), bits);
        });
        self.scratch.name = name;
    }

    /// A message that began or went on; `text` is what is in sight of its
    /// stream. It is judged with its own direction: a response may tell the protocol, and with it
    /// all requests in front of it.
    pub(super) fn message(&mut self, event: Event<'_>, text: Text<'_>, bits: &mut FlowBits) {
        let packets = self.subject.flow.direction;
        let is_opposite = packets.is_some_and(|packets| packets != event.direction);
        if is_opposite {
            self.turn();
        }
        self.message_of_packet(event, text, bits);
        if is_opposite {
            self.turn();
        }
    }

    fn message_of_packet(&mut self, event: Event<'_>, text: Text<'_>, bits: &mut FlowBits) {
        let Event {
            protocol,
            direction,
            content,
            memory,
        } = event;
        self.scratch.derived.clear();
        self.scratch.candidates.clear();
        for buffer in self.rules.parts(protocol, direction) {
            let Some(new_from) = content.new_from(*buffer) else {
                continue;
            };
            let key = GroupKey::Part(*buffer, direction);
            let Some(group) = self.rules.group(key) else {
                continue;
            };
            let derived = &mut self.scratch.derived;
            let Part::Here(bytes, _) = content.part(*buffer, derived) else {
                continue;
            };
            let searched = if buffer.grows() {
                group.continued(bytes, new_from)
            } else {
                Haystack::whole(derived.dotted(*buffer).unwrap_or_default())
            };
            let hits = &mut self.scratch.hits[key.index()];
            group.engine.scan(&[searched], hits);
            let found = hits.in_order();
            let counts = &mut self.scratch.searched[key.index()];
            *counts = (
                counts.0 + searched.bytes().len() as u64,
                counts.1 + found.len() as u64,
            );
            self.statistics.part_bytes += searched.bytes().len() as u64;
            let candidates = &mut self.scratch.candidates;
            let class = group.port_class(&self.subject.tuple);
            for hit in found {
                let elsewhere = group.add_owners(hit.pattern, class, candidates);
                self.statistics.false_candidates_by_stage.header += elsewhere;
            }
            candidates.extend(&group.always);
        }
        let waiting = memory.waiting.iter();
        let waiting = waiting.filter_map(|number| self.rules.with_number(*number));
        self.scratch.candidates.extend(waiting);
        let mut transaction = None;
        let mut candidates = self.take_candidates();
        candidates.retain(|rule| !memory.matched.contains(&self.rules.number(*rule)));
        let mut turn = self.in_turn(memory.turn, &mut candidates);
        for rule in &candidates {
            let number = self.rules.number(*rule);
            let outcome = if self.has_turn(&mut turn, number) {
                self.judge(*rule, text, Some(content), Some(bits))
            } else {
                Outcome::Later
            };
            match outcome {
                Outcome::Match => {
                    memory.matched.push(number);
                    memory.waiting.retain(|waiting| *waiting != number);
                    let told =
                        transaction.get_or_insert_with(|| content.transaction().map(Arc::new));
                    self.matched(*rule, Matched::Flow, Some(bits), told.as_ref());
                }
                Outcome::Later => {
                    self.statistics.waiting_evicted += u64::from(memory.note_waiting(number));
                }
                Outcome::Not => memory.waiting.retain(|waiting| *waiting != number),
            }
        }
        memory.turn = turn.next;
        self.scratch.candidates = candidates;
    }
}

//! Rules about a stream that became longer.

use std::sync::Arc;

use super::Scratch;
use super::trial::{Outcome, Trial};
use super::verdict::Matched;
use crate::direction::Direction;
use crate::flow::{Arrival, FlowBits, Missing, Stream};
use crate::group::GroupKey;
use crate::message::Conversation;
use crate::payload::Text;

impl Trial<'_> {
    /// A stream that became longer.
    pub(super) fn stream(
        &mut self,
        direction: Direction,
        arrival: &Arrival,
        stream: &mut Stream,
        conversation: Option<&Conversation>,
        bits: &mut FlowBits,
    ) {
        let mut transaction = None;
        self.scratch.candidates.clear();
        stream.forget_waiting();
        let text = stream.text();
        let key = GroupKey::Tcp(direction);
        if let Some(group) = self.rules.group(key) {
            let old = text.bytes.len() - arrival.new_bytes;
            self.search(key, group.continued(text.bytes, old));
        }
        let Scratch {
            candidates,
            of_packet,
            ..
        } = &mut *self.scratch;
        let rules = self.rules.rules();
        let is_about_stream = |rule: &u32| rules[*rule as usize].is_about_stream();
        if arrival.is_payload {
            of_packet.extend(candidates.iter().filter(|rule| !is_about_stream(rule)));
        }
        self.add_rules_by_header();
        self.scratch.candidates.retain(is_about_stream);
        let end = stream.end();
        for waiting in stream.waiting() {
            if let Some(rule) = self.rules.with_number(waiting.rule) {
                if self.scratch.candidates.contains(&rule) {
                    waiting.seen = end;
                } else {
                    self.scratch.candidates.push(rule);
                }
            }
        }
        let mut candidates = self.take_candidates();
        let mut turn = self.in_turn(stream.turn(), &mut candidates);
        for rule in &candidates {
            let number = self.rules.number(*rule);
            let (outcome, missing) = if self.has_turn(&mut turn, number) {
                let outcome = self.judge_stream(*rule, arrival, stream, bits);
                (outcome, self.missing(*rule, end))
            } else {
                let known = stream.waiting_of(number);
                (Outcome::Later, known.and_then(|known| known.missing))
            };
            match outcome {
                Outcome::Match => {
                    stream.note_match(number);
                    let told = transaction.get_or_insert_with(|| {
                        let newest = conversation?.newest(direction)?;
                        Some(Arc::new(newest))
                    });
                    self.matched(*rule, Matched::Flow, Some(bits), told.as_ref());
                }
                Outcome::Later => {
                    let is_full = stream.note_waiting(number, missing);
                    self.statistics.waiting_evicted += u64::from(is_full);
                }
                Outcome::Not => {}
            }
        }
        stream.set_turn(turn.next);
        self.scratch.candidates = candidates;
    }

    /// Tries a rule for what is in sight of a stream. A rule that waits for
    /// what has not come is not tried at length.
    fn judge_stream(
        &mut self,
        rule: u32,
        arrival: &Arrival,
        stream: &mut Stream,
        bits: &FlowBits,
    ) -> Outcome {
        let number = self.rules.number(rule);
        let (start, from) = (stream.base(), stream.start_for(number));
        let asked = &self.rules.rules()[rule as usize];
        let missing = stream.waiting_of(number).and_then(|known| known.missing);
        let text = Text {
            bytes: &stream.text().bytes[(from - start) as usize..],
            base: from,
        };
        let Scratch {
            cursors,
            generation,
            ..
        } = &mut *self.scratch;
        let still_missing = missing.filter(|missing| {
            let tried_bytes = missing.end.saturating_sub(from) as usize;
            missing.generation == *generation
                && !(asked.payload).is_found(missing.step, text, tried_bytes, cursors)
        });
        self.scratch.missing = still_missing;
        if self.scratch.missing.is_some() {
            return Outcome::Later;
        }
        let outcome = self.judge(rule, text, None, Some(bits));
        let may_match_packet = outcome != Outcome::Match
            && arrival.is_payload
            && asked.packet.scope.is_none()
            && asked.payload.is_placed_from_start();
        if may_match_packet {
            let packet = Text::whole(self.subject.payload);
            if self.judge(rule, packet, None, Some(bits)) == Outcome::Match {
                return Outcome::Match;
            }
        }
        outcome
    }

    /// What a rule waits for that was just tried.
    fn missing(&self, rule: u32, end: u64) -> Option<Missing> {
        let payload = &self.rules.rules()[rule as usize].payload;
        let generation = self.scratch.generation;
        let (known, failed) = (self.scratch.missing, self.scratch.failed);
        let step = known.map(|missing| missing.step).or(failed)?;
        let is_of_stream_alone = !payload.is_placed_from_start();
        is_of_stream_alone.then_some(Missing {
            step,
            generation,
            end,
        })
    }
}

//! One direction of a TCP connection put together again (RFC 9293, section
//! 3.10.7.4).
//!
//! ```text
//!              base                  end (next)        ahead
//!   …forgotten │◄──── window ───────►│   gap   │██│  │████│
//! ```
//!
//! Bytes are handed on as soon as they are in order, so that what came first
//! stays: a later segment with other bytes for the same place changes nothing,
//! and is counted. Of what was handed on, the last bytes are kept as a
//! *window*, in which contents that lie in several segments are found. A gap
//! is given up when the other end acknowledges what was never seen, or when
//! too much waits behind it; then a new window begins.

use super::ahead::Ahead;
use crate::payload::Text;

/// Bytes of a stream that stay in sight: what a rule asks for lies within so
/// many bytes.
pub(crate) const WINDOW_BYTES: usize = 4096;
/// Farthest place in front of the expected one that is believed.
const MAX_DISTANCE_BYTES: u32 = 1 << 24;
/// Most rules that wait for the rest of a match, and most that are known to
/// have matched, in one stream.
const MAX_REMEMBERED: usize = 64;

/// What a segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Bytes at the window's end that are new.
    pub(crate) new_bytes: usize,
    /// They are the segment's payload, no more and no less.
    pub(crate) is_payload: bool,
    /// A gap was given up in front of the new bytes.
    pub(crate) after_gap: bool,
    /// The segment is part of the stream, now or when its turn comes.
    pub(crate) is_in_stream: bool,
    /// Bytes of it differ from those that came first.
    pub(crate) differs: bool,
    /// Nothing follows: the end was seen and all bytes before it, or a reset.
    pub(crate) is_last: bool,
}

/// A rule whose search content was seen, and the rest not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Number of the rule.
    pub(crate) rule: u32,
    /// Where the stream ended when the content was seen last.
    pub(crate) seen: u64,
    /// What it is known to wait for.
    pub(crate) missing: Option<Missing>,
}

/// What is in none of the bytes that a stream had so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The rule's step that asks for it, of the rules in force at the time.
    pub(crate) step: usize,
    pub(crate) generation: u64,
    /// Where the stream ended.
    pub(crate) end: u64,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Sequence number of the stream's first byte; `None` before it is known.
    first_sequence: Option<u32>,
    /// Place behind the last byte, once the sender said so.
    finish: Option<u64>,
    window: Vec<u8>,
    /// Place of the window's first byte in the stream.
    base: u64,
    ahead: Ahead,
    /// Rules whose search content was seen, and the rest not yet.
    pub(crate) waiting: Vec<Waiting>,
    /// The first of the rules that the last packet put off: its turn is next.
    pub(crate) turn: Option<u32>,
    /// Numbers of the rules that matched, and where the stream ended then: what lies before
    /// is no match again.
    matched: Vec<(u32, u64)>,
}

impl Stream {
    /// Begins the stream with a sequence number, if it has not begun.
    pub(super) fn open(&mut self, first_sequence: u32) {
        self.first_sequence.get_or_insert(first_sequence);
    }

    /// The bytes that are in sight.
    pub(crate) fn text(&self) -> Text<'_> {
        Text {
            bytes: &self.window,
            base: self.base,
        }
    }

    /// The sender said that the stream ends in front of a sequence number.
    pub(super) fn finish(&mut self, sequence: u32) {
        let place = self.place(sequence).unwrap_or(0).max(0) as u64;
        self.finish.get_or_insert(place);
    }

    /// Sequence number of the next byte in order.
    pub(super) fn next_sequence(&self) -> Option<u32> {
        let first = self.first_sequence?;
        Some(first.wrapping_add(self.end() as u32))
    }

    /// Whether all bytes up to the end were seen.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some_and(|finish| self.end() >= finish)
    }

    /// Place of the first byte that is in sight.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Place behind the last byte in order.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.window.len() as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.window.capacity() + self.ahead.bytes()
    }

    /// The place of a sequence number, near the stream's end.
    fn place(&self, sequence: u32) -> Option<i64> {
        let end = self.end();
        let next = self.first_sequence?.wrapping_add(end as u32);
        let distance = sequence.wrapping_sub(next) as i32;
        (distance.unsigned_abs() <= MAX_DISTANCE_BYTES).then_some(end as i64 + i64::from(distance))
    }

    /// Takes in the payload of a segment.
    pub(super) fn segment(&mut self, sequence: u32, payload: &[u8]) -> Arrival {
        let mut arrival = Arrival::default();
        let Some(place) = self.place(sequence) else {
            return arrival;
        };
        arrival.is_in_stream = true;
        if payload.is_empty() {
            return arrival;
        }
        let end = self.end();
        let old = (end as i64 - place).max(0) as usize;
        if old > 0 {
            arrival.differs = self.differs(place, &payload[..old.min(payload.len())]);
        }
        let Some(new @ [_, ..]) = payload.get(old..) else {
            return arrival;
        };
        if place > end as i64 {
            arrival.differs |= self.ahead.insert(place as u64, new);
            if self.ahead.is_full() {
                self.give_up_gap(&mut arrival);
            }
            return arrival;
        }
        if self.ahead.is_empty() {
            self.append(new, &mut arrival);
            arrival.is_payload = old == 0;
        } else {
            // What waits came first.
            arrival.differs |= self.ahead.insert(end, new);
            self.append_ahead(&mut arrival);
        }
        arrival
    }

    /// The other end acknowledged everything before a sequence number: what is
    /// missing there will not come.
    pub(super) fn acknowledged(&mut self, sequence: u32) -> Arrival {
        let mut arrival = Arrival::default();
        let Some(place) = self.place(sequence) else {
            return arrival;
        };
        // The mark of the end has a number of its own, behind the last byte's.
        let place = (place.max(0) as u64).min(self.finish.unwrap_or(u64::MAX));
        if place <= self.end() {
            return arrival;
        }
        match self.ahead.first() {
            Some(first) if first < place => self.give_up_gap(&mut arrival),
            _ => {
                self.restart(place);
                arrival.after_gap = true;
                self.append_ahead(&mut arrival);
            }
        }
        arrival
    }

    /// Goes on behind the first gap.
    fn give_up_gap(&mut self, arrival: &mut Arrival) {
        if let Some(first) = self.ahead.first() {
            self.restart(first);
            arrival.after_gap = true;
            self.append_ahead(arrival);
        }
    }

    fn restart(&mut self, place: u64) {
        self.window.clear();
        self.base = place;
        self.waiting.clear();
    }

    fn append_ahead(&mut self, arrival: &mut Arrival) {
        if self.ahead.is_empty() {
            return;
        }
        while let Some(bytes) = self.ahead.take(self.end()) {
            self.append(&bytes, arrival);
        }
    }

    /// Adds bytes to the window. What was there before this segment is cut to
    /// [`WINDOW_BYTES`] when it is twice as long.
    fn append(&mut self, bytes: &[u8], arrival: &mut Arrival) {
        let old = self.window.len() - arrival.new_bytes;
        if old >= 2 * WINDOW_BYTES {
            let surplus = old - WINDOW_BYTES;
            self.window.drain(..surplus);
            self.base += surplus as u64;
        }
        self.window.extend_from_slice(bytes);
        arrival.new_bytes += bytes.len();
    }

    /// Whether bytes at a place differ from those in the window.
    fn differs(&self, place: i64, bytes: &[u8]) -> bool {
        let from = place - self.base as i64;
        let skip = (-from).max(0) as usize;
        let known = self.window.get(from.max(0) as usize..).unwrap_or_default();
        let bytes = bytes.get(skip..).unwrap_or_default();
        known.iter().zip(bytes).any(|(known, byte)| known != byte)
    }

    /// The place from which on a rule may match: behind its last match.
    pub(crate) fn start_for(&self, rule: u32) -> u64 {
        let known = self.matched.iter().rev().find(|(known, _)| *known == rule);
        known.map_or(self.base, |(_, end)| self.base.max(*end))
    }

    /// Notes that a rule matched in what there is. Says whether there was room
    /// for it.
    pub(crate) fn note_match(&mut self, rule: u32) {
        self.waiting.retain(|waiting| waiting.rule != rule);
        self.matched.retain(|(known, _)| *known != rule);
        if self.matched.len() == MAX_REMEMBERED {
            self.matched.remove(0);
        }
        self.matched.push((rule, self.end()));
    }

    /// Notes that a rule's content was seen and the rest was not, and what is
    /// missing. Says whether another rule had to be forgotten for it.
    pub(crate) fn note_waiting(&mut self, rule: u32, missing: Option<Missing>) -> bool {
        if let Some(known) = self.waiting_of(rule) {
            known.missing = missing;
            return false;
        }
        let is_full = self.waiting.len() == MAX_REMEMBERED;
        if is_full {
            self.waiting.remove(0);
        }
        let seen = self.end();
        self.waiting.push(Waiting {
            rule,
            seen,
            missing,
        });
        is_full
    }

    /// What is known of a rule that waits.
    pub(crate) fn waiting_of(&mut self, rule: u32) -> Option<&mut Waiting> {
        self.waiting.iter_mut().find(|known| known.rule == rule)
    }

    /// Forgets the rules whose content has left the window.
    pub(crate) fn forget_waiting(&mut self) {
        let end = self.end();
        self.waiting
            .retain(|known| end - known.seen.min(end) <= WINDOW_BYTES as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> Stream {
        let mut stream = Stream::default();
        stream.open(u32::MAX - 2);
        stream
    }

    fn seen(stream: &Stream) -> (&[u8], u64) {
        (stream.text().bytes, stream.text().base)
    }

    fn sequence(place: u32) -> u32 {
        (u32::MAX - 2).wrapping_add(place)
    }

    #[test]
    fn segments_in_any_order_give_the_stream() {
        let text = b"abcdefghij";
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2], [2, 0, 1]] {
            let mut stream = open();
            for part in order {
                let from = [0usize, 4, 7][part];
                let to = [4usize, 7, 10][part];
                let arrival = stream.segment(sequence(from as u32), &text[from..to]);
                assert!(arrival.is_in_stream && !arrival.differs);
            }
            assert_eq!(seen(&stream), (&text[..], 0), "{order:?}");
        }
    }

    #[test]
    fn what_came_first_stays_and_differences_are_told() {
        let mut stream = open();
        stream.segment(sequence(0), b"abcd");
        let again = stream.segment(sequence(0), b"abcd");
        assert!(again.is_in_stream && !again.differs && again.new_bytes == 0);
        let other = stream.segment(sequence(2), b"XXef");
        assert!(other.differs && other.new_bytes == 2);
        assert_eq!(stream.text().bytes, b"abcdef");
        assert!(!stream.segment(sequence(1 << 25), b"far").is_in_stream);
    }

    #[test]
    fn gaps_are_given_up_when_acknowledged_or_when_too_much_waits() {
        let mut stream = open();
        stream.segment(sequence(0), b"ab");
        stream.segment(sequence(4), b"ef");
        let arrival = stream.acknowledged(sequence(6));
        assert_eq!((arrival.after_gap, arrival.new_bytes), (true, 2));
        assert_eq!(seen(&stream), (&b"ef"[..], 4));
        assert!(!stream.acknowledged(sequence(6)).after_gap);
        assert!(stream.acknowledged(sequence(9)).after_gap, "never seen");
        assert_eq!(seen(&stream), (&b""[..], 9));

        let mut stream = open();
        let block = vec![7; 60_000];
        let mut gave_up = false;
        for n in 0..8 {
            let arrival = stream.segment(sequence(1 + n * 60_000), &block);
            gave_up |= arrival.after_gap;
            assert!(stream.memory_bytes() < 1 << 20);
        }
        assert!(gave_up);
    }

    #[test]
    fn acknowledging_the_end_leaves_no_gap() {
        let mut stream = open();
        stream.segment(sequence(0), b"ab");
        stream.finish(sequence(2));
        assert!(!stream.acknowledged(sequence(3)).after_gap);
        assert_eq!(seen(&stream), (&b"ab"[..], 0));

        let mut stream = open();
        stream.segment(sequence(0), b"ab");
        stream.finish(sequence(4));
        assert!(stream.acknowledged(sequence(5)).after_gap, "never seen");
        assert_eq!(seen(&stream), (&b""[..], 4));
    }

    #[test]
    fn the_window_stays_small() {
        let mut stream = open();
        for n in 0..100 {
            stream.segment(sequence(n * 1000), &[n as u8; 1000]);
            assert!(stream.text().bytes.len() <= 2 * WINDOW_BYTES + 1000);
        }
        assert_eq!(stream.end(), 100_000);
        assert!(stream.text().bytes.len() >= WINDOW_BYTES);
    }
}

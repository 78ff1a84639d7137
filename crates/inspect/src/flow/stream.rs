//! One direction of a TCP connection put together again (RFC 9293, section
//! 3.10.7.4).
//!
//! ```text
//!              base                  next              ahead
//!   …forgotten │◄──── window ───────►│   gap   │██│  │████│
//! ```
//!
//! Bytes are handed on as soon as they are in order, so that what came first
//! stays: a later segment with other bytes for the same place changes nothing,
//! and is counted. Of what was handed on, the last bytes are kept as a
//! *window*, in which contents that lie in several segments are found. A gap
//! is given up when the receiver acknowledges what lies behind it, or when
//! too much waits behind it; then a new window begins.
//!
//! Segments that the receiver seems to refuse, because packets of it were not
//! seen, are *doubtful*: they count where it acknowledges their bytes and no
//! others came.

use crate::ahead::{Ahead, Overlap};
use crate::payload::Text;

/// Bytes of a stream that stay in sight: what a rule asks for lies within so
/// many bytes.
pub(crate) const WINDOW_BYTES: usize = 4096;
/// Farthest place from the expected one: the largest window (RFC 7323, section 2.3).
const MAX_DISTANCE_BYTES: u32 = 1 << 30;
/// Most memory of doubtful segments.
const MAX_DOUBTFUL_BYTES: usize = 64 << 10;
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
    /// The rule's step that asks for it, of the rules that were active at the time.
    pub(crate) step: usize,
    pub(crate) generation: u64,
    /// Where the stream ended.
    pub(crate) end: u64,
}

/// How a receiver keeps what comes before its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    pub(super) overlap: Overlap,
    /// Most memory of it; more gives up the gap in front.
    pub(super) ahead_bytes: usize,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Sequence number of the stream's first byte; `None` before it is known.
    first_sequence: Option<u32>,
    /// All bytes up to the sender's mark of the end came.
    is_finished: bool,
    window: Vec<u8>,
    /// Place of the window's first byte in the stream.
    base: u64,
    /// Behind the last byte that the receiver acknowledged.
    acknowledged: u64,
    /// `None` of the streams, most of them, whose bytes all came in order.
    irregular: Option<Box<Irregular>>,
    /// `None` before a rule was close to a match.
    remembered: Option<Box<Remembered>>,
}

/// What came otherwise than in order.
#[derive(Debug, Default)]
struct Irregular {
    /// Urgent bytes, which are no part of the stream.
    urgent_bytes: u64,
    /// Place of the one that was announced last.
    urgent: Option<u64>,
    ahead: Ahead,
    doubtful: Ahead,
    /// The last gap that was given up.
    gap: (u64, u64),
}

/// What is remembered of rules.
#[derive(Debug, Default)]
struct Remembered {
    /// Rules whose search content was seen, and the rest not yet.
    waiting: Vec<Waiting>,
    /// The first of the rules that the last packet put off: its turn is next.
    turn: Option<u32>,
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

    /// What is in sight of the bytes from a place on.
    pub(super) fn from(&self, place: u64) -> &[u8] {
        let skip = place.saturating_sub(self.base);
        self.window.get(skip as usize..).unwrap_or_default()
    }

    /// The byte in front of a sequence number is urgent, and no part of the stream
    /// (as Linux and most others read RFC 9293, section 3.8.5).
    pub(super) fn note_urgent(&mut self, behind: u32) {
        let place = self.place(behind.wrapping_sub(1));
        self.irregular.get_or_insert_default().urgent =
            place.and_then(|place| u64::try_from(place).ok());
    }

    /// Sequence number that is expected next: of the next byte, or behind the
    /// mark of the end.
    pub(super) fn next_sequence(&self) -> Option<u32> {
        let first = self.first_sequence?;
        let next = first.wrapping_add(self.next() as u32);
        Some(next.wrapping_add(u32::from(self.is_finished())))
    }

    /// Whether something is there behind bytes that are missing.
    pub(super) fn has_gap(&self) -> bool {
        (self.irregular.as_ref()).is_some_and(|irregular| !irregular.ahead.is_empty())
    }

    fn urgent_bytes(&self) -> u64 {
        (self.irregular.as_ref()).map_or(0, |irregular| irregular.urgent_bytes)
    }

    /// Place of the next byte in order, urgent ones counted.
    pub(crate) fn next(&self) -> u64 {
        self.end() + self.urgent_bytes()
    }

    /// Whether all bytes up to the end were seen.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Place of the first byte that is in sight.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Place behind the last byte in order, urgent ones left out.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.window.len() as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let irregular = self.irregular.as_ref().map_or(0, |irregular| {
            size_of::<Irregular>()
                + irregular.ahead.memory_bytes()
                + irregular.doubtful.memory_bytes()
        });
        let remembered = self.remembered.as_ref().map_or(0, |remembered| {
            size_of::<Remembered>()
                + remembered.waiting.capacity() * size_of::<Waiting>()
                + remembered.matched.capacity() * size_of::<(u32, u64)>()
        });
        self.window.capacity() + irregular + remembered
    }

    /// The place of a sequence number, near the next one.
    fn place(&self, sequence: u32) -> Option<i64> {
        let next = self.next();
        let expected = self.first_sequence?.wrapping_add(next as u32);
        let distance = sequence.wrapping_sub(expected) as i32;
        (distance.unsigned_abs() <= MAX_DISTANCE_BYTES).then_some(next as i64 + i64::from(distance))
    }

    /// Takes in the payload of a segment, and whether it is marked as the last (FIN).
    pub(super) fn segment(
        &mut self,
        sequence: u32,
        payload: &[u8],
        has_end: bool,
        keeping: &Keeping,
    ) -> Arrival {
        let mut arrival = Arrival::default();
        let Some(place) = self.place(sequence) else {
            return arrival;
        };
        arrival.is_in_stream = true;
        let next = self.next();
        let old = (next as i64 - place).max(0) as usize;
        if old > 0 && !payload.is_empty() {
            // One byte in front of the next is a keep-alive, whatever it is.
            let is_keep_alive = (old, payload.len()) == (1, 1);
            arrival.differs =
                !is_keep_alive && self.differs(place, &payload[..old.min(payload.len())]);
            arrival.is_in_stream = !self.is_in_gap(place, payload.len());
        }
        let Some(new) = payload.get(old..).filter(|_| !self.is_finished) else {
            return arrival;
        };
        if new.is_empty() && !has_end {
            return arrival;
        }
        if place > next as i64 {
            arrival.differs |= self.keep(place as u64, new, has_end, keeping.overlap);
            let ahead = &self.irregular.get_or_insert_default().ahead;
            if ahead.memory_bytes() > keeping.ahead_bytes {
                self.give_up_gap(&mut arrival);
            } else {
                self.pass_acknowledged(&mut arrival);
            }
            return arrival;
        }
        if !self.has_gap() {
            self.append(new, has_end, &mut arrival);
            arrival.is_payload = old == 0 && arrival.new_bytes == payload.len();
        } else if keeping.overlap == Overlap::First {
            arrival.differs |= self.keep(next, new, has_end, Overlap::First);
            self.append_ahead(&mut arrival);
        } else {
            self.append(new, has_end, &mut arrival);
            self.append_ahead(&mut arrival);
        }
        self.pass_acknowledged(&mut arrival);
        arrival
    }

    fn keep(&mut self, place: u64, new: &[u8], has_end: bool, overlap: Overlap) -> bool {
        let ahead = &mut self.irregular.get_or_insert_default().ahead;
        match has_end {
            true => ahead.insert_last(place, new, overlap),
            false => ahead.insert(place, new, overlap),
        }
    }

    /// Keeps the payload of a segment that the receiver seems to refuse.
    pub(super) fn doubt(&mut self, sequence: u32, payload: &[u8]) {
        let place = self.place(sequence);
        if let Some(place) = place.and_then(|place| u64::try_from(place).ok())
            && place >= self.next()
            && !payload.is_empty()
        {
            let doubtful = &mut self.irregular.get_or_insert_default().doubtful;
            if doubtful.memory_bytes() + payload.len() <= MAX_DOUBTFUL_BYTES {
                doubtful.insert(place, payload, Overlap::First);
            }
        }
    }

    /// The receiver acknowledged everything before a sequence number: what is
    /// missing there will not come.
    pub(super) fn acknowledged(&mut self, sequence: u32) -> Arrival {
        let mut arrival = Arrival::default();
        if let Some(place) = self.place(sequence) {
            self.acknowledged = self.acknowledged.max(place.max(0) as u64);
            self.pass_acknowledged(&mut arrival);
        }
        arrival
    }

    /// Goes on to where the receiver is, as far as something is there: with what
    /// was doubted, or behind a gap.
    fn pass_acknowledged(&mut self, arrival: &mut Arrival) {
        while self.next() < self.acknowledged && !self.is_finished {
            let next = self.next();
            let Some(irregular) = &mut self.irregular else {
                return;
            };
            if let Some(bytes) = irregular.doubtful.take(next) {
                self.append(bytes.data(), false, arrival);
            } else {
                let first = [irregular.ahead.first(), irregular.doubtful.first()];
                match first.into_iter().flatten().min() {
                    Some(first) if first < self.acknowledged => self.restart(first, arrival),
                    _ => return,
                }
            }
            self.append_ahead(arrival);
        }
    }

    /// Goes on behind the first gap.
    fn give_up_gap(&mut self, arrival: &mut Arrival) {
        let ahead = self.irregular.as_ref().map(|irregular| &irregular.ahead);
        if let Some(first) = ahead.and_then(Ahead::first) {
            self.restart(first, arrival);
            self.append_ahead(arrival);
        }
    }

    fn restart(&mut self, place: u64, arrival: &mut Arrival) {
        let gap = (self.next(), place);
        let irregular = self.irregular.get_or_insert_default();
        irregular.gap = gap;
        self.window.clear();
        self.base = place - irregular.urgent_bytes;
        if let Some(remembered) = &mut self.remembered {
            remembered.waiting.clear();
        }
        arrival.after_gap = true;
        arrival.new_bytes = 0;
    }

    /// Whether a segment has bytes that were given up.
    fn is_in_gap(&self, place: i64, payload_bytes: usize) -> bool {
        let Some((start, end)) = self.irregular.as_ref().map(|irregular| irregular.gap) else {
            return false;
        };
        place < end as i64 && place + payload_bytes as i64 > start as i64
    }

    fn append_ahead(&mut self, arrival: &mut Arrival) {
        while self.has_gap() {
            let next = self.next();
            let ahead = self
                .irregular
                .as_mut()
                .map(|irregular| &mut irregular.ahead);
            let Some(bytes) = ahead.and_then(|ahead| ahead.take(next)) else {
                return;
            };
            self.append(bytes.data(), bytes.has_end(), arrival);
        }
    }

    /// Adds bytes to the window, and the end if it is behind them. What was there before
    /// this segment is cut to [`WINDOW_BYTES`] when it is twice as long.
    fn append(&mut self, bytes: &[u8], has_end: bool, arrival: &mut Arrival) {
        let next = self.next();
        if has_end {
            self.is_finished = true;
            if let Some(irregular) = &mut self.irregular {
                irregular.ahead.clear();
            }
        }
        let old = self.window.len() - arrival.new_bytes;
        if old >= 2 * WINDOW_BYTES {
            let surplus = old - WINDOW_BYTES;
            self.window.drain(..surplus);
            self.base += surplus as u64;
        }
        let urgent = self.irregular.as_ref().and_then(|known| known.urgent);
        let urgent = urgent.and_then(|urgent| urgent.checked_sub(next));
        let urgent = urgent.filter(|at| *at < bytes.len() as u64);
        match (urgent, &mut self.irregular) {
            (Some(at), Some(irregular)) => {
                let (before, after) = bytes.split_at(at as usize);
                self.window.extend_from_slice(before);
                self.window.extend_from_slice(&after[1..]);
                irregular.urgent_bytes += 1;
                irregular.urgent = None;
                arrival.new_bytes += bytes.len() - 1;
            }
            _ => {
                self.window.extend_from_slice(bytes);
                arrival.new_bytes += bytes.len();
            }
        }
    }

    /// Whether bytes at a place differ from those in the window.
    fn differs(&self, place: i64, bytes: &[u8]) -> bool {
        if self.urgent_bytes() > 0 {
            // Places and bytes are no longer side by side.
            return false;
        }
        let from = place - self.base as i64;
        let skip = (-from).max(0) as usize;
        let known = self.window.get(from.max(0) as usize..).unwrap_or_default();
        let bytes = bytes.get(skip..).unwrap_or_default();
        known.iter().zip(bytes).any(|(known, byte)| known != byte)
    }

    /// The place from which on a rule may match: behind its last match.
    pub(crate) fn start_for(&self, rule: u32) -> u64 {
        let matched = self.remembered.iter().flat_map(|known| &known.matched);
        let known = matched.rev().find(|(known, _)| *known == rule);
        known.map_or(self.base, |(_, end)| self.base.max(*end))
    }

    /// Notes that a rule matched in what there is. Says whether there was room
    /// for it.
    pub(crate) fn note_match(&mut self, rule: u32) {
        let end = self.end();
        let Remembered {
            waiting, matched, ..
        } = &mut **self.remembered.get_or_insert_default();
        waiting.retain(|waiting| waiting.rule != rule);
        matched.retain(|(known, _)| *known != rule);
        if matched.len() == MAX_REMEMBERED {
            matched.remove(0);
        }
        matched.push((rule, end));
    }

    /// Notes that a rule's content was seen and the rest was not, and what is
    /// missing. Says whether another rule had to be forgotten for it.
    pub(crate) fn note_waiting(&mut self, rule: u32, missing: Option<Missing>) -> bool {
        if let Some(known) = self.waiting_of(rule) {
            known.missing = missing;
            return false;
        }
        let seen = self.end();
        let waiting = &mut self.remembered.get_or_insert_default().waiting;
        let is_full = waiting.len() == MAX_REMEMBERED;
        if is_full {
            waiting.remove(0);
        }
        waiting.push(Waiting {
            rule,
            seen,
            missing,
        });
        is_full
    }

    /// Rules whose search content was seen, and the rest not yet.
    pub(crate) fn waiting(&mut self) -> &mut [Waiting] {
        let remembered = self.remembered.as_deref_mut();
        remembered.map_or(&mut [], |remembered| &mut remembered.waiting)
    }

    /// What is known of a rule that waits.
    pub(crate) fn waiting_of(&mut self, rule: u32) -> Option<&mut Waiting> {
        self.waiting().iter_mut().find(|known| known.rule == rule)
    }

    /// Forgets the rules whose content has left the window.
    pub(crate) fn forget_waiting(&mut self) {
        let end = self.end();
        if let Some(remembered) = &mut self.remembered {
            let is_near = |known: &Waiting| end - known.seen.min(end) <= WINDOW_BYTES as u64;
            remembered.waiting.retain(is_near);
        }
    }

    /// The first of the rules that the last packet put off: its turn is next.
    pub(crate) fn turn(&self) -> Option<u32> {
        self.remembered.as_ref()?.turn
    }

    /// Notes which rule is next, or that none was put off.
    pub(crate) fn set_turn(&mut self, turn: Option<u32>) {
        if turn.is_some() || self.remembered.is_some() {
            self.remembered.get_or_insert_default().turn = turn;
        }
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

    const KEEPING: Keeping = Keeping {
        overlap: Overlap::Linux,
        ahead_bytes: 1 << 20,
    };

    impl Stream {
        fn take(&mut self, place: u32, payload: &[u8]) -> Arrival {
            self.segment(sequence(place), payload, false, &KEEPING)
        }
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
                let arrival = stream.take(from as u32, &text[from..to]);
                assert!(arrival.is_in_stream && !arrival.differs);
            }
            assert_eq!(seen(&stream), (&text[..], 0), "{order:?}");
        }
    }

    #[test]
    fn what_came_first_stays_and_differences_are_told() {
        let mut stream = open();
        stream.take(0, b"abcd");
        let again = stream.take(0, b"abcd");
        assert!(again.is_in_stream && !again.differs && again.new_bytes == 0);
        let other = stream.take(2, b"XXef");
        assert!(other.differs && other.new_bytes == 2);
        assert_eq!(stream.text().bytes, b"abcdef");
        assert!(!stream.take(1 << 30 | 9, b"far").is_in_stream);
    }

    #[test]
    fn gaps_are_given_up_when_acknowledged_past() {
        let mut stream = open();
        stream.take(0, b"ab");
        stream.take(4, b"ef");
        assert!(
            !stream.acknowledged(sequence(4)).after_gap,
            "nothing behind it"
        );
        let arrival = stream.acknowledged(sequence(6));
        assert_eq!((arrival.after_gap, arrival.new_bytes), (true, 2));
        assert_eq!(seen(&stream), (&b"ef"[..], 4));
        assert!(!stream.acknowledged(sequence(6)).after_gap);
        assert!(
            !stream.take(2, b"cd").is_in_stream,
            "given up: a packet by itself"
        );

        // What comes behind is told first, and what is missing does come.
        stream.acknowledged(sequence(9));
        assert_eq!(stream.take(6, b"ghi").new_bytes, 3);
        assert_eq!(seen(&stream), (&b"efghi"[..], 4));
        // It never comes, and the stream goes on behind it.
        stream.acknowledged(sequence(12));
        assert!(stream.take(11, b"l").after_gap);
        assert_eq!(seen(&stream), (&b"l"[..], 11));
    }

    #[test]
    fn gaps_are_given_up_when_too_much_waits() {
        for payload_bytes in [1, 100, 60_000] {
            let mut stream = open();
            let mut gave_up_at = None;
            for n in 0..40_000 {
                let arrival = stream.take(1 + n * payload_bytes, &vec![7; payload_bytes as usize]);
                if arrival.after_gap {
                    gave_up_at = Some(n);
                    break;
                }
                let irregular_bytes = size_of::<Irregular>();
                assert!(stream.memory_bytes() <= KEEPING.ahead_bytes + irregular_bytes);
            }
            let most = (KEEPING.ahead_bytes as u32) / (payload_bytes + 64);
            assert_eq!(gave_up_at, Some(most), "{payload_bytes}");
        }
    }

    #[test]
    fn doubtful_bytes_count_where_they_are_acknowledged_and_no_others_came() {
        let mut stream = open();
        stream.doubt(sequence(0), b"abcd");
        assert_eq!(stream.acknowledged(sequence(2)).new_bytes, 4);
        stream.doubt(sequence(4), b"XXXX");
        stream.take(4, b"efgh");
        assert_eq!(stream.acknowledged(sequence(8)).new_bytes, 0);
        assert_eq!(seen(&stream), (&b"abcdefgh"[..], 0));
    }

    #[test]
    fn urgent_bytes_are_no_part_of_the_stream() {
        let mut stream = open();
        stream.note_urgent(sequence(3));
        let arrival = stream.take(0, b"ab!c");
        assert_eq!((arrival.new_bytes, arrival.is_payload), (3, false));
        stream.take(4, b"d");
        assert_eq!(seen(&stream), (&b"abcd"[..], 0));
        assert_eq!(stream.next(), 5);
    }

    #[test]
    fn acknowledging_the_end_leaves_no_gap() {
        let mut stream = open();
        stream.segment(sequence(0), b"ab", true, &KEEPING);
        assert!(!stream.acknowledged(sequence(3)).after_gap);
        assert_eq!(seen(&stream), (&b"ab"[..], 0));
        stream.take(2, b"behind the end");
        assert_eq!(seen(&stream), (&b"ab"[..], 0));
    }

    /// As Linux keeps it: what covers a segment covers its mark of the end as well.
    #[test]
    fn the_end_goes_with_its_segment() {
        let mut stream = open();
        stream.segment(sequence(4), b"ef", true, &KEEPING);
        assert!(!stream.is_finished());
        stream.take(3, b"DEFGH");
        assert_eq!(stream.take(0, b"abc").new_bytes, 8);
        assert_eq!(
            (seen(&stream), stream.is_finished()),
            ((&b"abcDEFGH"[..], 0), false)
        );

        let mut stream = open();
        stream.segment(sequence(4), b"ef", true, &KEEPING);
        stream.take(5, b"FGH");
        assert_eq!(stream.take(0, b"abcd").new_bytes, 6);
        assert_eq!(
            (seen(&stream), stream.is_finished()),
            ((&b"abcdef"[..], 0), true)
        );
        assert_eq!(stream.next_sequence(), Some(sequence(7)));
        assert!(!stream.has_gap());
    }

    #[test]
    fn the_window_stays_small() {
        let mut stream = open();
        for n in 0..100 {
            stream.take(n * 1000, &[n as u8; 1000]);
            assert!(stream.text().bytes.len() <= 2 * WINDOW_BYTES + 1000);
        }
        assert_eq!(stream.end(), 100_000);
        assert!(stream.text().bytes.len() >= WINDOW_BYTES);
    }
}

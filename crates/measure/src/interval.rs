//! Intervals on capture time.
//!
//! Interval i is [origin + i·S, origin + (i+1)·S), where the origin is the time
//! of the first packet. A packet's time is that of the stream's clock when it
//! arrived ([`weir_stream::Arrival::clock_ns`]), so that one damaged timestamp
//! moves no interval. A packet earlier than the interval that the stream has
//! reached, because the capture is out of order, counts in that interval and is
//! counted as late. Where the clock was set back by more than its reach, the next
//! interval begins at the packet's time, its number one higher.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use weir_stream::CaptureClock;

/// Number and start of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Slot {
    /// Number of the interval, from 0.
    pub index: u64,
    /// Its first nanosecond since 1970. Below that of the interval before it where
    /// the clock was set back.
    pub start_ns: u64,
}

/// Turns the times of a stream's packets, in order of arrival, into intervals.
#[derive(Clone, Debug)]
pub struct IntervalClock {
    length_ns: u64,
    origin: Option<Slot>,
    slot: Slot,
    /// First nanosecond after the interval.
    next_ns: u64,
    /// A packet from before this shows that the clock was set back.
    earliest_ns: u64,
    /// The first time that one of several clocks was shown, where they have one origin.
    common_origin_ns: Option<Arc<OnceLock<u64>>>,
}

impl IntervalClock {
    /// A clock whose first packet is still to come. Without a length the whole
    /// stream is one interval.
    pub fn new(length_ns: Option<NonZeroU64>) -> IntervalClock {
        IntervalClock {
            length_ns: length_ns.map_or(u64::MAX, NonZeroU64::get),
            origin: None,
            slot: Slot::default(),
            next_ns: 0,
            earliest_ns: 0,
            common_origin_ns: None,
        }
    }

    /// A clock beside others with the same origin.
    pub(crate) fn beside(length_ns: Option<NonZeroU64>, origin_ns: &Arc<OnceLock<u64>>) -> Self {
        IntervalClock {
            common_origin_ns: Some(Arc::clone(origin_ns)),
            ..IntervalClock::new(length_ns)
        }
    }

    /// The interval in which the packet counts that arrives next, when the stream's
    /// clock reads `clock_ns`.
    #[inline]
    pub fn observe(&mut self, clock_ns: u64) -> Slot {
        if !self.is_inside(clock_ns) {
            self.turn(clock_ns);
        }
        self.slot
    }

    /// Whether a packet of this time counts in the interval reached.
    #[inline(always)]
    fn is_inside(&self, clock_ns: u64) -> bool {
        (clock_ns < self.next_ns) & (clock_ns >= self.earliest_ns)
    }

    fn turn(&mut self, clock_ns: u64) {
        let here = Slot {
            index: self.slot.index.saturating_add(1),
            start_ns: clock_ns,
        };
        let origin = match self.origin {
            None => {
                let common = self.common_origin_ns.as_ref();
                let start_ns = common.map_or(clock_ns, |origin| *origin.get_or_init(|| clock_ns));
                Slot { index: 0, start_ns }
            }
            Some(_) if clock_ns < self.earliest_ns => here,
            Some(origin) => origin,
        };
        self.origin = Some(origin);
        let turns = clock_ns.saturating_sub(origin.start_ns) / self.length_ns;
        let start_ns = origin.start_ns + turns * self.length_ns;
        self.slot = Slot {
            index: origin.index.saturating_add(turns),
            start_ns,
        };
        self.next_ns = start_ns.saturating_add(self.length_ns);
        // One interval over the whole stream has every packet.
        self.earliest_ns = match self.length_ns {
            u64::MAX => 0,
            _ => start_ns.saturating_sub(CaptureClock::REACH_NS),
        };
    }
}

/// The changes from one interval to the next, distributed to all shards of a stream.
///
/// A shard sees a part of the packets and cannot derive from them when the stream
/// as a whole reached an interval. The caller that distributes packets to shards sees all
/// of them in order of arrival and calls [`Timeline::observe`] first; the meters
/// of the shards then agree on the interval of every packet. Memory holds the
/// intervals between the stream and its slowest shard.
#[derive(Debug)]
pub struct Timeline {
    clock: IntervalClock,
    last: Option<u64>,
    /// Of each follower.
    logs: Vec<Arc<TurnLog>>,
}

/// Turns that one follower has not read yet.
#[derive(Debug, Default)]
pub(crate) struct TurnLog {
    turns: Mutex<Vec<Turn>>,
    /// Length of `turns`, readable without the lock.
    len: AtomicUsize,
}

/// From packet `number` on, `slot` is the interval.
#[derive(Clone, Copy, Debug)]
struct Turn {
    number: u64,
    slot: Slot,
}

impl Timeline {
    pub(crate) fn new(clock: IntervalClock) -> Timeline {
        Timeline {
            clock,
            last: None,
            logs: Vec::new(),
        }
    }

    /// Notes a packet: its number in the stream's order and its time. To be
    /// called for every packet, in order, before a shard gets it.
    #[inline]
    pub fn observe(&mut self, number: u64, clock_ns: u64) {
        let slot = self.clock.observe(clock_ns);
        if self.last != Some(slot.index) {
            self.last = Some(slot.index);
            for log in &self.logs {
                let mut turns = log.turns.lock().unwrap_or_else(PoisonError::into_inner);
                turns.push(Turn { number, slot });
                log.len.store(turns.len(), Ordering::Release);
            }
        }
    }

    /// A follower of what is observed from now on.
    pub(crate) fn follower(&mut self) -> Follower {
        let log = Arc::default();
        self.logs.push(Arc::clone(&log));
        Follower {
            log,
            ahead: VecDeque::new(),
            slot: Slot::default(),
        }
    }
}

/// One shard's reading of a [`Timeline`].
#[derive(Debug)]
pub(crate) struct Follower {
    log: Arc<TurnLog>,
    /// Turns that were noted and lie ahead of the shard.
    ahead: VecDeque<Turn>,
    slot: Slot,
}

impl Follower {
    /// The interval of packet `number`. Numbers may go back (a packet that was
    /// held and released); intervals do not.
    #[inline]
    fn slot_of(&mut self, number: u64) -> Slot {
        self.advance(|turn| turn.number <= number)
    }

    /// The interval that the stream had reached before packet `number`.
    fn slot_before(&mut self, number: u64) -> Slot {
        self.advance(|turn| turn.number < number)
    }

    #[inline]
    fn advance(&mut self, passed: impl Fn(&Turn) -> bool) -> Slot {
        self.read();
        while let Some(turn) = self.ahead.front().filter(|turn| passed(turn)) {
            self.slot = turn.slot;
            self.ahead.pop_front();
        }
        self.slot
    }

    /// Reads what was noted of late: every turn up to the packets at hand.
    #[inline]
    fn read(&mut self) {
        if self.log.len.load(Ordering::Acquire) > 0 {
            let turns = self.log.turns.lock();
            let mut turns = turns.unwrap_or_else(PoisonError::into_inner);
            self.ahead.extend(turns.drain(..));
            self.log.len.store(0, Ordering::Release);
        }
    }
}

/// How a meter knows the interval of a packet: it sees the whole stream, or
/// follows the one who does.
#[derive(Debug)]
pub(crate) enum Timekeeper {
    Whole(IntervalClock),
    Part(Follower),
    /// A part of a live stream: times and the clock of the system say the interval.
    Live(IntervalClock),
}

impl Timekeeper {
    #[inline]
    pub fn slot(&mut self, number: u64, clock_ns: u64) -> Slot {
        match self {
            Timekeeper::Whole(clock) | Timekeeper::Live(clock) => clock.observe(clock_ns),
            Timekeeper::Part(follower) => follower.slot_of(number),
        }
    }

    /// How many of `packets`, given by number and time, lie in one interval with
    /// the one before them, which [`Timekeeper::slot`] was called with.
    #[inline(always)]
    pub fn stay(&mut self, packets: impl Iterator<Item = (u64, u64)>) -> usize {
        match self {
            Timekeeper::Whole(clock) | Timekeeper::Live(clock) => packets
                .take_while(|(_, clock_ns)| clock.is_inside(*clock_ns))
                .count(),
            Timekeeper::Part(follower) => {
                follower.read();
                let next = follower.ahead.front().map_or(u64::MAX, |turn| turn.number);
                packets.take_while(|(number, _)| *number < next).count()
            }
        }
    }

    /// The interval that a part has reached without a packet in it, when all
    /// packets before `number` went elsewhere; for the whole stream there is
    /// nothing to learn.
    pub fn reached(&mut self, number: u64) -> Option<Slot> {
        match self {
            Timekeeper::Whole(_) | Timekeeper::Live(_) => None,
            Timekeeper::Part(follower) => Some(follower.slot_before(number)),
        }
    }

    /// The interval that a live stream has reached at this time, packets or not.
    pub fn passed(&mut self, clock_ns: u64) -> Option<Slot> {
        match self {
            Timekeeper::Live(clock) => Some(clock.observe(clock_ns)),
            Timekeeper::Whole(_) | Timekeeper::Part(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000_000_000;

    fn clock(length_ns: u64) -> IntervalClock {
        IntervalClock::new(NonZeroU64::new(length_ns))
    }

    #[test]
    fn intervals_are_half_open_and_start_with_the_first_packet() {
        let mut clock = clock(1000);
        let indices: Vec<_> = [0, 999, 1000, 1001, 1999, 2000, 5500, 6000]
            .iter()
            .map(|offset| clock.observe(START + offset).index)
            .collect();
        assert_eq!(indices, [0, 0, 1, 1, 1, 2, 5, 6]);
        assert_eq!(clock.observe(START + 6999).start_ns, START + 6000);
    }

    #[test]
    fn packets_out_of_order_do_not_take_time_back() {
        let mut clock = clock(1000);
        clock.observe(START);
        let reached = clock.observe(START + 3000);
        let earliest = START + 3000 - CaptureClock::REACH_NS;
        for earlier in [START + 2999, START, START - 1, earliest] {
            assert_eq!(clock.observe(earlier), reached);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_begins_the_next_interval() {
        let mut clock = clock(1000);
        clock.observe(START);
        assert_eq!(clock.observe(START + 3000).index, 3);
        let back = START - CaptureClock::REACH_NS + 2999;
        let slots = [0, 999, 1000, 5000].map(|offset| clock.observe(back + offset));
        assert_eq!(slots.map(|slot| slot.index), [4, 4, 5, 9]);
        assert_eq!(slots.map(|slot| slot.start_ns - back), [0, 0, 1000, 5000]);
    }

    #[test]
    fn limits_of_time_do_not_overflow() {
        let mut early = clock(1);
        assert_eq!(early.observe(0).index, 0);
        let end = early.observe(u64::MAX);
        assert_eq!((end.index, end.start_ns), (u64::MAX, u64::MAX));
        assert_eq!(early.observe(u64::MAX), end);

        let mut late = clock(u64::MAX);
        late.observe(u64::MAX - 1);
        assert_eq!(late.observe(u64::MAX).index, 0);
    }

    #[test]
    fn without_a_length_everything_is_one_interval() {
        let mut clock = IntervalClock::new(None);
        for timestamp in [5, u64::MAX - 1, 0] {
            assert_eq!(
                clock.observe(timestamp),
                Slot {
                    index: 0,
                    start_ns: 5
                }
            );
        }
    }

    #[test]
    fn clocks_with_one_origin_agree_on_intervals() {
        let origin_ns = Arc::new(OnceLock::new());
        let clock = || IntervalClock::beside(NonZeroU64::new(1000), &origin_ns);
        let (mut first, mut second) = (Timekeeper::Live(clock()), Timekeeper::Live(clock()));
        assert_eq!(first.slot(0, START).index, 0);
        // It begins where the first one did, and earlier packets count there.
        assert_eq!(second.slot(0, START - 5).start_ns, START);
        let later = Some(Slot {
            index: 3,
            start_ns: START + 3000,
        });
        assert_eq!(second.passed(START + 3500), later);
        assert_eq!(first.passed(START + 3999), later);
        assert_eq!(first.reached(7), None);
    }

    /// Two followers that see every other packet agree with the clock of the
    /// whole stream, packets out of order and a clock set back included.
    #[test]
    fn followers_agree_with_the_whole_stream() {
        let back = CaptureClock::REACH_NS;
        let offsets = [0u64, 5, 12, 9, 13, 40, 8, 41, 55, 54, 90, 91];
        let offsets = offsets.map(|offset| back + offset);
        let offsets = offsets.into_iter().chain([1, 2, 12]);
        let offsets: Vec<u64> = offsets.collect();
        let mut timeline = Timeline::new(clock(10));
        let mut followers = [timeline.follower(), timeline.follower()];
        let mut whole = clock(10);
        for (number, offset) in offsets.iter().enumerate() {
            timeline.observe(number as u64, START + offset);
        }
        let mut seen = Vec::new();
        for (number, offset) in offsets.iter().enumerate() {
            let expected = whole.observe(START + offset);
            let follower = &mut followers[number % 2];
            assert_eq!(follower.slot_of(number as u64), expected, "packet {number}");
            seen.push(expected.index);
        }
        assert_eq!(seen, [0, 0, 1, 1, 1, 4, 4, 4, 5, 5, 9, 9, 10, 10, 11]);
        // A number that went back does not take the interval back.
        assert_eq!(followers[0].slot_of(0).index, 11);
    }

    #[test]
    fn an_idle_follower_learns_by_numbers() {
        let mut timeline = Timeline::new(clock(10));
        let mut follower = timeline.follower();
        for (number, offset) in [0u64, 25, 99].iter().enumerate() {
            timeline.observe(number as u64, START + offset);
        }
        assert_eq!(follower.slot_before(1).index, 0);
        assert_eq!(follower.slot_before(2).index, 2);
        assert_eq!(follower.slot_before(3).index, 9);
        assert_eq!(follower.slot_of(1).index, 9);
    }
}

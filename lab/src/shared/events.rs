//! Events in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of events. Times are whole numbers, of cycles or of a unit that the
/// model chooses, so that equal times are equal; events of one time come in the
/// order in which they were pushed. A simulation is repeatable for that reason.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    events: BinaryHeap<Reverse<Scheduled<E>>>,
    pushed: u64,
}

/// An event, ordered by time and number alone.
#[derive(Clone, Debug)]
struct Scheduled<E> {
    time: u64,
    number: u64,
    event: E,
}

impl<E> Scheduled<E> {
    fn key(&self) -> (u64, u64) {
        (self.time, self.number)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            events: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event.
    pub fn push(&mut self, time: u64, event: E) {
        let number = self.pushed;
        self.pushed += 1;
        self.events.push(Reverse(Scheduled {
            time,
            number,
            event,
        }));
    }

    /// Takes the earliest event, with its time.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        let Reverse(Scheduled { time, event, .. }) = self.events.pop()?;
        Some((time, event))
    }
}

#[cfg(test)]
mod tests {
    use super::EventQueue;
    use crate::shared::random::Random;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_pushing() {
        let mut random = Random::new(11);
        let mut queue = EventQueue::default();
        let mut expected: Vec<(u64, usize)> = Vec::new();
        for event in 0..1000 {
            let time = random.below(20) as u64;
            queue.push(time, event);
            expected.push((time, event));
        }
        // A stable sort.
        expected.sort_by_key(|(time, _)| *time);
        let found: Vec<(u64, usize)> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_event_of_now_comes_after_the_others_of_now() {
        let mut queue = EventQueue::default();
        queue.push(3, "first");
        queue.push(3, "second");
        assert_eq!(queue.pop(), Some((3, "first")));
        queue.push(3, "third");
        assert_eq!(queue.pop(), Some((3, "second")));
        assert_eq!(queue.pop(), Some((3, "third")));
        assert_eq!(queue.pop(), None);
    }
}

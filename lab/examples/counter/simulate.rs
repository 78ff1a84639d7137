//! The simulation: which update waits, and for how long.

use std::collections::VecDeque;

use weir_lab::shared::events::EventQueue;
use weir_lab::shared::random::Random;

/// Arrivals at the counter.
pub struct Arrivals {
    /// How many there are.
    pub packets: usize,
    /// The probability of one in a cycle.
    pub per_cycle: f64,
    /// What the generator starts from.
    pub seed: u64,
}

/// An update, in cycles.
pub struct Update {
    pub arrived: u64,
    pub began: u64,
    pub ended: u64,
}

enum Event {
    Arrival,
    End(Update),
}

/// All updates, in the order in which they end.
pub fn updates(arrivals: &Arrivals, update_cycles: u64) -> Vec<Update> {
    let mut random = Random::new(arrivals.seed);
    let mut events = EventQueue::default();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut is_busy = false;
    let mut to_come = arrivals.packets;
    let mut done = Vec::with_capacity(arrivals.packets);
    events.push(random.geometric(arrivals.per_cycle), Event::Arrival);
    while let Some((now, event)) = events.pop() {
        match event {
            Event::Arrival => {
                waiting.push_back(now);
                to_come -= 1;
                if to_come > 0 {
                    let next = now + random.geometric(arrivals.per_cycle);
                    events.push(next, Event::Arrival);
                }
            }
            Event::End(update) => {
                is_busy = false;
                done.push(update);
            }
        }
        if !is_busy && let Some(arrived) = waiting.pop_front() {
            is_busy = true;
            let ended = now + update_cycles;
            let update = Update {
                arrived,
                began: now,
                ended,
            };
            events.push(ended, Event::End(update));
        }
    }
    done
}

//! List scheduling: cycle by cycle, the ready operation that comes first in an
//! order.

use std::collections::{BTreeMap, BTreeSet};

use super::Slot;
use super::graph::Graph;
use super::order::Order;
use super::reservation::Reservations;

/// Places all operations of a block whose iterations do not overlap.
pub(super) fn schedule(graph: &Graph, units: usize, order: Order) -> Vec<Slot> {
    let mut reservations = Reservations::new(units, None);
    let mut slots: Vec<Option<Slot>> = vec![None; graph.len()];
    let mut waiting = Waiting::of(graph, order.of(graph, None));
    let mut cycle = 0;
    while let Some(at) = waiting.next_cycle(cycle) {
        cycle = at;
        let mut place = 0;
        while let Some(next) = waiting.next_ready(place) {
            place = next + 1;
            let op = waiting.order[next];
            let timing = graph.timings[op];
            let free = graph.alternatives[op].iter().find(|units| {
                reservations
                    .conflicts(op, units, cycle, timing, graph.has_result[op])
                    .is_empty()
            });
            let Some(units) = free else {
                continue;
            };
            reservations.take(op, units, cycle, timing, graph.has_result[op]);
            slots[op] = Some(Slot {
                cycle,
                units: units.clone(),
                busy: timing.interval,
            });
            waiting.placed(graph, next, cycle);
        }
        cycle += 1;
    }
    slots.into_iter().flatten().collect()
}

/// Operations that have no slot. Those that are ready have all operations before
/// them placed, and their results are there.
struct Waiting {
    order: Vec<usize>,
    /// The place of each operation in the order.
    place: Vec<usize>,
    /// How many operations before each one have no slot.
    missing: Vec<usize>,
    /// The first cycle for each, by those before it that have slots.
    earliest: Vec<u32>,
    /// Places of ready operations.
    ready: BTreeSet<usize>,
    /// Places of those that will be, by cycle.
    later: BTreeMap<u32, Vec<usize>>,
}

impl Waiting {
    fn of(graph: &Graph, order: Vec<usize>) -> Waiting {
        let mut place = vec![0; order.len()];
        for (number, &op) in order.iter().enumerate() {
            place[op] = number;
        }
        let missing: Vec<usize> = graph
            .before
            .iter()
            .map(|edges| {
                let edges = edges.iter().map(|&edge| graph.edges[edge]);
                edges.filter(|edge| edge.distance == 0).count()
            })
            .collect();
        let ready = (0..order.len()).filter(|&number| missing[order[number]] == 0);
        Waiting {
            ready: ready.collect(),
            earliest: vec![0; order.len()],
            later: BTreeMap::new(),
            order,
            place,
            missing,
        }
    }

    /// The next cycle, from one on, in which an operation is ready; none where
    /// all are placed.
    fn next_cycle(&mut self, cycle: u32) -> Option<u32> {
        let first = self.later.keys().next().copied();
        let at = match first {
            Some(first) if self.ready.is_empty() => first.max(cycle),
            None if self.ready.is_empty() => return None,
            _ => cycle,
        };
        while let Some(entry) = self.later.first_entry()
            && *entry.key() <= at
        {
            self.ready.extend(entry.remove());
        }
        Some(at)
    }

    /// The first ready operation from a place in the order on, by its place.
    fn next_ready(&self, place: usize) -> Option<usize> {
        self.ready.range(place..).next().copied()
    }

    /// The operation in that place has its slot: those that waited for it alone
    /// become ready.
    fn placed(&mut self, graph: &Graph, place: usize, cycle: u32) {
        self.ready.remove(&place);
        for &edge in &graph.after[self.order[place]] {
            let edge = graph.edges[edge];
            if edge.distance > 0 {
                continue;
            }
            let (to, from) = (edge.to, cycle + edge.latency);
            self.earliest[to] = self.earliest[to].max(from);
            self.missing[to] -= 1;
            if self.missing[to] > 0 {
                continue;
            }
            if self.earliest[to] <= cycle {
                self.ready.insert(self.place[to]);
            } else {
                let then = self.later.entry(self.earliest[to]).or_default();
                then.push(self.place[to]);
            }
        }
    }
}

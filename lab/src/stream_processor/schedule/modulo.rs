//! Iterative modulo scheduling (Rau 1994): iterations start every `interval`
//! cycles. An operation that finds no place takes one and sends away those in
//! its way, within a budget; then the interval grows.

use super::Slot;
use super::graph::Graph;
use super::order::Order;
use super::reservation::Reservations;

/// Placements tried at an interval, for each operation of the loop.
const BUDGET: usize = 12;

/// A schedule at an interval, if one is found before `looks` at units and
/// cycles are used up.
pub(super) fn schedule(
    graph: &Graph,
    units: usize,
    interval: u32,
    order: Order,
    looks: &mut u32,
) -> Option<Vec<Slot>> {
    let order = order.of(graph, Some(interval));
    let mut state = State {
        graph,
        interval,
        reservations: Reservations::new(units, Some(interval)),
        slots: vec![None; graph.len()],
        last_tried: vec![None; graph.len()],
    };
    for _ in 0..BUDGET * graph.len() {
        match order.iter().find(|&&op| state.slots[op].is_none()) {
            Some(&op) => state.place(op, looks)?,
            None => return Some(state.slots.into_iter().flatten().collect()),
        }
    }
    None
}

struct State<'a> {
    graph: &'a Graph,
    interval: u32,
    reservations: Reservations,
    slots: Vec<Option<Slot>>,
    last_tried: Vec<Option<u32>>,
}

impl State<'_> {
    /// Places an operation; none where it can never be placed, or `looks` are
    /// used up.
    fn place(&mut self, op: usize, looks: &mut u32) -> Option<()> {
        let earliest = self.earliest(op);
        let timing = self.graph.timings[op];
        let has_result = self.graph.has_result[op];
        let conflicts = |state: &State<'_>, units: &[usize], cycle| {
            state
                .reservations
                .conflicts(op, units, cycle, timing, has_result)
        };
        let mut cycles = earliest..earliest + self.interval;
        let free = cycles.find_map(|cycle| {
            let ways = &self.graph.alternatives[op];
            *looks = looks.saturating_sub(ways.len() as u32 * timing.interval);
            if *looks == 0 {
                return None;
            }
            let units = ways
                .iter()
                .find(|units| conflicts(self, units, cycle).is_empty())?;
            Some((cycle, units.clone()))
        });
        let (cycle, units) = match free {
            Some(found) => found,
            None if *looks == 0 => return None,
            None => {
                let again = self.last_tried[op].map_or(0, |cycle| cycle + 1);
                let cycle = earliest.max(again);
                let units = self.graph.alternatives[op]
                    .iter()
                    .min_by_key(|units| conflicts(self, units, cycle).len())?
                    .clone();
                for other in conflicts(self, &units, cycle) {
                    if other == op {
                        return None;
                    }
                    self.remove(other);
                }
                (cycle, units)
            }
        };
        self.reservations
            .take(op, &units, cycle, timing, has_result);
        self.last_tried[op] = Some(cycle);
        self.slots[op] = Some(Slot {
            cycle,
            units,
            busy: timing.interval,
        });
        self.remove_violated(op, cycle)
    }

    /// The first cycle that the operations placed before it allow.
    fn earliest(&self, op: usize) -> u32 {
        let starts = self.graph.before[op].iter().filter_map(|&number| {
            let edge = self.graph.edges[number];
            let slot = self.slots[edge.from].as_ref()?;
            Some((slot.cycle + edge.latency).saturating_sub(self.interval * edge.distance))
        });
        starts.max().unwrap_or(0)
    }

    /// Sends away operations that would now come too early; none where the
    /// operation is itself one of them.
    fn remove_violated(&mut self, op: usize, cycle: u32) -> Option<()> {
        for &number in &self.graph.after[op] {
            let edge = self.graph.edges[number];
            let too_early = self.slots[edge.to].as_ref().is_some_and(|slot| {
                slot.cycle + self.interval * edge.distance < cycle + edge.latency
            });
            if too_early {
                if edge.to == op {
                    return None;
                }
                self.remove(edge.to);
            }
        }
        Some(())
    }

    fn remove(&mut self, op: usize) {
        if let Some(slot) = self.slots[op].take() {
            let timing = self.graph.timings[op];
            let has_result = self.graph.has_result[op];
            self.reservations
                .free(&slot.units, slot.cycle, timing, has_result);
        }
    }
}

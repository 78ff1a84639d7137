//! List scheduling: cycle by cycle, the ready operation that comes first in an
//! order.

use super::Slot;
use super::graph::Graph;
use super::order::Order;
use super::reservation::Reservations;

/// Places all operations of a block whose iterations do not overlap.
pub(super) fn schedule(graph: &Graph, units: usize, order: Order) -> Vec<Slot> {
    let mut reservations = Reservations::new(units, None);
    let mut slots: Vec<Option<Slot>> = vec![None; graph.len()];
    let mut waiting = order.of(graph, None);
    let mut cycle = 0;
    while !waiting.is_empty() {
        waiting.retain(|&op| {
            let ready = graph.before[op].iter().all(|&number| {
                let edge = graph.edges[number];
                edge.distance > 0
                    || slots[edge.from]
                        .as_ref()
                        .is_some_and(|slot| slot.cycle + edge.latency <= cycle)
            });
            let timing = graph.timings[op];
            let free = graph.alternatives[op].iter().find(|units| {
                ready
                    && reservations
                        .conflicts(op, units, cycle, timing, graph.has_result[op])
                        .is_empty()
            });
            let Some(units) = free else {
                return true;
            };
            reservations.take(op, units, cycle, timing, graph.has_result[op]);
            slots[op] = Some(Slot {
                cycle,
                units: units.clone(),
                busy: timing.interval,
            });
            false
        });
        cycle += 1;
    }
    slots.into_iter().flatten().collect()
}

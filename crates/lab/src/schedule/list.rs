//! List scheduling: cycle by cycle, the ready operation with the longest way
//! to the end goes first.

use super::Slot;
use super::bounds::heights;
use super::graph::Graph;
use super::reservation::Reservations;

/// Places all operations of a block whose iterations do not overlap.
pub(super) fn schedule(graph: &Graph, units: usize) -> Vec<Slot> {
    let height = heights(graph, None);
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by_key(|&op| std::cmp::Reverse(height[op]));

    let mut reservations = Reservations::new(units, None);
    let mut slots: Vec<Option<Slot>> = vec![None; graph.len()];
    let mut waiting = order;
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
            });
            false
        });
        cycle += 1;
    }
    slots.into_iter().flatten().collect()
}

//! What no schedule can beat.

use super::graph::Graph;

/// Cycles below which a block cannot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Cycles that the busiest units need for their operations (ResMII).
    pub resources: u32,
    /// Cycles that the longest ring of dependences needs for an iteration
    /// (RecMII); 0 where there is none.
    pub recurrence: u32,
    /// Cycles from the first operation of the longest chain to the result of
    /// its last.
    pub critical_path: u32,
}

impl Bounds {
    pub(super) fn of(graph: &Graph) -> Bounds {
        Bounds {
            resources: resources(graph),
            recurrence: recurrence(graph),
            critical_path: heights(graph, None).into_iter().max().unwrap_or(0) as u32,
        }
    }
}

/// Each set of units that some operation is restricted to needs at least the
/// cycles of all operations that are restricted to it or to a part of it,
/// shared out evenly.
fn resources(graph: &Graph) -> u32 {
    let sets: Vec<Vec<usize>> = graph
        .alternatives
        .iter()
        .map(|ways| {
            let mut units: Vec<usize> = ways.concat();
            units.sort_unstable();
            units.dedup();
            units
        })
        .collect();
    let mut most = 0;
    let mut seen: Vec<&Vec<usize>> = Vec::new();
    for set in &sets {
        if seen.contains(&set) {
            continue;
        }
        seen.push(set);
        let cycles: u32 = (0..graph.len())
            .filter(|&op| sets[op].iter().all(|unit| set.contains(unit)))
            .map(|op| {
                let together = graph.alternatives[op].iter().map(Vec::len).min();
                graph.timings[op].interval * together.unwrap_or(0) as u32
            })
            .sum();
        most = most.max(cycles.div_ceil(set.len().max(1) as u32));
    }
    most
}

/// The smallest interval at which no cycle of dependences needs more cycles
/// than its iterations give.
fn recurrence(graph: &Graph) -> u32 {
    let (mut low, mut high) = (0, graph.edges.iter().map(|edge| edge.latency).sum());
    if !has_growing_ring(graph, 0) {
        return 0;
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if has_growing_ring(graph, middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn length(graph: &Graph, edge: usize, interval: u32) -> i64 {
    let edge = graph.edges[edge];
    i64::from(edge.latency) - i64::from(interval) * i64::from(edge.distance)
}

/// Whether longest paths do not settle (Bellman and Ford).
fn has_growing_ring(graph: &Graph, interval: u32) -> bool {
    let mut start = vec![0i64; graph.len()];
    for _ in 0..=graph.len() {
        let mut settled = true;
        for (number, edge) in graph.edges.iter().enumerate() {
            let earliest = start[edge.from] + length(graph, number, interval);
            if earliest > start[edge.to] {
                start[edge.to] = earliest;
                settled = false;
            }
        }
        if settled {
            return false;
        }
    }
    true
}

/// The longest path from each operation to the end of the block, its own
/// latency included: over edges within an iteration, or over all of them at
/// an interval that no ring exceeds.
pub(super) fn heights(graph: &Graph, interval: Option<u32>) -> Vec<i64> {
    let mut height: Vec<i64> = graph
        .timings
        .iter()
        .map(|timing| i64::from(timing.latency))
        .collect();
    for _ in 0..=graph.len() {
        let mut settled = true;
        for op in (0..graph.len()).rev() {
            for &number in &graph.after[op] {
                let edge = graph.edges[number];
                if edge.distance > 0 && interval.is_none() {
                    continue;
                }
                let through = height[edge.to] + length(graph, number, interval.unwrap_or(0));
                if through > height[op] {
                    height[op] = through;
                    settled = false;
                }
            }
        }
        if settled {
            break;
        }
    }
    height
}

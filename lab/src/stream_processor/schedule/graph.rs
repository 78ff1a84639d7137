//! What has to come before what in a block.

use std::collections::HashMap;

use super::units::{Together, Units};
use crate::stream_processor::kernel::{Kernel, Loop, Op, Opcode, Value};
use crate::stream_processor::machine::{Machine, Timing};

/// An operation has to issue `latency` cycles after another of `distance`
/// iterations before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) latency: u32,
    pub(super) distance: u32,
}

/// A block to be scheduled.
pub(super) struct Graph {
    pub(super) timings: Vec<Timing>,
    pub(super) alternatives: Vec<Vec<Together>>,
    /// Whether an operation sends a result over the switch.
    pub(super) has_result: Vec<bool>,
    pub(super) edges: Vec<Edge>,
    /// Edges that leave each operation, by number.
    pub(super) after: Vec<Vec<usize>>,
    /// Edges that enter each operation, by number.
    pub(super) before: Vec<Vec<usize>>,
}

impl Graph {
    /// The graph of a block; `overlapped` is its loop where iterations may
    /// overlap, none where each ends before the next.
    pub(super) fn of(
        kernel: &Kernel,
        machine: &Machine,
        units: &Units,
        ops: &[Op],
        overlapped: Option<&Loop>,
    ) -> Graph {
        let mut graph = Graph {
            timings: ops
                .iter()
                .map(|op| machine.timing(op.code.class()))
                .collect(),
            alternatives: ops
                .iter()
                .map(|op| units.alternatives(kernel, op))
                .collect(),
            has_result: ops.iter().map(|op| !op.results.is_empty()).collect(),
            edges: Vec::new(),
            after: vec![Vec::new(); ops.len()],
            before: vec![Vec::new(); ops.len()],
        };
        graph.add_values(ops, overlapped);
        graph.add_storage(ops, overlapped.is_some());
        graph
    }

    /// Operations in the block.
    pub(super) fn len(&self) -> usize {
        self.timings.len()
    }

    fn add(&mut self, from: usize, to: usize, latency: u32, distance: u32) {
        self.after[from].push(self.edges.len());
        self.before[to].push(self.edges.len());
        self.edges.push(Edge {
            from,
            to,
            latency,
            distance,
        });
    }

    /// An operation comes after those that make its operands.
    fn add_values(&mut self, ops: &[Op], overlapped: Option<&Loop>) {
        let makers: HashMap<Value, usize> = ops
            .iter()
            .enumerate()
            .flat_map(|(index, op)| op.results.iter().map(move |&value| (value, index)))
            .collect();
        for (index, op) in ops.iter().enumerate() {
            for &arg in &op.args {
                let earlier = overlapped.map(|looped| looped.handed_on(arg));
                let names = std::iter::once(arg).chain(earlier.into_iter().flatten());
                let made = names
                    .zip(0..)
                    .find_map(|(name, distance)| Some((*makers.get(&name)?, distance)));
                if let Some((maker, distance)) = made {
                    self.add(maker, index, self.timings[maker].latency, distance);
                }
            }
        }
    }

    /// Accesses to one place keep their order, and words of one stream.
    fn add_storage(&mut self, ops: &[Op], overlapped: bool) {
        let mut places: HashMap<Storage, Vec<usize>> = HashMap::new();
        for (late, later) in ops.iter().enumerate() {
            let Some((place, _)) = touched(later) else {
                continue;
            };
            let here = places.entry(place).or_default();
            here.push(late);
            for &early in here.iter() {
                let Some(order) = Order::between(&ops[early], later) else {
                    continue;
                };
                if early < late && !order.apart {
                    self.add(early, late, self.gap(order.forth, early), 0);
                }
                if overlapped {
                    self.add(late, early, self.gap(order.back, late), 1);
                }
            }
        }
    }

    fn gap(&self, wait: Wait, first: usize) -> u32 {
        match wait {
            Wait::None => 0,
            Wait::Cycle => 1,
            Wait::Latency => self.timings[first].latency,
        }
    }
}

/// How long the second of two accesses waits for the first.
#[derive(Clone, Copy)]
enum Wait {
    /// A write after a read: they may issue together.
    None,
    /// Writes, or words of one stream: one after the other.
    Cycle,
    /// A read after a write.
    Latency,
}

/// The order of two accesses that may meet.
struct Order {
    /// What the later waits for the earlier.
    forth: Wait,
    /// What the earlier, one iteration on, waits for the later.
    back: Wait,
    /// Whether they cannot meet in the same iteration.
    apart: bool,
}

/// The storage that an operation touches.
#[derive(PartialEq, Eq, Hash)]
enum Storage {
    Array(usize),
    Indexed(usize),
    Input(usize),
    Output(usize),
}

impl Order {
    fn between(earlier: &Op, later: &Op) -> Option<Order> {
        let ((place, one_writes), (other_place, other_writes)) =
            (touched(earlier)?, touched(later)?);
        if place != other_place {
            return None;
        }
        if matches!(place, Storage::Input(_) | Storage::Output(_)) {
            return Some(Order {
                forth: Wait::Cycle,
                back: Wait::Cycle,
                apart: false,
            });
        }
        let wait = |first_writes, second_writes| match (first_writes, second_writes) {
            (false, false) => None,
            (false, true) => Some(Wait::None),
            (true, true) => Some(Wait::Cycle),
            (true, false) => Some(Wait::Latency),
        };
        Some(Order {
            forth: wait(one_writes, other_writes)?,
            back: wait(other_writes, one_writes)?,
            apart: matches!((offset(earlier), offset(later)), (Some(one), Some(other)) if one != other)
                && earlier.args.first() == later.args.first(),
        })
    }
}

/// What an operation touches, and whether it writes there.
fn touched(op: &Op) -> Option<(Storage, bool)> {
    Some(match op.code {
        Opcode::ScratchRead { array, .. } | Opcode::ScratchBit { array } => {
            (Storage::Array(array.index()), false)
        }
        Opcode::ScratchWrite { array, .. } => (Storage::Array(array.index()), true),
        Opcode::IndexedRead { stream, .. } => (Storage::Indexed(stream.index()), false),
        Opcode::IndexedWrite { stream, .. } => (Storage::Indexed(stream.index()), true),
        Opcode::Input { stream, .. } => (Storage::Input(stream.index()), true),
        Opcode::Output { stream, .. } => (Storage::Output(stream.index()), true),
        _ => return None,
    })
}

/// What is added to the index of a word.
fn offset(op: &Op) -> Option<u32> {
    match op.code {
        Opcode::ScratchRead { offset, .. } | Opcode::ScratchWrite { offset, .. } => Some(offset),
        _ => None,
    }
}

//! How long values live, and how many registers they take.

use std::collections::HashMap;

use super::{BlockSchedule, Loop, Node, Op, Schedule, Slot, Value};
use crate::stream_processor::kernel::Kernel;

impl Schedule {
    /// The most values that a block makes and holds at once.
    pub(super) fn registers(
        &self,
        within: Option<&Loop>,
        ops: &[Op],
        block: &BlockSchedule,
    ) -> u32 {
        let interval = block.pipeline.map(|pipeline| pipeline.interval);
        let overlapped = within.filter(|_| interval.is_some());
        let lives = self.last_reads(overlapped, ops, &block.slots, interval.unwrap_or(0));
        let end = lives.iter().map(|&(_, last_read)| last_read + 1).max();
        // Cycles that follow each other for ever, or to the end.
        let cycles = interval.or(end).unwrap_or(1);
        // By how many more values are held in a cycle than in the one before.
        let mut changes = vec![0i64; cycles as usize + 1];
        let mut held = 0i64;
        for (written, last_read) in lives {
            let length = last_read - written + 1;
            held += i64::from(length / cycles);
            let (from, rest) = (written % cycles, length % cycles);
            let to = from + rest;
            changes[from as usize] += 1;
            changes[to.min(cycles) as usize] -= 1;
            if to > cycles {
                changes[0] += 1;
                changes[(to - cycles) as usize] -= 1;
            }
        }
        let each_cycle = changes[..cycles as usize].iter().map(|change| {
            held += change;
            held
        });
        each_cycle.max().unwrap_or(0).try_into().unwrap_or(u32::MAX)
    }

    /// When each value that is read is written, and when it is last read.
    fn last_reads(
        &self,
        overlapped: Option<&Loop>,
        ops: &[Op],
        slots: &[Slot],
        interval: u32,
    ) -> Vec<(u32, u32)> {
        let mut last: HashMap<Value, u32> = HashMap::new();
        let mut note = |value: Value, cycle: u32| {
            let entry = last.entry(value).or_default();
            *entry = cycle.max(*entry);
        };
        for (op, slot) in ops.iter().zip(slots) {
            for &arg in &op.args {
                note(arg, slot.cycle);
                // Under the names that later iterations know it by.
                let names = overlapped.map(|looped| looped.handed_on(arg));
                for (value, iterations) in names.into_iter().flatten().zip(1..) {
                    note(value, slot.cycle + iterations * interval);
                }
            }
        }
        let makers = ops.iter().zip(slots).flat_map(|(op, slot)| {
            let written = slot.cycle + self.machine.timing(op.code.class()).latency;
            op.results.iter().map(move |&value| (value, written))
        });
        makers
            .filter_map(|(value, written)| Some((written, (*last.get(&value)?).max(written))))
            .collect()
    }

    /// Copies of a pipelined loop's instructions: a value's register is
    /// written again only after its last reader, and what the loop hands on
    /// over several iterations is still there at its end.
    pub(super) fn copies(&self, looped: &Loop, ops: &[Op], slots: &[Slot], interval: u32) -> u32 {
        let for_readers = self
            .last_reads(Some(looped), ops, slots, interval)
            .into_iter()
            .map(|(written, last_read)| (last_read - written) / interval + 1);
        let at_the_end = looped
            .carried
            .iter()
            .map(|carried| looped.handed_on(carried.inside).count() as u32);
        for_readers.chain(at_the_end).max().unwrap_or(1)
    }
}

impl Loop {
    /// The names that a value had in the iterations before, the latest first.
    pub(super) fn handed_on(&self, value: Value) -> impl Iterator<Item = Value> {
        let next = |value: &Value| {
            let carried = self.carried.iter().find(|carried| carried.inside == *value);
            carried.map(|carried| carried.next)
        };
        // A ring of names that nothing in the loop makes has no end.
        std::iter::successors(next(&value), next).take(self.carried.len())
    }
}

/// For each block, how many values it finds and leaves: made before it and
/// used in it or after it, or carried by a loop around it.
pub(super) fn live_across(kernel: &Kernel) -> Vec<u32> {
    let mut walk = Walk::default();
    walk.nodes(kernel.body());
    (0..walk.blocks)
        .map(|block| {
            let live = walk.spans.values().filter(|span| {
                span.made.is_some_and(|made| made < block)
                    && span.used.is_some_and(|used| used >= block)
            });
            live.count() as u32
        })
        .collect()
}

/// The blocks between which a value lives.
#[derive(Default)]
struct Span {
    made: Option<usize>,
    used: Option<usize>,
}

#[derive(Default)]
struct Walk {
    blocks: usize,
    spans: HashMap<Value, Span>,
}

impl Walk {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Block(block) => {
                    for op in &block.ops {
                        for &value in &op.args {
                            self.used(value, self.blocks);
                        }
                        for &value in &op.results {
                            self.spans.entry(value).or_default().made = Some(self.blocks);
                        }
                    }
                    self.blocks += 1;
                }
                Node::Loop(looped) => self.repeat(looped),
            }
        }
    }

    fn repeat(&mut self, looped: &Loop) {
        let first = self.blocks;
        for carried in &looped.carried {
            self.used(carried.before, first);
            // A carried value has its register before the loop begins.
            self.spans.entry(carried.inside).or_default().made = first.checked_sub(1);
        }
        self.nodes(&looped.body);
        let last = self.blocks - 1;
        for carried in &looped.carried {
            self.used(carried.inside, last);
            self.spans.entry(carried.after).or_default().made = Some(last);
        }
        // What was made outside is used again in the next iteration.
        for span in self.spans.values_mut() {
            let outside = span.made.is_some_and(|made| made < first);
            if outside && span.used.is_some_and(|used| used >= first) {
                span.used = Some(last);
            }
        }
    }

    fn used(&mut self, value: Value, block: usize) {
        let span = self.spans.entry(value).or_default();
        span.used = span.used.max(Some(block));
    }
}

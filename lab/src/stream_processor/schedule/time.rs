//! How long a scheduled kernel runs, and what it does in that time.

use super::{BlockSchedule, Class, Loop, Node, Schedule, Trip};
use crate::stream_processor::kernel::Opcode;

/// What a kernel is called with, as far as its time depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Records of each input stream, all clusters together.
    pub records: Vec<u64>,
    /// The host's scalars.
    pub scalars: Vec<u32>,
}

/// A run of a kernel, in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Cycles from its first instruction to its last result.
    pub cycles: u64,
    /// Operations of each class in one cluster.
    pub operations: Vec<(Class, u64)>,
    /// Words that operations of one cluster read from registers or wrote.
    pub register_words: u64,
    /// Cycles spent in each block, in the order of the program.
    pub block_cycles: Vec<u64>,
}

impl Run {
    /// Operations of a class in one cluster.
    pub fn of_class(&self, class: Class) -> u64 {
        let found = self.operations.iter().find(|(other, _)| *other == class);
        found.map_or(0, |(_, count)| *count)
    }

    /// Arithmetic operations in one cluster.
    pub fn arithmetic(&self) -> u64 {
        let counted = self.operations.iter();
        counted
            .filter(|(class, _)| class.is_arithmetic())
            .map(|(_, count)| count)
            .sum()
    }
}

impl Schedule {
    /// The time and the work of a call.
    pub fn run(&self, call: &Call) -> Run {
        let mut walk = Walk {
            schedule: self,
            left: call
                .records
                .iter()
                .map(|records| records / self.machine.clusters as u64)
                .collect(),
            scalars: &call.scalars,
            next_block: 0,
            run: Run {
                operations: Class::ALL.map(|class| (class, 0)).to_vec(),
                block_cycles: vec![0; self.blocks.len()],
                ..Run::default()
            },
        };
        walk.nodes(self.kernel.body(), 1);
        walk.run.cycles = walk.run.block_cycles.iter().sum();
        walk.run
    }
}

struct Walk<'a> {
    schedule: &'a Schedule,
    /// Records that each cluster has not read.
    left: Vec<u64>,
    scalars: &'a [u32],
    next_block: usize,
    run: Run,
}

impl Walk<'_> {
    fn nodes(&mut self, nodes: &[Node], times: u64) {
        for node in nodes {
            match node {
                Node::Block(block) => {
                    let scheduled = &self.schedule.blocks[self.next_block];
                    self.add(scheduled, &block.ops, times, scheduled.cycles_for(times));
                }
                Node::Loop(looped) => self.repeat(looped, times),
            }
        }
    }

    fn repeat(&mut self, looped: &Loop, times: u64) {
        let trips = self.trips(looped);
        match looped.body.as_slice() {
            // Overlapped iterations fill and drain once for each run of the
            // loop.
            [Node::Block(block)] => {
                let scheduled = &self.schedule.blocks[self.next_block];
                let cycles = times * scheduled.cycles_for(trips);
                self.add(scheduled, &block.ops, times * trips, cycles);
            }
            body => self.nodes(body, times * trips),
        }
    }

    fn trips(&self, looped: &Loop) -> u64 {
        match looped.trip {
            Trip::Count(count) => u64::from(count),
            Trip::Scalar(scalar) => self
                .scalars
                .get(scalar.index())
                .map_or(0, |&times| u64::from(times)),
            Trip::Records {
                stream,
                per_iteration,
            } => {
                let left = self.left.get(stream.index()).copied().unwrap_or(0);
                left / u64::from(per_iteration)
            }
        }
    }

    fn add(&mut self, block: &BlockSchedule, ops: &[super::Op], times: u64, cycles: u64) {
        self.run.block_cycles[self.next_block] += cycles;
        self.next_block += 1;
        debug_assert_eq!(block.operations as usize, ops.len());
        for op in ops {
            let class = op.code.class();
            self.run.operations[class as usize].1 += times;
            self.run.register_words += times * (op.args.len() + op.results.len()) as u64;
            if let Opcode::Input { stream, word: 0 } = op.code
                && let Some(left) = self.left.get_mut(stream.index())
            {
                *left = left.saturating_sub(times);
            }
        }
    }
}

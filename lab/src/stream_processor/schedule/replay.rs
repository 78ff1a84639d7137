//! Executes a schedule cycle by cycle.
//!
//! A register is written in the cycle in which its operation's result arrives,
//! and not before; in overlapped iterations each value has as many registers
//! as the loop has copies. What an operation reads is what is there.

use std::collections::HashMap;

use super::{Loop, Node, Op, Pipeline, Schedule, Slot, Value};
use crate::stream_processor::execute::{Arguments, Clusters, ExecuteError, Lanes, Scratchpads};
use crate::stream_processor::kernel::Carried;

impl Schedule {
    /// Runs the scheduled kernel and returns its output streams and the
    /// cycles that it took.
    ///
    /// # Errors
    /// As [`execute`](crate::stream_processor::execute::execute), and where the schedule is
    /// wrong, an index or stream may be too.
    pub fn replay(
        &self,
        arguments: &mut Arguments,
        scratchpads: &mut Scratchpads,
    ) -> Result<(Vec<Vec<u32>>, u64), ExecuteError> {
        let clusters = self.machine.clusters;
        let mut replay = Replay {
            schedule: self,
            machine: Clusters::new(&self.kernel, clusters, arguments, scratchpads)?,
            registers: vec![[0; _]; self.kernel.value_count()],
            cycles: 0,
        };
        replay.nodes(self.kernel.body(), &mut 0)?;
        let cycles = replay.cycles;
        Ok((replay.machine.into_outputs(), cycles))
    }
}

struct Replay<'a> {
    schedule: &'a Schedule,
    machine: Clusters<'a>,
    /// What blocks leave to each other.
    registers: Vec<Lanes>,
    cycles: u64,
}

impl Replay<'_> {
    /// Runs nodes, of which the first block has number `block`; leaves the
    /// number of the first block after them.
    fn nodes(&mut self, nodes: &[Node], block: &mut usize) -> Result<(), ExecuteError> {
        for node in nodes {
            match node {
                Node::Block(code) => {
                    self.block(*block, &code.ops, &[], 1)?;
                    *block += 1;
                }
                Node::Loop(looped) => self.repeat(looped, block)?,
            }
        }
        Ok(())
    }

    fn repeat(&mut self, looped: &Loop, block: &mut usize) -> Result<(), ExecuteError> {
        let iterations = self.machine.iterations(looped)?;
        let first = *block;
        let is_pipelined = self.schedule.blocks[first].pipeline.is_some();
        let carried = &looped.carried;
        self.assign(carried.iter().map(|value| (value.inside, value.before)));
        match looped.body.as_slice() {
            [Node::Block(code)] if is_pipelined => {
                self.block(first, &code.ops, carried, iterations)?;
                *block = first + 1;
            }
            body => {
                for _ in 0..iterations {
                    *block = first;
                    self.nodes(body, block)?;
                    self.assign(carried.iter().map(|value| (value.inside, value.next)));
                }
            }
        }
        self.assign(carried.iter().map(|value| (value.after, value.inside)));
        Ok(())
    }

    fn assign(&mut self, pairs: impl Iterator<Item = (Value, Value)>) {
        let moved: Vec<(Value, Lanes)> = pairs
            .map(|(to, from)| (to, self.registers[from.index()]))
            .collect();
        for (to, lanes) in moved {
            self.registers[to.index()] = lanes;
        }
    }

    /// Runs overlapped iterations of a block, or a block once.
    fn block(
        &mut self,
        number: usize,
        ops: &[Op],
        carried: &[Carried],
        iterations: usize,
    ) -> Result<(), ExecuteError> {
        let scheduled = &self.schedule.blocks[number];
        let cycles = scheduled.cycles_for(iterations as u64);
        let pipeline = scheduled.pipeline.unwrap_or(Pipeline {
            interval: scheduled.cycles.max(1),
            stages: 1,
            copies: 1,
        });
        let mut files = Files::new(ops, carried, pipeline.copies as usize, &self.registers);
        let mut issues = issues(ops, &scheduled.slots, pipeline.interval);
        for issue in &mut issues {
            issue.sort_by_key(|&op| std::cmp::Reverse(scheduled.slots[op].cycle));
        }
        for cycle in 0..cycles {
            files.arrive(cycle);
            for &op in &issues[(cycle % u64::from(pipeline.interval)) as usize] {
                let Some(since) = cycle.checked_sub(u64::from(scheduled.slots[op].cycle)) else {
                    continue;
                };
                let iteration = (since / u64::from(pipeline.interval)) as usize;
                if iteration >= iterations {
                    continue;
                }
                let operands: Vec<Lanes> = ops[op]
                    .args
                    .iter()
                    .map(|&value| files.read(value, iteration))
                    .collect();
                let results = self
                    .machine
                    .perform(&ops[op], |arg, cluster| operands[arg][cluster])?;
                let timing = self.schedule.machine.timing(ops[op].code.class());
                for (&value, lanes) in ops[op].results.iter().zip(results) {
                    files.send(cycle + u64::from(timing.latency), value, iteration, lanes);
                }
            }
        }
        files.arrive(cycles);
        self.cycles += cycles;
        if let Some(last) = iterations.checked_sub(1) {
            let left: Vec<(Value, Lanes)> = ops
                .iter()
                .flat_map(|op| &op.results)
                .map(|&value| (value, files.read(value, last)))
                .chain(
                    carried
                        .iter()
                        .map(|value| (value.inside, files.read(value.inside, iterations))),
                )
                .collect();
            for (value, lanes) in left {
                self.registers[value.index()] = lanes;
            }
        }
        Ok(())
    }
}

/// The operations that issue in each cycle of the interval.
fn issues(ops: &[Op], slots: &[Slot], interval: u32) -> Vec<Vec<usize>> {
    let mut issues = vec![Vec::new(); interval as usize];
    for op in 0..ops.len() {
        issues[(slots[op].cycle % interval) as usize].push(op);
    }
    issues
}

/// The registers of a block while it runs.
struct Files {
    /// The place of each value that the block makes.
    places: HashMap<Value, usize>,
    copies: usize,
    /// Place by place, copy by copy.
    words: Vec<Lanes>,
    /// What was there before the block.
    before: Vec<Lanes>,
    handed_on: HashMap<Value, Value>,
    /// Results on their way: cycle of arrival, value, iteration.
    under_way: Vec<(u64, usize, Lanes)>,
}

impl Files {
    fn new(ops: &[Op], carried: &[Carried], copies: usize, before: &[Lanes]) -> Files {
        let places: HashMap<Value, usize> = ops
            .iter()
            .flat_map(|op| &op.results)
            .enumerate()
            .map(|(place, &value)| (value, place))
            .collect();
        Files {
            words: vec![[0; _]; places.len() * copies],
            places,
            copies,
            before: before.to_vec(),
            handed_on: carried
                .iter()
                .map(|carried| (carried.inside, carried.next))
                .collect(),
            under_way: Vec::new(),
        }
    }

    /// What an operation of an iteration finds under a name.
    fn read(&self, value: Value, iteration: usize) -> Lanes {
        if let Some(&place) = self.places.get(&value) {
            return self.words[place * self.copies + iteration % self.copies];
        }
        match (self.handed_on.get(&value), iteration.checked_sub(1)) {
            (Some(&next), Some(previous)) => self.read(next, previous),
            _ => self.before[value.index()],
        }
    }

    fn send(&mut self, cycle: u64, value: Value, iteration: usize, lanes: Lanes) {
        let place = self.places[&value] * self.copies + iteration % self.copies;
        self.under_way.push((cycle, place, lanes));
    }

    /// Writes the results that are there by this cycle.
    fn arrive(&mut self, cycle: u64) {
        let words = &mut self.words;
        self.under_way.retain(|&(when, place, lanes)| {
            if when <= cycle {
                words[place] = lanes;
            }
            when > cycle
        });
    }
}

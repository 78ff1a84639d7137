//! Schedules kernels for a machine's cluster, as the thesis's IScd does.
//!
//! Each block of straight-line code becomes a table of instructions: units by
//! cycles. Blocks are list-scheduled, and loops that may be pipelined are
//! modulo-scheduled (Rau 1994). A block begins when all results of the one
//! before it are there.
//!
//! A schedule is checked in two ways. It cannot beat its [`Bounds`]; and
//! [`Schedule::replay`] executes it cycle by cycle with registers that hold
//! what was written to them and nothing else, so that a result that is used
//! too early or overwritten too soon gives wrong outputs.
//!
//! The model of the cluster: a unit starts one operation in its issue interval
//! and sends one result per cycle over its bus of the switch; results are
//! written to as many register files as need them. Write ports of register
//! files are not a limit here, and their words are counted over all files
//! together.

use crate::stream_processor::kernel::{Block, Class, Kernel, Loop, Node, Op, Trip, Value};
use crate::stream_processor::machine::Machine;

use order::Order;

pub use bounds::Bounds;
pub use time::{Call, Run};
pub use units::{Unit, UnitKind};

mod bounds;
mod drawing;
mod graph;
mod list;
mod modulo;
mod order;
mod registers;
mod replay;
mod reservation;
#[cfg(test)]
mod tests;
mod time;
mod units;

/// A kernel that cannot be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Scratchpad arrays that do not fit.
    #[error(
        "kernel {kernel}: its arrays take {words} words of scratchpad {unit}, which has {room}"
    )]
    Scratchpad {
        /// The kernel.
        kernel: String,
        /// The scratchpad.
        unit: u32,
        /// Words that the arrays take there.
        words: u32,
        /// Words that it has.
        room: u32,
    },
    /// More values at once than registers.
    #[error("kernel {kernel}, block {block}: {values} values at once, for {registers} registers")]
    Registers {
        /// The kernel.
        kernel: String,
        /// The block.
        block: String,
        /// The values.
        values: u32,
        /// The machine's words of registers.
        registers: u32,
    },
    /// More instructions than the store has room for.
    #[error("kernel {kernel}: {instructions} instructions, for a store of {room}")]
    Microcode {
        /// The kernel.
        kernel: String,
        /// Its instructions.
        instructions: u32,
        /// Instructions that the machine stores.
        room: u32,
    },
}

/// When and where an operation issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The cycle, from the start of the block's iteration.
    pub cycle: u32,
    /// The units that it takes, by their place in [`Schedule::units`].
    pub units: Vec<usize>,
    /// Cycles for which they take nothing else.
    pub busy: u32,
}

/// How the iterations of a pipelined loop overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Cycles from the start of an iteration to the start of the next.
    pub interval: u32,
    /// Iterations that are under way at once.
    pub stages: u32,
    /// Copies of the loop's instructions, so that a value lives longer than
    /// an interval.
    pub copies: u32,
}

/// Why iterations of a loop that may be pipelined are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPipelined {
    /// No interval is found that is shorter than an iteration.
    NoShorter,
    /// Every interval that is found takes more registers than there are.
    Registers,
    /// The search was given up: it had looked at units and cycles too often.
    GivenUp,
    /// Overlapped, the kernel takes more instructions than the machine stores.
    Microcode,
}

impl NotPipelined {
    /// The reason in reports.
    pub fn reason(self) -> &'static str {
        match self {
            NotPipelined::NoShorter => "pipelining gains nothing",
            NotPipelined::Registers => "too few registers",
            NotPipelined::GivenUp => "search given up",
            NotPipelined::Microcode => "too little microcode",
        }
    }
}

/// The schedule of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSchedule {
    /// The loop that it belongs to, and its place there.
    pub label: String,
    /// The slot of each operation, in the order of the program.
    pub slots: Vec<Slot>,
    /// Cycles from the first operation until all results are there.
    pub cycles: u32,
    /// Cycles of an iteration that does not overlap with others.
    pub iteration_cycles: u32,
    /// How iterations overlap, where they do.
    pub pipeline: Option<Pipeline>,
    /// Why they do not, where they may.
    pub not_pipelined: Option<NotPipelined>,
    /// What cannot be beaten.
    pub bounds: Bounds,
    /// Operations in the block.
    pub operations: u32,
    /// The most values at once.
    pub registers: u32,
}

impl BlockSchedule {
    /// Instructions that the block takes in the microcode store: its cycles,
    /// or prologue, copies of the loop and epilogue.
    pub fn instructions(&self) -> u32 {
        match self.pipeline {
            None => self.cycles,
            Some(pipeline) => pipeline.interval * (2 * (pipeline.stages - 1) + pipeline.copies),
        }
    }

    /// Cycles for a number of iterations.
    pub fn cycles_for(&self, iterations: u64) -> u64 {
        match self.pipeline {
            None => iterations * u64::from(self.cycles),
            Some(_) if iterations == 0 => 0,
            Some(pipeline) => {
                (iterations - 1) * u64::from(pipeline.interval) + u64::from(self.cycles)
            }
        }
    }

    /// Cycles from one iteration to the next.
    pub fn steady_cycles(&self) -> u32 {
        self.pipeline
            .map_or(self.cycles, |pipeline| pipeline.interval)
    }

    /// Operations per cycle (the thesis's effective parallelism).
    pub fn parallelism(&self) -> f64 {
        f64::from(self.operations) / f64::from(self.steady_cycles().max(1))
    }
}

/// A kernel's schedule for a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    kernel: Kernel,
    machine: Machine,
    units: units::Units,
    /// Whether iterations of loops may overlap.
    overlaps: bool,
    blocks: Vec<BlockSchedule>,
}

impl Schedule {
    /// Schedules a kernel.
    ///
    /// # Errors
    /// Arrays, registers or instructions that the machine has no room for. A
    /// loop for which no overlap is found keeps its iterations apart.
    pub fn of(kernel: &Kernel, machine: &Machine) -> Result<Schedule, ScheduleError> {
        check_scratchpads(kernel, machine)?;
        let room = machine.microcode.instructions;
        let mut schedule = Schedule::overlapping(kernel, machine, true)?;
        if schedule.instructions() > room {
            schedule = Schedule::overlapping(kernel, machine, false)?;
        }
        match schedule.instructions() {
            instructions if instructions > room => Err(ScheduleError::Microcode {
                kernel: kernel.name().to_owned(),
                instructions,
                room,
            }),
            _ => Ok(schedule),
        }
    }

    /// The schedule with iterations that may overlap, or with all kept apart.
    fn overlapping(
        kernel: &Kernel,
        machine: &Machine,
        overlaps: bool,
    ) -> Result<Schedule, ScheduleError> {
        let mut schedule = Schedule {
            kernel: kernel.clone(),
            machine: machine.clone(),
            units: units::Units::of(machine),
            overlaps,
            blocks: Vec::new(),
        };
        let live = registers::live_across(kernel);
        schedule.nodes(kernel.body(), None, &live)?;
        Ok(schedule)
    }

    /// Schedules the blocks of nodes; `live` says for each block how many
    /// values it finds and leaves.
    fn nodes(
        &mut self,
        nodes: &[Node],
        within: Option<&Loop>,
        live: &[u32],
    ) -> Result<(), ScheduleError> {
        for node in nodes {
            match node {
                Node::Block(block) => {
                    let number = self.blocks.len();
                    let label = match within {
                        Some(looped) => format!("{number} {}", looped.label),
                        None => format!("{number}"),
                    };
                    let scheduled = self.block(block, within, label, live[number]);
                    if scheduled.registers > self.machine.cluster.register_words {
                        return Err(ScheduleError::Registers {
                            kernel: self.kernel.name().to_owned(),
                            block: scheduled.label,
                            values: scheduled.registers,
                            registers: self.machine.cluster.register_words,
                        });
                    }
                    self.blocks.push(scheduled);
                }
                Node::Loop(looped) => self.nodes(&looped.body, Some(looped), live)?,
            }
        }
        Ok(())
    }

    /// The best schedule that fits the registers; where none does, the one
    /// that takes the fewest.
    fn block(
        &self,
        block: &Block,
        within: Option<&Loop>,
        label: String,
        live: u32,
    ) -> BlockSchedule {
        let room = self.machine.cluster.register_words;
        let straight = self.graph(&block.ops, None);
        let bounds = Bounds::of(&straight);
        let apart = Order::ALL.map(|order| {
            let slots = list::schedule(&straight, self.units.all().len(), order);
            let cycles = self.length(&block.ops, &slots);
            let mut made = BlockSchedule {
                label: label.clone(),
                slots,
                cycles,
                iteration_cycles: cycles,
                pipeline: None,
                not_pipelined: None,
                bounds,
                operations: block.ops.len() as u32,
                registers: 0,
            };
            made.registers = live + self.registers(within, &block.ops, &made);
            made
        });
        let [quick, frugal] = apart;
        let best = if quick.registers <= room || quick.registers <= frugal.registers {
            quick
        } else {
            frugal
        };
        let Some(looped) = within.filter(|looped| looped.pipeline) else {
            return best;
        };
        let overlapped = if self.overlaps {
            self.overlapped(block, looped, &best, live)
        } else {
            Err(NotPipelined::Microcode)
        };
        overlapped.unwrap_or_else(|reason| BlockSchedule {
            not_pipelined: Some(reason),
            ..best
        })
    }

    /// The shortest interval for which a schedule is found that fits the
    /// registers, below the cycles of iterations that do not overlap.
    fn overlapped(
        &self,
        block: &Block,
        looped: &Loop,
        apart: &BlockSchedule,
        live: u32,
    ) -> Result<BlockSchedule, NotPipelined> {
        /// Intervals are tried one by one, and then in steps of this part.
        const STEP: u32 = 16;
        /// Looks at a unit in a cycle, less than a second of work. A loop for
        /// which more are needed keeps its iterations apart.
        const LOOKS: u32 = 1 << 22;
        let graph = self.graph(&block.ops, Some(looped));
        let bounds = Bounds::of(&graph);
        let mut interval = bounds.resources.max(bounds.recurrence).max(1);
        let (units, mut looks) = (self.units.all().len(), LOOKS);
        let mut reason = NotPipelined::NoShorter;
        while interval < apart.cycles && looks > 0 {
            for order in Order::ALL {
                let Some(slots) = modulo::schedule(&graph, units, interval, order, &mut looks)
                else {
                    continue;
                };
                let cycles = self.length(&block.ops, &slots);
                let mut made = BlockSchedule {
                    cycles,
                    pipeline: Some(Pipeline {
                        interval,
                        stages: cycles.div_ceil(interval),
                        copies: self.copies(looped, &block.ops, &slots, interval),
                    }),
                    slots,
                    bounds,
                    ..apart.clone()
                };
                made.registers = live + self.registers(Some(looped), &block.ops, &made);
                if made.registers <= self.machine.cluster.register_words {
                    return Ok(made);
                }
                reason = NotPipelined::Registers;
            }
            interval += (interval / STEP).max(1);
        }
        Err(if looks == 0 {
            NotPipelined::GivenUp
        } else {
            reason
        })
    }

    fn graph(&self, ops: &[Op], pipelined: Option<&Loop>) -> graph::Graph {
        graph::Graph::of(&self.kernel, &self.machine, &self.units, ops, pipelined)
    }

    /// Cycles until all results are there, and the branch is taken.
    fn length(&self, ops: &[Op], slots: &[Slot]) -> u32 {
        let ends = ops
            .iter()
            .zip(slots)
            .map(|(op, slot)| slot.cycle + self.machine.timing(op.code.class()).latency);
        ends.max().unwrap_or(0) + self.machine.cluster.branch_cycles
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The blocks, in the order of the program.
    pub fn blocks(&self) -> &[BlockSchedule] {
        &self.blocks
    }

    /// The block of the loop with that label that has the most operations.
    pub fn block_of(&self, label: &str) -> Option<&BlockSchedule> {
        self.blocks
            .iter()
            .filter(|block| block.label.ends_with(&format!(" {label}")))
            .max_by_key(|block| block.operations)
    }

    /// The units of the cluster.
    pub fn units(&self) -> &[Unit] {
        self.units.all()
    }

    /// Instructions of the whole kernel.
    pub fn instructions(&self) -> u32 {
        self.blocks.iter().map(BlockSchedule::instructions).sum()
    }

    /// The share of a block's cycles in which each kind of unit is busy.
    pub fn occupancy(&self, block: &BlockSchedule) -> Vec<(UnitKind, f64)> {
        let mut kinds: Vec<(UnitKind, u32, u32)> = Vec::new();
        for (place, unit) in self.units().iter().enumerate() {
            let busy = block
                .slots
                .iter()
                .filter(|slot| slot.units.contains(&place))
                .map(|slot| slot.busy)
                .sum();
            match kinds.last_mut() {
                Some((kind, units, total)) if *kind == unit.kind => {
                    *units += 1;
                    *total += busy;
                }
                _ => kinds.push((unit.kind, 1, busy)),
            }
        }
        let cycles = f64::from(block.steady_cycles().max(1));
        kinds
            .into_iter()
            .map(|(kind, units, busy)| (kind, f64::from(busy) / f64::from(units) / cycles))
            .collect()
    }
}

/// Arrays fit their scratchpads.
fn check_scratchpads(kernel: &Kernel, machine: &Machine) -> Result<(), ScheduleError> {
    use crate::stream_processor::kernel::Placement;
    let room = machine.cluster.scratchpad_words;
    for unit in 0..machine.cluster.scratchpads {
        let here = kernel
            .arrays()
            .iter()
            .filter(|array| match array.placement {
                Placement::Every => true,
                Placement::Unit(wanted) => wanted % machine.cluster.scratchpads == unit,
            });
        let words = here.map(|array| array.words).sum();
        if words > room {
            return Err(ScheduleError::Scratchpad {
                kernel: kernel.name().to_owned(),
                unit,
                words,
                room,
            });
        }
    }
    Ok(())
}

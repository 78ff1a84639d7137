//! What the machine has to do for a program, in the host's order: its
//! instructions, and loads of microcode before calls whose kernel is not in
//! the store.

use std::collections::BTreeMap;

use super::room::Room;
use super::{Outcome, SimulateError, Task};
use crate::stream_processor::kernel::Class;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::{Run, Schedule};
use crate::stream_processor::stream::program::{Instruction, Program};

/// What a job does.
pub(super) enum Work {
    /// Moves bytes to or from memory, counted as memory sees them.
    Memory {
        bytes: f64,
        /// Bytes of the stream.
        stream_bytes: u64,
        /// Whether it goes through the network interface instead.
        by_network: bool,
    },
    /// Runs a kernel.
    Kernel {
        kernel: usize,
        cycles: f64,
        /// Cycles in which it waits for words of streams.
        starved: f64,
        srf_bytes: u64,
        run: Box<Run>,
    },
    /// Makes a length known.
    Length,
    /// Is complete when all before it is.
    Barrier,
}

/// One job.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) task: Task,
    pub(super) is_microcode: bool,
    /// Jobs that have to be complete before.
    pub(super) after: Vec<usize>,
    /// Cycles that the host needs to send it.
    pub(super) host_cycles: f64,
    /// Jobs that have to be complete before, for they use its room.
    pub(super) after_room: Vec<usize>,
}

/// The jobs of a program, and the most bytes of the stream register file that
/// it uses.
pub(super) fn of(
    program: &Program,
    machine: &Machine,
    schedules: &[Schedule],
) -> Result<(Vec<Job>, u64), SimulateError> {
    let mut room = Room::new(machine.srf.bytes);
    let mut streams = program.streams().iter().peekable();
    let mut jobs: Vec<Job> = Vec::new();
    let mut store = Store::new(machine, schedules);
    let mut arrays = Arrays::new(machine);
    let mut by_network = false;
    // The job of each instruction.
    let mut numbers: Vec<usize> = Vec::new();
    for (instruction, recorded) in program.instructions().iter().enumerate() {
        let mut after: Vec<usize> = recorded.after.iter().map(|&it| numbers[it]).collect();
        let mut after_room = Vec::new();
        while let Some(stream) = streams.next_if(|stream| stream.made == instruction) {
            let used_by = room
                .give(stream.bytes, instruction, stream.last_use)
                .ok_or_else(|| SimulateError::Room {
                    instruction,
                    bytes: stream.bytes,
                    used: room.used(instruction),
                    room: machine.srf.bytes,
                })?;
            // A stream that its own maker uses last has no other user.
            let others = used_by.into_iter().filter(|&it| it < instruction);
            after_room.extend(others.map(|it| numbers[it]));
        }
        if let Instruction::Call { kernel, .. } | Instruction::LoadMicrocode { kernel } =
            &recorded.what
            && let Some(evicted_calls) = store.load(kernel.index())
        {
            store.loads[kernel.index()] = Some(jobs.len());
            let schedule = &schedules[kernel.index()];
            let task = Task::Microcode(kernel.index());
            jobs.push(microcode(machine, schedule, task, evicted_calls));
        }
        let task = match &recorded.what {
            Instruction::Load { .. } => Task::Load,
            Instruction::Store { .. } => Task::Store,
            Instruction::Call { kernel, .. } => Task::Kernel(kernel.index()),
            Instruction::LoadMicrocode { kernel } => Task::Microcode(kernel.index()),
            Instruction::AwaitLength { .. } => Task::Length,
            Instruction::Barrier => Task::Barrier,
        };
        let (work, words) = match &recorded.what {
            Instruction::Load { to, in_sequence } => {
                memory(program, machine, to.index(), *in_sequence, by_network)
            }
            Instruction::Store { from, in_sequence } => {
                memory(program, machine, from.index(), *in_sequence, by_network)
            }
            Instruction::Call {
                kernel,
                gives,
                call,
                takes: _,
            } => {
                after.extend(store.called(kernel.index(), jobs.len()));
                let host = &machine.host;
                // A register of the controller for each scalar, and for the
                // descriptor of each new stream.
                let set = (call.scalars.len() + gives.len()) as u32;
                let words = host.clustop_words + set * host.write_imm_words;
                let run = schedules[kernel.index()].run(call);
                (kernel_work(machine, kernel.index(), run), words)
            }
            Instruction::AwaitLength { .. } => (Work::Length, machine.host.move_words),
            Instruction::Barrier => {
                by_network = machine.network.carries_packets;
                (Work::Barrier, machine.host.barrier_words)
            }
            Instruction::LoadMicrocode { .. } => {
                // Its job is there, or the kernel was in the store.
                numbers.push(jobs.len().saturating_sub(1));
                continue;
            }
        };
        numbers.push(jobs.len());
        jobs.push(Job {
            work,
            task,
            is_microcode: false,
            after,
            host_cycles: host_cycles(machine, arrays.words(&recorded.what, words)),
            after_room,
        });
    }
    Ok((jobs, room.most_used()))
}

fn host_cycles(machine: &Machine, words: u32) -> f64 {
    f64::from(words) * machine.host.bus_cycles_per_word * machine.clock_mhz / machine.host.bus_mhz
}

/// A stream to or from memory: the address register and the stream's
/// descriptor are set, and then it is started.
fn memory(
    program: &Program,
    machine: &Machine,
    stream: usize,
    in_sequence: bool,
    by_network: bool,
) -> (Work, u32) {
    let stream_bytes = program.streams()[stream].bytes;
    let share = if in_sequence || by_network {
        1.0
    } else {
        machine.memory.indexed_share
    };
    let operation_words = if by_network {
        machine.network.netop_words
    } else {
        machine.host.memop_words
    };
    let words = operation_words + 2 * machine.host.write_imm_words;
    let work = Work::Memory {
        bytes: stream_bytes as f64 / share,
        stream_bytes,
        by_network,
    };
    (work, words)
}

/// Arrays of streams (8.2): instructions of one kind, on streams that follow
/// each other, are sent as one. The first carries all words, the others one for
/// their stream.
struct Arrays {
    streams: u32,
    loads: u32,
    stores: u32,
    calls: BTreeMap<usize, u32>,
}

impl Arrays {
    fn new(machine: &Machine) -> Arrays {
        Arrays {
            streams: machine.host.array_streams,
            loads: 0,
            stores: 0,
            calls: BTreeMap::new(),
        }
    }

    /// The words that are sent for an instruction that has `words` words alone.
    fn words(&mut self, what: &Instruction, words: u32) -> u32 {
        let place = match what {
            Instruction::Load { .. } => &mut self.loads,
            Instruction::Store { .. } => &mut self.stores,
            Instruction::Call { kernel, .. } => self.calls.entry(kernel.index()).or_default(),
            // The host waits for these one by one.
            Instruction::LoadMicrocode { .. }
            | Instruction::Barrier
            | Instruction::AwaitLength { .. } => return words,
        };
        let is_first = *place == 0;
        *place = (*place + 1) % self.streams;
        if is_first { words } else { 1 }
    }
}

fn kernel_work(machine: &Machine, kernel: usize, run: Run) -> Work {
    let words = [
        Class::Input,
        Class::Output,
        Class::IndexedRead,
        Class::IndexedWrite,
    ]
    .map(|class| run.of_class(class));
    let srf_bytes = 4 * words.iter().sum::<u64>() * machine.clusters as u64;
    let needed = srf_bytes as f64 / machine.srf.bytes_per_cycle;
    let starved = (needed - run.cycles as f64).max(0.0);
    let around = machine.microcode.start_cycles + machine.microcode.end_cycles;
    Work::Kernel {
        kernel,
        cycles: (run.cycles + around) as f64 + starved,
        starved,
        srf_bytes,
        run: Box::new(run),
    }
}

fn microcode(machine: &Machine, schedule: &Schedule, task: Task, after: Vec<usize>) -> Job {
    let bits = u64::from(schedule.instructions()) * u64::from(machine.microcode.instruction_bits);
    Job {
        work: Work::Memory {
            bytes: bits as f64 / 8.0,
            stream_bytes: 0,
            by_network: false,
        },
        task,
        is_microcode: true,
        after,
        host_cycles: host_cycles(
            machine,
            machine.host.load_ucode_words + 2 * machine.host.write_imm_words,
        ),
        after_room: Vec::new(),
    }
}

/// The microcode store: the kernel that was called longest ago leaves first.
struct Store {
    room: u32,
    sizes: Vec<u32>,
    /// Kernels in the store, the one called last at the end.
    resident: Vec<usize>,
    /// The job that loaded each kernel last, and the call that used it last.
    loads: Vec<Option<usize>>,
    last_calls: Vec<Option<usize>>,
}

impl Store {
    fn new(machine: &Machine, schedules: &[Schedule]) -> Store {
        Store {
            room: machine.microcode.instructions,
            sizes: schedules.iter().map(Schedule::instructions).collect(),
            resident: Vec::new(),
            loads: vec![None; schedules.len()],
            last_calls: vec![None; schedules.len()],
        }
    }

    /// Makes room for a kernel that is not there; returns the calls that have
    /// to be complete before it is overwritten.
    fn load(&mut self, kernel: usize) -> Option<Vec<usize>> {
        if let Some(place) = self.resident.iter().position(|&there| there == kernel) {
            self.resident.remove(place);
            self.resident.push(kernel);
            return None;
        }
        let mut after = Vec::new();
        let taken = |resident: &[usize], sizes: &[u32]| -> u32 {
            resident.iter().map(|&there| sizes[there]).sum()
        };
        while !self.resident.is_empty()
            && taken(&self.resident, &self.sizes) + self.sizes[kernel] > self.room
        {
            let evicted = self.resident.remove(0);
            after.extend(self.last_calls[evicted]);
        }
        self.resident.push(kernel);
        Some(after)
    }

    /// Notes a call, which is job `number`; returns the job that loaded the
    /// kernel.
    fn called(&mut self, kernel: usize, number: usize) -> Option<usize> {
        self.last_calls[kernel] = Some(number);
        self.loads[kernel]
    }
}

/// Adds up what the jobs did, until each barrier and in all. Jobs are complete
/// in the order of barriers: the host sends nothing while it waits at one.
pub(super) fn add_work(jobs: &[Job], machine: &Machine, outcome: &mut Outcome) {
    let mut until_barriers = std::mem::take(&mut outcome.barriers).into_iter();
    let mut done = Outcome {
        by_class: Class::ALL.map(|class| (class, 0)).to_vec(),
        ..Outcome::default()
    };
    for job in jobs {
        add_job(job, machine.clusters as u64, &mut done);
        if let Work::Barrier = job.work
            && let Some(mut until) = until_barriers.next()
        {
            take_work(&mut until, &done);
            outcome.barriers.push(until);
        }
    }
    take_work(outcome, &done);
}

/// Takes over what does not depend on time.
fn take_work(outcome: &mut Outcome, done: &Outcome) {
    outcome.memory_bytes = done.memory_bytes;
    outcome.network_bytes = done.network_bytes;
    outcome.srf_bytes = done.srf_bytes;
    outcome.register_bytes = done.register_bytes;
    outcome.operations = done.operations;
    outcome.microcode_loads = done.microcode_loads;
    outcome.by_class.clone_from(&done.by_class);
    outcome.stalls.extend(done.stalls.iter());
}

fn add_job(job: &Job, clusters: u64, done: &mut Outcome) {
    done.microcode_loads += u32::from(job.is_microcode);
    match &job.work {
        Work::Memory {
            stream_bytes,
            by_network: false,
            ..
        } => done.memory_bytes += stream_bytes,
        Work::Memory { stream_bytes, .. } => done.network_bytes += stream_bytes,
        Work::Kernel {
            starved,
            srf_bytes,
            run,
            ..
        } => {
            done.srf_bytes += srf_bytes;
            done.register_bytes += 4 * run.register_words * clusters;
            done.operations += run.arithmetic() * clusters;
            if *starved > 0.0 {
                *done.stalls.entry(super::Cause::Bandwidth).or_default() += starved;
            }
            for ((_, total), (_, count)) in done.by_class.iter_mut().zip(&run.operations) {
                *total += count * clusters;
            }
        }
        Work::Length | Work::Barrier => {}
    }
}

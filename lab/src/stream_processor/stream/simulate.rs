//! Plays a recorded program on a machine.

use std::collections::BTreeMap;

use jobs::{Job, Work};

use super::Program;
use crate::stream_processor::kernel::Class;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::Schedule;

mod jobs;
mod room;

/// A program that cannot run on a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// Schedules that are not those of the program and machine.
    #[error("the schedules are not those of the program's kernels on this machine")]
    Schedules,
    /// Streams that do not fit into the stream register file together.
    #[error(
        "instruction {instruction} needs {bytes} bytes of the stream register file in one piece, where {used} of {room} are in use"
    )]
    Room {
        /// The instruction, from 0.
        instruction: usize,
        /// What it needs.
        bytes: u64,
        /// What is taken.
        used: u64,
        /// The size of the file.
        room: u64,
    },
}

/// Why clusters stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The host has not sent the next kernel.
    Host,
    /// The host waits for the length of a stream.
    Length,
    /// A stream is still on its way from memory.
    Memory,
    /// A stream is still on its way from the network interface.
    Network,
    /// Microcode is being loaded.
    Microcode,
    /// There is no room in the stream register file.
    Room,
    /// The stream register file gives words more slowly than the kernel takes
    /// them.
    Bandwidth,
    /// All kernels are done, and streams are still on their way to memory.
    Drain,
}

impl Cause {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Length => "stream length",
            Cause::Memory => "memory",
            Cause::Network => "network",
            Cause::Microcode => "microcode",
            Cause::Room => "SRF room",
            Cause::Bandwidth => "SRF bandwidth",
            Cause::Drain => "drain",
        }
    }
}

/// A part of the machine that does one task at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The host, which sends instructions.
    Host,
    /// An address generator of memory, from 0.
    AddressGenerator(usize),
    /// A stream of the network interface, from 0.
    NetworkStream(usize),
    /// The clusters, in lock step.
    Clusters,
}

/// What a part of the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A stream comes from memory or the network.
    Load,
    /// A stream goes there.
    Store,
    /// The microcode of a kernel comes from memory; the kernel's number.
    Microcode(usize),
    /// A kernel, by its number.
    Kernel(usize),
    /// The host asks for a length.
    Length,
    /// The host waits for all before.
    Barrier,
}

/// What a part of the machine did for a time. The host's activities are the
/// sending of instructions, without waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// The part.
    pub unit: Unit,
    /// What it did.
    pub task: Task,
    /// The first cycle.
    pub begins: f64,
    /// The first cycle after it.
    pub ends: f64,
}

/// What a machine did in a span of time: a whole run, or a part between
/// barriers. Cycles are of the machine's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// All cycles of the span; of a run, from the host's first word to the last
    /// completion.
    pub cycles: f64,
    /// In which a kernel ran.
    pub kernel_cycles: f64,
    /// In which memory moved streams.
    pub memory_cycles: f64,
    /// In which both happened.
    pub overlap_cycles: f64,
    /// In which microcode was loaded, and nothing else.
    pub microcode_cycles: f64,
    /// In which no kernel ran, or one waited, by cause.
    pub stalls: BTreeMap<Cause, f64>,
    /// Cycles of each kernel's calls.
    pub by_kernel: Vec<f64>,
    /// Bytes of streams to and from memory.
    pub memory_bytes: u64,
    /// Bytes of streams through the network interface.
    pub network_bytes: u64,
    /// Bytes between the stream register file and clusters.
    pub srf_bytes: u64,
    /// Bytes that operations read from local registers and wrote to them.
    pub register_bytes: u64,
    /// Arithmetic operations.
    pub operations: u64,
    /// All operations of each class, all clusters together.
    pub by_class: Vec<(Class, u64)>,
    /// The most bytes of the stream register file in use in the whole run.
    pub most_srf_bytes: u64,
    /// Loads of a kernel's microcode.
    pub microcode_loads: u32,
    /// What was done from the beginning until each barrier was passed.
    pub barriers: Vec<Outcome>,
    /// The activities of a whole run, in the order in which they ended.
    pub activities: Vec<Activity>,
}

impl Outcome {
    /// What was done between the first barrier and the last one, or the end where
    /// there is one barrier; of a program without barriers, the whole run. In front
    /// of its first barrier a program puts tables, microcode and keys in place.
    pub fn measured(&self) -> Outcome {
        let span = match self.barriers.as_slice() {
            [] => return self.clone(),
            [first] => self.since(first),
            [first, .., last] => last.since(first),
        };
        Outcome {
            most_srf_bytes: self.most_srf_bytes,
            ..span
        }
    }

    /// What was done after an earlier moment of the same run.
    fn since(&self, earlier: &Outcome) -> Outcome {
        let stalls = self.stalls.iter().map(|(cause, cycles)| {
            let before = earlier.stalls.get(cause).copied().unwrap_or(0.0);
            (*cause, cycles - before)
        });
        let by_kernel = self.by_kernel.iter().zip(&earlier.by_kernel);
        let by_class = self.by_class.iter().zip(&earlier.by_class);
        Outcome {
            cycles: self.cycles - earlier.cycles,
            kernel_cycles: self.kernel_cycles - earlier.kernel_cycles,
            memory_cycles: self.memory_cycles - earlier.memory_cycles,
            overlap_cycles: self.overlap_cycles - earlier.overlap_cycles,
            microcode_cycles: self.microcode_cycles - earlier.microcode_cycles,
            stalls: stalls.filter(|(_, cycles)| *cycles > 0.0).collect(),
            by_kernel: by_kernel.map(|(all, before)| all - before).collect(),
            memory_bytes: self.memory_bytes - earlier.memory_bytes,
            network_bytes: self.network_bytes - earlier.network_bytes,
            srf_bytes: self.srf_bytes - earlier.srf_bytes,
            register_bytes: self.register_bytes - earlier.register_bytes,
            operations: self.operations - earlier.operations,
            by_class: by_class
                .map(|((class, all), (_, before))| (*class, all - before))
                .collect(),
            most_srf_bytes: self.most_srf_bytes,
            microcode_loads: self.microcode_loads - earlier.microcode_loads,
            barriers: Vec::new(),
            activities: Vec::new(),
        }
    }

    /// The kernels' share of the time.
    pub fn kernel_share(&self) -> f64 {
        self.kernel_cycles / self.cycles.max(1.0)
    }

    /// Arithmetic operations for each word to or from memory.
    pub fn operations_per_memory_word(&self) -> f64 {
        self.operations as f64 / (self.memory_bytes as f64 / 4.0).max(1.0)
    }

    /// Gigabytes per second at a clock, of a number of bytes.
    pub fn gigabytes_per_s(&self, bytes: u64, clock_mhz: f64) -> f64 {
        bytes as f64 / self.cycles.max(1.0) * clock_mhz / 1_000.0
    }
}

/// Plays a program, whose kernels are scheduled in their order.
///
/// # Errors
/// Schedules of other kernels; streams that do not fit into the stream
/// register file.
pub fn simulate(
    program: &Program,
    machine: &Machine,
    schedules: &[Schedule],
) -> Result<Outcome, SimulateError> {
    let fits = schedules.len() == program.kernels().len()
        && program.clusters() == machine.clusters
        && program
            .kernels()
            .iter()
            .zip(schedules)
            .all(|(kernel, schedule)| schedule.kernel() == kernel && schedule.machine() == machine);
    if !fits {
        return Err(SimulateError::Schedules);
    }
    let (jobs, most_srf_bytes) = jobs::of(program, machine, schedules)?;
    let mut simulation = Simulation::new(&jobs, machine, schedules.len());
    simulation.run();
    let mut outcome = Outcome {
        cycles: simulation.now,
        most_srf_bytes,
        activities: simulation.activities,
        ..simulation.outcome
    };
    jobs::add_work(&jobs, machine, &mut outcome);
    Ok(outcome)
}

/// A transfer under way.
struct Transfer {
    job: usize,
    by_network: bool,
    /// The address generator, or the stream of the interface.
    slot: usize,
    /// When it was started.
    started: f64,
    /// Until its first word comes.
    begins: f64,
    /// Bytes that are left, as memory sees them.
    left: f64,
}

/// Where the host is.
enum Host {
    /// It sends a job until a time.
    Sends(usize, f64),
    /// It waits until a job is complete.
    Waits(usize),
    /// It learns the length, until a time.
    Learns(f64),
    /// It may send the next.
    Ready,
}

/// Bytes per cycle of a transfer.
struct Rates {
    memory: f64,
    network: f64,
}

impl Rates {
    fn of(&self, transfer: &Transfer) -> f64 {
        if transfer.by_network {
            self.network
        } else {
            self.memory
        }
    }
}

struct Simulation<'a> {
    jobs: &'a [Job],
    machine: &'a Machine,
    now: f64,
    host: Host,
    next_to_send: usize,
    /// Jobs in the scoreboard that have not begun, oldest first.
    waiting: Vec<usize>,
    in_scoreboard: u32,
    done: Vec<bool>,
    transfers: Vec<Transfer>,
    /// The job of the kernel that runs, and when it ends.
    kernel: Option<(usize, f64)>,
    /// Calls in order, and the first that has not begun.
    calls: Vec<usize>,
    next_call: usize,
    outcome: Outcome,
    activities: Vec<Activity>,
}

impl<'a> Simulation<'a> {
    fn new(jobs: &'a [Job], machine: &'a Machine, kernels: usize) -> Simulation<'a> {
        Simulation {
            jobs,
            machine,
            now: 0.0,
            host: Host::Ready,
            next_to_send: 0,
            waiting: Vec::new(),
            in_scoreboard: 0,
            done: vec![false; jobs.len()],
            transfers: Vec::new(),
            kernel: None,
            calls: (0..jobs.len())
                .filter(|&job| matches!(jobs[job].work, Work::Kernel { .. }))
                .collect(),
            next_call: 0,
            outcome: Outcome {
                by_kernel: vec![0.0; kernels],
                ..Outcome::default()
            },
            activities: Vec::new(),
        }
    }

    fn run(&mut self) {
        loop {
            self.begin();
            self.send();
            let Some(next) = self.next_event() else {
                break;
            };
            self.advance(next);
            self.complete();
        }
    }

    /// The host begins to send the next instruction, if it may.
    fn send(&mut self) {
        let has_slot = self.in_scoreboard < self.machine.host.scoreboard_slots;
        if matches!(self.host, Host::Ready) && has_slot && self.next_to_send < self.jobs.len() {
            let job = self.next_to_send;
            self.next_to_send += 1;
            self.in_scoreboard += 1;
            self.host = Host::Sends(job, self.now + self.jobs[job].host_cycles);
        }
    }

    /// Jobs begin whose turn it is.
    fn begin(&mut self) {
        let mut index = 0;
        while let Some(&job) = self.waiting.get(index) {
            if !self.begin_job(job) {
                index += 1;
                continue;
            }
            self.waiting.remove(index);
        }
    }

    fn begin_job(&mut self, job: usize) -> bool {
        let facts = &self.jobs[job];
        let mut before = facts.after.iter().chain(&facts.after_room);
        if !before.all(|&before| self.done[before]) {
            return false;
        }
        let may = match facts.work {
            Work::Memory { by_network, .. } => {
                let most = if by_network {
                    self.machine.network.streams
                } else {
                    self.machine.memory.address_generators
                };
                let others = self.transfers.iter();
                others.filter(|it| it.by_network == by_network).count() < most as usize
            }
            Work::Kernel { .. } => {
                self.kernel.is_none() && self.calls.get(self.next_call) == Some(&job)
            }
            Work::Length => true,
            Work::Barrier => self.done[..job].iter().all(|&done| done),
        };
        if !may {
            return false;
        }
        match facts.work {
            Work::Memory {
                bytes, by_network, ..
            } => self.transfers.push(Transfer {
                job,
                by_network,
                slot: self.free_slot(by_network),
                started: self.now,
                begins: if by_network {
                    // Packets wait in the interface.
                    self.now
                } else {
                    self.now + self.machine.memory.latency_cycles as f64
                },
                left: bytes,
            }),
            Work::Kernel { cycles, .. } => {
                self.kernel = Some((job, self.now + cycles));
                self.next_call += 1;
            }
            Work::Length => self.finish(job),
            Work::Barrier => {
                let mut until_now = Outcome {
                    cycles: self.now,
                    ..self.outcome.clone()
                };
                until_now.barriers.clear();
                self.outcome.barriers.push(until_now);
                self.finish(job);
            }
        }
        true
    }

    /// The first address generator, or stream of the interface, without a
    /// transfer.
    fn free_slot(&self, by_network: bool) -> usize {
        let is_used = |slot: usize| {
            let mut transfers = self.transfers.iter();
            transfers.any(|it| it.by_network == by_network && it.slot == slot)
        };
        (0..).find(|&slot| !is_used(slot)).unwrap_or_default()
    }

    fn record(&mut self, unit: Unit, job: usize, begins: f64) {
        self.activities.push(Activity {
            unit,
            task: self.jobs[job].task,
            begins,
            ends: self.now,
        });
    }

    /// Bytes per cycle that each transfer gets now, to or from memory and
    /// through the network interface.
    fn rates(&self) -> Rates {
        let moving = |by_network: bool| {
            let transfers = self.transfers.iter();
            let moving = transfers.filter(|it| it.begins <= self.now);
            moving.filter(|it| it.by_network == by_network).count()
        };
        let share = |stream: f64, all: f64, by_network: bool| {
            stream.min(all / moving(by_network).max(1) as f64)
        };
        let (memory, network) = (&self.machine.memory, &self.machine.network);
        Rates {
            memory: share(memory.stream_bytes_per_cycle, memory.bytes_per_cycle, false),
            network: share(
                network.stream_bytes_per_cycle,
                network.bytes_per_cycle,
                true,
            ),
        }
    }

    fn next_event(&self) -> Option<f64> {
        let rates = self.rates();
        let transfers = self.transfers.iter().map(|transfer| {
            if transfer.begins > self.now {
                transfer.begins
            } else {
                self.now + transfer.left / rates.of(transfer)
            }
        });
        let host = match self.host {
            Host::Sends(_, until) | Host::Learns(until) => Some(until),
            _ => None,
        };
        let kernel = self.kernel.map(|(_, until)| until);
        transfers.chain(host).chain(kernel).reduce(f64::min)
    }

    /// Time passes: who did what in it, and who waited for what.
    fn advance(&mut self, until: f64) {
        let passed = until - self.now;
        let rates = self.rates();
        for transfer in &mut self.transfers {
            if transfer.begins <= self.now {
                transfer.left -= passed * rates.of(transfer);
            }
        }
        let mut of_memory = self.transfers.iter().filter(|it| !it.by_network);
        let is_idle = of_memory.clone().next().is_none();
        let streams_move = of_memory.any(|it| !self.jobs[it.job].is_microcode);
        if streams_move {
            self.outcome.memory_cycles += passed;
        } else if !is_idle {
            self.outcome.microcode_cycles += passed;
        }
        match self.kernel {
            Some(_) => {
                self.outcome.kernel_cycles += passed;
                if streams_move {
                    self.outcome.overlap_cycles += passed;
                }
            }
            None => *self.outcome.stalls.entry(self.cause()).or_default() += passed,
        }
        self.now = until;
    }

    /// Why no kernel runs.
    fn cause(&self) -> Cause {
        let Some(&call) = self.calls.get(self.next_call) else {
            return Cause::Drain;
        };
        if !self.waiting.contains(&call) {
            let transfer = self.transfers.first().map(|transfer| transfer.job);
            return match (&self.host, transfer) {
                (Host::Learns(_), _) => Cause::Length,
                (Host::Waits(job), _) if matches!(self.jobs[*job].work, Work::Length) => {
                    Cause::Length
                }
                // At a barrier, for what moves.
                (Host::Waits(_), Some(job)) if self.jobs[job].is_microcode => Cause::Microcode,
                (Host::Waits(_), Some(_)) => Cause::Memory,
                _ => Cause::Host,
            };
        }
        let mut missing = self.jobs[call].after.iter().filter(|&&job| !self.done[job]);
        match missing.next() {
            Some(&job) => match self.jobs[job].work {
                _ if self.jobs[job].is_microcode => Cause::Microcode,
                Work::Memory {
                    by_network: true, ..
                } => Cause::Network,
                _ => Cause::Memory,
            },
            None => Cause::Room,
        }
    }

    /// What is complete now.
    fn complete(&mut self) {
        // Rates are fractions: a byte's millionth is nothing.
        const NOTHING: f64 = 1e-6;
        let now = self.now;
        let ended: Vec<Transfer> = self
            .transfers
            .extract_if(.., |transfer| {
                transfer.begins <= now && transfer.left <= NOTHING
            })
            .collect();
        for transfer in ended {
            let unit = if transfer.by_network {
                Unit::NetworkStream(transfer.slot)
            } else {
                Unit::AddressGenerator(transfer.slot)
            };
            self.record(unit, transfer.job, transfer.started);
            self.finish(transfer.job);
        }
        if let Some((job, until)) = self.kernel
            && until <= now
        {
            self.kernel = None;
            if let Work::Kernel { kernel, cycles, .. } = self.jobs[job].work {
                self.outcome.by_kernel[kernel] += cycles;
                self.record(Unit::Clusters, job, until - cycles);
            }
            self.finish(job);
        }
        if let Host::Sends(job, until) = self.host
            && until <= now
        {
            self.host = match self.jobs[job].work {
                Work::Length | Work::Barrier => Host::Waits(job),
                _ => Host::Ready,
            };
            self.record(Unit::Host, job, until - self.jobs[job].host_cycles);
            self.waiting.push(job);
        }
        if let Host::Learns(until) = self.host
            && until <= now
        {
            self.host = Host::Ready;
        }
    }

    fn finish(&mut self, job: usize) {
        self.done[job] = true;
        self.in_scoreboard -= 1;
        if let Host::Waits(awaited) = self.host
            && awaited == job
        {
            self.host = match self.jobs[job].work {
                Work::Length => Host::Learns(self.now + self.machine.host.length_cycles as f64),
                _ => Host::Ready,
            };
        }
    }
}

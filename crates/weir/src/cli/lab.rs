//! What can be asked of `weir lab`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Common;

/// Kernels and programs of stream processors: schedule them for a machine, run
/// them, change the machine, and see the stream thesis reproduced.
#[derive(Args, Debug)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    List(LabList),
    Schedule(LabSchedule),
    Run(LabRun),
    Sweep(LabSweep),
    Cost(LabCost),
    Lengths(LabLengths),
    Experiment(LabExperiment),
    Reproduce(LabReproduce),
    Sensitivity(LabSensitivity),
}

/// Where results go.
#[derive(Args, Debug)]
pub struct Places {
    /// Write the rows as a Parquet table to a file.
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// List kernels, programs, experiments and machines.
#[derive(Args, Debug)]
pub struct LabList {
    /// Print the parameters of this machine, each with its source.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    #[command(flatten)]
    pub places: Places,
}

/// A machine, and what is changed on it.
#[derive(Args, Debug)]
pub struct MachineChoice {
    /// The machine: a name of `weir lab list`, or a file (TOML).
    #[arg(long, value_name = "MACHINE", default_value = "imagine")]
    pub machine: String,
    /// Adders of a cluster, instead of the machine's.
    #[arg(long, value_name = "N")]
    pub adders: Option<u32>,
    /// Scratchpads of a cluster, instead of the machine's.
    #[arg(long, value_name = "N")]
    pub scratchpads: Option<u32>,
    /// Clusters, instead of the machine's.
    #[arg(long, value_name = "N")]
    pub clusters: Option<u32>,
    /// Set a parameter of the machine, as in memory.latency_cycles=100; may be
    /// given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub changes: Vec<String>,
}

/// Schedule a kernel: cycles, bounds, occupancy and microcode of each block.
#[derive(Args, Debug)]
pub struct LabSchedule {
    /// The kernel, by its name in `weir lab list`.
    #[arg(value_name = "KERNEL")]
    pub kernel: String,
    #[command(flatten)]
    pub machine: MachineChoice,
    /// Draw the schedule, units by cycles.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the kernel's operations.
    #[arg(long)]
    pub listing: bool,
    #[command(flatten)]
    pub places: Places,
}

/// What a program works on.
#[derive(Args, Debug)]
pub struct Work {
    /// Packets.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub packets: u32,
    /// Bytes of each packet, padded as the program needs it.
    #[arg(long, value_name = "N", default_value_t = 1536, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub bytes: u32,
    /// Give every packet a key of its own.
    #[arg(long)]
    pub key_agile: bool,
    /// Work on two things at once where the program can.
    #[arg(long)]
    pub dual: bool,
}

/// Run a program on a machine, or a kernel by its schedule.
///
/// Kernels compute as they run: a kernel's schedule is replayed cycle by cycle
/// and compared with plain execution; exit status 1 where they differ.
#[derive(Args, Debug)]
pub struct LabRun {
    /// The program or kernel, by its name in `weir lab list`.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Run a program on many machines: every combination of the values given.
#[derive(Args, Debug)]
pub struct LabSweep {
    /// The program, by its name in `weir lab list`.
    #[arg(value_name = "PROGRAM")]
    pub program: String,
    /// A parameter and its values, as in cluster.adders=3,4,6 or
    /// host.bus_mhz=50..400:50; may be given several times. Beside those of
    /// the machine there are work.packets and work.bytes.
    #[arg(long, value_name = "KEY=VALUE,…", required = true)]
    pub over: Vec<String>,
    /// Threads; by default one for each core.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<usize>>,
    /// Write a page with pictures and every row: one file of HTML.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print how the packets of captures fill clusters.
///
/// Blocks of a packet lie across clusters; the rest of its last row is padding.
/// Lengths are those of IP packets.
#[derive(Args, Debug)]
pub struct LabLengths {
    /// Captures.
    #[arg(value_name = "CAPTURE", required = true)]
    pub captures: Vec<PathBuf>,
    /// Bytes of a block: 16 for AES.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub block_bytes: u32,
    /// Numbers of clusters.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4,8,16,32,64", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub clusters: Vec<u32>,
    /// Write a page with pictures: one file of HTML.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub places: Places,
}

/// Do an experiment: what the thesis leaves to the future (8.2), measured.
#[derive(Args, Debug)]
pub struct LabExperiment {
    /// The experiment, by its name in `weir lab list`.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print what a machine takes of a chip, and what its actions take of energy.
///
/// After the cost model of Khailany et al. (2003): area of each part, energy of
/// each action, delay of the switches, and the power of all units at work.
#[derive(Args, Debug)]
pub struct LabCost {
    /// Print how costs grow instead: with units of a cluster, and with
    /// clusters.
    #[arg(long)]
    pub scaling: bool,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print what the stream thesis states beside what the models give.
#[derive(Args, Debug)]
pub struct LabReproduce {
    /// Rows, as imagine-026; all of them if none is named.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Do a tenth of the work: results per block differ by less than a
    /// percent.
    #[arg(long)]
    pub short: bool,
    /// Write a page with pictures, every row and every parameter: one file
    /// of HTML.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub places: Places,
}

/// Change each parameter that is not published, one at a time, and print which
/// results move.
///
/// Derived, recalled and calibrated parameters go up and down by 20 %, and by no
/// less than one where they are whole numbers.
#[derive(Args, Debug)]
pub struct LabSensitivity {
    /// Parameters, as host.bus_cycles_per_word; all of them if none is named.
    #[arg(value_name = "KEY")]
    pub parameters: Vec<String>,
    #[command(flatten)]
    pub places: Places,
}

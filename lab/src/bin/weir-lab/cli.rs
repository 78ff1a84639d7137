//! The command line of `weir-lab`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use weir_console::manual::{Completions, Man};
use weir_console::{Common, Messages};

/// Model stream processors: schedule kernels, run programs, change the machine,
/// reproduce published results.
///
/// Exit status: 0 success; 1 failure while running; 2 wrong command line, or a file that it
/// names cannot be used.
#[derive(Debug, Parser)]
#[command(name = "weir-lab", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub messages: Messages,
}

impl AsRef<Messages> for Cli {
    fn as_ref(&self) -> &Messages {
        &self.messages
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(List),
    Schedule(Schedule),
    Run(Run),
    Sweep(Sweep),
    Cost(Cost),
    Lengths(Lengths),
    Experiment(Experiment),
    Reproduce(Reproduce),
    Sensitivity(Sensitivity),
    Completions(Completions),
    Man(Man),
}

/// Where results are written.
#[derive(Args, Debug)]
pub struct Places {
    /// Write the rows as a Parquet table to this file.
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Write the rows as comma-separated values (RFC 4180) to this file.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// List programs, kernels, experiments and machines.
#[derive(Args, Debug)]
pub struct List {
    /// Print the parameters of this machine, each with its source.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    #[command(flatten)]
    pub places: Places,
}

/// The machine and its changes.
#[derive(Args, Debug)]
pub struct MachineChoice {
    /// The machine: a name that `weir-lab list` prints, or a TOML file. By default
    /// the first one of the model.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Set a parameter of the machine, for example memory.latency_cycles=100; may
    /// be given several times. `run` and `sweep` also set those of the workload, for
    /// example work.packets=8.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub changes: Vec<String>,
}

/// What a kernel of a file is given.
#[derive(Args, Debug)]
pub struct Inputs {
    /// What an input of a kernel file is given: a number for a scalar; a CSV file with a
    /// record in each row, or a capture with a record in each packet, for a stream or an
    /// array. May be given several times. Without inputs, streams and arrays have example
    /// words, and scalars are 0.
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
}

/// Schedule a kernel and print cycles, bounds, occupancy and microcode of each
/// block.
#[derive(Args, Debug)]
pub struct Schedule {
    /// The kernel, by a name that `weir-lab list` prints, or a file NAME.kernel.
    #[arg(value_name = "KERNEL")]
    pub kernel: String,
    #[command(flatten)]
    pub machine: MachineChoice,
    /// Draw the schedule (units by cycles) into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the kernel's operations.
    #[arg(long)]
    pub listing: bool,
    #[command(flatten)]
    pub places: Places,
}

/// Run a program or a kernel on a machine.
///
/// A program's results cover its packets only: from its first barrier, when
/// tables, microcode and keys are in place, to its last barrier or its end. A
/// kernel's schedule is replayed cycle by cycle, and its outputs are compared
/// with those of the executor; exit status 1 if they differ. `weir-lab list` prints
/// the parameters of workloads, and `--set work.packets=8` sets one.
#[derive(Args, Debug)]
pub struct Run {
    /// The program or kernel, by a name that `weir-lab list` prints, or a file
    /// NAME.kernel.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Write what each unit of the machine did, and when, to this file: a drawing if its
    /// name ends with .svg, otherwise a Chrome trace (JSON) for ui.perfetto.dev or
    /// chrome://tracing.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write an output stream of a kernel file to a CSV file, a record in each row; may
    /// be given several times.
    #[arg(long = "output", value_name = "NAME=FILE")]
    pub outputs: Vec<String>,
    /// Compare an output stream of a kernel file with a CSV file; exit status 1 if they
    /// differ. May be given several times.
    #[arg(long = "expect", value_name = "NAME=FILE")]
    pub expected: Vec<String>,
    #[command(flatten)]
    pub inputs: Inputs,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Run a program or a kernel for every combination of parameter values.
#[derive(Args, Debug)]
pub struct Sweep {
    /// The program or kernel, by a name that `weir-lab list` prints, or a file
    /// NAME.kernel.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub inputs: Inputs,
    /// A parameter and its values, for example cluster.adders=3,4,6 or
    /// host.bus_mhz=50..400:50; may be given several times. Parameters are those
    /// of the machine and of the workload.
    #[arg(long, value_name = "KEY=VALUE,...", required = true)]
    pub over: Vec<String>,
    /// Number of threads; by default one per core.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZero<usize>>,
    /// Write an HTML page with figures and all rows to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print how well the packets of captures fill the clusters of a machine.
///
/// The blocks of a packet are distributed over the clusters, and its last row of
/// blocks is padded. Packet lengths are those of the IP headers.
#[derive(Args, Debug)]
pub struct Lengths {
    /// Captures (pcap or pcapng).
    #[arg(value_name = "CAPTURE", required = true)]
    pub captures: Vec<PathBuf>,
    /// Bytes of a block; 16 for AES.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub block_bytes: u32,
    /// Numbers of clusters.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32,64", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub clusters: Vec<u32>,
    /// Write an HTML page with figures to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub places: Places,
}

/// Run an experiment that the thesis proposes without results.
#[derive(Args, Debug)]
pub struct Experiment {
    /// The experiment, by a name that `weir-lab list` prints.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print the area, energy and delays of a machine.
///
/// The cost model is that of Khailany et al. (2003): the area of each part, the
/// energy of each operation, the delay of the switches, and the power of units
/// that are busy in every cycle.
#[derive(Args, Debug)]
pub struct Cost {
    /// Print how costs scale with arithmetic units per cluster and with clusters.
    #[arg(long)]
    pub scaling: bool,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Print published values beside the values of the models.
///
/// Each row has a verdict; `--notes` prints the cause of differences. The tally at the end
/// counts rows and independent quantities; rows that measure one quantity count
/// once, by the worst of them. By default each row is computed on the machine of its
/// source; `--set` takes precedence over values that a row sets, such as its number of
/// adders.
#[derive(Args, Debug)]
pub struct Reproduce {
    /// Rows, for example imagine-026; all rows if none is given.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Run AES on 6,144 blocks instead of 61,440, and the other applications on
    /// a tenth of their packets. Most rows change by less than 1 %; inspection
    /// rates change by up to 5 %, imagine-094 by a third.
    #[arg(long)]
    pub short: bool,
    /// Print the notes of the rows after the table.
    #[arg(long)]
    pub notes: bool,
    /// Write an HTML page with figures, all rows and all parameters to this
    /// file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineChoice,
    #[command(flatten)]
    pub places: Places,
}

/// Change each parameter that declares a range, one at a time, and print which
/// results and verdicts change.
///
/// These are all parameters whose source has the tag T, R or C. A parameter takes
/// both ends of its range. Rows are those of `weir-lab reproduce` that run on the
/// machine and count.
#[derive(Args, Debug)]
pub struct Sensitivity {
    /// Parameters, for example host.bus_cycles_per_word; all if none is
    /// given.
    #[arg(value_name = "KEY")]
    pub parameters: Vec<String>,
    /// Run the rows as `weir-lab reproduce --short` does.
    #[arg(long)]
    pub short: bool,
    /// Only these rows, for example imagine-055; may be given several times.
    #[arg(long = "row", value_name = "ID")]
    pub rows: Vec<String>,
    /// The machine: a name that `weir-lab list` prints, or a TOML file.
    #[arg(long, value_name = "MACHINE", default_value = "imagine")]
    pub machine: String,
    #[command(flatten)]
    pub places: Places,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

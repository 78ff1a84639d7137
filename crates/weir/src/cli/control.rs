//! Arguments of the commands that control a running gateway.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weir_console::Common;
use weir_gateway::metrics_address;

use super::common::NewKeys;

/// How a running gateway is watched and controlled.
#[derive(Args, Debug)]
#[command(next_help_heading = "Watching and control")]
pub struct Serving {
    /// Serve weir status, weir reload and weir sa on a Unix socket [without a path: /run/weir/control for
    /// root, else weir/control in $XDG_RUNTIME_DIR].
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub control: Option<Option<PathBuf>>,
    /// Serve metrics to Prometheus (/metrics) and a health check (/healthz) over HTTP at an
    /// address, or at a port of the loopback interface.
    #[arg(long, value_name = "ADDR", value_parser = metrics_address)]
    pub metrics: Option<SocketAddr>,
    /// Bind the workers at interfaces to processors, worker N to the Nth in this list, such as 2,3.
    /// Workers without one run where the system lets them.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cpus: Vec<usize>,
}

/// Where a running gateway is reached.
#[derive(Args, Debug)]
pub struct Socket {
    /// Control socket of the gateway [default: /run/weir/control for root, else weir/control in
    /// $XDG_RUNTIME_DIR].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// Show what a running gateway did so far.
///
/// The gateway is one that was started with a control socket (weir run --control).
#[derive(Args, Debug)]
pub struct Status {
    #[command(flatten)]
    pub socket: Socket,
    /// Show it again every S seconds, until interrupted; with --json as one line each.
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub watch: Option<f64>,
    #[command(flatten)]
    pub common: Common,
}

/// Load the configuration of a running gateway again.
///
/// The filter, the rules and the associations are replaced between two batches; no packet is
/// dropped. If a file is
/// wrong, nothing changes, and the exit status is 1.
#[derive(Args, Debug)]
pub struct Reload {
    #[command(flatten)]
    pub socket: Socket,
    #[command(flatten)]
    pub common: Common,
}

/// List, add and remove security associations of a running gateway.
///
/// What is added or removed holds until the gateway ends or loads its SA file again: the file stays as
/// it is.
#[derive(Args, Debug)]
pub struct Sa {
    #[command(subcommand)]
    pub command: SaCommand,
}

#[derive(Debug, Subcommand)]
pub enum SaCommand {
    List(SaList),
    Add(SaAdd),
    Remove(SaRemove),
}

/// Show the associations in force and what they did.
#[derive(Args, Debug)]
pub struct SaList {
    #[command(flatten)]
    pub socket: Socket,
    #[command(flatten)]
    pub common: Common,
}

/// Add associations, and policies that name them.
///
/// The text has the form of an SA file: associations with their keys in it, and policies with action =
/// "protect". A policy with the selectors and direction of one in force joins that one; others stand in
/// front of those in force. If it is wrong or conflicts with an association in force, nothing changes,
/// and the exit status is 1.
#[derive(Args, Debug)]
pub struct SaAdd {
    /// File with the associations ("-" is standard input).
    #[arg(value_name = "SA.toml")]
    pub file: PathBuf,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Accept a file that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
    #[command(flatten)]
    pub socket: Socket,
    #[command(flatten)]
    pub common: Common,
}

/// Remove one association.
///
/// Policies that name no other association drop what they match. The association is the one
/// that has the name, the SPI and the direction given; if there is none or several, nothing changes,
/// and the exit status is 1.
#[derive(Args, Debug)]
pub struct SaRemove {
    /// Its name.
    #[arg(value_name = "NAME", required_unless_present = "spi")]
    pub name: Option<String>,
    /// Its SPI, in decimal or, with 0x, in hexadecimal.
    #[arg(long, value_name = "SPI", value_parser = spi)]
    pub spi: Option<u32>,
    /// Its direction.
    #[arg(long, value_name = "DIRECTION")]
    pub direction: Option<Direction>,
    #[command(flatten)]
    pub socket: Socket,
    #[command(flatten)]
    pub common: Common,
}

/// Which end of an association the gateway is.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Direction {
    Outbound,
    Inbound,
}

fn spi(text: &str) -> Result<u32, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

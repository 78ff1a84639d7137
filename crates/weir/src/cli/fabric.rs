//! The command line of `weir fabric`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_console::Common;

/// Check packets of InfiniBand and RoCEv2, and trace where they came from.
#[derive(Args, Debug)]
pub struct Fabric {
    #[command(subcommand)]
    pub command: FabricCommand,
}

#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    Check(FabricCheck),
    Trace(FabricTrace),
}

/// Count the packets of captures by operation, partition and queue pair, and show what is wrong.
///
/// RoCEv2 (UDP port 4791) over IPv4 and IPv6 is checked in captures of Ethernet and IP, native
/// InfiniBand in those with its own link type or in ERF records. ICRC and VCRC are compared, and
/// the packet numbers of connections followed. Wrong packets are results: the exit status is 0.
#[derive(Args, Debug)]
pub struct FabricCheck {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required = true)]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// Name the nodes that the packets of captures came from, by the marks that switches left in them.
///
/// Packets of native InfiniBand with a GRH are traced, each as it arrived at the node that it was sent
/// to; the source that it claims stands beside the one that its marks name. RoCEv2 has no space for
/// marks: a capture that has nothing else is refused.
#[derive(Args, Debug)]
pub struct FabricTrace {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required = true)]
    pub inputs: Vec<PathBuf>,
    /// File that says which topology the fabric has, and which node of it has which GID.
    #[arg(long, value_name = "TOML")]
    pub map: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

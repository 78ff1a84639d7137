//! The command line of `weir fabric`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_console::Common;

use super::common::{NewKeys, Shards};

/// Check packets of InfiniBand and RoCEv2, trace where they came from, protect and verify them.
#[derive(Args, Debug)]
pub struct Fabric {
    #[command(subcommand)]
    pub command: FabricCommand,
}

#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    Check(FabricCheck),
    Trace(FabricTrace),
    Protect(FabricProtect),
    Unprotect(FabricUnprotect),
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

/// Encrypt and authenticate the packets of a capture, in place of their ICRC.
///
/// RoCEv2 and native InfiniBand keep their headers and, unless a packet number was used for another
/// packet, their length; link headers and timestamps are kept too. Packets of queue pairs and partitions that the
/// file has no keys for pass or are dropped, as it says. If no packet is protected, no output file is written
/// and the exit status is 1.
#[derive(Args, Debug)]
pub struct FabricProtect {
    /// Capture to read (pcap, pcapng, gzip, zstd; "-" is standard input).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Capture to write (.pcapng or .pcap; "-" is standard output).
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub secrets: FabricSecrets,
    /// Directory of the ledger, which records used epochs so that no nonce is used twice under a key
    /// [default: as of protect].
    #[arg(long, value_name = "PATH")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Start at the same epoch in every run, without a ledger. This repeats nonces and gives the keys
    /// away: for examples and tests only.
    #[arg(long, conflicts_with_all = ["state", "new_key"])]
    pub repeatable_insecure: bool,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Verify and decrypt the secure packets of a capture, and give them their ICRC back.
///
/// If no packet verifies, no output file is written and the exit status is 1. A capture may be read as often as
/// one likes: what was received before is not kept.
#[derive(Args, Debug)]
pub struct FabricUnprotect {
    /// Capture to read (pcap, pcapng, gzip, zstd; "-" is standard input).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Capture to write (.pcapng or .pcap; "-" is standard output).
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub secrets: FabricSecrets,
    /// Lowest epoch of the senders. Packets carry 7 bits of theirs: needed where a sender has started more
    /// than 40 times under its keys.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub epoch: u64,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Partitions and queue pairs.
#[derive(Args, Debug)]
pub struct FabricSecrets {
    /// Partitions, queue pairs and their secrets (TOML).
    #[arg(long, value_name = "FABRIC.toml")]
    pub fabric: PathBuf,
    /// Accept fabric files and files of secrets that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
}

//! Arguments of the commands that use network interfaces.

use std::path::PathBuf;

use clap::Args;
use weir_console::Common;
use weir_gateway::Rate;

/// Record the packets of a network interface in a capture.
///
/// The capture is written under its name from the beginning, in the place of an older one, and
/// is complete up to the last second at any time. SIGINT and SIGTERM end the recording in order;
/// SIGHUP begins the next file, or opens the capture again if it was moved away. An interface
/// that goes down or is removed is waited for. Needs root or CAP_NET_RAW.
#[derive(Args, Debug)]
pub struct Record {
    /// Network interface to record, with Ethernet headers.
    #[arg(short, long, value_name = "IFACE")]
    pub interface: String,
    /// Capture to write (.pcapng or .pcap; "-" is standard output). With rotation a number
    /// stands in front of the ending, as in OUT.000001.pcapng.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Bytes of each packet that are kept.
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1..=262_144))]
    pub snaplen: u32,
    /// Stop after this many packets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Begin the next file before one has more than this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub rotate_bytes: Option<u64>,
    /// Begin the next file after this many seconds.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub rotate_seconds: Option<f64>,
    /// Keep the newest N files of a rotation and remove older ones, also those of earlier
    /// recordings under the same name.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Leave out packets to other stations that the interface would not receive by itself.
    #[arg(long)]
    pub no_promiscuous: bool,
    #[command(flatten)]
    pub common: Common,
}

/// Send the packets of a capture to a network interface.
///
/// Packets are sent as they were captured, at the times between them in the capture or at a
/// rate. Packets that cannot be sent are dropped and counted by reason. If none is sent, the
/// exit status is 1. Needs root or CAP_NET_RAW.
#[derive(Args, Debug)]
pub struct Replay {
    /// Capture of Ethernet packets to send (pcap, pcapng, gzip, zstd; "-" is standard input).
    #[arg(value_name = "CAPTURE")]
    pub input: PathBuf,
    /// Network interface to send to, with Ethernet headers.
    #[arg(short, long, value_name = "IFACE")]
    pub interface: String,
    /// Packets per second, or max for as many as the interface takes [default: the times of
    /// the capture].
    #[arg(long, value_name = "N")]
    pub rate: Option<Rate>,
    /// Send the capture this many times.
    #[arg(long = "loop", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub loops: u64,
    #[command(flatten)]
    pub common: Common,
}

//! The command line of `weir`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weir_console::manual::{Completions, Man};
use weir_console::{Common, Messages};
use weir_match::EngineKind;
use weir_packet::generate::Surge;

mod common;
mod control;
mod fabric;
#[cfg(target_os = "linux")]
mod live;
mod measure;

pub use common::{NewKeys, Shards};
pub use control::{
    Direction, Reload, Sa, SaAdd, SaCommand, SaList, SaRemove, Serving, Socket, Status,
};
pub use fabric::{
    Fabric, FabricCheck, FabricCommand, FabricProtect, FabricSecrets, FabricTrace, FabricUnprotect,
};
#[cfg(target_os = "linux")]
pub use live::{Record, Replay};
pub use measure::{Changes, Measure};

/// Filter, inspect, measure, encrypt and authenticate packet streams in one pass.
///
/// Exit status: 0 success; 1 failure while running; 2 wrong command line, or a file that it
/// names cannot be used.
#[derive(Debug, Parser)]
#[command(name = "weir", version, max_term_width = 100)]
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
    Run(Run),
    Check(Check),
    Status(Status),
    Reload(Reload),
    Sa(Sa),
    Protect(Protect),
    Unprotect(Unprotect),
    Inspect(Inspect),
    Measure(Measure),
    Fabric(Fabric),
    #[cfg(target_os = "linux")]
    Record(Record),
    #[cfg(target_os = "linux")]
    Replay(Replay),
    Generate(Generate),
    Bench(Bench),
    Engines(Engines),
    Lab(Lab),
    Completions(Completions),
    Man(Man),
}

/// Run the pipelines of a configuration file.
///
/// Packets pass from captures or network interfaces through stages (filter, inspect, measure,
/// protect, unprotect) to others. Alerts and reports are written meanwhile. SIGINT and SIGTERM
/// stop the run in order; SIGHUP reopens the logs; SIGUSR2 reloads the configuration, as weir
/// reload does.
#[derive(Args, Debug)]
pub struct Run {
    /// The configuration file (TOML); paths in it are relative to it.
    #[arg(value_name = "CONFIG.toml")]
    pub config: PathBuf,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Accept key files that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
    #[command(flatten)]
    pub serving: Serving,
    #[command(flatten)]
    pub common: Common,
}

/// Check a configuration file and the files that it names, without running it.
#[derive(Args, Debug)]
pub struct Check {
    /// The configuration file (TOML); paths in it are relative to it.
    #[arg(value_name = "CONFIG.toml")]
    pub config: PathBuf,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Accept key files that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
    #[command(flatten)]
    pub common: Common,
}

/// The security associations.
#[derive(Args, Debug)]
pub struct Associations {
    /// Security associations and policies (TOML).
    #[arg(long, value_name = "SA.toml")]
    pub sa: PathBuf,
    /// Accept SA and key files that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
    /// Write the keys for Wireshark's ESP dissector (its `esp_sa` table) to a file that only
    /// you can read, or to standard output ("-").
    #[arg(long, value_name = "FILE")]
    pub wireshark_keys: Option<PathBuf>,
}

/// Encrypt and authenticate the packets of a capture with ESP (RFC 4303).
///
/// Link headers, VLAN tags and timestamps are kept; the TTL is not decremented unless the
/// SA says so. Packets that no policy protects pass unchanged or are dropped, as the SA
/// file's default says. If no packet is protected, no output file is written and the exit
/// status is 1.
#[derive(Args, Debug)]
pub struct Protect {
    /// Capture to read (pcap, pcapng, gzip, zstd; "-" is standard input).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Capture to write (.pcapng or .pcap; "-" is standard output).
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub associations: Associations,
    /// Directory of the ledger, which records used sequence numbers so that no nonce is
    /// used twice under a key [default: /var/lib/weir/ledger for root, else weir/ledger in
    /// $XDG_STATE_HOME or ~/.local/state]. A ledger knows nothing of keys that were used
    /// with another one.
    #[arg(long, value_name = "PATH")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Start at sequence number 1 in every run, without a ledger. This repeats nonces and
    /// gives the keys away: for examples and tests only.
    #[arg(long, conflicts_with_all = ["state", "new_key"])]
    pub repeatable_insecure: bool,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Verify and decrypt the ESP packets of a capture.
///
/// Other packets pass or are dropped by the policies. If no packet verifies, no output file
/// is written and the exit status is 1.
#[derive(Args, Debug)]
pub struct Unprotect {
    /// Capture to read (pcap, pcapng, gzip, zstd; "-" is standard input).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Capture to write (.pcapng or .pcap; "-" is standard output).
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub associations: Associations,
    /// Directory of the ledger that keeps the replay windows of SAs with `replay_state =
    /// "keep"` [default: that of protect].
    #[arg(long, value_name = "PATH")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Inspect captures or a network interface with Snort and Suricata rules.
///
/// Alerts are EVE JSON lines on standard output or in a file (--eve). Rules that need an
/// unsupported feature are skipped and counted by reason. SIGHUP reopens the file of
/// --eve; SIGUSR2 reloads the rules.
#[derive(Args, Debug)]
pub struct Inspect {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required_unless_present = "interface")]
    pub inputs: Vec<PathBuf>,
    /// Inspect the packets of a network interface until interrupted. The file of --eve is appended
    /// to. Needs root or CAP_NET_RAW.
    #[arg(short, long, value_name = "IFACE", conflicts_with_all = ["inputs", "traffic_profile", "train", "explain_plan", "rule_costs", "alerted_pcap", "midstream"])]
    pub interface: Option<String>,
    /// Rule file in the language of Snort 2.9 and Suricata; may be given several times.
    #[arg(long, value_name = "FILE", required_unless_present = "train")]
    pub rules: Vec<PathBuf>,
    /// A classification.config of Suricata or Snort: category and priority of the rules' classes
    /// [default: the classes of both].
    #[arg(long, value_name = "FILE")]
    pub classification: Option<PathBuf>,
    /// Accept rule files without a rule.
    #[arg(long)]
    pub allow_empty: bool,
    /// Write alerts as EVE JSON lines to a file, which is truncated first, or to standard
    /// output ("-"); the last line is a summary [default: -, unless --json uses it].
    #[arg(long, value_name = "PATH", conflicts_with = "train")]
    pub eve: Option<PathBuf>,
    /// Matching engine: cascade (fastest), segmented (the stream thesis's filters) or
    /// aho-corasick. Alerts do not depend on it.
    #[arg(long, value_name = "ENGINE", default_value_t)]
    pub engine: EngineKind,
    /// Traffic profile written by --train; speeds up matching, never changes alerts.
    #[arg(long, value_name = "FILE")]
    pub traffic_profile: Option<PathBuf>,
    /// Inspect nothing: learn from the captures which bytes are rare, and write a profile for
    /// --traffic-profile.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rules", "traffic_profile", "explain_plan"])]
    pub train: Option<PathBuf>,
    /// Print the matching plan and its expected cost to standard error.
    #[arg(long)]
    pub explain_plan: bool,
    /// Set a rule variable, as in HOME_NET=[198.18.0.0/15,fd00::/8]; may be given several
    /// times. By default, HOME_NET is the private IPv4 networks and EXTERNAL_NET is every
    /// address outside HOME_NET.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// Print every skipped rule with its file, line and reason to standard error.
    #[arg(long)]
    pub show_skipped: bool,
    /// Measure the cost of every rule and list the most expensive ones. Slows the run down.
    #[arg(long)]
    pub rule_costs: bool,
    /// Write every packet that raised an alert, and all later packets of its flow in both
    /// directions, also inside tunnels, to a capture (.pcapng or .pcap) in order of arrival.
    /// Of a fragmented datagram, only the fragment that completed it is written.
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub alerted_pcap: Option<PathBuf>,
    /// Keep a metrics file in the Prometheus text format up to date.
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub prometheus: Option<PathBuf>,
    /// Reassemble TCP connections whose beginning is not in the capture. Without it, their
    /// packets are matched one by one.
    #[arg(long)]
    pub midstream: bool,
    /// Inspect packets with wrong checksums too, as in captures that were changed. Without it
    /// they are counted and left out: no host takes them.
    #[arg(long)]
    pub ignore_checksums: bool,
    /// Treat equal addresses in several VLANs, and in several networks of VXLAN, Geneve and NVGRE, as
    /// one host: for captures where the two directions of a flow have different tags.
    #[arg(long)]
    pub ignore_vlans: bool,
    /// Write up to N anomalies of each kind per second and worker beside the alerts: packets that
    /// no receiver takes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub anomalies_per_second: u32,
    #[command(flatten)]
    pub serving: Serving,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Generate a capture; the same arguments give the same bytes.
#[derive(Args, Debug)]
pub struct Generate {
    /// Capture to write (.pcapng or .pcap; "-" is standard output).
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Number of packets.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub packets: u64,
    /// Number of flows, at most 16,777,216.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub flows: u32,
    /// Exponent of the flows' Zipf distribution; 0 is uniform.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub zipf: f64,
    /// Sizes of IP packets: imix (40, 576 and 1500 bytes, 7:4:1), internet
    /// (the bimodal mix of backbone traces) or fixed:N for N bytes; frame:N
    /// for Ethernet frames of N bytes, check sequence included.
    #[arg(long, value_name = "MODEL", default_value = "imix")]
    pub sizes: String,
    /// Payloads: random bytes, zero bytes, or http (text as of clients and
    /// servers).
    #[arg(long, value_name = "MODEL", default_value = "random")]
    pub payload: String,
    /// Plant this pattern in payloads, for rules to find. If it is given several times, one
    /// is drawn for each planted packet.
    #[arg(long, value_name = "TEXT")]
    pub plant: Vec<String>,
    /// Planted packets per 1,000, on average.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub plant_per_mille: u16,
    /// Plant a change: START,SECONDS,RATE,BYTES adds a source that, START
    /// seconds into the traffic, sends RATE packets of BYTES bytes per second
    /// for SECONDS. May be given several times; the sources are 203.0.113.1 and
    /// the following.
    #[arg(long, value_name = "SURGE")]
    pub surge: Vec<Surge>,
    /// Share of flows over IPv6, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub ipv6: f64,
    /// Packets per second of capture time, on average.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rate: u64,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub common: Common,
}

/// Measure the speed of ciphers or MACs on this machine.
///
/// Algorithms are interleaved round by round; rows show medians and quartiles. WEIR_ISA
/// forces a CPU tier.
#[derive(Args, Debug)]
pub struct Bench {
    /// What to measure.
    #[arg(value_name = "SUITE")]
    pub suite: BenchSuite,
    /// Bytes of a packet's plaintext or of a message, as in 64,1420.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "64,256,576,1420,1536,9000"
    )]
    pub bytes: Vec<usize>,
    /// Only algorithms whose names contain one of these words, as in umac,gmac.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub algorithm: Vec<String>,
    /// Keys per thread; each packet uses one of them.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub keys: usize,
    /// Threads that work side by side.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Rounds, of which rows show the median and the quartiles.
    #[arg(long, value_name = "N", default_value_t = 11)]
    pub rounds: usize,
    #[command(flatten)]
    pub common: Common,
}

/// Suites of benchmarks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BenchSuite {
    /// Suites that seal and open packets.
    Cipher,
    /// MACs that tag and verify messages.
    Mac,
}

/// List the crypto engines with their algorithms, CPU tiers and self-test results.
#[derive(Args, Debug)]
pub struct Engines {
    #[command(flatten)]
    pub common: Common,
}

/// Start the lab: models of stream processors, and published results reproduced.
///
/// The program is weir-lab, beside weir or on PATH; it gets all arguments.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Lab {
    /// Arguments of weir-lab; --help prints its commands.
    #[arg(
        value_name = "ARGS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

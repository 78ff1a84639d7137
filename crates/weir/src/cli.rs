//! What can be asked of `weir`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use weir_inspect::EngineKind;
use weir_packet::generate::Surge;

mod measure;

pub use measure::{Changes, Measure};

pub mod lab;

/// A gate for packet streams: filters, inspects, measures, encrypts and
/// authenticates packets in one pass.
///
/// Exit status: 0 done, 1 failed while running, 2 the command line or a file
/// it names is wrong.
#[derive(Debug, Parser)]
#[command(name = "weir", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Run),
    Check(Check),
    Protect(Protect),
    Unprotect(Unprotect),
    Inspect(Inspect),
    Measure(Measure),
    Generate(Generate),
    Bench(Bench),
    Engines(Engines),
    Lab(lab::Lab),
    Completions(Completions),
    Man(Man),
}

/// What every command takes.
#[derive(Args, Debug)]
pub struct Common {
    /// Write the results as JSON to a file, or to standard output with "-".
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print nothing but errors and what was asked for.
    #[arg(long, short)]
    pub quiet: bool,
}

impl Common {
    /// Whether the tables for people are printed: not when they were declined,
    /// and not when standard output carries JSON.
    pub fn shows_tables(&self) -> bool {
        !self.quiet && self.json.as_deref() != Some("-".as_ref())
    }
}

/// How many cores a command may use.
#[derive(Args, Debug)]
pub struct Shards {
    /// Number of shards: chains of stages that share the work, one per core.
    /// Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub shards: u16,
}

/// Run the pipelines of a configuration file.
///
/// Packets go from captures through stages (filter, inspect, measure, protect,
/// unprotect) to captures; alerts and a report are written on the way. SIGINT
/// and SIGTERM end a run in order, SIGHUP opens the alert log again,
/// SIGUSR2 loads the rules again.
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
    pub common: Common,
}

/// Check a configuration file and all files that it names, without running.
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

/// Keys that are used for the first time.
#[derive(Args, Debug)]
pub struct NewKeys {
    /// Let the ledger learn the key of this SA ("all" for every SA), and create
    /// the ledger where it is missing. Only for a key that was never used
    /// anywhere; a key that the ledger knows goes on where it stopped. May be
    /// given several times.
    #[arg(long, value_name = "NAME")]
    pub new_key: Vec<String>,
}

/// Where the associations are.
#[derive(Args, Debug)]
pub struct Associations {
    /// Security associations and policies (TOML).
    #[arg(long, value_name = "SA.toml")]
    pub sa: PathBuf,
    /// Accept an SA file that other users of this machine can read.
    #[arg(long)]
    pub allow_insecure_permissions: bool,
    /// Also write the keys for Wireshark's ESP dissector (its `esp_sa` table)
    /// to a file that only you can read, or to standard output ("-").
    #[arg(long, value_name = "FILE")]
    pub wireshark_keys: Option<PathBuf>,
}

/// Encrypt and authenticate the packets of a capture with ESP (RFC 4303).
///
/// Link headers, VLAN tags and times are kept; the TTL is not decremented.
/// Packets that no policy protects pass unchanged or are dropped, as the SA
/// file's default says. Exit status 1 when nothing was protected.
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
    /// Where the sequence numbers that were used are kept, so that a nonce is
    /// never used twice under a key: the directory of a ledger [default:
    /// /var/lib/weir/ledger for root, else weir/ledger in $XDG_STATE_HOME or
    /// ~/.local/state]. Keys that were used with another ledger are unknown to
    /// it.
    #[arg(long, value_name = "PATH")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub new_keys: NewKeys,
    /// Start every run from sequence number 1 without a ledger. Repeats
    /// nonces and so gives the keys away: for examples and tests only.
    #[arg(long, conflicts_with_all = ["state", "new_key"])]
    pub repeatable_insecure: bool,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Verify and decrypt the ESP packets of a capture.
///
/// Other packets pass unchanged. Exit status 1 when no packet verified.
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
    /// The ledger in which replay windows are kept, of SAs with `replay_state =
    /// "keep"`: a directory [default: as of protect].
    #[arg(long, value_name = "PATH")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Inspect captures by Snort rules; alerts are EVE JSON lines.
///
/// The lines go to standard output, also when --quiet, or to --json PATH,
/// which begins anew; the last one is a summary. Rules that ask for what is
/// not there are skipped and counted by reason. SIGHUP opens PATH again,
/// SIGUSR2 loads the rules again.
#[derive(Args, Debug)]
pub struct Inspect {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Rule files, in the language of Snort and Suricata. All names that follow
    /// are rule files, up to the next option: give captures first.
    #[arg(long, value_name = "FILE", required_unless_present = "train", num_args = 1..)]
    pub rules: Vec<PathBuf>,
    /// The engine that finds contents: cascade, the one to use; segmented, the
    /// thesis's filters; aho-corasick, an automaton.
    #[arg(long, value_name = "ENGINE", default_value_t)]
    pub engine: EngineKind,
    /// A profile of your traffic, as --train makes it: contents are looked for
    /// by what is rare in it. It is a matter of speed alone.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Inspect nothing: learn from the captures which bytes are rare, and write
    /// that to a file for --profile.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rules", "profile", "explain_plan"])]
    pub train: Option<PathBuf>,
    /// Tell on standard error how contents will be looked for, and what that is
    /// expected to cost.
    #[arg(long)]
    pub explain_plan: bool,
    /// Set a variable of the rules, as in HOME_NET=[198.18.0.0/15,fd00::/8];
    /// may be given several times. Without it, HOME_NET is the private IPv4
    /// networks and EXTERNAL_NET all that is not in HOME_NET.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// Print every rule that was skipped, with its place and reason, to
    /// standard error.
    #[arg(long)]
    pub show_skipped: bool,
    /// Measure what every rule costs; the dearest are listed at the end, and
    /// in the summary. The run takes longer by the measuring.
    #[arg(long)]
    pub profile_rules: bool,
    /// Write to a capture (.pcapng or .pcap) every packet that raised an alert
    /// and all later packets between the same addresses and ports by the same
    /// protocol, in either direction, also inside of tunnels, in order of
    /// arrival. Packets before the first alert of a flow are not written; of a
    /// datagram in fragments, only the fragment that completed it.
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub alerted_pcap: Option<PathBuf>,
    /// Keep a file of metrics up to date, in the text format of Prometheus:
    /// candidates, false ones by stage, bytes searched by group of rules.
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub prometheus: Option<PathBuf>,
    /// Follow TCP connections whose beginning is not in the capture; without
    /// it their packets are matched one by one.
    #[arg(long)]
    pub midstream: bool,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Generate a capture: the same bytes for the same arguments.
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
    /// Plant this text in payloads, as for rules to find; may be given several
    /// times, and one of them is chosen for each planted packet.
    #[arg(long, value_name = "TEXT")]
    pub plant: Vec<String>,
    /// Of 1,000 packets, how many carry a planted text, on average.
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

/// Measure the ciphers or MACs of this build on this machine.
///
/// Algorithms take turns, round after round; a row tells the median. WEIR_ISA
/// forces a CPU tier.
#[derive(Args, Debug)]
pub struct Bench {
    /// What is measured.
    #[arg(value_name = "SUITE")]
    pub suite: BenchSuite,
    /// Bytes of a packet's text or of a message, as in 64,1420.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "64,256,576,1420,1536,9000"
    )]
    pub bytes: Vec<usize>,
    /// Only algorithms with one of these texts in their names, as in umac,gmac.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub algorithm: Vec<String>,
    /// Keys that packets choose from, of each thread.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub keys: usize,
    /// Threads that work side by side.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Rounds, of whose times a row tells the median and the quartiles.
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

/// List the engines of this build: what they can do, on which CPU tier, and
/// whether their known answers come out right here.
#[derive(Args, Debug)]
pub struct Engines {
    #[command(flatten)]
    pub common: Common,
}

/// Print a completion script for a shell.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    pub shell: Shell,
}

/// Write the manual pages, one per command, into a folder (read them with `man
/// -l FOLDER/weir.1`).
#[derive(Args, Debug)]
pub struct Man {
    /// The folder.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

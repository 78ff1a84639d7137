//! The command line of `weir measure`.

use std::path::PathBuf;

use clap::Args;
use weir_console::Common;
use weir_measure::Value;
use weir_measure::change::{Difference, KeySource, Model};
use weir_packet::wire::KeyKind;

use super::common::Shards;
use super::control::Serving;

/// Measure captures or a network interface: the largest sources of traffic, distinct keys and changes, by sketches
/// in bounded memory.
#[derive(Args, Debug)]
pub struct Measure {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required_unless_present = "interface")]
    pub inputs: Vec<PathBuf>,
    /// Measure the packets of a network interface until interrupted; intervals follow the clock.
    /// Needs root or CAP_NET_RAW.
    #[arg(short, long, value_name = "IFACE", conflicts_with_all = ["inputs", "fit", "sketches"])]
    pub interface: Option<String>,
    /// Key of a packet: source, destination, pair, 5-tuple, source/24 or destination/24,48
    /// (prefix lengths for IPv4 and IPv6).
    #[arg(long, value_name = "KEY", default_value = "source")]
    pub key: KeyKind,
    /// Value added per packet: packets (1) or bytes (length on the wire).
    #[arg(long, value_name = "VALUE", default_value_t = Value::Bytes)]
    pub value: Value,
    /// Length of an interval in seconds of capture time.
    #[arg(
        long,
        value_name = "S",
        default_value_t = 60.0,
        allow_negative_numbers = true
    )]
    pub interval: f64,
    /// Number of largest keys listed per interval.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Error bound of an estimate, as a share of the interval's total; smaller needs more
    /// memory.
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0001,
        allow_negative_numbers = true
    )]
    pub epsilon: f64,
    /// Probability that an estimate exceeds the error bound.
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    pub delta: f64,
    /// Number that the hash functions are drawn from, to repeat a run [default: 256 secret
    /// random bits].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Also count exactly, in memory that grows with the number of keys, and
    /// report the error of the estimates.
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub outputs: MeasureOutputs,
    #[command(flatten)]
    pub serving: Serving,
    #[command(flatten)]
    pub shards: Shards,
    #[command(flatten)]
    pub common: Common,
}

/// Which changes to look for.
#[derive(Args, Debug)]
#[command(next_help_heading = "Changes")]
pub struct Changes {
    /// Raise an alarm for each key whose sum is not what MODEL forecasts from
    /// the intervals before: ma:W (mean of W intervals), sma:W (the older half
    /// weighs less and less), ewma:ALPHA, nshw:ALPHA,BETA (Holt-Winters: level
    /// and trend) or arima:PHI,PHI/D/THETA,THETA.
    #[arg(long, value_name = "MODEL")]
    pub change: Option<Model>,
    /// Kind of change: a large difference (absolute), a large ratio (relative), or a large
    /// variance over the window of ma:W (variational).
    #[arg(long, value_name = "HOW", default_value_t = Difference::Absolute, requires = "change")]
    pub difference: Difference,
    /// Smallest change that raises an alarm: a share of the root of the sum of all keys'
    /// squared forecast errors [default: 0.2], or a ratio for relative changes [default: 10].
    #[arg(
        long,
        value_name = "T",
        requires = "change",
        allow_negative_numbers = true
    )]
    pub threshold: Option<f64>,
    /// Keys to query: the largest ones of this interval and the previous one (kept), all of
    /// both (same), or all of the next interval (next).
    #[arg(long, value_name = "WHICH", default_value_t = KeySource::Kept, requires = "change")]
    pub keys_from: KeySource,
    /// With --keys-from same or next: sample the key of one packet in N.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "change")]
    pub keys_one_in: u32,
    /// Most keys that are kept or queried.
    #[arg(long, value_name = "N", requires = "change")]
    pub keys_max: Option<usize>,
    /// Counters per row of the forecast sketches, which have 5 rows.
    #[arg(long, value_name = "N", default_value_t = 32_768, requires = "change")]
    pub change_counters: u32,
    /// Instead of measuring, search for the models and parameters that forecast this traffic
    /// best.
    #[arg(long, conflicts_with_all = ["change", "exact", "json_lines", "parquet", "prometheus"])]
    pub fit: bool,
}

/// Further outputs.
#[derive(Args, Debug)]
#[command(next_help_heading = "Outputs")]
pub struct MeasureOutputs {
    /// Append one JSON line per interval to a file, or to standard output ("-"), as soon as
    /// the interval is over. SIGHUP reopens the file.
    #[arg(long, value_name = "PATH")]
    pub json_lines: Option<PathBuf>,
    /// Write a Parquet table, a row per interval and key.
    #[arg(long, value_name = "PATH")]
    pub parquet: Option<PathBuf>,
    /// Put the sketches into the Parquet table too. They contain the hash seed: keep the
    /// file secret.
    #[arg(long, requires = "parquet")]
    pub sketches: bool,
    /// Keep a metrics file in the Prometheus text format up to date.
    #[arg(long, value_name = "PATH")]
    pub prometheus: Option<PathBuf>,
}

//! What can be asked of `weir measure`.

use std::path::PathBuf;

use clap::Args;
use weir_measure::Value;
use weir_measure::change::{Difference, KeySource, Model};
use weir_packet::wire::KeyKind;

use super::{Common, Shards};

/// Measure captures: who talks, and how much, by sketches in bounded memory,
/// and what changed from interval to interval.
#[derive(Args, Debug)]
pub struct Measure {
    /// Captures to read, one after the other ("-" is standard input).
    #[arg(value_name = "PCAP", required = true)]
    pub inputs: Vec<PathBuf>,
    /// What is counted: source, destination, pair, 5-tuple, source/24 or
    /// destination/24,48 (prefix bits for IPv4, then for IPv6).
    #[arg(long, value_name = "KEY", default_value = "source")]
    pub key: KeyKind,
    /// What is added up for each key: packets or bytes (on the wire).
    #[arg(long, value_name = "VALUE", default_value_t = Value::Bytes)]
    pub value: Value,
    /// Length of an interval in seconds of capture time.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    pub interval: f64,
    /// How many of the largest keys are listed for each interval.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Largest error of an estimate, as a share of the interval's total: less
    /// takes more memory.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0001)]
    pub epsilon: f64,
    /// Probability with which an estimate may exceed that error.
    #[arg(long, value_name = "P", default_value_t = 0.01)]
    pub delta: f64,
    /// Seed of the hash functions [default: random].
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
    /// What counts as a change: a large difference (absolute), a large ratio
    /// (relative), or a large variance over the window of ma:W (variational).
    #[arg(long, value_name = "HOW", default_value_t = Difference::Absolute, requires = "change")]
    pub difference: Difference,
    /// How large a change must be: a share of the root of the sum of all keys'
    /// squared errors [default: 0.2], or a ratio, where differences are
    /// relative [default: 10].
    #[arg(long, value_name = "T", requires = "change")]
    pub threshold: Option<f64>,
    /// Which keys are asked for: the largest ones of this interval and the one
    /// before (kept), all of both (same), or all of the next (next).
    #[arg(long, value_name = "WHICH", default_value_t = KeySource::Kept, requires = "change")]
    pub keys_from: KeySource,
    /// With --keys-from same or next: take the key of one packet in N, drawn at
    /// random.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "change")]
    pub keys_one_in: u32,
    /// How many keys are kept, or asked for at most.
    #[arg(long, value_name = "N", requires = "change")]
    pub keys_max: Option<usize>,
    /// Counters per row of the sketches that are forecast, which have 5 rows.
    #[arg(long, value_name = "N", default_value_t = 32_768, requires = "change")]
    pub change_counters: u32,
    /// Instead of measuring, search for the models and parameters that forecast
    /// this traffic best.
    #[arg(long, conflicts_with_all = ["change", "exact", "json_lines", "parquet", "prometheus"])]
    pub fit: bool,
}

/// Where results go beside the document and the tables.
#[derive(Args, Debug)]
#[command(next_help_heading = "Outputs")]
pub struct MeasureOutputs {
    /// Append one JSON line per interval to a file, or to standard output with
    /// "-", as soon as the interval is over. SIGHUP opens the file again.
    #[arg(long, value_name = "PATH")]
    pub json_lines: Option<PathBuf>,
    /// Write a Parquet table, a row per interval and key.
    #[arg(long, value_name = "PATH")]
    pub parquet: Option<PathBuf>,
    /// Put the sketches into the Parquet table too. They hold the seed of the
    /// hash functions, which who sends packets must not know.
    #[arg(long, requires = "parquet")]
    pub sketches: bool,
    /// Keep a file of metrics up to date, in the text format of Prometheus.
    #[arg(long, value_name = "PATH")]
    pub prometheus: Option<PathBuf>,
}

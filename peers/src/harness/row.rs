//! Results of a comparison, as `make peers` stores them.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_bench::Target;

/// The time that one candidate needed for one work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The work, as in `aes-128-gcm`.
    pub work: String,
    /// Bytes of a packet.
    pub bytes: usize,
    /// Number of keys, as in `few`, `4096`, `new`; `none` for work without keys.
    pub keys: String,
    /// `weir`, or a peer's name and version.
    pub subject: String,
    /// Median over the rounds; absent where the candidate is missing.
    pub ns_per_packet: Option<f64>,
    /// Lower and upper quartile.
    pub ns_per_packet_quartiles: Option<[f64; 2]>,
    /// Bits of packets per nanosecond, at the median time.
    pub gbit_per_s: Option<f64>,
    /// The candidate's time divided by Weir's in the same round, as a median: above
    /// 1, Weir is faster.
    pub ratio_to_weir: Option<f64>,
    /// Lower and upper quartile of these ratios.
    pub ratio_to_weir_quartiles: Option<[f64; 2]>,
    /// Rounds measured.
    pub rounds: usize,
    /// On Weir's row, the targets of this work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Verdict>,
    /// A remark, or why the candidate is missing.
    pub note: Option<String>,
    /// The CPU tier that all candidates were limited to; absent without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Processor and software of the measurement.
    pub machine: String,
}

/// Whether Weir meets a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The subject that Weir is compared with.
    pub against: String,
    pub target: Target,
    /// Whether the work depends on it; other targets are for the record.
    pub decides: bool,
    /// The ratio of times or speeds that the target limits, as a median; absent
    /// where there is nothing to compare with.
    pub ratio: Option<f64>,
    /// Lower and upper quartile of it.
    pub ratio_quartiles: Option<[f64; 2]>,
    /// Absent where the target could not be measured, or a peer that may be the best
    /// one is not installed.
    pub met: Option<bool>,
}

/// As in `>= 2.2 x speed of ring 0.17.14: met, 2.31 (2.20-2.40)`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = match self.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "undecided",
        };
        write!(f, "{} of {}: {met}", self.target, self.against)?;
        if let (Some(ratio), Some([lower, upper])) = (self.ratio, self.ratio_quartiles) {
            write!(f, ", {ratio:.2} ({lower:.2}-{upper:.2})")?;
        }
        match self.decides {
            true => Ok(()),
            false => f.write_str(" (for the record)"),
        }
    }
}

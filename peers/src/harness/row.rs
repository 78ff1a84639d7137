//! What came out of a contest, as `make peers` keeps it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bars;

/// What one subject needed for one kind of work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Kind of work, as in `aes-128-gcm`.
    pub work: String,
    /// Bytes of a packet.
    pub bytes: usize,
    /// How many keys there were, as in `few`, `4096`, `new`; `none` for work without.
    pub keys: String,
    /// `weir`, or a peer's name and version.
    pub subject: String,
    /// Median over the rounds; absent where the subject could not take part.
    pub ns_per_packet: Option<f64>,
    /// Lower and upper quartile.
    pub ns_per_packet_quartiles: Option<[f64; 2]>,
    /// Bits of packets per nanosecond, at the median time.
    pub gbit_per_s: Option<f64>,
    /// The subject's time by Weir's in the same round, as a median: above 1,
    /// Weir is the faster one.
    pub ratio_to_weir: Option<f64>,
    /// Lower and upper quartile of these.
    pub ratio_to_weir_quartiles: Option<[f64; 2]>,
    /// Rounds measured.
    pub rounds: usize,
    /// On Weir's row, what was promised of this work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<Verdict>,
    /// What to know about the row, as why the subject is missing.
    pub note: Option<String>,
    /// Processor and software that the row was measured with.
    pub machine: String,
}

/// Whether a promise was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who Weir is compared with: a subject, as its row calls it.
    pub against: String,
    /// How many times as fast as that Weir should be.
    pub at_least: f64,
    /// How many times as fast it is, as a median; absent where there is nobody
    /// to compare with.
    pub ratio: Option<f64>,
    /// Lower and upper quartile of that.
    pub ratio_quartiles: Option<[f64; 2]>,
    /// The bar lies at or below the median; absent where a peer that
    /// might be the best one is not installed.
    pub met: Option<bool>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bar {} x {}: ",
            bars::factor(self.at_least),
            self.against
        )?;
        f.write_str(match self.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "undecided, for want of a peer",
        })?;
        match (self.ratio, self.ratio_quartiles) {
            (Some(ratio), Some([lower, upper])) => {
                write!(f, ", {ratio:.2} ({lower:.2}-{upper:.2})")
            }
            _ => Ok(()),
        }
    }
}

//! Targets: limits on the ratio between two candidates.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quartiles::Quartiles;

/// A limit on the ratio between a candidate and another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// At most this multiple of the other's time.
    TimeAtMost(f64),
    /// At least this multiple of the other's speed.
    SpeedAtLeast(f64),
}

impl Target {
    /// The ratio that the target limits, of times or of speeds, from the times of
    /// both candidates round by round; `None` without times.
    pub fn ratio(self, own_ns: &[f64], other_ns: &[f64]) -> Option<Quartiles> {
        match self {
            Target::TimeAtMost(_) => Quartiles::of_ratios(own_ns, other_ns),
            Target::SpeedAtLeast(_) => Quartiles::of_ratios(other_ns, own_ns),
        }
    }

    /// Whether a ratio meets the target: the quartile on the better side is not
    /// beyond the limit.
    pub fn is_met_by(self, ratio: Quartiles) -> bool {
        match self {
            Target::TimeAtMost(most) => ratio.lower <= most,
            Target::SpeedAtLeast(least) => least <= ratio.upper,
        }
    }
}

/// As in `<= 1.13 x time` and `>= 2.2 x speed`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, factor, what) = match self {
            Target::TimeAtMost(factor) => ("<=", factor, "time"),
            Target::SpeedAtLeast(factor) => (">=", factor, "speed"),
        };
        let factor = format!("{factor:.2}");
        let factor = factor.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{sign} {factor} x {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_quartile_decides() {
        let own = [1.0; 5];
        let other = [3.0, 4.0, 5.0, 6.0, 7.0];
        let is_met = |target: Target| target.ratio(&own, &other).map(|r| target.is_met_by(r));
        assert_eq!(is_met(Target::SpeedAtLeast(6.0)), Some(true));
        assert_eq!(is_met(Target::SpeedAtLeast(6.01)), Some(false));
        let is_met = |target: Target| target.ratio(&other, &own).map(|r| target.is_met_by(r));
        assert_eq!(is_met(Target::TimeAtMost(4.0)), Some(true));
        assert_eq!(is_met(Target::TimeAtMost(3.99)), Some(false));
        assert_eq!(is_met(Target::TimeAtMost(4.0)), Some(true));
        assert_eq!(Target::TimeAtMost(1.0).ratio(&[], &own), None);
    }

    #[test]
    fn factors_have_no_trailing_zeros() {
        assert_eq!(Target::SpeedAtLeast(2.5).to_string(), ">= 2.5 x speed");
        assert_eq!(Target::TimeAtMost(1.13).to_string(), "<= 1.13 x time");
        assert_eq!(Target::SpeedAtLeast(10.0).to_string(), ">= 10 x speed");
    }
}

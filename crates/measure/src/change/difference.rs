//! Measures of change.

use std::fmt;
use std::str::FromStr;

/// How the observation of a key is compared with its forecast: the three
/// differences of the thesis, section 6.5, after Cormode and Muthukrishnan,
/// *What's New: Finding Significant Differences in Network Data Streams*,
/// INFOCOM 2004.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Difference {
    /// A large error: its score is the error over √F₂ of all errors, what
    /// Krishnamurthy et al. compare with their T.
    #[default]
    Absolute,
    /// A large ratio: its score is observed over forecast or forecast over
    /// observed, whichever is larger, each taken as at least one and at least
    /// the deviation of its estimate. An error within the noise of the sketch
    /// ([`NOISE_DEVIATIONS`]) has no score.
    Relative,
    /// A large variance over the window of a moving average, this interval
    /// included: its score is the root of the summed squared deviations from
    /// the window's mean, over the root of the same sum for all keys.
    Variational,
}

/// Errors above this number of standard deviations of an estimate count as real. The
/// median of five rows is further off with a probability of at most
/// 10/5⁶ < 10⁻³ for any stream (Chebyshev's inequality in three rows); where no
/// few keys make most of F₂, it is normal and the probability below 10⁻¹⁵.
pub const NOISE_DEVIATIONS: f64 = 5.0;

impl Difference {
    /// The name in configurations and reports.
    pub fn name(self) -> &'static str {
        match self {
            Difference::Absolute => "absolute",
            Difference::Relative => "relative",
            Difference::Variational => "variational",
        }
    }

    /// The threshold where none is given: a fifth of √F₂, which at most 25 keys
    /// exceed, or ten times.
    pub fn default_threshold(self) -> f64 {
        match self {
            Difference::Absolute | Difference::Variational => 0.2,
            Difference::Relative => 10.0,
        }
    }

    /// The score of a key in an interval of which `norms` are known; 0 where
    /// there is no change.
    pub(crate) fn score(self, key: &KeyChange, norms: &Norms) -> f64 {
        match self {
            Difference::Absolute | Difference::Variational => {
                if norms.error > 0.0 {
                    key.error.abs() / norms.error
                } else {
                    0.0
                }
            }
            Difference::Relative => {
                if key.error.abs() <= NOISE_DEVIATIONS * norms.noise.error {
                    return 0.0;
                }
                let observed = key.observed.max(norms.noise.observed).max(1.0);
                let forecast = key.forecast.max(norms.noise.forecast).max(1.0);
                if observed > forecast {
                    observed / forecast
                } else {
                    forecast / observed
                }
            }
        }
    }
}

/// What is known of one key in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KeyChange {
    /// What it had.
    pub observed: f64,
    /// What was forecast, or is its mean over the window.
    pub forecast: f64,
    /// Observed less forecast; of a variational difference, the root of the
    /// summed squared deviations, negative where the key is below its mean.
    pub error: f64,
}

/// What is known of all keys of one interval together.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Norms {
    /// √F₂ of the errors.
    pub error: f64,
    pub noise: Noise,
}

/// Standard deviations of the estimates of one row, at most: 0 of exact sums.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Noise {
    pub observed: f64,
    pub forecast: f64,
    pub error: f64,
}

/// A difference that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown difference {0:?}: use absolute, relative or variational")]
pub struct DifferenceError(String);

impl FromStr for Difference {
    type Err = DifferenceError;

    fn from_str(text: &str) -> Result<Difference, DifferenceError> {
        [
            Difference::Absolute,
            Difference::Relative,
            Difference::Variational,
        ]
        .into_iter()
        .find(|difference| difference.name() == text)
        .ok_or_else(|| DifferenceError(text.to_owned()))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

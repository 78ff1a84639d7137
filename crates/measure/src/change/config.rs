//! Configuration of change detection.

use std::fmt;
use std::str::FromStr;

use weir_hash::ShapeError;

use super::difference::{Difference, NOISE_DEVIATIONS};
use super::model::{Model, ModelError};
use crate::accuracy::Shape;

/// Defines a change: a difference from the forecast of a model above a threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The model that forecasts.
    pub model: Model,
    /// How an observation is compared with it.
    pub difference: Difference,
    /// A key is a change where its score is above this: T of the thesis for an
    /// absolute difference, a ratio for a relative one.
    pub threshold: f64,
}

impl Rule {
    /// Absolute differences from the forecasts of `model`, at the threshold
    /// that is usual for them.
    pub fn new(model: Model) -> Rule {
        let difference = Difference::default();
        Rule {
            model,
            difference,
            threshold: difference.default_threshold(),
        }
    }

    /// Validates the rule, independently of the size of sketches.
    ///
    /// # Errors
    /// [`ChangeError`] says what, and what is allowed.
    pub fn check(&self) -> Result<(), ChangeError> {
        self.model.check()?;
        if self.difference == Difference::Variational && self.window() < 2 {
            return Err(ChangeError::NoWindow(self.model.to_string()));
        }
        let least = match self.difference {
            Difference::Absolute | Difference::Variational => 0.0,
            Difference::Relative => 1.0,
        };
        if !(self.threshold > least && self.threshold.is_finite()) {
            return Err(ChangeError::Threshold {
                difference: self.difference,
                threshold: self.threshold,
                least,
            });
        }
        Ok(())
    }

    /// Validates the rule for a sketch of `shape`, whose noise bounds the threshold.
    pub(crate) fn check_for(&self, shape: Shape) -> Result<(), ChangeError> {
        self.check()?;
        if shape.width < 2 {
            return Err(ChangeError::Narrow);
        }
        let least = NOISE_DEVIATIONS / (f64::from(shape.width) - 1.0).sqrt();
        if self.difference != Difference::Relative && self.threshold < least {
            return Err(ChangeError::Noise {
                threshold: self.threshold,
                width: shape.width,
                least,
            });
        }
        Ok(())
    }

    /// Intervals over which a variational difference looks; 0 where the model
    /// is no moving average.
    pub(crate) fn window(&self) -> usize {
        match self.model {
            Model::MovingAverage { window } => window,
            _ => 0,
        }
    }
}

/// Which keys of an interval are queried for changes. A sketch estimates the sum of a key
/// but does not store keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeySource {
    /// The keys with the largest sums, of the interval and of the one before
    /// it: bounded memory, and what they miss is small.
    #[default]
    Kept,
    /// All keys of the interval and of the one before it, so that keys that disappear are
    /// queried, too, as in a second pass over the traffic. Takes 100 bytes per key.
    Same,
    /// All keys of the interval that follows. Keys that disappear are not checked in this
    /// mode. Takes 100 bytes per key, and reports come one interval later.
    Next,
}

/// An unknown source of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown source of keys {0:?}: use kept, same or next")]
pub struct KeySourceError(String);

impl FromStr for KeySource {
    type Err = KeySourceError;

    fn from_str(text: &str) -> Result<KeySource, KeySourceError> {
        match text {
            "kept" => Ok(KeySource::Kept),
            "same" => Ok(KeySource::Same),
            "next" => Ok(KeySource::Next),
            _ => Err(KeySourceError(text.to_owned())),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeySource::Kept => "kept",
            KeySource::Same => "same",
            KeySource::Next => "next",
        })
    }
}

/// Change detection of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeConfig {
    /// The definition of a change.
    pub rule: Rule,
    /// Size of the sketches that are forecast.
    pub shape: Shape,
    /// Which keys are queried.
    pub keys: KeySource,
    /// Of [`KeySource::Same`] and [`KeySource::Next`], the key of one packet in
    /// `one_in` is queried, chosen at random: keys with many packets are rarely
    /// missed, and memory shrinks.
    pub one_in: u32,
    /// The most keys that are queried in an interval; packets whose keys are not are
    /// counted ([`ChangeReport::missed`](super::ChangeReport::missed)).
    pub max_keys: usize,
}

/// The most keys that may be kept.
const MAX_KEYS: usize = 1 << 24;

impl ChangeConfig {
    /// Absolute differences from `model` on five rows of 32,768 counters, for
    /// the 10,000 largest keys.
    pub fn new(model: Model) -> ChangeConfig {
        ChangeConfig {
            rule: Rule::new(model),
            shape: Shape {
                rows: 5,
                width: 32_768,
            },
            keys: KeySource::default(),
            one_in: 1,
            max_keys: 10_000,
        }
    }

    /// Validates the configuration.
    ///
    /// # Errors
    /// [`ChangeError`] says what, and what is allowed.
    pub fn check(&self) -> Result<(), ChangeError> {
        self.rule.check_for(self.shape)?;
        if self.one_in == 0 || (self.one_in > 1 && self.keys == KeySource::Kept) {
            return Err(ChangeError::OneIn(self.one_in));
        }
        if !(1..=MAX_KEYS).contains(&self.max_keys) {
            return Err(ChangeError::MaxKeys(self.max_keys));
        }
        Ok(())
    }
}

/// Invalid change detection.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// Parameters of the model out of range.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A variational difference without a window.
    #[error("variational differences need a window of at least 2: use ma:W, not {0}")]
    NoWindow(String),
    /// A threshold out of range.
    #[error("threshold {threshold} for {difference} differences: use a number above {least}")]
    Threshold {
        /// What is compared with it.
        difference: Difference,
        /// The value at fault.
        threshold: f64,
        /// What it must exceed.
        least: f64,
    },
    /// A threshold within the noise of the sketch.
    #[error(
        "threshold {threshold}: rows of {width} counters cannot distinguish such a change from noise; use \
         at least {least:.4}, or more counters"
    )]
    Noise {
        /// The value at fault.
        threshold: f64,
        /// Counters per row.
        width: u32,
        /// The least threshold of such rows.
        least: f64,
    },
    /// Rows of one counter.
    #[error("one counter per row cannot distinguish keys: use at least 2")]
    Narrow,
    /// Rows or counters out of range.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A share of packets out of range.
    #[error("keys of one packet in {0}: use at least 1, and more only for keys same or next")]
    OneIn(u32),
    /// Number of keys out of range.
    #[error("{0} keys: use 1 to {MAX_KEYS}")]
    MaxKeys(usize),
    /// The whole stream is one interval.
    #[error("changes are looked for from interval to interval: give an interval")]
    NoInterval,
}

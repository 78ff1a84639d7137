//! Change detection on sketches.

use weir_hash::{Family, Poly44};

use super::config::{ChangeError, Rule};
use super::difference::{Difference, KeyChange, Noise, Norms};
use super::forecast::{Forecaster, UnlikeError};
use super::linear::Linear;
use crate::sketch::{KAry, Layout, RealKAry};

impl Linear for RealKAry {
    fn zero(&self) -> RealKAry {
        self.empty_like()
    }

    fn is_like(&self, other: &RealKAry) -> bool {
        self.layout() == other.layout()
    }

    fn set_zero(&mut self) {
        self.clear();
    }

    fn add_scaled(&mut self, factor: f64, other: &RealKAry) {
        let added = RealKAry::add_scaled(self, factor, other);
        debug_assert_eq!(added, Ok(()), "the other is like this");
    }
}

/// Compares the sketch of each interval with its forecast. The error sketch holds the error
/// of every key; a key has changed where its error exceeds the threshold of the [`Rule`].
#[derive(Clone, Debug)]
pub struct Detector {
    rule: Rule,
    forecaster: Forecaster<RealKAry>,
    /// The newest interval.
    observed: RealKAry,
    error: RealKAry,
    /// What was forecast for it, or is the mean of the window.
    forecast: RealKAry,
    /// None while the model learns.
    norms: Option<Norms>,
}

/// Statistics of an interval, once it can be searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// √F₂ of the errors, estimated.
    pub error_norm: f64,
    /// Standard deviation of the estimate of a key's error, at most.
    pub deviation: f64,
}

impl Detector {
    /// A detector for sketches of `layout`, without observations.
    ///
    /// # Errors
    /// A rule that is out of range, or a threshold that sketches of this width
    /// cannot distinguish from noise.
    pub fn new(rule: &Rule, layout: Layout<Poly44>) -> Result<Detector, ChangeError> {
        rule.check_for(layout.shape())?;
        let zero = RealKAry::zero(layout)?;
        Ok(Detector {
            forecaster: Forecaster::new(&rule.model)?,
            rule: rule.clone(),
            observed: zero.clone(),
            error: zero.clone(),
            forecast: zero,
            norms: None,
        })
    }

    /// Adds the sketch of the next interval. None while the model learns.
    ///
    /// # Errors
    /// A sketch of another layout; it was not taken.
    pub fn observe(&mut self, observed: &KAry) -> Result<Option<Search>, UnlikeError> {
        if observed.layout() != self.observed.layout() {
            return Err(UnlikeError);
        }
        self.observed.set_zero();
        self.observed
            .add_observed(1.0, observed)
            .map_err(|_| UnlikeError)?;
        self.norms = None;
        let Some(error) = self.forecaster.observe(&self.observed)? else {
            return Ok(None);
        };
        self.error.clone_from(error);
        self.forecast.clone_from(&self.observed);
        Linear::add_scaled(&mut self.forecast, -1.0, error);
        let width = f64::from(self.observed.layout().shape().width);
        let row_deviation = |f2: f64| (f2.max(0.0) / (width - 1.0)).sqrt();
        let f2 = match self.rule.difference {
            Difference::Absolute | Difference::Relative => self.error.f2(),
            Difference::Variational => self.f2_of_deviations(),
        };
        let noise = match self.rule.difference {
            Difference::Absolute | Difference::Variational => Noise::default(),
            Difference::Relative => Noise {
                observed: row_deviation(self.observed.f2()),
                forecast: row_deviation(self.forecast.f2()),
                error: row_deviation(f2),
            },
        };
        // The estimate of next to nothing may be below nothing.
        let error_norm = f2.max(0.0).sqrt();
        self.norms = Some(Norms {
            error: error_norm,
            noise,
        });
        Ok(Some(Search {
            error_norm,
            deviation: row_deviation(f2),
        }))
    }

    /// Sum of F₂ of the deviations from the window's mean, which becomes the
    /// forecast.
    fn f2_of_deviations(&mut self) -> f64 {
        // The mean of the window, this interval included, is what the model
        // forecasts next.
        if let Some(mean) = self.forecaster.forecast() {
            self.forecast.clone_from(mean);
        }
        let mut sum = 0.0;
        for past in self.forecaster.past().take(self.rule.window()) {
            self.error.clone_from(past);
            Linear::add_scaled(&mut self.error, -1.0, &self.forecast);
            sum += self.error.f2();
        }
        sum
    }

    /// Observation, forecast and error of a key in the newest interval; none while the model
    /// learns.
    pub fn key_change(&self, key: &[u32]) -> Option<KeyChange> {
        self.key_change_in(&self.buckets(key))
    }

    /// The change of a key and its score, where that exceeds the threshold.
    pub fn change(&self, key: &[u32]) -> Option<(KeyChange, f64)> {
        self.change_in(&self.buckets(key))
    }

    fn buckets(&self, key: &[u32]) -> Vec<u32> {
        let family = self.layout().family();
        let mut buckets = vec![0; family.rows()];
        family.buckets_across(weir_simd::tier(), key, &mut buckets);
        buckets
    }

    /// The same for a key with one bucket per row.
    fn key_change_in(&self, buckets: &[u32]) -> Option<KeyChange> {
        self.norms?;
        let observed = self.observed.estimate_in(buckets);
        let forecast = self.forecast.estimate_in(buckets);
        let error = match self.rule.difference {
            Difference::Absolute | Difference::Relative => self.error.estimate_in(buckets),
            Difference::Variational => {
                let window = self.forecaster.past().take(self.rule.window());
                let squares: f64 = window
                    .map(|past| past.estimate_less(&self.forecast, buckets).powi(2))
                    .sum();
                squares.sqrt().copysign(observed - forecast)
            }
        };
        Some(KeyChange {
            observed,
            forecast,
            error,
        })
    }

    /// The change of a key that has the buckets `buckets`, one per row, and its
    /// score, where that exceeds the threshold.
    pub(crate) fn change_in(&self, buckets: &[u32]) -> Option<(KeyChange, f64)> {
        let norms = self.norms?;
        // Nearly all keys end here, after one estimate instead of three.
        if self.rule.difference == Difference::Absolute {
            let error = self.error.estimate_in(buckets);
            if error.abs() <= self.rule.threshold * norms.error {
                return None;
            }
        }
        let key = self.key_change_in(buckets)?;
        let score = self.rule.difference.score(&key, &norms);
        (score > self.rule.threshold).then_some((key, score))
    }

    /// Where keys are counted.
    pub fn layout(&self) -> &Layout<Poly44> {
        self.observed.layout()
    }

    /// Discards all observations and starts a new series.
    pub fn restart(&mut self) {
        self.forecaster.restart();
        self.norms = None;
    }
}

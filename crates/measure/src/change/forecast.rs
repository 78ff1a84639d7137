//! Forecasts, interval by interval.
//!
//! The models take two forms, both linear in what was observed:
//!
//! **Windows** weigh the last W observations by a flat part of h intervals and
//! a ramp of r = W - h below it (r = 0 for the moving average). Kept are the
//! weighted sum A and the sum B of the r + 1 observations that are on the ramp
//! or have just left it, so that a step costs the same for every W; for r = 0 it
//! is equation 6.16 of the thesis:
//!
//! ```text
//!   weight                      B(t) = B(t-1) + o(t-h) - o(t-W-1)
//!     1 ┤ ● ● ● ● ╲             A(t) = A(t-1) + o(t) - B(t) / (r+1)
//!       │         ● ╲
//!       │           ● ╲         f(t+1) = A(t) / Σ weights
//!     0 ┼─┬─┬─┬─┬─┬─┬─┬─ lag
//!         1 … h   …   W
//! ```
//!
//! (r+1)·A is kept, so that counts stay whole numbers: below 2⁵³ no rounding
//! ever gathers, however long a window slides.
//!
//! **Recursions** are ARIMA forecasts: with (1 - Σφᵢ Bⁱ)(1 - B)ᵈ = 1 - Σaᵢ Bⁱ,
//! B the lag,
//!
//! ```text
//!   f(t+1) = Σ aᵢ o(t+1-i) - Σ θⱼ e(t+1-j)
//! ```
//!
//! EWMA is ARIMA(0,1,1) with θ = 1 - α. Non-seasonal Holt-Winters is
//! ARIMA(0,2,2) with θ₁ = 2 - α - αβ and θ₂ = α - 1; that it begins with the
//! first observation as level and the first difference as trend is then the
//! same as taking the errors before the first forecast as zero.

use std::collections::VecDeque;

use super::linear::Linear;
use super::model::{Model, ModelError};

/// An observation that is not like those before it: a sketch of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an observation of another size than those before it cannot be compared with them")]
pub struct UnlikeError;

/// One model at work on a series of observations.
#[derive(Clone, Debug)]
pub struct Forecaster<L> {
    model: Model,
    form: Form<L>,
    /// Newest first.
    past: VecDeque<L>,
    /// Intervals observed since the start.
    seen: usize,
    /// Of the next interval; meaningless while learning.
    forecast: Option<L>,
    /// Of the last interval.
    error: Option<L>,
}

#[derive(Clone, Debug)]
enum Form<L> {
    Window {
        flat: usize,
        ramp: usize,
        /// (r+1)·A and B.
        sums: Option<[L; 2]>,
    },
    Recursion {
        /// aᵢ, newest first.
        observed: Vec<f64>,
        /// θⱼ, newest first.
        theta: Vec<f64>,
        /// Newest first.
        errors: VecDeque<L>,
    },
}

impl<L> Form<L> {
    fn new(model: &Model) -> Form<L> {
        match model {
            Model::MovingAverage { window } => Form::window(*window, 0),
            Model::SShaped { window } => Form::window(window.div_ceil(2), window / 2),
            Model::Ewma { alpha } => Form::recursion(&[], 1, &[1.0 - alpha]),
            Model::HoltWinters { alpha, beta } => {
                Form::recursion(&[], 2, &[2.0 - alpha - alpha * beta, alpha - 1.0])
            }
            Model::Arima { ar, d, ma } => Form::recursion(ar, *d, ma),
        }
    }

    fn window(flat: usize, ramp: usize) -> Form<L> {
        Form::Window {
            flat,
            ramp,
            sums: None,
        }
    }

    fn recursion(ar: &[f64], d: usize, ma: &[f64]) -> Form<L> {
        // The polynomial 1 - Σφᵢ Bⁱ, times (1 - B) as often as is differenced.
        let mut polynomial = vec![0.0; 1 + ar.len() + d];
        polynomial[0] = 1.0;
        for (coefficient, phi) in polynomial[1..].iter_mut().zip(ar) {
            *coefficient = -phi;
        }
        for _ in 0..d {
            for lag in (1..polynomial.len()).rev() {
                polynomial[lag] -= polynomial[lag - 1];
            }
        }
        Form::Recursion {
            observed: polynomial[1..].iter().map(|c| -c).collect(),
            theta: ma.to_vec(),
            errors: VecDeque::new(),
        }
    }

    /// Observations that are kept.
    fn depth(&self) -> usize {
        match self {
            Form::Window { flat, ramp, .. } => flat + ramp + 1,
            Form::Recursion { observed, .. } => observed.len(),
        }
    }
}

impl<L: Linear> Forecaster<L> {
    /// A forecaster that has seen nothing.
    ///
    /// # Errors
    /// The model's parameters are out of range.
    pub fn new(model: &Model) -> Result<Forecaster<L>, ModelError> {
        model.check()?;
        Ok(Forecaster {
            form: Form::new(model),
            model: model.clone(),
            past: VecDeque::new(),
            seen: 0,
            forecast: None,
            error: None,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Forgets all observations: what follows is a new series.
    pub fn restart(&mut self) {
        self.form = Form::new(&self.model);
        self.past.clear();
        self.seen = 0;
        self.forecast = None;
        self.error = None;
    }

    /// The forecast of the next interval; none while the model learns
    /// ([`Model::learning_intervals`]).
    pub fn forecast(&self) -> Option<&L> {
        let has_learnt = self.seen >= self.model.learning_intervals();
        self.forecast.as_ref().filter(|_| has_learnt)
    }

    /// The observations that are kept, newest first: of a window all of its
    /// intervals and the one before, of other models fewer than four.
    pub fn past(&self) -> impl Iterator<Item = &L> {
        self.past.iter()
    }

    /// Takes the next observation; returns what it is above its forecast, if
    /// there was a forecast.
    ///
    /// # Errors
    /// The observation is not like those before it. It was not taken.
    pub fn observe(&mut self, observed: &L) -> Result<Option<&L>, UnlikeError> {
        if self
            .forecast
            .as_ref()
            .is_some_and(|forecast| !forecast.is_like(observed))
        {
            return Err(UnlikeError);
        }
        let was_forecast = self.forecast().is_some();
        let forecast = self.forecast.get_or_insert_with(|| observed.zero());
        let error = self.error.get_or_insert_with(|| observed.zero());
        error.set_zero();
        // Until as much was seen as the recursion looks back at, errors count
        // as zero.
        if was_forecast || self.seen >= self.form.depth() {
            error.add_scaled(1.0, observed);
            error.add_scaled(-1.0, forecast);
        }
        self.seen += 1;

        let gone = (self.past.len() == self.form.depth()).then(|| self.past.pop_back());
        forecast.set_zero();
        match &mut self.form {
            Form::Window { flat, ramp, sums } => {
                let [weighted, leaving] =
                    sums.get_or_insert_with(|| [observed.zero(), observed.zero()]);
                let gone = gone.flatten();
                if let Some(gone) = &gone {
                    leaving.add_scaled(-1.0, gone);
                }
                keep(&mut self.past, gone, observed);
                if let Some(left) = self.past.get(*flat) {
                    leaving.add_scaled(1.0, left);
                }
                let steps = *ramp as f64 + 1.0;
                weighted.add_scaled(steps, observed);
                weighted.add_scaled(-1.0, leaving);
                // (r+1)·Σ weights: the flat part, and r of r+1 steps down.
                let weights = steps * (*flat as f64 + *ramp as f64 / 2.0);
                forecast.add_scaled(1.0 / weights, weighted);
            }
            Form::Recursion {
                observed: weights,
                theta,
                errors,
            } => {
                if !weights.is_empty() {
                    keep(&mut self.past, gone.flatten(), observed);
                }
                if !theta.is_empty() {
                    let gone = (errors.len() == theta.len()).then(|| errors.pop_back());
                    keep(errors, gone.flatten(), error);
                }
                for (a, observed) in weights.iter().zip(&self.past) {
                    forecast.add_scaled(*a, observed);
                }
                for (theta, error) in theta.iter().zip(errors) {
                    forecast.add_scaled(-theta, error);
                }
            }
        }
        Ok(self.error.as_ref().filter(|_| was_forecast))
    }
}

/// Puts a copy of `newest` in front, in the memory of one that is gone.
fn keep<L: Linear>(series: &mut VecDeque<L>, gone: Option<L>, newest: &L) {
    let mut copy = gone.unwrap_or_else(|| newest.zero());
    copy.set_zero();
    copy.add_scaled(1.0, newest);
    series.push_front(copy);
}

#[cfg(test)]
mod tests;

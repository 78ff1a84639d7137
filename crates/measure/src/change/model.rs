//! The forecast models and their parameters.

use std::fmt;
use std::str::FromStr;

/// The longest window, in intervals. A window keeps a sketch per interval.
pub const MAX_WINDOW: usize = 120;

/// How the next interval is forecast from those before it: the models of
/// Krishnamurthy, Sen, Zhang and Chen, *Sketch-based Change Detection: Methods,
/// Evaluation, and Applications*, IMC 2003, section 3.2.
///
/// Written and read as `ma:5`, `sma:8`, `ewma:0.3`, `nshw:0.3,0.1` and
/// `arima:0.6,0.1/1/0.4`: autoregressive coefficients, order of differencing,
/// moving-average coefficients, either list possibly empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Mean of the last `window` intervals.
    MovingAverage {
        /// Number of intervals, 1 to [`MAX_WINDOW`].
        window: usize,
    },
    /// Weighted mean of the last `window` intervals: the newer half, rounded
    /// up, has weight one, the older ones fall linearly towards zero.
    SShaped {
        /// Number of intervals, 1 to [`MAX_WINDOW`].
        window: usize,
    },
    /// Exponentially weighted moving average: α times the last observation and
    /// 1 - α times its forecast.
    Ewma {
        /// Weight of the newest, above 0 and at most 1.
        alpha: f64,
    },
    /// Non-seasonal Holt-Winters: a smoothed level and a smoothed trend.
    HoltWinters {
        /// Weight of the newest in the level, above 0 and at most 1.
        alpha: f64,
        /// Weight of the newest in the trend, 0 to 1.
        beta: f64,
    },
    /// Box and Jenkins: with `Z` the series differenced `d` times,
    /// `Z(t) = Σ φᵢ Z(t-i) + e(t) - Σ θⱼ e(t-j)`. There is no constant: it would
    /// have to be the same for every key.
    Arima {
        /// Autoregressive coefficients φ, up to two.
        ar: Vec<f64>,
        /// Order of differencing, 0 or 1.
        d: usize,
        /// Moving-average coefficients θ, up to two.
        ma: Vec<f64>,
    },
}

/// A model that does not exist.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// An unknown model.
    #[error(
        "unknown model {0:?}: use ma:W, sma:W, ewma:ALPHA, nshw:ALPHA,BETA or \
         arima:PHI,PHI/D/THETA,THETA"
    )]
    Unknown(String),
    /// A window out of range.
    #[error("window of {0} intervals: use 1 to {MAX_WINDOW}")]
    Window(usize),
    /// A smoothing weight out of range.
    #[error("{name} {value}: use a number above 0 and at most 1{}", if *.name == "beta" { ", or 0" } else { "" })]
    Weight {
        /// Which weight.
        name: &'static str,
        /// The value at fault.
        value: f64,
    },
    /// Orders that are not built.
    #[error(
        "ARIMA of orders p = {p}, d = {d}, q = {q}: use p and q up to 2, not both 0 without \
         differencing, and d of 0 or 1"
    )]
    Orders {
        /// Number of autoregressive coefficients.
        p: usize,
        /// Order of differencing.
        d: usize,
        /// Number of moving-average coefficients.
        q: usize,
    },
    /// Coefficients whose series would explode.
    #[error(
        "{kind} coefficients {first}, {second}: forecasts would grow without bound; keep \
         first + second < 1, second - first < 1 and |second| < 1"
    )]
    Unstable {
        /// Autoregressive (not stationary) or moving-average (not invertible).
        kind: &'static str,
        /// Coefficient of lag one.
        first: f64,
        /// Coefficient of lag two.
        second: f64,
    },
}

impl Model {
    /// Refuses parameters outside their documented range.
    ///
    /// # Errors
    /// [`ModelError`] says which, and what is allowed. An ARIMA model must be
    /// stationary and invertible (Box, Jenkins and Reinsel, *Time Series
    /// Analysis*, sections 3.2 and 3.3).
    pub fn check(&self) -> Result<(), ModelError> {
        match self {
            Model::MovingAverage { window } | Model::SShaped { window } => {
                if !(1..=MAX_WINDOW).contains(window) {
                    return Err(ModelError::Window(*window));
                }
            }
            Model::Ewma { alpha } => check_weight("alpha", *alpha, *alpha > 0.0)?,
            Model::HoltWinters { alpha, beta } => {
                check_weight("alpha", *alpha, *alpha > 0.0)?;
                check_weight("beta", *beta, *beta >= 0.0)?;
            }
            Model::Arima { ar, d, ma } => {
                let (p, d, q) = (ar.len(), *d, ma.len());
                if p > 2 || q > 2 || d > 1 || p + d + q == 0 {
                    return Err(ModelError::Orders { p, d, q });
                }
                check_stable("autoregressive", ar)?;
                check_stable("moving-average", ma)?;
            }
        }
        Ok(())
    }

    /// Intervals that are observed before the first forecast.
    pub fn learning_intervals(&self) -> usize {
        match self {
            Model::MovingAverage { window } | Model::SShaped { window } => *window,
            Model::Ewma { .. } => 1,
            Model::HoltWinters { .. } => 2,
            Model::Arima { ar, d, .. } => (ar.len() + d).max(1),
        }
    }
}

fn check_weight(name: &'static str, value: f64, is_above_least: bool) -> Result<(), ModelError> {
    if is_above_least && value <= 1.0 {
        Ok(())
    } else {
        Err(ModelError::Weight { name, value })
    }
}

/// The roots of 1 - c₁B - c₂B² lie outside of the unit circle.
fn check_stable(kind: &'static str, coefficients: &[f64]) -> Result<(), ModelError> {
    let first = coefficients.first().copied().unwrap_or(0.0);
    let second = coefficients.get(1).copied().unwrap_or(0.0);
    let is_stable = first + second < 1.0 && second - first < 1.0 && second.abs() < 1.0;
    if is_stable {
        Ok(())
    } else {
        Err(ModelError::Unstable {
            kind,
            first,
            second,
        })
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Model::MovingAverage { window } => write!(f, "ma:{window}"),
            Model::SShaped { window } => write!(f, "sma:{window}"),
            Model::Ewma { alpha } => write!(f, "ewma:{alpha}"),
            Model::HoltWinters { alpha, beta } => write!(f, "nshw:{alpha},{beta}"),
            Model::Arima { ar, d, ma } => write!(f, "arima:{}/{d}/{}", List(ar), List(ma)),
        }
    }
}

/// Numbers with commas between them.
struct List<'a>(&'a [f64]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{number}")?;
        }
        Ok(())
    }
}

impl FromStr for Model {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Model, ModelError> {
        let model = parse(text).ok_or_else(|| ModelError::Unknown(text.to_owned()))?;
        model.check()?;
        Ok(model)
    }
}

fn parse(text: &str) -> Option<Model> {
    let (name, parameters) = text.split_once(':')?;
    Some(match name {
        "ma" => Model::MovingAverage {
            window: parameters.parse().ok()?,
        },
        "sma" => Model::SShaped {
            window: parameters.parse().ok()?,
        },
        "ewma" => Model::Ewma {
            alpha: parameters.parse().ok()?,
        },
        "nshw" => {
            let (alpha, beta) = parameters.split_once(',')?;
            Model::HoltWinters {
                alpha: alpha.parse().ok()?,
                beta: beta.parse().ok()?,
            }
        }
        "arima" => {
            let (ar, rest) = parameters.split_once('/')?;
            let (d, ma) = rest.split_once('/')?;
            Model::Arima {
                ar: numbers(ar)?,
                d: d.parse().ok()?,
                ma: numbers(ma)?,
            }
        }
        _ => return None,
    })
}

fn numbers(list: &str) -> Option<Vec<f64>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_read_as_they_are_written() {
        for text in [
            "ma:1",
            "ma:120",
            "sma:8",
            "ewma:0.25",
            "ewma:1",
            "nshw:0.5,0",
            "arima:0.5,-0.2/0/0.3,0.1",
            "arima:/1/0.4",
            "arima:0.9/0/",
            "arima:/1/",
        ] {
            let model: Model = text.parse().unwrap();
            assert_eq!(model.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let unknown = ["", "ma", "ma:", "ma:-1", "holt:1", "ewma:a", "nshw:0.1"];
        let arima = ["arima:0.1", "arima:1,/0/", "arima:0.1/0", "arima://"];
        for text in unknown.into_iter().chain(arima) {
            let error = text.parse::<Model>().unwrap_err();
            assert_eq!(error, ModelError::Unknown(text.to_owned()));
        }
        for (text, says) in [
            ("ma:0", "use 1 to 120"),
            ("sma:121", "use 1 to 120"),
            ("ewma:0", "above 0 and at most 1"),
            ("ewma:1.01", "at most 1"),
            ("ewma:NaN", "at most 1"),
            ("nshw:0.5,-0.1", "or 0"),
            ("arima:/0/", "not both 0"),
            ("arima:0.1/2/", "d of 0 or 1"),
            ("arima:0.1,0.1,0.1/0/", "up to 2"),
            ("arima:1/0/", "autoregressive"),
            ("arima:0.5,0.5/0/", "without bound"),
            ("arima:/1/0,-1", "moving-average"),
            ("arima:NaN/0/", "autoregressive"),
        ] {
            let error = text.parse::<Model>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}

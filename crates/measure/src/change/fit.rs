//! Parameters by grid search, offline.

use super::forecast::Forecaster;
use super::model::Model;
use crate::sketch::RealKAry;

/// The longest window that is tried.
const WINDOW_MAX: usize = 12;

/// Intervals that must be left to judge by, after the longest window.
const JUDGED_MIN: usize = 3;

/// What one model is worth on a stretch of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The model, with the best of the parameters tried.
    pub model: Model,
    /// Sum over the judged intervals of F₂ of the error sketch, estimated: the
    /// smaller, the better the forecasts.
    pub energy: f64,
}

/// Too little traffic to choose a model by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} whole intervals: a fit needs at least {needed}; use a shorter interval")]
pub struct FitError {
    found: usize,
    needed: usize,
}

/// Finds, for each kind of model, the parameters whose errors have the least
/// energy over a history of sketches, and returns the kinds with the best
/// first: the multi-pass grid search of Krishnamurthy et al. 2003, section 4.2,
/// with ARIMA's orders searched too.
///
/// All models are judged by the same intervals, those behind the longest window
/// tried. The search takes some 5,000 passes over the history: keep its
/// sketches small. One row of 1,024 counters knows F₂ to within 4 %, and all
/// models are judged by the same row.
///
/// # Errors
/// Fewer intervals than can be judged.
pub fn fit(history: &[RealKAry]) -> Result<Vec<Fit>, FitError> {
    // A third of the intervals at most is spent on windows.
    let window_max = WINDOW_MAX.min(history.len() / 3).max(2);
    let needed = window_max + JUDGED_MIN;
    if history.len() < needed {
        return Err(FitError {
            found: history.len(),
            needed,
        });
    }
    let search = Search {
        history,
        judged_from: window_max,
    };
    let mut kinds = vec![
        search.best((1..=window_max).map(|window| Model::MovingAverage { window })),
        search.best((1..=window_max).map(|window| Model::SShaped { window })),
        search.refine(&[(0.1, 1.0)], 0.1, |weights| Model::Ewma {
            alpha: weights[0],
        }),
        search.refine(&[(0.1, 1.0), (0.0, 1.0)], 0.1, |weights| {
            Model::HoltWinters {
                alpha: weights[0],
                beta: weights[1],
            }
        }),
    ];
    for d in 0..=1 {
        let orders = (0..=2).flat_map(|p| (0..=2).map(move |q| (p, q)));
        let of_orders = orders.map(|(p, q)| {
            search.refine(&vec![(-0.8, 0.8); p + q], 0.4, |coefficients| {
                Model::Arima {
                    ar: coefficients[..p].to_vec(),
                    d,
                    ma: coefficients[p..].to_vec(),
                }
            })
        });
        kinds.push(of_orders.flatten().min_by(by_energy));
    }
    let mut kinds: Vec<Fit> = kinds.into_iter().flatten().collect();
    kinds.sort_by(by_energy);
    Ok(kinds)
}

fn by_energy(a: &Fit, b: &Fit) -> std::cmp::Ordering {
    a.energy.total_cmp(&b.energy)
}

struct Search<'a> {
    history: &'a [RealKAry],
    judged_from: usize,
}

impl Search<'_> {
    fn best(&self, models: impl Iterator<Item = Model>) -> Option<Fit> {
        models
            .filter_map(|model| self.judge(model))
            .min_by(by_energy)
    }

    /// The energy of a model's errors; none of one that does not exist.
    fn judge(&self, model: Model) -> Option<Fit> {
        let mut forecaster = Forecaster::new(&model).ok()?;
        let mut energy = 0.0;
        for (interval, observed) in self.history.iter().enumerate() {
            let error = forecaster.observe(observed).ok()?;
            if interval >= self.judged_from {
                energy += error?.f2().max(0.0);
            }
        }
        Some(Fit { model, energy })
    }

    /// Tries a grid of `step` over the ranges of the parameters, then, three
    /// times, one of half the step around the best.
    fn refine(
        &self,
        ranges: &[(f64, f64)],
        step: f64,
        model: impl Fn(&[f64]) -> Model,
    ) -> Option<Fit> {
        let try_all = |grid: Vec<Vec<f64>>| {
            let fits = grid.into_iter().filter_map(|point| {
                let fit = self.judge(model(&point))?;
                Some((point, fit))
            });
            fits.min_by(|(_, a), (_, b)| by_energy(a, b))
        };
        let axes: Vec<Vec<f64>> = ranges.iter().map(|range| axis(*range, step)).collect();
        let (mut point, mut fit) = try_all(product(&axes))?;
        let mut step = step;
        for _ in 0..if ranges.is_empty() { 0 } else { 3 } {
            step /= 2.0;
            let around = point.iter().zip(ranges).map(|(centre, (low, high))| {
                let near = [centre - step, *centre, centre + step];
                let inside = near.into_iter().map(|value| value.clamp(*low, *high));
                inside.map(tidy).collect()
            });
            let axes: Vec<Vec<f64>> = around.collect();
            if let Some((better, its_fit)) = try_all(product(&axes))
                && its_fit.energy < fit.energy
            {
                (point, fit) = (better, its_fit);
            }
        }
        Some(fit)
    }
}

/// From one end of a range to the other.
fn axis((low, high): (f64, f64), step: f64) -> Vec<f64> {
    let steps = ((high - low) / step).round() as usize;
    (0..=steps).map(|n| tidy(low + n as f64 * step)).collect()
}

/// Without the last bits, which are noise of the steps: parameters are to be
/// read and written by people.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// All points with one coordinate from each axis.
fn product(axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let longer = |point: Vec<f64>| {
            axis.iter().map(move |value| {
                let mut longer = point.clone();
                longer.push(*value);
                longer
            })
        };
        points.into_iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use weir_hash::{Seed, SeedStream};

    use super::*;
    use crate::accuracy::Shape;
    use crate::sketch::Layout;

    /// Sketches of a hundred keys, each with a separate series that `next`
    /// continues from the two values before and a random step.
    fn history(intervals: usize, next: impl Fn(f64, f64, f64) -> f64) -> Vec<RealKAry> {
        let layout = Layout::new(
            Shape {
                rows: 1,
                width: 256,
            },
            1,
            Seed::from_u64(5),
        )
        .unwrap();
        let mut stream = SeedStream::new(Seed::from_u64(9));
        let mut noise = move || (stream.next_bits(20) as f64 / 1e6 - 0.5) * 200.0;
        let mut series = [(1000.0, 1000.0); 100];
        (0..intervals)
            .map(|_| {
                let mut sketch = RealKAry::zero(layout.clone()).unwrap();
                for (key, (before, last)) in series.iter_mut().enumerate() {
                    let value = next(*before, *last, noise());
                    (*before, *last) = (*last, value);
                    sketch.add_key(&[key as u32], value);
                }
                sketch
            })
            .collect()
    }

    /// A random walk is best forecast by its last value: EWMA with α near 1, or
    /// what is equal to it.
    #[test]
    fn a_random_walk_is_known_by_its_last_value() {
        let fits = fit(&history(40, |_, last, noise| last + noise)).unwrap();
        let ewma = fits.iter().find_map(|fit| match fit.model {
            Model::Ewma { alpha } => Some(alpha),
            _ => None,
        });
        assert!(ewma.unwrap() > 0.85, "{fits:?}");
        let window = fits.iter().find_map(|fit| match fit.model {
            Model::MovingAverage { window } => Some(window),
            _ => None,
        });
        assert_eq!(window, Some(1));
    }

    /// Noise about a level is best forecast by a long mean; a steady rise by a
    /// model that has a trend.
    #[test]
    fn each_series_finds_its_model() {
        let level = fit(&history(40, |_, _, noise| 1000.0 + noise)).unwrap();
        let window = level.iter().find_map(|fit| match fit.model {
            Model::MovingAverage { window } => Some(window),
            _ => None,
        });
        assert!(window.unwrap() >= 8, "{level:?}");

        let trend = fit(&history(40, |before, last, noise| {
            last + (last - before) + 0.1 * noise
        }))
        .unwrap();
        let energy = |is_kind: fn(&Model) -> bool| {
            let fit = trend.iter().find(|fit| is_kind(&fit.model)).unwrap();
            fit.energy
        };
        let holt_winters = energy(|model| matches!(model, Model::HoltWinters { .. }));
        let moving_average = energy(|model| matches!(model, Model::MovingAverage { .. }));
        assert!(holt_winters < 0.5 * moving_average, "{trend:?}");
        assert!(trend.is_sorted_by(|a, b| a.energy <= b.energy));
        for fit in &trend {
            assert_eq!(fit.model.to_string().parse(), Ok(fit.model.clone()));
        }
    }

    #[test]
    fn too_short_a_history_is_refused() {
        assert!(fit(&[]).is_err());
        assert!(fit(&history(4, |_, last, _| last)).is_err());
        assert!(fit(&history(5, |_, last, noise| last + noise)).is_ok());
    }
}

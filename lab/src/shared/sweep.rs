//! Runs a workload for every combination of parameter values, of the machine
//! or of the workload.

use std::num::NonZero;

use super::model::{Bench, Effort, Failure, Metric, Model, WORK_PREFIX, Workload};
use super::parallel;
use super::parameters::{ParameterError, Parameters};

/// The most combinations of one sweep.
pub const MOST_POINTS: usize = 100_000;

/// A sweep that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// Words that are no axis.
    #[error("{axis}: {reason}")]
    Axis {
        /// The words.
        axis: String,
        /// What is wrong with them.
        reason: String,
    },
    /// More than [`MOST_POINTS`].
    #[error("a sweep has at most {MOST_POINTS} combinations: give fewer values")]
    TooMany,
    /// A parameter or value that no machine or no workload has.
    #[error(transparent)]
    Value(#[from] Failure),
}

/// A parameter and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The parameter's key.
    pub key: String,
    /// Its values, in order.
    pub values: Vec<f64>,
}

impl Axis {
    /// Reads `key=3,4,6` or `key=2..8`, which ends with 8, or `key=2..8:2`, in
    /// steps of 2.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Axis, SweepError> {
        let wrong = |reason: String| SweepError::Axis {
            axis: text.to_owned(),
            reason,
        };
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| wrong("write KEY=VALUE,… or KEY=FIRST..LAST:STEP".to_owned()))?;
        let number = |words: &str| -> Result<f64, SweepError> {
            let number = words.trim().parse::<f64>().ok();
            number
                .filter(|number| number.is_finite())
                .ok_or_else(|| wrong(format!("{words} is not a number")))
        };
        let values = match values.split_once("..") {
            None => values.split(',').map(number).collect::<Result<_, _>>()?,
            Some((first, rest)) => {
                let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
                let (first, last, step) = (number(first)?, number(last)?, number(step)?);
                let steps = (last - first) / step;
                if step <= 0.0 || steps < 0.0 {
                    return Err(wrong("the range has no values".to_owned()));
                }
                if steps >= MOST_POINTS as f64 {
                    return Err(SweepError::TooMany);
                }
                // A sum of steps may miss the last value by a rounding.
                (0..=(steps + 1e-9) as u32)
                    .map(|count| first + f64::from(count) * step)
                    .collect()
            }
        };
        Ok(Axis {
            key: key.to_owned(),
            values,
        })
    }
}

/// A combination of values, in the order of the axes.
pub type Point = Vec<(String, f64)>;

/// A workload and the combinations that it runs with.
pub struct Sweep<'a> {
    model: &'a dyn Model,
    bench: Bench,
    workload: Workload,
    points: Vec<Point>,
}

impl<'a> Sweep<'a> {
    /// All combinations of the axes' values, on a machine and for a workload
    /// that are otherwise unchanged.
    ///
    /// # Errors
    /// A key that is unknown or given twice, a value that is out of its range,
    /// and more combinations than [`MOST_POINTS`]. Values that only exclude
    /// each other are errors of their combinations.
    pub fn new(
        model: &'a dyn Model,
        machine: &Parameters,
        workload: &Workload,
        axes: &[Axis],
    ) -> Result<Sweep<'a>, SweepError> {
        let mut points = vec![Point::new()];
        for (number, axis) in axes.iter().enumerate() {
            if axes[..number].iter().any(|other| other.key == axis.key) {
                return Err(SweepError::Axis {
                    axis: axis.key.clone(),
                    reason: "it is given twice".to_owned(),
                });
            }
            if points.len().saturating_mul(axis.values.len()) > MOST_POINTS {
                return Err(SweepError::TooMany);
            }
            for &value in &axis.values {
                check(model, machine, workload, &(axis.key.clone(), value))?;
            }
            points = points
                .iter()
                .flat_map(|point| {
                    axis.values.iter().map(|&value| {
                        let mut point = point.clone();
                        point.push((axis.key.clone(), value));
                        point
                    })
                })
                .collect();
        }
        Ok(Sweep {
            model,
            bench: Bench::new(machine.clone(), &[], Effort::Full),
            workload: workload.clone(),
            points,
        })
    }

    /// The combinations.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Runs the workload for each combination, on at most `threads` threads.
    /// `progress` is called once for each. What does not depend on the machine is
    /// computed once.
    pub fn run(
        &self,
        threads: NonZero<usize>,
        progress: impl Fn() + Sync,
    ) -> Vec<Result<Vec<Metric>, Failure>> {
        parallel::map(&self.points, threads, |point| {
            let metrics = self.metrics(point);
            progress();
            metrics
        })
    }

    fn metrics(&self, point: &Point) -> Result<Vec<Metric>, Failure> {
        let (of_work, of_machine): (Point, Point) = point.iter().cloned().partition(is_work);
        let workload = self.workload.with(&of_work)?;
        let run = self
            .model
            .run(&self.bench.changed(&of_machine), &workload)?;
        Ok(run.metrics)
    }
}

/// Whether a key and its value are of the workload.
fn is_work((key, _): &(String, f64)) -> bool {
    key.starts_with(WORK_PREFIX)
}

/// Refuses a value that no machine or workload can have.
fn check(
    model: &dyn Model,
    machine: &Parameters,
    workload: &Workload,
    setting: &(String, f64),
) -> Result<(), Failure> {
    let setting = std::slice::from_ref(setting);
    if setting.iter().any(is_work) {
        return workload.with(setting).map(drop);
    }
    match model.check(&machine.with(setting)?) {
        Ok(()) | Err(ParameterError::Contradiction { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

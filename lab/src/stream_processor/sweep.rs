//! Runs a program for every combination of parameter values, of the machine
//! file or of the workload.

use std::collections::BTreeMap;
use std::num::NonZero;

use crate::shared::parallel;
use crate::shared::parameters::ParameterError;
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, Size};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::{self, Outcome, Program, RunError};

/// The most combinations of one sweep.
pub const MOST_POINTS: usize = 100_000;

/// The parameters of the workload that a sweep can change.
pub const WORK_KEYS: [&str; 2] = ["work.packets", "work.bytes"];

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
    /// A parameter or value that no machine has.
    #[error(transparent)]
    Machine(#[from] ParameterError),
}

/// A combination that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointError {
    /// Values that exclude each other.
    #[error(transparent)]
    Machine(#[from] ParameterError),
    /// A workload that the program does not take.
    #[error(transparent)]
    Program(#[from] ProgramFailure),
    /// A program that does not fit the machine.
    #[error(transparent)]
    Run(#[from] RunError),
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

    fn is_work(&self) -> bool {
        self.key.starts_with("work.")
    }
}

/// A combination of values, in the order of the axes.
pub type Point = Vec<(String, f64)>;

/// What a sweep is over.
#[derive(Clone, Debug)]
pub struct Sweep {
    base: Machine,
    size: Size,
    points: Vec<Point>,
}

impl Sweep {
    /// All combinations of the axes' values, on a machine and for a workload
    /// that are else as they are.
    ///
    /// # Errors
    /// A key that is unknown or given twice, a value that is out of its range,
    /// and more combinations than [`MOST_POINTS`]. Values that only exclude
    /// each other are errors of their combinations.
    pub fn new(base: &Machine, size: Size, axes: &[Axis]) -> Result<Sweep, SweepError> {
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
                check(base, &size, axis, value)?;
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
            base: base.clone(),
            size,
            points,
        })
    }

    /// The combinations.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Runs the program for each combination, and makes something of each run.
    /// A program is written once for each number of clusters and workload.
    pub fn run<R: Send>(
        &self,
        entry: &ProgramEntry,
        threads: NonZero<usize>,
        of: impl Fn(&Machine, &Size, Result<&Outcome, PointError>) -> R + Sync,
    ) -> Vec<R> {
        let settings: BTreeMap<(usize, usize, usize), Size> = self
            .points
            .iter()
            .map(|point| self.workload(point))
            .map(|(clusters, size)| ((clusters, size.packets, size.bytes), size))
            .collect();
        let settings: Vec<_> = settings.into_iter().collect();
        let written = parallel::map(&settings, threads, |((clusters, ..), size)| {
            (entry.build)(*clusters, size)
        });
        let programs: BTreeMap<_, Result<Program, ProgramFailure>> = settings
            .iter()
            .map(|(setting, _)| *setting)
            .zip(written)
            .collect();

        parallel::map(&self.points, threads, |point| {
            let (clusters, size) = self.workload(point);
            let program = &programs[&(clusters, size.packets, size.bytes)];
            match self.play(point, program) {
                Ok((machine, outcome)) => of(&machine, &size, Ok(&outcome)),
                Err(error) => of(&self.base, &size, Err(error)),
            }
        })
    }

    fn play(
        &self,
        point: &Point,
        program: &Result<Program, ProgramFailure>,
    ) -> Result<(Machine, Outcome), PointError> {
        let changes: Vec<_> = point
            .iter()
            .filter(|(key, _)| !key.starts_with("work."))
            .cloned()
            .collect();
        let machine = self.base.with_all(&changes)?;
        let program = program.as_ref().map_err(Clone::clone)?;
        let outcome = stream::run(program, &machine)?;
        Ok((machine, outcome))
    }

    /// The clusters and the workload of a combination.
    fn workload(&self, point: &Point) -> (usize, Size) {
        let (mut clusters, mut size) = (self.base.clusters, self.size);
        for (key, value) in point {
            match key.as_str() {
                "clusters" => clusters = *value as usize,
                "work.packets" => size.packets = *value as usize,
                "work.bytes" => size.bytes = *value as usize,
                _ => {}
            }
        }
        (clusters, size)
    }
}

/// Refuses a value that no machine or workload can have.
fn check(base: &Machine, size: &Size, axis: &Axis, value: f64) -> Result<(), SweepError> {
    let wrong = |reason: String| SweepError::Axis {
        axis: axis.key.clone(),
        reason,
    };
    if !axis.is_work() {
        return match base.with(&axis.key, value) {
            Ok(_) | Err(ParameterError::Contradiction { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        };
    }
    if !WORK_KEYS.contains(&axis.key.as_str()) {
        return Err(wrong(format!(
            "there is no such part of the workload; there are {}",
            WORK_KEYS.join(", ")
        )));
    }
    let most = Size::MOST_BYTES;
    let is_packets = axis.key == "work.packets";
    let bytes = value * if is_packets { size.bytes } else { size.packets } as f64;
    if value < 1.0 || value.fract() != 0.0 || bytes > most as f64 {
        return Err(wrong(format!(
            "{value} is not a whole number from 1, or the workload is over {most} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

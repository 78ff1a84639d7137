//! How far results depend on parameters without a printed value: each is changed
//! alone, to both ends of the range that it declares.

use std::num::NonZero;

use super::compare;
use super::failure::{ReproduceError, unknown};
use super::published::{Published, published};
use super::registry::registry;
use super::row::{Row, Verdict};
use crate::shared::model::{Bench, Computation, Effort, Entry, Failure, Model, Standing};
use crate::shared::parallel;
use crate::shared::parameters::{ParameterError, Parameters};

/// What a change of a parameter does to a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The parameter.
    pub parameter: String,
    /// Its source.
    pub source: String,
    /// Its value on the machine.
    pub from: f64,
    /// The changed value.
    pub to: f64,
    /// The row.
    pub id: String,
    /// What the row states.
    pub quantity: String,
    /// The model's number with the machine as it is: of several numbers the one
    /// that changes most.
    pub before: f64,
    /// The model's number with the change.
    pub after: f64,
    /// The verdicts with the machine as it is, and with the change.
    pub verdicts: [Verdict; 2],
}

impl Sensitivity {
    /// Whether the verdict changes.
    pub fn flips(&self) -> bool {
        self.verdicts[0] != self.verdicts[1]
    }
}

/// A change that a machine, a kernel or a program does not allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The parameter.
    pub parameter: String,
    /// The changed value.
    pub to: f64,
    /// The row that is not possible.
    pub id: String,
    /// Why not.
    pub reason: String,
}

/// The results of all changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Rows that change by half a percent or more, or whose verdict changes.
    pub moved: Vec<Sensitivity>,
    /// Changes that could not be tried.
    pub refused: Vec<Refused>,
}

/// A parameter that declares a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// Its key.
    pub parameter: String,
    /// Its value on the machine.
    pub value: f64,
    /// Its source.
    pub source: String,
    /// The range.
    pub range: [f64; 2],
}

impl Assumption {
    /// The values to try: the ends of the range.
    pub fn trials(&self) -> Vec<f64> {
        let ends = self.range.into_iter();
        ends.filter(|&end| end != self.value).collect()
    }
}

/// The parameters of a machine that declare a range, of those named or of all.
///
/// # Errors
/// A parameter that does not exist.
pub fn assumptions(
    machine: &Parameters,
    parameters: &[String],
) -> Result<Vec<Assumption>, ParameterError> {
    for key in parameters {
        machine.get(key)?;
    }
    let assumed = machine
        .iter()
        .filter(|(key, _)| parameters.is_empty() || parameters.iter().any(|it| it == key));
    Ok(assumed
        .filter_map(|(key, it)| {
            Some(Assumption {
                parameter: key.to_owned(),
                value: it.value,
                source: it.source.clone(),
                range: it.range?,
            })
        })
        .collect())
}

/// Tries the changes of each assumption on the rows with those ids, or on all
/// rows that a model computes and that count, on at most `threads` threads.
/// `progress` is called once for each assumption.
///
/// The rows run with the given effort, so that their values before a change are
/// those that [`reproduce`](super::reproduce()) reports with it.
///
/// # Errors
/// An id that no row has, and models that fail with the machine as it is.
pub fn sensitivity(
    model: &dyn Model,
    machine: &Parameters,
    ids: &[&str],
    assumptions: &[Assumption],
    effort: Effort,
    threads: NonZero<usize>,
    progress: impl Fn() + Sync,
) -> Result<Study, ReproduceError> {
    let table = registry(published(model.published())?, &model.entries())?;
    for id in ids {
        if table.iter().all(|(row, _)| row.id != *id) {
            return Err(unknown(id, &table));
        }
    }
    let rows: Vec<(Published, &'static Entry)> = table
        .into_iter()
        .filter(|(row, entry)| {
            let counts = entry.standing == Standing::Compared
                && matches!(entry.computation, Computation::Measured(_));
            if ids.is_empty() {
                counts
            } else {
                ids.contains(&row.id.as_str())
            }
        })
        .collect();
    let bench = Bench::new(machine.clone(), &[], effort);
    let before = rows
        .iter()
        .map(|(row, entry)| compare::row(row.clone(), entry, &bench))
        .collect::<Result<Vec<Row>, Failure>>()?;
    let studies = parallel::map(assumptions, threads, |assumption| {
        let study = moved_by(assumption, &bench, &before);
        progress();
        study
    });
    let mut all = Study::default();
    for study in studies {
        all.moved.extend(study.moved);
        all.refused.extend(study.refused);
    }
    Ok(all)
}

/// The rows that move with an assumption.
fn moved_by(assumption: &Assumption, bench: &Bench, before: &[Row]) -> Study {
    const LEAST_PERCENT: f64 = 0.5;

    let key = &assumption.parameter;
    let mut study = Study::default();
    for to in assumption.trials() {
        let changed = bench.changed(&[(key.clone(), to)]);
        for one in before {
            let id = &one.published.id;
            let other = match compare::row(one.published.clone(), one.entry, &changed) {
                Ok(other) => other,
                Err(error) => {
                    study.refused.push(Refused {
                        parameter: key.clone(),
                        to,
                        id: id.clone(),
                        reason: error.to_string(),
                    });
                    continue;
                }
            };
            let Some((before, after)) = most_changed(one, &other) else {
                continue;
            };
            let moved = Sensitivity {
                parameter: key.clone(),
                source: assumption.source.clone(),
                from: assumption.value,
                to,
                id: id.clone(),
                quantity: one.published.quantity.clone(),
                before,
                after,
                verdicts: [one.verdict, other.verdict],
            };
            if moved.flips() || change_percent(before, after).abs() >= LEAST_PERCENT {
                study.moved.push(moved);
            }
        }
    }
    study
}

/// The number of a row that changes most, before and after.
fn most_changed(before: &Row, after: &Row) -> Option<(f64, f64)> {
    let pairs = before
        .values
        .iter()
        .copied()
        .zip(after.values.iter().copied());
    pairs.max_by(|one, other| {
        let size = |&(before, after): &(f64, f64)| change_percent(before, after).abs();
        size(one).total_cmp(&size(other))
    })
}

fn change_percent(before: f64, after: f64) -> f64 {
    if before == after {
        0.0
    } else {
        100.0 * (after - before) / before.abs()
    }
}

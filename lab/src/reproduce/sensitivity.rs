//! How far results depend on parameters that are not printed in a source:
//! each is changed alone, over the range that its source declares.

use std::num::NonZero;

use super::{Bench, Class, Effort, Published, ReproduceError, Row, compare, published, with_model};
use crate::failure::ModelError;
use crate::machine::Tag;
use crate::parallel;

/// The rows that are watched beside all orderings: rates of AES, MMH,
/// inspection and sketches, power and scaling.
pub const HEADLINES: [&str; 19] = [
    "imagine-026",
    "imagine-029",
    "imagine-039",
    "imagine-044",
    "imagine-045",
    "imagine-055",
    "imagine-056",
    "imagine-058",
    "imagine-059",
    "imagine-071",
    "imagine-072",
    "imagine-073",
    "imagine-074",
    "imagine-076",
    "imagine-080",
    "imagine-083",
    "imagine-096",
    "imagine-100",
    "imagine-101",
];

/// Parameters that the rows themselves set, so that a change of the machine
/// file's value has no effect.
const SET_BY_ROWS: [&str; 3] = ["clusters", "cluster.adders", "cluster.scratchpads"];

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
    /// Whether a comparison that held fails with the change, or the other way.
    pub flips: bool,
}

/// A change that a machine, a kernel or a program does not allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The parameter.
    pub parameter: String,
    /// The changed value.
    pub to: f64,
    /// Why not.
    pub reason: String,
}

/// The results of all changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// Rows that change by half a percent or more, or whose comparison flips.
    pub moved: Vec<Sensitivity>,
    /// Changes that could not be tried.
    pub refused: Vec<Refused>,
}

/// A parameter without a printed value.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// Its key.
    pub parameter: String,
    /// Its value on the machine.
    pub value: f64,
    /// Its source.
    pub source: String,
    /// The range that the source declares.
    pub range: Option<[f64; 2]>,
}

impl Assumption {
    /// The values to try: the ends of the declared range, or 20 % up and down,
    /// and at least one for a whole number.
    pub fn trials(&self) -> Vec<f64> {
        const STEP: f64 = 0.2;
        let value = self.value;
        let ends = self.range.unwrap_or_else(|| {
            let size = if value.fract() == 0.0 {
                (value * STEP).round().max(1.0)
            } else {
                value * STEP
            };
            [value - size, value + size]
        });
        ends.into_iter().filter(|&end| end != value).collect()
    }
}

/// Imagine's parameters with a source of tag `T`, `D`, `R` or `C`: of those
/// named, or all but those that the rows set.
///
/// # Errors
/// A parameter that does not exist.
pub fn assumptions(parameters: &[String]) -> Result<Vec<Assumption>, ModelError> {
    let machine = Bench::new(Effort::SHORT).imagine(3, 1)?;
    if let Some(unknown) = parameters
        .iter()
        .find(|wanted| machine.parameters().iter().all(|(key, _)| key != *wanted))
    {
        // The error lists the parameters that exist.
        machine.with(unknown, 0.0)?;
    }
    let read = [Tag::Thesis, Tag::Derived, Tag::Recalled, Tag::Calibrated];
    let assumed = machine
        .parameters()
        .iter()
        .filter(|(key, it)| read.contains(&it.tag) && !SET_BY_ROWS.contains(key))
        .filter(|(key, _)| parameters.is_empty() || parameters.iter().any(|it| it == key));
    Ok(assumed
        .map(|(key, it)| Assumption {
            parameter: key.to_owned(),
            value: it.value,
            source: it.source.clone(),
            range: it.range,
        })
        .collect())
}

/// Tries the changes of each assumption, on at most that many threads.
/// `progress` is called once for each assumption.
///
/// The rows run with the given effort, so that their values before a change are
/// those that [`super::reproduce`] reports with it.
///
/// # Errors
/// Models that fail with the machine as it is.
pub fn sensitivity(
    assumptions: &[Assumption],
    effort: Effort,
    threads: NonZero<usize>,
    progress: impl Fn() + Sync,
) -> Result<Study, ReproduceError> {
    let mut rows = published();
    let mut watched = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        let (row, entry) = with_model(row)?;
        if HEADLINES.contains(&row.id.as_str()) || entry.class() == Class::Ordering {
            watched.push(row);
        }
    }
    of_rows(&watched, assumptions, effort, threads, progress)
}

/// The same for those rows alone.
pub(super) fn of_rows(
    rows: &[Published],
    assumptions: &[Assumption],
    effort: Effort,
    threads: NonZero<usize>,
    progress: impl Fn() + Sync,
) -> Result<Study, ReproduceError> {
    let mut bench = Bench::new(effort);
    let before = results(rows, &mut bench)?;
    let studies = parallel::map(assumptions, threads, |assumption| {
        let study = moved_by(assumption, rows, &bench, &before);
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
fn moved_by(assumption: &Assumption, rows: &[Published], bench: &Bench, before: &[Row]) -> Study {
    const LEAST_PERCENT: f64 = 0.5;

    let key = &assumption.parameter;
    let mut study = Study::default();
    for to in assumption.trials() {
        let after = match results(rows, &mut bench.changed(key, to)) {
            Ok(after) => after,
            Err(error) => {
                study.refused.push(Refused {
                    parameter: key.clone(),
                    to,
                    reason: error.to_string(),
                });
                continue;
            }
        };
        for (one, other) in before.iter().zip(&after) {
            let flips = one.class == Class::Ordering && one.verdict != other.verdict;
            let Some((before, after)) = most_changed(one, other) else {
                continue;
            };
            if flips || change_percent(before, after).abs() >= LEAST_PERCENT {
                study.moved.push(Sensitivity {
                    parameter: key.clone(),
                    source: assumption.source.clone(),
                    from: assumption.value,
                    to,
                    id: one.published.id.clone(),
                    quantity: one.published.quantity.clone(),
                    before,
                    after,
                    flips,
                });
            }
        }
    }
    study
}

fn results(rows: &[Published], bench: &mut Bench) -> Result<Vec<Row>, ReproduceError> {
    rows.iter()
        .map(|row| {
            let (row, entry) = with_model(row.clone())?;
            Ok(compare::row(row, &entry, bench)?)
        })
        .collect()
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

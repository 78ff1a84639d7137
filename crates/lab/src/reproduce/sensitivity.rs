//! Which assumption carries which result: parameters without a published
//! value, changed one at a time.

use crate::failure::ModelError;
use std::num::NonZero;

use super::{Bench, Class, Effort, Published, Row, compare, published};
use crate::machine::Tag;
use crate::parallel;

/// The rows that are watched beside all orderings: rates of AES, MMH,
/// inspection and sketches, power and scaling.
pub const HEADLINES: [&str; 18] = [
    "imagine-026",
    "imagine-029",
    "imagine-039",
    "imagine-044",
    "imagine-045",
    "imagine-055",
    "imagine-056",
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

/// What a change of a parameter does to a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The parameter.
    pub parameter: String,
    /// Its source.
    pub source: String,
    /// Its value on the machine.
    pub from: f64,
    /// Its value now.
    pub to: f64,
    /// The row.
    pub id: String,
    /// What the row states.
    pub quantity: String,
    /// The model's number with the machine as it is.
    pub before: f64,
    /// The model's number now.
    pub after: f64,
    /// Whether a comparison that held fails now, or the other way.
    pub flips: bool,
}

/// A parameter without a published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// Its key.
    pub parameter: String,
    /// Its value on the machine.
    pub value: f64,
    /// Its source.
    pub source: String,
}

/// Imagine's parameters that are derived, recalled or calibrated: of those
/// named, or all.
///
/// # Errors
/// A parameter that is not there.
pub fn assumptions(parameters: &[String]) -> Result<Vec<Assumption>, ModelError> {
    let machine = Bench::new(EFFORT).imagine(3, 1)?;
    if let Some(unknown) = parameters
        .iter()
        .find(|wanted| machine.parameters().iter().all(|(key, _)| key != *wanted))
    {
        // Says which parameters there are.
        machine.with(unknown, 0.0)?;
    }
    let assumed = machine
        .parameters()
        .iter()
        .filter(|(_, it)| matches!(it.tag, Tag::Derived | Tag::Recalled | Tag::Calibrated))
        .filter(|(key, _)| parameters.is_empty() || parameters.iter().any(|it| it == key));
    Ok(assumed
        .map(|(key, it)| Assumption {
            parameter: key.to_owned(),
            value: it.value,
            source: it.source.clone(),
        })
        .collect())
}

/// Eight packets of the largest size are enough for differences.
const EFFORT: Effort = Effort { blocks: 768 };

/// Changes each assumption by 20 %, and by no less than one where it is a whole
/// number, up and down, on no more threads than that. Rows that move by less
/// than half a percent are left out; `progress` is told when an assumption is
/// done.
///
/// # Errors
/// Models that fail with the machine as it is. A change that a machine or
/// kernel does not allow is left out.
pub fn sensitivity(
    assumptions: &[Assumption],
    threads: NonZero<usize>,
    progress: impl Fn() + Sync,
) -> Result<Vec<Sensitivity>, ModelError> {
    let rows: Vec<Published> = published()
        .into_iter()
        .filter(|row| {
            HEADLINES.contains(&row.id.as_str()) || compare::class_of(row) == Class::Ordering
        })
        .collect();
    of_rows(&rows, assumptions, threads, progress)
}

/// The same for those rows alone.
pub(super) fn of_rows(
    rows: &[Published],
    assumptions: &[Assumption],
    threads: NonZero<usize>,
    progress: impl Fn() + Sync,
) -> Result<Vec<Sensitivity>, ModelError> {
    let mut bench = Bench::new(EFFORT);
    let before = watched(rows, &mut bench)?;
    let found = parallel::map(assumptions, threads, |assumption| {
        let found = moved_by(assumption, rows, &bench, &before);
        progress();
        found
    });
    Ok(found.into_iter().flatten().collect())
}

/// The rows that move with an assumption.
fn moved_by(
    assumption: &Assumption,
    rows: &[Published],
    bench: &Bench,
    before: &[Row],
) -> Vec<Sensitivity> {
    const STEP: f64 = 0.2;
    const LEAST_PERCENT: f64 = 0.5;

    let (key, from) = (&assumption.parameter, assumption.value);
    let size = if from.fract() == 0.0 {
        (from * STEP).round().max(1.0)
    } else {
        from * STEP
    };
    let mut found = Vec::new();
    for to in [from - size, from + size] {
        let Ok(after) = watched(rows, &mut bench.changed(key, to)) else {
            continue;
        };
        for (one, other) in before.iter().zip(&after) {
            let (Some(was), Some(is)) = (first_number(one), first_number(other)) else {
                continue;
            };
            if 100.0 * (is / was - 1.0).abs() >= LEAST_PERCENT {
                found.push(Sensitivity {
                    parameter: key.clone(),
                    source: assumption.source.clone(),
                    from,
                    to,
                    id: one.published.id.clone(),
                    quantity: one.published.quantity.clone(),
                    before: was,
                    after: is,
                    flips: is_ordering(one) && one.verdict != other.verdict,
                });
            }
        }
    }
    found
}

fn is_ordering(row: &Row) -> bool {
    row.class == Class::Ordering
}

fn watched(rows: &[Published], bench: &mut Bench) -> Result<Vec<Row>, ModelError> {
    let rows = rows.iter().cloned();
    rows.map(|row| compare::row(row, bench)).collect()
}

/// The model's first number.
fn first_number(row: &Row) -> Option<f64> {
    row.values.first().copied()
}

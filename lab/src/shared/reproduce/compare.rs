//! Compares the values of a computation with the published ones.

use super::published::{Claim, Published, Relation};
use super::row::{Row, Verdict};
use crate::shared::model::{Bench, Entry, Failure, Standing, digits};

/// Computes a row and compares it.
pub(super) fn row(
    published: Published,
    entry: &'static Entry,
    bench: &Bench,
) -> Result<Row, Failure> {
    Ok(judged(published, entry, entry.values(bench)?))
}

/// The row of some values.
pub(super) fn judged(published: Published, entry: &'static Entry, values: Option<Vec<f64>>) -> Row {
    let mut claim = Claim::of(&published.value);
    claim
        .numbers
        .extend(entry.in_numbers.iter().map(|&number| (number, 0.0)));
    let error_percent = values.as_ref().and_then(|values| error(&claim, values));
    let verdict = match (&values, entry.standing) {
        (None, _) => Verdict::ReferenceOnly,
        (_, Standing::SourceInconsistent) => Verdict::SourceInconsistent,
        (_, Standing::SubstitutedWorkload) => Verdict::SubstitutedWorkload,
        (Some(values), Standing::Compared) => {
            if agrees(&claim, values, entry.tolerance_percent) {
                Verdict::Agrees
            } else {
                Verdict::Differs
            }
        }
    };
    Row {
        published,
        entry,
        modelled: values.as_deref().map(text),
        values: values.unwrap_or_default(),
        error_percent,
        verdict,
    }
}

/// The largest relative error, in percent. A published 0 has none.
fn error(claim: &Claim, values: &[f64]) -> Option<f64> {
    let errors = claim
        .numbers
        .iter()
        .zip(values)
        .filter(|((stated, _), _)| *stated != 0.0)
        .map(|((stated, _), value)| 100.0 * (value - stated) / stated.abs());
    errors.max_by(|one, other| one.abs().total_cmp(&other.abs()))
}

/// Whether values agree with a claim: each number within its rounding or the
/// tolerance, or beyond its bound.
pub(super) fn agrees(claim: &Claim, values: &[f64], tolerance_percent: f64) -> bool {
    !values.is_empty()
        && values.len() <= claim.numbers.len()
        && claim
            .numbers
            .iter()
            .zip(values)
            .all(|((stated, half), value)| match claim.relation {
                Relation::Below => value < stated,
                Relation::Above => value >= stated,
                Relation::Is => {
                    let room = half.max(stated.abs() * tolerance_percent / 100.0);
                    (value - stated).abs() <= room * (1.0 + 1e-9)
                }
            })
}

/// Values as text.
fn text(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(|&value| digits(value)).collect();
    words.join("; ")
}

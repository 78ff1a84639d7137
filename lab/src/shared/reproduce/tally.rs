//! Counts of verdicts, by row and by independent quantity.

use std::collections::BTreeMap;

use super::row::{Row, Verdict};
use crate::shared::model::Class;

/// A line of the tally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What is counted.
    pub outcome: &'static str,
    /// Rows with that outcome, and rows that could have it.
    pub rows: [usize; 2],
    /// The same of independent quantities: a quantity has the outcome if all its
    /// rows have it.
    pub quantities: [usize; 2],
}

/// The tally of a report.
pub fn tally(rows: &[Row]) -> Vec<Tally> {
    let is = |verdict: Verdict| move |row: &Row| row.verdict == verdict;
    let is_compared = |row: &Row| matches!(row.verdict, Verdict::Agrees | Verdict::Differs);
    let agrees = is(Verdict::Agrees);
    let predicted = |class: Class| {
        move |row: &Row| row.entry.class == class && !row.entry.fitted && is_compared(row)
    };
    let within = |percent: f64| {
        move |row: &Row| {
            row.error_percent
                .is_some_and(|error| error.abs() <= percent)
        }
    };
    let all = |_: &Row| true;
    vec![
        line("agrees", rows, all, agrees),
        line("  fitted", rows, |row| row.entry.fitted, agrees),
        line("  closed forms", rows, predicted(Class::ClosedForm), agrees),
        line(
            "  configuration",
            rows,
            predicted(Class::Configuration),
            agrees,
        ),
        line("  orderings", rows, predicted(Class::Ordering), agrees),
        line(
            "  simulated and predicted",
            rows,
            predicted(Class::Simulated),
            agrees,
        ),
        line("differs", rows, all, is(Verdict::Differs)),
        line(
            "source inconsistent",
            rows,
            all,
            is(Verdict::SourceInconsistent),
        ),
        line(
            "substituted workload",
            rows,
            all,
            is(Verdict::SubstitutedWorkload),
        ),
        line("reference only", rows, all, is(Verdict::ReferenceOnly)),
        line(
            "simulated and predicted, within 15 %",
            rows,
            predicted(Class::Simulated),
            within(15.0),
        ),
        line(
            "simulated and predicted, within 30 %",
            rows,
            predicted(Class::Simulated),
            within(30.0),
        ),
    ]
}

/// Counts rows that could have an outcome, and of those the ones that have it.
fn line(
    outcome: &'static str,
    rows: &[Row],
    could: impl Fn(&Row) -> bool,
    has: impl Fn(&Row) -> bool,
) -> Tally {
    let mut of_rows = [0; 2];
    let mut quantities: BTreeMap<&str, bool> = BTreeMap::new();
    for row in rows.iter().filter(|row| could(row)) {
        let has = has(row);
        of_rows[0] += usize::from(has);
        of_rows[1] += 1;
        let all_have = quantities.entry(row.quantity()).or_insert(true);
        *all_have &= has;
    }
    let with = quantities.values().filter(|&&all_have| all_have).count();
    Tally {
        outcome,
        rows: of_rows,
        quantities: [with, quantities.len()],
    }
}

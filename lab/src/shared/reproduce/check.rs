//! Checks of a report: values on record, and computations that compute nothing.

use super::row::Row;
use crate::shared::model::{Bench, Class, Computation, Entry, Failure, Standing};

/// The values of all rows as a table, for a file of golden values.
pub fn golden_table(rows: &[Row]) -> String {
    let mut table = "id,values\n".to_owned();
    for row in rows {
        let values: Vec<String> = row.values.iter().map(f64::to_string).collect();
        table += &format!("{},{}\n", row.published.id, values.join(" "));
    }
    table
}

/// The ids of a table of values, each with its values as they are written.
pub(super) fn values_by_id(table: &str) -> Vec<(&str, Vec<&str>)> {
    let lines = table.lines().skip(1).map(|line| {
        let (id, values) = line.split_once(',').unwrap_or((line, ""));
        (id, values.split_whitespace().collect())
    });
    lines.collect()
}

/// Where rows and a table of golden values differ: a line for each, which names
/// the row. Elementary functions may differ in the last bits between platforms,
/// so values may differ by one part in 10⁹.
pub fn golden_differences(rows: &[Row], golden: &str) -> Vec<String> {
    let golden = values_by_id(golden);
    let mut differences = Vec::new();
    for row in rows {
        let id = &row.published.id;
        let Some((_, expected)) = golden.iter().find(|(golden, _)| golden == id) else {
            differences.push(format!("{id}: there is no golden value"));
            continue;
        };
        let is_same = |(value, expected): (&f64, &&str)| {
            expected
                .parse::<f64>()
                .is_ok_and(|expected| (value - expected).abs() <= 1e-9 * expected.abs())
        };
        if row.values.len() != expected.len() || !row.values.iter().zip(expected).all(is_same) {
            differences.push(format!("{id}: {:?}, golden {expected:?}", row.values));
        }
    }
    for (id, _) in &golden {
        if rows.iter().all(|row| row.published.id != *id) {
            differences.push(format!("{id}: there is no such row"));
        }
    }
    differences
}

/// Whether an entry computes something: a literal in place of a computation is
/// found.
///
/// The value of a formula has to change with each of its inputs. A simulated row
/// or an ordering has to change, or to become impossible, on one of `others`,
/// benches whose machines differ. A property of machine or program, and a row with a
/// substituted workload, has to read something from the bench. References compute
/// nothing.
///
/// # Errors
/// Models that fail on `bench`.
pub fn depends_on_its_inputs(
    entry: &Entry,
    bench: &Bench,
    others: &[Bench],
) -> Result<bool, Failure> {
    match entry.computation {
        Computation::Absent => Ok(entry.class == Class::Reference),
        Computation::Formula(inputs, of) => {
            let inputs: Vec<f64> = inputs.iter().map(|(_, value)| *value).collect();
            let values = of(&inputs);
            Ok(!inputs.is_empty()
                && (0..inputs.len()).all(|changed| {
                    let mut inputs = inputs.clone();
                    inputs[changed] *= 3.0;
                    of(&inputs) != values
                }))
        }
        Computation::Measured(of) => {
            // The caches of this one show what the entry itself reads.
            let fresh = bench.changed(&[]);
            let values = of(&fresh)?;
            let moves = matches!(entry.class, Class::Simulated | Class::Ordering)
                && entry.standing != Standing::SubstitutedWorkload;
            if moves {
                let changes = |other: &Bench| of(other).map_or(true, |it| it != values);
                Ok(others.iter().any(changes))
            } else {
                Ok(fresh.is_used())
            }
        }
    }
}

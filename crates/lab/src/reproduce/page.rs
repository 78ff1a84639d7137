//! The report as a page: verdicts, pictures, every row, and every parameter
//! with its source.

use crate::failure::ModelError;
use std::collections::BTreeMap;

use super::{Class, Row, Verdict, figures, ratios};
use crate::machine::{Machine, Tag};
use crate::report::{Cell, Look, Page};

/// How many simulated rows, predicted and comparable, are within so many
/// percent, of how many.
pub fn predicted_within(rows: &[Row], percent: f64) -> (usize, usize) {
    let errors: Vec<f64> = rows
        .iter()
        .filter(|row| !row.fitted && row.class == Class::Simulated)
        .filter(|row| matches!(row.verdict, Verdict::Agrees | Verdict::Differs))
        .filter_map(|row| row.error_percent)
        .collect();
    let near = errors.iter().filter(|error| error.abs() <= percent);
    (near.count(), errors.len())
}

/// How often each verdict is given, and how well simulated rows are predicted.
pub fn summary(rows: &[Row]) -> Vec<(String, String)> {
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *verdicts.entry(row.verdict.name()).or_default() += 1;
    }
    let verdicts = verdicts
        .into_iter()
        .map(|(verdict, count)| (verdict.to_owned(), count.to_string()));
    let within = [15.0, 30.0].map(|percent| {
        let (near, all) = predicted_within(rows, percent);
        (
            format!("simulated and predicted, within {percent} %"),
            format!("{near} of {all}"),
        )
    });
    verdicts.chain(within).collect()
}

/// The page.
///
/// # Errors
/// Models that fail.
pub fn page(rows: &[Row]) -> Result<String, ModelError> {
    let mut page = Page::new("The stream thesis beside its model");
    page.text(
        "What Lai, Packet Processing on Stream Architecture (2006), states, beside what \
         the models of this program give. Rows marked as fitted set a parameter of the \
         machine and prove nothing.",
    );
    let cells: Vec<Vec<Cell>> = summary(rows)
        .into_iter()
        .map(|(name, count)| vec![(Look::Words, name), (Look::Number, count)])
        .collect();
    page.table(&["rows", ""], &cells);

    page.heading("Modelled over published");
    page.text(
        "Green agrees, red differs, yellow cannot count (the source's own numbers \
         exclude each other, or the workload is another); hollow was used to fit. The \
         bands are 15 and 30 %.",
    );
    page.picture(&ratios::svg(rows));
    page.heading("Figures");
    for plot in figures::figures()? {
        page.plot(&plot);
    }
    page.heading("Every row");
    let cells: Vec<Vec<Cell>> = rows.iter().map(cells_of).collect();
    page.table(&Row::HEADER, &cells);
    parameters(&mut page)?;
    Ok(page.finish())
}

fn cells_of(row: &Row) -> Vec<Cell> {
    let verdict = match row.verdict {
        Verdict::Agrees => Look::Good,
        Verdict::Differs => Look::Bad,
        Verdict::SourceInconsistent | Verdict::SubstitutedWorkload => Look::Odd,
        Verdict::ReferenceOnly => Look::None,
    };
    let heads = Row::HEADER.into_iter().zip(row.cells());
    heads
        .map(|(head, words)| match head {
            "quantity" => {
                let conditions = &row.published.conditions;
                (Look::Words, format!("{words} {conditions}"))
            }
            "error %" => (Look::Number, words),
            "verdict" => (verdict, words),
            _ => (Look::Words, words),
        })
        .collect()
}

/// All parameters, those that are calibrated first.
fn parameters(page: &mut Page) -> Result<(), ModelError> {
    let machine = Machine::load("imagine", &[])?;
    page.heading("Parameters of the machine");
    page.text(
        "One value for all experiments; experiments differ in adders, multipliers and \
         scratchpads alone, as the thesis's do. Tags: T the thesis, P other published \
         text, D derived, R recalled and not read again, C calibrated.",
    );
    let mut known: Vec<_> = machine.parameters().iter().collect();
    known.sort_by_key(|(_, parameter)| std::cmp::Reverse(parameter.tag));
    let cells: Vec<Vec<Cell>> = known
        .into_iter()
        .map(|(key, parameter)| {
            let look = match parameter.tag {
                Tag::Calibrated | Tag::Set => Look::Odd,
                _ => Look::Words,
            };
            vec![
                (Look::Words, key.to_owned()),
                (Look::Number, parameter.value.to_string()),
                (look, parameter.source.clone()),
            ]
        })
        .collect();
    page.table(&["parameter", "value", "source"], &cells);
    Ok(())
}

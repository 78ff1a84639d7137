//! The report as an HTML page: the tally, figures, every row, and every
//! parameter with its source.

use crate::failure::ModelError;

use super::{Row, Verdict, figures, ratios, tally};
use crate::machine::{Machine, Tag};
use crate::report::{Cell, Look, Page};

/// The page.
///
/// # Errors
/// Models that fail.
pub fn page(rows: &[Row]) -> Result<String, ModelError> {
    let mut page = Page::new("The stream thesis beside its model");
    page.text(
        "The values that Lai, Packet Processing on Stream Architecture (2006), states, each \
         beside the value of a model. Rows marked as fitted were used to set a parameter of \
         the machine; they do not validate the model. Rows that measure one quantity count \
         once in the column of quantities, by the worst of them.",
    );
    let of = |[some, all]: [usize; 2]| format!("{some} of {all}");
    let cells: Vec<Vec<Cell>> = tally(rows)
        .into_iter()
        .map(|line| {
            vec![
                (Look::Words, line.outcome.trim().to_owned()),
                (Look::Number, of(line.rows)),
                (Look::Number, of(line.quantities)),
            ]
        })
        .collect();
    page.table(&["outcome", "rows", "quantities"], &cells);

    page.heading("Modelled over published");
    page.text(
        "Green: agrees. Red: differs. Yellow: not counted, because the source contradicts \
         itself or the workload is substituted. Hollow: used to fit. The bands are 15 and \
         30 %.",
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

/// All parameters, calibrated ones first.
fn parameters(page: &mut Page) -> Result<(), ModelError> {
    let machine = Machine::load("imagine", &[])?;
    page.heading("Parameters of the machine");
    page.text(
        "All rows use one set of values; they differ only in adders and scratchpads, as the \
         thesis's runs do. Tags: T the thesis, P other published text, D derived, R recalled \
         and not read again, C calibrated.",
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

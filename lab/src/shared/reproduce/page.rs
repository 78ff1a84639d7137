//! The report as an HTML page: the tally, figures, every row, and every
//! parameter with its source.

use super::ratios;
use super::row::{Row, Verdict};
use super::tally::tally;
use crate::shared::model::{Bench, Effort, Failure, Model};
use crate::shared::parameters::{Parameters, Tag};
use crate::shared::report::{Cell, Look, Page};

/// The headings of the table of rows.
const HEADER: [&str; 11] = [
    "id",
    "where",
    "quantity",
    "published",
    "modelled",
    "when frozen",
    "unit",
    "error %",
    "class",
    "verdict",
    "note",
];

/// The page of a model's rows on a machine. Curves are of short runs.
///
/// # Errors
/// Models that fail.
pub fn page(
    model: &dyn Model,
    machine: &Parameters,
    changes: &[(String, f64)],
    rows: &[Row],
    frozen: &[Row],
) -> Result<String, Failure> {
    let [title, introduction] = model.title();
    let mut page = Page::new(title);
    page.text(introduction);
    page.text(
        "Rows marked as fitted were used to set a parameter of the machine; they do not \
         validate the model. Rows that measure one quantity count once in the column of \
         quantities, by the worst of them.",
    );
    let of = |[some, all]: [usize; 2]| (Look::Number, format!("{some} of {all}"));
    let cells: Vec<Vec<Cell>> = tally(rows)
        .into_iter()
        .zip(tally(frozen))
        .map(|(line, then)| {
            vec![
                (Look::Words, line.outcome.trim().to_owned()),
                of(line.rows),
                of(line.quantities),
                of(then.rows),
                of(then.quantities),
            ]
        })
        .collect();
    let header = [
        "outcome",
        "rows",
        "quantities",
        "rows when frozen",
        "quantities when frozen",
    ];
    page.table(&header, &cells);

    page.heading("Modelled over published");
    page.text(
        "Green: agrees. Red: differs. Yellow: not counted, because the source contradicts \
         itself or the workload is substituted. Hollow: used to fit. The bands are 15 and \
         30 %.",
    );
    page.picture(&ratios::svg(rows));
    let figures = model.figures(&Bench::new(machine.clone(), changes, Effort::Short))?;
    if !figures.is_empty() {
        page.heading("Figures");
    }
    for plot in figures {
        page.plot(&plot);
    }
    page.heading("Every row");
    let cells: Vec<Vec<Cell>> = rows.iter().map(|row| cells_of(row, frozen)).collect();
    page.table(&HEADER, &cells);
    parameters(&mut page, &machine.with(changes)?);
    Ok(page.finish())
}

fn cells_of(row: &Row, frozen: &[Row]) -> Vec<Cell> {
    let published = &row.published;
    let then = (frozen.iter()).find(|then| then.published.id == published.id);
    let then = then.and_then(|then| then.modelled.as_deref());
    let verdict = match row.verdict {
        Verdict::Agrees => Look::Good,
        Verdict::Differs => Look::Bad,
        Verdict::SourceInconsistent | Verdict::SubstitutedWorkload => Look::Odd,
        Verdict::ReferenceOnly => Look::None,
    };
    let fitted = if row.entry.fitted { " (fitted)" } else { "" };
    let error = row.error_percent.map(|error| format!("{error:+.1}"));
    let words = |words: &str| (Look::Words, words.to_owned());
    vec![
        words(&published.id),
        words(&published.place),
        words(&format!("{} {}", published.quantity, published.conditions)),
        words(&published.value),
        words(row.modelled.as_deref().unwrap_or_default()),
        words(then.unwrap_or_default()),
        words(&published.unit),
        (Look::Number, error.unwrap_or_default()),
        words(row.entry.class.name()),
        (verdict, format!("{}{fitted}", row.verdict.name())),
        words(row.entry.note),
    ]
}

/// All parameters, those without a printed value first.
fn parameters(page: &mut Page, machine: &Parameters) {
    page.heading("Parameters of the machine");
    page.text(
        "All rows use one set of values, but for those that a row's workload names. Tags: P \
         printed in a publication, D derived from printed values, T a reading of a text, R \
         recalled and not read again, C calibrated, S set for this report.",
    );
    let mut known: Vec<_> = machine.iter().collect();
    known.sort_by_key(|(_, parameter)| std::cmp::Reverse(parameter.tag));
    let cells: Vec<Vec<Cell>> = known
        .into_iter()
        .map(|(key, parameter)| {
            let look = match parameter.tag {
                Tag::Calibrated | Tag::Set => Look::Odd,
                _ => Look::Words,
            };
            let range = parameter
                .range
                .map(|[least, most]| format!("{least} to {most}"));
            vec![
                (Look::Words, key.to_owned()),
                (Look::Number, parameter.value.to_string()),
                (Look::Number, range.unwrap_or_default()),
                (look, parameter.source.clone()),
            ]
        })
        .collect();
    page.table(&["parameter", "value", "range", "source"], &cells);
}

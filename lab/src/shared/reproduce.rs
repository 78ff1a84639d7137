//! Published values, each beside the value of a model.
//!
//! A model has a table of published values and a registry with an [`Entry`](super::model::Entry) for
//! each: its computation, class and tolerance, whether it was fitted, the
//! independent quantity, the workload, a note. Rows that were used to set a
//! parameter are marked as fitted: they do not validate the model. A row that
//! only repeats a parameter or a constant is a reference. A row whose published
//! workload is not available uses another one and does not count.
//!
//! The table has the columns id, where, quantity, value, unit and conditions.

pub use check::{depends_on_its_inputs, golden_differences, golden_table};
pub use failure::ReproduceError;
pub use page::page;
pub use published::{Claim, Published, RegistryError, Relation, published};
pub use registry::registry;
pub use row::{Row, Verdict};
pub use sensitivity::{Assumption, Refused, Sensitivity, Study, assumptions, sensitivity};
pub use tally::{Tally, tally};

use super::model::{Bench, Effort, Failure, Model};
use super::parameters::Parameters;

mod check;
mod compare;
mod failure;
mod page;
mod published;
mod ratios;
mod registry;
mod row;
mod sensitivity;
mod tally;
#[cfg(test)]
mod tests;

/// The rows of a model with those ids, or all of them, as they were when the model was
/// frozen, judged as today's are. A row that came later is not among them.
///
/// # Errors
/// A table without a registry.
pub fn frozen(model: &dyn Model, ids: &[String]) -> Result<Vec<Row>, ReproduceError> {
    let table = registry(published(model.published())?, &model.entries())?;
    let known = check::values_by_id(model.frozen().unwrap_or_default());
    let rows = table.into_iter().filter_map(|(published, entry)| {
        let (_, values) = known.iter().find(|(id, _)| *id == published.id)?;
        let is_asked_for = ids.is_empty() || ids.contains(&published.id);
        let values: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
        let values = values.filter(|values| !values.is_empty());
        is_asked_for.then(|| compare::judged(published, entry, values))
    });
    Ok(rows.collect())
}

/// The rows of a model with those ids, or all of them, on a machine some of whose
/// parameters are set to other values for all rows. `progress` receives how many
/// are done.
///
/// # Errors
/// An id that no row has, a table without a registry, a machine that the model
/// refuses, and models that fail.
pub fn reproduce(
    model: &dyn Model,
    machine: &Parameters,
    changes: &[(String, f64)],
    ids: &[String],
    effort: Effort,
    progress: impl Fn(usize),
) -> Result<Vec<Row>, ReproduceError> {
    let table = registry(published(model.published())?, &model.entries())?;
    for id in ids {
        if table.iter().all(|(row, _)| row.id != *id) {
            return Err(failure::unknown(id, &table));
        }
    }
    let changed = machine.with(changes).map_err(Failure::from)?;
    model.check(&changed).map_err(Failure::from)?;
    let bench = Bench::new(machine.clone(), changes, effort);
    table
        .into_iter()
        .filter(|(row, _)| ids.is_empty() || ids.contains(&row.id))
        .enumerate()
        .map(|(index, (published, entry))| {
            let row = compare::row(published, entry, &bench)?;
            progress(index + 1);
            Ok(row)
        })
        .collect()
}

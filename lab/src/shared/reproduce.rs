//! Published values, each beside the value of a model.
//!
//! A model has a table of published values and a registry with an [`Entry`] for
//! each: its computation, class and tolerance, whether it was fitted, the
//! independent quantity, the workload, a note. Rows that were used to set a
//! parameter are marked as fitted: they do not validate the model. A row that
//! only repeats a parameter or a constant is a reference. A row whose published
//! workload is not available uses another one and does not count.
//!
//! The table has the columns id, where, quantity, value, unit and conditions.

pub use bench::{Bench, Effort};
pub use check::{depends_on_its_inputs, golden_differences, golden_table};
pub use entry::{Class, Computation, Entry, Standing, Values};
pub use page::page;
pub use published::{Claim, Published, Relation, published};
pub use registry::{RegistryError, registry};
pub use sensitivity::{Assumption, Refused, Sensitivity, Study, assumptions, sensitivity};
pub use tally::{Tally, tally};

use super::model::{Failure, Model};
use super::parameters::Parameters;

mod bench;
mod check;
mod compare;
mod entry;
mod page;
mod published;
mod ratios;
mod registry;
mod sensitivity;
mod tally;
#[cfg(test)]
mod tests;

/// Why rows cannot be reproduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// No row has that name.
    #[error("no row is called {id}; there are {known}")]
    Unknown {
        /// The name.
        id: String,
        /// The names of all rows, in ranges.
        known: String,
    },
    /// A table and a registry that do not belong together.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A model that failed.
    #[error(transparent)]
    Model(#[from] Failure),
}

/// How a model and a publication compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Outside the tolerance; the note says why.
    Differs,
    /// The source contradicts itself; the note says where.
    SourceInconsistent,
    /// The published workload is not available: the model uses another one with
    /// the published statistics.
    SubstitutedWorkload,
    /// Not compared.
    ReferenceOnly,
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::SourceInconsistent => "source inconsistent",
            Verdict::SubstitutedWorkload => "substituted workload",
            Verdict::ReferenceOnly => "reference only",
        }
    }
}

/// A row of the report.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is published.
    pub published: Published,
    /// The registry's entry.
    pub entry: &'static Entry,
    /// The model's numbers, in the order of the published ones.
    pub values: Vec<f64>,
    /// The same as text.
    pub modelled: Option<String>,
    /// The model's relative error in percent; the largest where there are
    /// several numbers. None where the published number is 0.
    pub error_percent: Option<f64>,
    /// The outcome.
    pub verdict: Verdict,
}

impl Row {
    /// The independent quantity that the row measures: rows that measure one
    /// quantity share its name, another row has its own.
    pub fn quantity(&self) -> &str {
        self.entry.quantity.unwrap_or(&self.published.id)
    }

    /// The largest error with which the row agrees; none for references.
    pub fn tolerance_percent(&self) -> Option<f64> {
        let is_reference = self.entry.class == Class::Reference;
        (!is_reference).then_some(self.entry.tolerance_percent)
    }
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
            return Err(unknown(id, &table));
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

/// The error for an id that no row of a table has.
fn unknown(id: &str, table: &[(Published, &'static Entry)]) -> ReproduceError {
    ReproduceError::Unknown {
        id: id.to_owned(),
        known: published::names(table.iter().map(|(row, _)| row.id.as_str())),
    }
}

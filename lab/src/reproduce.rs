//! The values that the thesis states, each beside the value of a model.
//!
//! Rows that were used to set a free parameter of the machine are marked as
//! fitted: they do not validate the model. A row that only repeats a parameter
//! or a constant is a reference. A row whose trace is not available uses
//! another workload and does not count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub(crate) use closed_forms::bloom_false_positives;
pub use figures::figures;
pub use page::page;
pub use published::{Claim, Published, Relation, published};
pub use sensitivity::{
    Assumption, HEADLINES, Refused, Sensitivity, Study, assumptions, sensitivity,
};
pub use tally::{Tally, tally};

use compare::Entry;

use crate::applications::ProgramFailure;
use crate::failure::ModelError;
use crate::machine::{Machine, MachineError};
use crate::stream::Program;

mod aes;
mod chip;
mod closed_forms;
mod compare;
mod figures;
mod hashing;
mod inspection;
mod page;
mod patterns;
mod published;
mod quantities;
mod ratios;
mod references;
mod rows;
mod sensitivity;
mod sub_sketches;
mod substituted;
mod tally;

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
    /// The table has a row for which no model is registered.
    #[error("row {0}: no model is registered for it")]
    NoModel(String),
    /// A model that failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// What kind of statement a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic on given numbers.
    ClosedForm,
    /// A property of the machine or the program as it is set up.
    Configuration,
    /// A result of simulation or scheduling.
    Simulated,
    /// A comparison or a bound.
    Ordering,
    /// A value that the lab takes as given: a parameter, a constant of the text,
    /// or a citation. There is nothing to compare.
    Reference,
}

impl Class {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::ClosedForm => "closed_form",
            Class::Configuration => "configuration",
            Class::Simulated => "simulated",
            Class::Ordering => "ordering",
            Class::Reference => "reference",
        }
    }
}

/// How model and thesis compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Outside the tolerance; the note says why.
    Differs,
    /// The thesis contradicts itself; the note says where.
    SourceInconsistent,
    /// The thesis's trace is not available: the model uses another workload with
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
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the thesis states.
    pub published: Published,
    /// What kind of statement it is.
    pub class: Class,
    /// The model's numbers, in the order of the stated ones.
    pub values: Vec<f64>,
    /// The same as text.
    pub modelled: Option<String>,
    /// The model's relative error in percent; the largest where there are
    /// several numbers. None where the stated number is 0.
    pub error_percent: Option<f64>,
    /// The largest error with which the row still agrees.
    pub tolerance_percent: Option<f64>,
    /// Whether the row was used to set a parameter.
    pub fitted: bool,
    /// The outcome.
    pub verdict: Verdict,
    /// Why it differs, or what a reader has to know.
    pub note: String,
}

impl Row {
    /// The independent quantity that the row measures: rows that measure one
    /// quantity share its name, another row has its own.
    pub fn quantity(&self) -> &str {
        quantities::group_of(&self.published.id).unwrap_or(&self.published.id)
    }

    /// The headings of [`Row::cells`].
    pub const HEADER: [&str; 10] = [
        "id",
        "where",
        "quantity",
        "published",
        "modelled",
        "unit",
        "error %",
        "class",
        "verdict",
        "note",
    ];

    /// The row as text, for tables.
    pub fn cells(&self) -> [String; 10] {
        let published = self.published.clone();
        let fitted = if self.fitted { " (fitted)" } else { "" };
        let error = self.error_percent.map(|error| format!("{error:+.1}"));
        [
            published.id,
            published.place,
            published.quantity,
            published.value,
            self.modelled.clone().unwrap_or_default(),
            published.unit,
            error.unwrap_or_default(),
            self.class.name().to_owned(),
            format!("{}{fitted}", self.verdict.name()),
            self.note.clone(),
        ]
    }
}

/// How much work the experiments do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Blocks that AES runs of many packets encrypt.
    pub blocks: usize,
}

impl Effort {
    /// As much as the thesis's experiments.
    pub const FULL: Effort = Effort { blocks: 61_440 };
    /// A tenth of it: results per block differ by less than a percent.
    pub const SHORT: Effort = Effort { blocks: 6_144 };
}

/// The rows of those names, or all; `progress` receives how many are done, and
/// of how many.
///
/// # Errors
/// A name that no row has, a row without a model, and models that fail.
pub fn reproduce(
    ids: &[String],
    effort: Effort,
    progress: impl Fn(usize, usize),
) -> Result<Vec<Row>, ReproduceError> {
    let table = published();
    if let Some(unknown) = ids.iter().find(|id| table.iter().all(|row| row.id != **id)) {
        return Err(ReproduceError::Unknown {
            id: unknown.clone(),
            known: published::names(&table),
        });
    }
    let wanted: Vec<(Published, Entry)> = table
        .into_iter()
        .filter(|row| ids.is_empty() || ids.contains(&row.id))
        .map(with_model)
        .collect::<Result<_, _>>()?;
    let mut bench = Bench::new(effort);
    let count = wanted.len();
    wanted
        .into_iter()
        .enumerate()
        .map(|(index, (published, entry))| {
            let made = compare::row(published, &entry, &mut bench);
            progress(index + 1, count);
            Ok(made?)
        })
        .collect()
}

/// A row with its model.
fn with_model(published: Published) -> Result<(Published, Entry), ReproduceError> {
    match rows::entry(&published.id) {
        Some(entry) => Ok((published, entry)),
        None => Err(ReproduceError::NoModel(published.id)),
    }
}

/// Machines and results that several rows share.
struct Bench {
    effort: Effort,
    /// Parameters that every machine has changed.
    changes: Vec<(String, f64)>,
    programs: Arc<Mutex<HashMap<String, Vec<Arc<Program>>>>>,
    aes: aes::Runs,
}

impl Bench {
    fn new(effort: Effort) -> Bench {
        Bench {
            effort,
            changes: Vec::new(),
            programs: Arc::default(),
            aes: aes::Runs::default(),
        }
    }

    /// A bench whose machines are changed; what programs compute is known
    /// from this one.
    fn changed(&self, key: &str, value: f64) -> Bench {
        Bench {
            effort: self.effort,
            changes: vec![(key.to_owned(), value)],
            programs: Arc::clone(&self.programs),
            aes: aes::Runs::default(),
        }
    }

    /// The program of that name, written at its first use.
    fn program(
        &self,
        name: String,
        write: impl FnOnce() -> Result<Program, ProgramFailure>,
    ) -> Result<Arc<Program>, ModelError> {
        let written = self.programs(name, || Ok(vec![write()?]))?;
        Ok(Arc::clone(&written[0]))
    }

    /// The same for programs that belong together.
    fn programs(
        &self,
        name: String,
        write: impl FnOnce() -> Result<Vec<Program>, ProgramFailure>,
    ) -> Result<Vec<Arc<Program>>, ModelError> {
        // A thread that fails while it writes one leaves the others whole.
        let known = || {
            self.programs
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        if let Some(programs) = known().get(&name) {
            return Ok(programs.clone());
        }
        let programs: Vec<Arc<Program>> = write()?.into_iter().map(Arc::new).collect();
        known().insert(name, programs.clone());
        Ok(programs)
    }

    /// The machine of the thesis's experiments: Imagine with that many adders
    /// and scratchpads.
    fn imagine(&self, adders: u32, scratchpads: u32) -> Result<Machine, MachineError> {
        let mut changes = vec![
            ("cluster.adders".to_owned(), f64::from(adders)),
            ("cluster.scratchpads".to_owned(), f64::from(scratchpads)),
        ];
        changes.extend_from_slice(&self.changes);
        Machine::load("imagine", &changes)
    }

    /// Gigabits per second of a number of bits in a number of cycles.
    fn gbit_per_s(&self, bits: f64, cycles: f64) -> Result<f64, ModelError> {
        Ok(bits / cycles * self.imagine(3, 1)?.clock_mhz / 1000.0)
    }
}

#[cfg(test)]
mod tests;

//! Compares a row's model with what the thesis states.

use super::{Bench, Claim, Class, Published, Relation, Row, Verdict};
use crate::failure::ModelError;

/// The numbers of a model, in the order of the stated ones.
pub(super) type Values = Result<Vec<f64>, ModelError>;

/// How a row is modelled and compared.
pub(super) struct Entry {
    class: Class,
    model: Model,
    /// In percent; beyond the rounding of the printed value.
    tolerance: f64,
    fitted: bool,
    note: &'static str,
    /// Numbers for a statement that the thesis makes in words.
    in_numbers: &'static [f64],
}

enum Model {
    /// A model that is compared.
    Compared(Box<dyn Fn(&mut Bench) -> Values>),
    /// A model of a value that the thesis itself contradicts.
    Inconsistent(Box<dyn Fn(&mut Bench) -> Values>),
    /// A model with another workload.
    Substituted(Box<dyn Fn(&mut Bench) -> Values>),
    /// None.
    Reference,
}

/// Tolerance of simulated rows.
const SIMULATED: f64 = 15.0;

impl Entry {
    fn new(class: Class, tolerance: f64, model: Model) -> Entry {
        Entry {
            class,
            model,
            tolerance,
            fitted: false,
            note: "",
            in_numbers: &[],
        }
    }

    pub(super) fn closed(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::ClosedForm, 0.0, Model::Compared(Box::new(model)))
    }

    pub(super) fn configured(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::Configuration, 0.0, Model::Compared(Box::new(model)))
    }

    pub(super) fn simulated(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(
            Class::Simulated,
            SIMULATED,
            Model::Compared(Box::new(model)),
        )
    }

    pub(super) fn ordering(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::Ordering, SIMULATED, Model::Compared(Box::new(model)))
    }

    pub(super) fn inconsistent(
        class: Class,
        model: impl Fn(&mut Bench) -> Values + 'static,
    ) -> Entry {
        Entry::new(class, SIMULATED, Model::Inconsistent(Box::new(model)))
    }

    pub(super) fn substituted(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(
            Class::Simulated,
            SIMULATED,
            Model::Substituted(Box::new(model)),
        )
    }

    pub(super) fn reference() -> Entry {
        Entry::new(Class::Reference, 0.0, Model::Reference)
    }

    pub(super) fn note(mut self, note: &'static str) -> Entry {
        self.note = note;
        self
    }

    /// The numbers of a statement in words, after those that it prints.
    pub(super) fn in_numbers(mut self, numbers: &'static [f64]) -> Entry {
        self.in_numbers = numbers;
        self
    }

    pub(super) fn within(mut self, percent: f64) -> Entry {
        self.tolerance = percent;
        self
    }

    pub(super) fn fitted(mut self) -> Entry {
        self.fitted = true;
        self
    }
}

impl Entry {
    /// What kind of statement the row is.
    pub(super) fn class(&self) -> Class {
        self.class
    }
}

/// Compares a row with its model.
pub(super) fn row(
    published: Published,
    entry: &Entry,
    bench: &mut Bench,
) -> Result<Row, ModelError> {
    let (values, outcome) = match &entry.model {
        Model::Compared(model) => (Some(model(bench)?), None),
        Model::Inconsistent(model) => (Some(model(bench)?), Some(Verdict::SourceInconsistent)),
        Model::Substituted(model) => (Some(model(bench)?), Some(Verdict::SubstitutedWorkload)),
        Model::Reference => (None, Some(Verdict::ReferenceOnly)),
    };
    let mut claim = Claim::of(&published.value);
    claim
        .numbers
        .extend(entry.in_numbers.iter().map(|&number| (number, 0.0)));
    let error = values.as_ref().and_then(|values| error(&claim, values));
    let tolerance = values.is_some().then_some(entry.tolerance);
    let verdict = outcome.unwrap_or_else(|| {
        let agrees = values
            .as_ref()
            .is_some_and(|values| agrees(&claim, values, entry.tolerance));
        if agrees {
            Verdict::Agrees
        } else {
            Verdict::Differs
        }
    });
    Ok(Row {
        published,
        class: entry.class,
        modelled: values.as_deref().map(in_words),
        values: values.unwrap_or_default(),
        error_percent: error,
        tolerance_percent: tolerance,
        fitted: entry.fitted,
        verdict,
        note: entry.note.to_owned(),
    })
}

/// The largest relative error, in percent; a stated 0 has none.
fn error(claim: &Claim, values: &[f64]) -> Option<f64> {
    let errors = claim
        .numbers
        .iter()
        .zip(values)
        .filter(|((stated, _), _)| *stated != 0.0)
        .map(|((stated, _), value)| 100.0 * (value - stated) / stated.abs());
    errors.max_by(|one, other| one.abs().total_cmp(&other.abs()))
}

fn agrees(claim: &Claim, values: &[f64], tolerance_percent: f64) -> bool {
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

fn in_words(values: &[f64]) -> String {
    let words: Vec<String> = values
        .iter()
        .map(|&value| match value.abs() {
            0.0 => "0".to_owned(),
            size if size < 1e-3 => format!("{value:.2e}"),
            size if size < 10.0 => format!("{value:.3}"),
            size if size < 1000.0 && value.fract() != 0.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        })
        .collect();
    words.join("; ")
}

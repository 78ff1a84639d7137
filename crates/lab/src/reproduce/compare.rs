//! A row's model beside what the thesis states.

use super::{Bench, Claim, Class, Published, Relation, Row, Verdict, rows};
use crate::failure::ModelError;

/// Numbers, in the order of the stated ones.
pub(super) type Values = Result<Vec<f64>, ModelError>;

/// What is known of a row.
pub(super) struct Entry {
    class: Class,
    model: Model,
    /// In percent; beyond the rounding of the printed value.
    tolerance: f64,
    fitted: bool,
    note: &'static str,
    /// The numbers that the thesis's words stand for.
    in_numbers: &'static [f64],
    /// What a stated change of 0 is a change of.
    whole: Option<Whole>,
}

type Whole = Box<dyn Fn(&mut Bench) -> Result<f64, ModelError>>;

enum Model {
    /// Numbers, in the order of the stated ones.
    Gives(Box<dyn Fn(&mut Bench) -> Values>),
    /// Numbers, where the thesis's own exclude each other.
    Inconsistent(Box<dyn Fn(&mut Bench) -> Values>),
    /// Numbers from another workload.
    Substituted(Box<dyn Fn(&mut Bench) -> Values>),
    /// Cited from elsewhere.
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
            whole: None,
        }
    }

    pub(super) fn closed(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::ClosedForm, 0.0, Model::Gives(Box::new(model)))
    }

    pub(super) fn configured(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::Configuration, 0.0, Model::Gives(Box::new(model)))
    }

    pub(super) fn simulated(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::Simulated, SIMULATED, Model::Gives(Box::new(model)))
    }

    pub(super) fn ordering(model: impl Fn(&mut Bench) -> Values + 'static) -> Entry {
        Entry::new(Class::Ordering, SIMULATED, Model::Gives(Box::new(model)))
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
        Entry::new(Class::Configuration, 0.0, Model::Reference)
    }

    pub(super) fn note(mut self, note: &'static str) -> Entry {
        self.note = note;
        self
    }

    /// For a statement in words: the numbers that they stand for.
    pub(super) fn in_numbers(mut self, numbers: &'static [f64]) -> Entry {
        self.in_numbers = numbers;
        self
    }

    /// For a stated change of 0: what it is a change of, for no error is a share
    /// of 0.
    pub(super) fn change_of(
        mut self,
        whole: impl Fn(&mut Bench) -> Result<f64, ModelError> + 'static,
    ) -> Entry {
        self.whole = Some(Box::new(whole));
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

fn entry_of(published: &Published) -> Entry {
    let digits = published.id.rsplit('-').next();
    let number = digits.and_then(|digits| digits.parse().ok());
    rows::entry(number.unwrap_or(0))
}

/// What kind of statement a row is.
pub(super) fn class_of(published: &Published) -> Class {
    entry_of(published).class
}

/// Compares a row with its model.
pub(super) fn row(published: Published, bench: &mut Bench) -> Result<Row, ModelError> {
    let entry = entry_of(&published);
    let (values, outcome) = match &entry.model {
        Model::Gives(model) => (Some(model(bench)?), None),
        Model::Inconsistent(model) => (Some(model(bench)?), Some(Verdict::SourceInconsistent)),
        Model::Substituted(model) => (Some(model(bench)?), Some(Verdict::SubstitutedWorkload)),
        Model::Reference => (None, Some(Verdict::ReferenceOnly)),
    };
    let mut claim = Claim::of(&published.value);
    claim
        .numbers
        .extend(entry.in_numbers.iter().map(|&number| (number, 0.0)));
    let whole = entry.whole.as_ref().map(|whole| whole(bench)).transpose()?;
    let error = values
        .as_ref()
        .and_then(|values| error(&claim, values, whole));
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

/// The largest deviation, in percent of the stated number, or of the whole that
/// does not change where that is 0.
fn error(claim: &Claim, values: &[f64], whole: Option<f64>) -> Option<f64> {
    let deviations = claim
        .numbers
        .iter()
        .zip(values)
        .map(|((stated, _), value)| {
            if *stated == 0.0 {
                100.0 * value / whole.unwrap_or(1.0)
            } else {
                100.0 * (value - stated) / stated.abs()
            }
        });
    deviations.max_by(|one, other| one.abs().total_cmp(&other.abs()))
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

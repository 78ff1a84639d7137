//! The registry: how each published value is computed and compared.

use super::bench::Bench;
use super::failure::Failure;

/// The numbers that a computation gives, in the order of the published ones.
pub type Values = Result<Vec<f64>, Failure>;

/// What kind of statement a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic on given numbers.
    ClosedForm,
    /// A property of the machine or of the program as it is set up.
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

/// What a comparison with the published value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The row counts.
    Compared,
    /// The source contradicts itself; the note says where.
    SourceInconsistent,
    /// The published workload is not available, and another one is used.
    SubstitutedWorkload,
}

/// A computation.
#[derive(Clone, Copy, Debug)]
pub enum Computation {
    /// A formula, and its inputs by name.
    Formula(&'static [(&'static str, f64)], fn(&[f64]) -> Vec<f64>),
    /// A run of the model, or of a part of it.
    Measured(fn(&Bench) -> Values),
    /// None.
    Absent,
}

/// A row of the registry: a full id, the computation, and how its values are
/// compared.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The full id of the published row.
    pub id: &'static str,
    /// What kind of statement it is.
    pub class: Class,
    /// Whether it counts.
    pub standing: Standing,
    /// The largest relative error with which it agrees, in percent, beyond the
    /// rounding of the printed value.
    pub tolerance_percent: f64,
    /// Whether it was used to set a parameter.
    pub fitted: bool,
    /// The independent quantity, where several rows measure it: one number in
    /// several units, a count and its parts, one mechanism at two sizes.
    pub quantity: Option<&'static str>,
    /// The workload and the machine's settings.
    pub workload: &'static str,
    /// Why it differs, or what a reader has to know.
    pub note: &'static str,
    /// Numbers for a statement in words, after those that it prints.
    pub in_numbers: &'static [f64],
    /// The computation.
    pub computation: Computation,
}

/// The tolerance of simulated rows.
const SIMULATED_PERCENT: f64 = 15.0;

impl Entry {
    const fn new(
        id: &'static str,
        class: Class,
        tolerance_percent: f64,
        workload: &'static str,
        computation: Computation,
    ) -> Entry {
        Entry {
            id,
            class,
            standing: Standing::Compared,
            tolerance_percent,
            fitted: false,
            quantity: None,
            workload,
            note: "",
            in_numbers: &[],
            computation,
        }
    }

    /// A formula of given numbers. Every input has to matter.
    pub const fn closed_form(
        id: &'static str,
        inputs: &'static [(&'static str, f64)],
        of: fn(&[f64]) -> Vec<f64>,
    ) -> Entry {
        let formula = Computation::Formula(inputs, of);
        Entry::new(id, Class::ClosedForm, 0.0, "", formula)
    }

    /// A property of machine or program.
    pub const fn configuration(
        id: &'static str,
        workload: &'static str,
        of: fn(&Bench) -> Values,
    ) -> Entry {
        let measured = Computation::Measured(of);
        Entry::new(id, Class::Configuration, 0.0, workload, measured)
    }

    /// A result of simulation or scheduling.
    pub const fn simulated(
        id: &'static str,
        workload: &'static str,
        of: fn(&Bench) -> Values,
    ) -> Entry {
        let measured = Computation::Measured(of);
        Entry::new(id, Class::Simulated, SIMULATED_PERCENT, workload, measured)
    }

    /// A comparison or a bound.
    pub const fn ordering(
        id: &'static str,
        workload: &'static str,
        of: fn(&Bench) -> Values,
    ) -> Entry {
        let measured = Computation::Measured(of);
        Entry::new(id, Class::Ordering, SIMULATED_PERCENT, workload, measured)
    }

    /// A value that the lab takes as given, and where.
    pub const fn reference(id: &'static str, note: &'static str) -> Entry {
        Entry::new(id, Class::Reference, 0.0, "", Computation::Absent).note(note)
    }

    /// With a note.
    pub const fn note(mut self, note: &'static str) -> Entry {
        self.note = note;
        self
    }

    /// With the quantity that several rows measure.
    pub const fn quantity(mut self, quantity: &'static str) -> Entry {
        self.quantity = Some(quantity);
        self
    }

    /// With numbers for a statement in words.
    pub const fn in_numbers(mut self, numbers: &'static [f64]) -> Entry {
        self.in_numbers = numbers;
        self
    }

    /// With another tolerance.
    pub const fn within(mut self, percent: f64) -> Entry {
        self.tolerance_percent = percent;
        self
    }

    /// Used to set a parameter.
    pub const fn fitted(mut self) -> Entry {
        self.fitted = true;
        self
    }

    /// Not counted, because the source contradicts itself.
    pub const fn inconsistent(mut self) -> Entry {
        self.standing = Standing::SourceInconsistent;
        self
    }

    /// Not counted, because the workload is another one.
    pub const fn substituted(mut self) -> Entry {
        self.standing = Standing::SubstitutedWorkload;
        self
    }

    /// Computes the numbers; a reference has none.
    pub(in crate::shared) fn values(&self, bench: &Bench) -> Result<Option<Vec<f64>>, Failure> {
        match self.computation {
            Computation::Formula(inputs, of) => {
                let inputs: Vec<f64> = inputs.iter().map(|(_, value)| *value).collect();
                Ok(Some(of(&inputs)))
            }
            Computation::Measured(of) => of(bench).map(Some),
            Computation::Absent => Ok(None),
        }
    }
}

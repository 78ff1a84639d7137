//! A row of the report, and its verdict.

use super::published::Published;
use crate::shared::model::{Class, Entry};

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

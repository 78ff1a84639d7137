//! What a run gives: metrics with units, and a trace.

/// A number that a run measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name in documents, with the unit: `gbit_per_s`.
    pub key: String,
    /// What it is, in words.
    pub name: String,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
}

impl Metric {
    /// A metric.
    pub fn new(
        key: impl Into<String>,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) -> Metric {
        Metric {
            key: key.into(),
            name: name.into(),
            unit,
            value,
        }
    }
}

/// What a unit of the machine did for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The unit, an index into [`Trace::units`]. Activities of one unit do not
    /// overlap.
    pub unit: usize,
    /// What it did, an index into [`Trace::names`].
    pub name: usize,
    /// When it began.
    pub begins_ns: f64,
    /// How long it took.
    pub length_ns: f64,
}

/// What the units of a machine did in a run, in the order in which it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The units.
    pub units: Vec<String>,
    /// The names of activities.
    pub names: Vec<String>,
    /// What they did.
    pub activities: Vec<Activity>,
}

/// What a run computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Words of a record.
    pub record_words: usize,
    /// Its words.
    pub words: Vec<u32>,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The metrics, the most important ones first: tables and figures of sweeps
    /// have the first four. All runs of a workload have these four.
    pub metrics: Vec<Metric>,
    /// The trace.
    pub trace: Trace,
    /// What it computed, if the workload is one that a user wrote.
    pub outputs: Vec<Output>,
}

impl Run {
    /// The value of a metric.
    pub fn metric(&self, key: &str) -> Option<f64> {
        let metric = self.metrics.iter().find(|metric| metric.key == key);
        metric.map(|metric| metric.value)
    }
}

/// A number as text, with as many digits as tables need.
pub fn digits(value: f64) -> String {
    match value.abs() {
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        size if size < 1e-3 => format!("{value:.2e}"),
        size if size < 10.0 => format!("{value:.3}"),
        size if size < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

//! What a running gateway tells of itself.

use serde::Serialize;

/// What a gateway did so far.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The version of the gateway.
    pub weir_version: &'static str,
    /// Its process.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub running_s: f64,
    /// The names of its pipelines.
    pub pipelines: Vec<String>,
    /// How often its configuration was replaced.
    pub generation: u64,
    /// Packets read.
    pub packets: u64,
    /// Bytes of captures that were read.
    pub bytes_read: u64,
    /// What the stage `inspect` did; null without it.
    pub inspection: Option<InspectionStatus>,
}

/// What the search for threats did so far.
#[derive(Clone, Debug, Serialize)]
pub struct InspectionStatus {
    /// Rules in force.
    pub rules: u64,
    /// IP packets inspected, those in tunnels too.
    pub packets: u64,
    /// Flows seen.
    pub flows: u64,
    /// Alerts raised.
    pub alerts: u64,
}

/// What a reload put in force.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reloaded {
    /// How often the configuration was replaced.
    pub generation: u64,
    /// The rules of the stage `inspect`; null without it.
    pub rules: Option<ReloadedRules>,
    /// How many rules the filter has; null without one.
    pub filter_rules: Option<usize>,
}

/// What became of the rules in the files.
#[derive(Clone, Debug, Serialize)]
pub struct ReloadedRules {
    /// Rules in force.
    pub loaded: u64,
    /// Rules that were left out.
    pub skipped: u64,
}

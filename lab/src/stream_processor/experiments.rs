//! Experiments that the thesis proposes without results, run with its own
//! applications: a cache of sub-keys (2.6.1), the pipeline of change detection
//! (6.5), more clusters (8.1.1), and section 8.2.
//!
//! Each starts from a machine and changes only what the experiment varies.

use crate::stream_processor::failure::ModelError;
use crate::stream_processor::machine::Machine;

mod arrays;
mod changes;
mod functions;
mod groups;
mod headers;
mod interface;
mod rows;
mod sub_keys;

/// What an experiment found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was set.
    pub setting: String,
    /// What was measured.
    pub quantity: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl Finding {
    fn new(setting: &str, quantity: &'static str, value: f64, unit: &'static str) -> Finding {
        Finding {
            setting: setting.to_owned(),
            quantity,
            value,
            unit,
        }
    }
}

/// What an experiment gives.
pub type Findings = Result<Vec<Finding>, ModelError>;

/// An experiment, by name.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name on the command line.
    pub name: &'static str,
    /// What it asks, in a line.
    pub about: &'static str,
    /// Where the thesis speaks of it.
    pub source: &'static str,
    /// Does it, starting from a machine.
    pub run: fn(&Machine) -> Findings,
}

/// All experiments.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            name: "sub-key-cache",
            about: "a cache of sub-keys in the clusters for packets of recent flows",
            source: "Lai 2006, 2.6.1",
            run: sub_keys::run,
        },
        Experiment {
            name: "change-detection",
            about: "sketch update, forecast and change detection on three processors",
            source: "Lai 2006, 6.5",
            run: changes::run,
        },
        Experiment {
            name: "more-functions",
            about: "inspection with 8, 16 and 32 clusters and as many hash functions",
            source: "Lai 2006, 5.2.1",
            run: functions::run,
        },
        Experiment {
            name: "several-headers",
            about: "sketch updates with two keys at a time on 16 clusters and four on 32",
            source: "Lai 2006, figure 8.5",
            run: headers::run,
        },
        Experiment {
            name: "network-interface",
            about: "packets from the network interface instead of memory",
            source: "Lai 2006, 8.2",
            run: interface::run,
        },
        Experiment {
            name: "stream-arrays",
            about: "one host instruction for an array of streams",
            source: "Lai 2006, 8.2",
            run: arrays::run,
        },
        Experiment {
            name: "hidden-clusters",
            about: "packets padded by the machine, and idle clusters switched off",
            source: "Lai 2006, 8.2",
            run: rows::run,
        },
        Experiment {
            name: "multi-simd",
            about: "32 clusters in 1 to 8 independent groups, on packets of many lengths",
            source: "Lai 2006, 8.2",
            run: groups::run,
        },
    ]
}

/// The experiment of that name.
pub fn experiment(name: &str) -> Option<Experiment> {
    experiments().into_iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests;

//! The search for changes, as the command line and the configuration file ask
//! for it.

use serde::Deserialize;
use weir_measure::change::{ChangeConfig, Difference, KeySource, Model, Rule};

use crate::config::from_text;

/// `[measure.change]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// How the next interval is forecast.
    #[serde(deserialize_with = "from_text")]
    pub model: Model,
    #[serde(default, deserialize_with = "from_text")]
    pub difference: Difference,
    /// By default what is usual for the difference.
    pub threshold: Option<f64>,
    #[serde(default, deserialize_with = "from_text")]
    pub keys_from: KeySource,
    #[serde(default = "one")]
    pub keys_one_in: u32,
    pub keys_max: Option<usize>,
    #[serde(default = "default_counters")]
    pub counters: u32,
}

fn one() -> u32 {
    1
}

/// Counters per row where nothing is said.
pub fn default_counters() -> u32 {
    32_768
}

/// Keys that may be asked for where nothing is said and all are to be.
const ALL_KEYS_MAX: usize = 4_000_000;

impl Search {
    /// The search that is asked for; the measurement refuses what is out of
    /// range.
    pub fn config(self) -> ChangeConfig {
        let usual = ChangeConfig::new(self.model.clone());
        let keys_max = match self.keys_from {
            KeySource::Kept => usual.max_keys,
            KeySource::Same | KeySource::Next => ALL_KEYS_MAX,
        };
        let mut shape = usual.shape;
        shape.width = self.counters;
        ChangeConfig {
            rule: Rule {
                model: self.model,
                difference: self.difference,
                threshold: self
                    .threshold
                    .unwrap_or_else(|| self.difference.default_threshold()),
            },
            shape,
            keys: self.keys_from,
            one_in: self.keys_one_in,
            max_keys: self.keys_max.unwrap_or(keys_max),
        }
    }
}

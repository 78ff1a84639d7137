//! The search for changes, as the command line and the configuration file request
//! for it.

use serde::Deserialize;
use weir_measure::change::{ChangeConfig, Difference, KeySource, Model, Rule};

#[cfg(test)]
use super::value_shapes;
use super::words::from_text;

/// `[measure.change]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Forecast model, as in `ewma:0.5` ([changes](measure.md#changes)).
    #[serde(deserialize_with = "from_text")]
    #[cfg_attr(test, schemars(schema_with = "value_shapes::model"))]
    pub model: Model,
    /// How an observation is compared with its forecast.
    #[serde(default, deserialize_with = "from_text")]
    #[cfg_attr(
        test,
        schemars(
            schema_with = "value_shapes::difference",
            extend("default" = Difference::default().name()),
        )
    )]
    pub difference: Difference,
    /// Smallest change that raises an alarm. Default: 0.2, or 10 for relative changes.
    pub threshold: Option<f64>,
    /// Keys to query: `kept`, those with the largest sums; `same`, all of the interval and the one
    /// before it; `next`, all of the interval that follows.
    #[serde(default, deserialize_with = "from_text")]
    #[cfg_attr(
        test,
        schemars(
            schema_with = "value_shapes::key_source",
            extend("default" = KeySource::default().to_string()),
        )
    )]
    pub keys_from: KeySource,
    /// Query the key of one packet in this many, chosen at random; above 1 only with `keys_from`
    /// `same` or `next`.
    #[serde(default = "one")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub keys_one_in: u32,
    /// Most keys kept or queried. Default: by `keys_from`.
    #[cfg_attr(test, schemars(range(min = 1, max = 0x100_0000)))]
    pub keys_max: Option<usize>,
    /// Counters per row of the forecast sketches.
    #[serde(default = "default_counters")]
    #[cfg_attr(test, schemars(range(min = 2, max = weir_hash::MAX_WIDTH)))]
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

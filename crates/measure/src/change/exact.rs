//! Changes found without sketches: one forecaster per key.

use std::hash::Hash;

use hashbrown::HashMap;

use super::config::{ChangeError, Rule};
use super::difference::{Difference, KeyChange, Noise, Norms};
use super::forecast::Forecaster;

/// The exact method, the reference for sketches: every key ever seen has its own
/// forecaster, in memory that grows with their number. A key
/// has the value 0 in intervals in which it is not seen, also in those before
/// it was first seen.
#[derive(Clone, Debug)]
pub struct ExactDetector<K> {
    rule: Rule,
    keys: HashMap<K, PerKey>,
    /// What a key's forecaster is that was never seen.
    unseen: Forecaster<f64>,
}

#[derive(Clone, Debug)]
struct PerKey {
    forecaster: Forecaster<f64>,
    change: KeyChange,
}

impl<K: Hash + Eq + Clone> ExactDetector<K> {
    /// A detector that has seen nothing.
    ///
    /// # Errors
    /// A rule that is out of range.
    pub fn new(rule: &Rule) -> Result<ExactDetector<K>, ChangeError> {
        rule.check()?;
        Ok(ExactDetector {
            unseen: Forecaster::new(&rule.model)?,
            rule: rule.clone(),
            keys: HashMap::new(),
        })
    }

    /// Takes the sums of the next interval; returns every key with its change
    /// and score, in no order, or none while the model learns.
    pub fn observe(&mut self, sums: &HashMap<K, f64>) -> Option<Vec<(K, KeyChange, f64)>> {
        for key in sums.keys() {
            if !self.keys.contains_key(key) {
                let fresh = PerKey {
                    forecaster: self.unseen.clone(),
                    change: KeyChange::default(),
                };
                self.keys.insert(key.clone(), fresh);
            }
        }
        let has_learnt = step(&mut self.unseen, &self.rule, 0.0).is_some();
        let mut squares = 0.0;
        for (key, state) in &mut self.keys {
            let observed = sums.get(key).copied().unwrap_or(0.0);
            if let Some(change) = step(&mut state.forecaster, &self.rule, observed) {
                squares += change.error * change.error;
                state.change = change;
            }
        }
        let norms = Norms {
            error: squares.sqrt(),
            noise: Noise::default(),
        };
        let difference = self.rule.difference;
        has_learnt.then(|| {
            let scored = self.keys.iter().map(|(key, state)| {
                let score = difference.score(&state.change, &norms);
                (key.clone(), state.change, score)
            });
            scored.collect()
        })
    }
}

/// The change of one key; none while the model learns.
fn step(forecaster: &mut Forecaster<f64>, rule: &Rule, observed: f64) -> Option<KeyChange> {
    // One number is always like another.
    let error = forecaster.observe(&observed).ok().flatten().copied()?;
    let forecast = observed - error;
    Some(match rule.difference {
        Difference::Absolute | Difference::Relative => KeyChange {
            observed,
            forecast,
            error,
        },
        Difference::Variational => {
            let mean = forecaster.forecast().copied().unwrap_or(0.0);
            let window = forecaster.past().take(rule.window());
            let squares: f64 = window.map(|past| (past - mean) * (past - mean)).sum();
            KeyChange {
                observed,
                forecast: mean,
                error: squares.sqrt().copysign(observed - mean),
            }
        }
    })
}

//! What an interval counts for the search.

use weir_hash::{KeyColumns, Seed};
use weir_packet::wire::FlowKey;
use weir_simd::Tier;

use super::config::{ChangeConfig, ChangeError, KeySource};
use super::key_log::KeyLog;
use crate::sketch::{AddWork, KAry, LayoutMismatch};

/// What an interval has counted for the search.
#[derive(Clone, Debug)]
pub(crate) struct ChangePart {
    pub sums: KAry,
    /// For [`KeySource::Same`] and [`KeySource::Next`].
    pub log: Option<KeyLog>,
}

impl ChangePart {
    /// Nothing yet, for keys of up to `words` words.
    pub fn new(config: &ChangeConfig, words: usize, seed: Seed) -> Result<ChangePart, ChangeError> {
        let log = match config.keys {
            KeySource::Kept => None,
            KeySource::Same | KeySource::Next => {
                Some(KeyLog::new(config.shape.rows, config.max_keys))
            }
        };
        Ok(ChangePart {
            sums: KAry::new(config.shape, words, seed)?,
            log,
        })
    }

    /// Adds values to the keys of a batch.
    pub fn add(&mut self, tier: Tier, keys: &KeyColumns, values: &[i64], work: &mut AddWork) {
        self.sums.add(tier, keys, values, work);
    }

    /// Notes the key that was number `index` of those added last with `work`.
    pub fn note(&mut self, index: usize, key: FlowKey, fingerprint: u64, work: &AddWork) {
        if let Some(log) = &mut self.log {
            let rows = self.sums.shape().rows;
            log.note(key, fingerprint, work.buckets_of(index, rows));
        }
    }

    /// Adds another part of the same interval.
    ///
    /// # Errors
    /// The parts were made from different plans; nothing was added.
    pub fn merge(&mut self, other: &ChangePart) -> Result<(), LayoutMismatch> {
        self.sums.combine(&other.sums)?;
        if let (Some(here), Some(there)) = (&mut self.log, &other.log) {
            here.merge(there);
        }
        Ok(())
    }

    /// Sets everything to zero, keeps the memory.
    pub fn clear(&mut self) {
        self.sums.clear();
        if let Some(log) = &mut self.log {
            log.clear();
        }
    }
}

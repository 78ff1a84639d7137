//! Numbers of what rules name: bits, and the rules themselves.

use std::sync::Arc;

use hashbrown::HashMap;

/// Numbers that stay the same from a rule set to the one that takes its
/// place, so that what flows and hosts remember keeps its meaning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    bits: HashMap<Vec<u8>, u32>,
    rules: HashMap<(u32, u32), u32>,
    /// The same for all that were cloned from one another.
    lineage: Arc<()>,
}

impl Names {
    /// The number of a bit's name.
    pub(super) fn bit(&mut self, name: &[u8]) -> u32 {
        let next = self.bits.len() as u32;
        *self.bits.entry(name.to_vec()).or_insert(next)
    }

    /// The number of a rule's gid and sid.
    pub(crate) fn rule(&mut self, gid: u32, sid: u32) -> u32 {
        let next = self.rules.len() as u32;
        *self.rules.entry((gid, sid)).or_insert(next)
    }

    /// How many rules have a number.
    pub(crate) fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Whether numbers mean the same in both.
    pub(crate) fn are_kin(&self, other: &Names) -> bool {
        Arc::ptr_eq(&self.lineage, &other.lineage)
    }
}

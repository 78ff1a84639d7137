//! Tags of packets that carry a part of them.

use super::{BATCH_PACKETS, Verdicts};
use crate::cipher::Block;
use crate::simd::wipe;

/// The whole tags of the good packets of a batch whose keys are
/// [`OpeningKey::with_cut_tags`](crate::OpeningKey::with_cut_tags): a digest of each packet under
/// its key, by which a receiver knows a packet that came before from another one of the same
/// number. They are wiped when dropped.
pub struct WholeTags {
    tags: [Block; BATCH_PACKETS],
    has: [bool; BATCH_PACKETS],
}

impl WholeTags {
    /// Without tags.
    pub fn new() -> WholeTags {
        WholeTags {
            tags: [[0; 16]; BATCH_PACKETS],
            has: [false; BATCH_PACKETS],
        }
    }

    /// That of packet `index`, if it is good and carries a part of its tag.
    pub fn get(&self, index: usize) -> Option<&[u8; 16]> {
        let has = self.has.get(index).copied().unwrap_or(false);
        self.tags.get(index).filter(|_| has)
    }

    /// Takes the tags of a batch.
    pub(super) fn take<'t>(
        &mut self,
        verdicts: &Verdicts,
        tag_of: impl Fn(usize) -> Option<&'t Block>,
    ) {
        for (index, (tag, has)) in self.tags.iter_mut().zip(&mut self.has).enumerate() {
            let whole = tag_of(index).filter(|_| verdicts.is_good(index));
            *has = whole.is_some();
            *tag = whole.copied().unwrap_or_default();
        }
    }
}

impl Default for WholeTags {
    fn default() -> WholeTags {
        WholeTags::new()
    }
}

impl Drop for WholeTags {
    fn drop(&mut self) {
        wipe(&mut self.tags);
    }
}

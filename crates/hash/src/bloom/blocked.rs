use super::sizing::BLOCK_BITS;
use super::{Sizing, index};

/// Blocks of 512 bits: a key's first hash chooses one, the others bits in it,
/// so that a query reads one cache line (Putze, Sanders, Singler,
/// *Cache-, hash- and space-efficient Bloom filters*, 2007).
#[derive(Clone, Debug)]
pub struct Blocked {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Block([u64; BLOCK_BITS / 64]);

impl Blocked {
    /// A filter of no keys.
    pub fn new(sizing: Sizing) -> Blocked {
        Blocked {
            blocks: vec![Block::default(); sizing.bits.div_ceil(BLOCK_BITS).max(1)],
        }
    }

    /// Adds a key, by its hash under each function.
    pub fn insert(&mut self, hashes: &[u32]) {
        let Some((first, others)) = hashes.split_first() else {
            return;
        };
        let block = index(*first, self.blocks.len());
        let block = &mut self.blocks[block].0;
        for hash in others {
            let bit = index(*hash, BLOCK_BITS);
            block[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the key may be one of the set.
    pub fn contains(&self, hashes: &[u32]) -> bool {
        let Some((first, others)) = hashes.split_first() else {
            return true;
        };
        let block = &self.blocks[index(*first, self.blocks.len())].0;
        others.iter().all(|hash| {
            let bit = index(*hash, BLOCK_BITS);
            block[bit / 64] >> (bit % 64) & 1 != 0
        })
    }
}

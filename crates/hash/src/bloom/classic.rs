use super::{Bits, Sizing, index};

/// One array of bits for all functions (Bloom, CACM 1970).
#[derive(Clone, Debug)]
pub struct Classic {
    bits: Bits,
    size: usize,
}

impl Classic {
    /// A filter of no keys.
    pub fn new(sizing: Sizing) -> Classic {
        Classic {
            bits: Bits::new(sizing.bits),
            size: sizing.bits,
        }
    }

    /// Adds a key, by its hash under each function.
    pub fn insert(&mut self, hashes: &[u32]) {
        for hash in hashes {
            self.bits.set(index(*hash, self.size), true);
        }
    }

    /// Whether the key may be one of the set.
    pub fn contains(&self, hashes: &[u32]) -> bool {
        (hashes.iter()).all(|hash| self.bits.get(index(*hash, self.size)))
    }
}

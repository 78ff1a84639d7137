use super::{Bits, Sizing, index};

/// An array of bits for each function, as in the scratchpads of a stream
/// processor's clusters (section 5.2.1 of the thesis): all can be read at once,
/// and the first few already rule out most non-members.
#[derive(Clone, Debug)]
pub struct Segmented {
    bits: Bits,
    segment: usize,
    functions: usize,
}

impl Segmented {
    /// A filter of no keys.
    pub fn new(sizing: Sizing) -> Segmented {
        let functions = sizing.functions.max(1);
        let segment = sizing.bits.div_ceil(functions);
        Segmented {
            bits: Bits::new(segment * functions),
            segment,
            functions,
        }
    }

    /// Number of functions.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// Heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.bits.0.len() * 8
    }

    /// Adds a key, by its hash under each function.
    pub fn insert(&mut self, hashes: &[u32]) {
        for (function, hash) in (0..self.functions).zip(hashes) {
            let place = self.place(function, *hash);
            self.bits.set(place, true);
        }
    }

    /// Whether the key may be one of the set.
    pub fn contains(&self, hashes: &[u32]) -> bool {
        (0..self.functions)
            .zip(hashes)
            .all(|(function, hash)| self.is_set(function, *hash))
    }

    /// Whether a key with this hash under one function may be one of the set.
    #[inline]
    pub fn is_set(&self, function: usize, hash: u32) -> bool {
        self.bits.get(self.place(function, hash))
    }

    /// The same for up to 64 keys: bit j for the key whose hash is `hashes[j]`.
    #[inline]
    pub fn are_set(&self, function: usize, hashes: &[u32]) -> u64 {
        let bit = |(number, hash): (usize, &u32)| u64::from(self.is_set(function, *hash)) << number;
        hashes.iter().take(64).enumerate().map(bit).sum()
    }

    #[inline]
    pub(super) fn place(&self, function: usize, hash: u32) -> usize {
        function * self.segment + index(hash, self.segment)
    }

    pub(super) fn set(&mut self, place: usize, value: bool) {
        self.bits.set(place, value);
    }

    pub(super) fn places(&self) -> usize {
        self.segment * self.functions
    }
}

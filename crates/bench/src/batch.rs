//! The packets that are worked on.

/// Most packets of a batch, as in a pipeline.
const MOST_PACKETS: usize = 256;

/// Most bytes of a batch, so that it stays in a cache beside its keys.
const MOST_BYTES: usize = 256 << 10;

/// Packets begin where cache lines do.
const STRIDE_BYTES: usize = 64;

/// Room for one packet's IV, on lines of its own.
pub(crate) const IV_BYTES: usize = 16;

/// The longest tag of any suite or MAC.
pub(crate) const TAG_BYTES: usize = 64;

/// Texts that mean nothing, with room for IVs and tags, and whose key each needs.
#[derive(Clone)]
pub(crate) struct Packets {
    pub(crate) texts: Vec<u8>,
    pub(crate) stride: usize,
    pub(crate) text_bytes: usize,
    pub(crate) ivs: Vec<[u8; IV_BYTES]>,
    pub(crate) tags: Vec<[u8; TAG_BYTES]>,
    /// Numbers of keys.
    pub(crate) keys: Vec<usize>,
}

impl Packets {
    /// As many packets as a batch has, whose keys are in no order.
    pub(crate) fn new(text_bytes: usize, keys: usize, seed: u64) -> Packets {
        let stride = text_bytes.next_multiple_of(STRIDE_BYTES);
        let count = (MOST_BYTES / stride).clamp(1, MOST_PACKETS);
        let mut numbers = Numbers(seed);
        Packets {
            texts: (0..count * stride).map(|_| numbers.next() as u8).collect(),
            stride,
            text_bytes,
            ivs: vec![[0; IV_BYTES]; count],
            tags: vec![[0; TAG_BYTES]; count],
            keys: (0..count).map(|_| numbers.below(keys)).collect(),
        }
    }

    /// Packets of the batch.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }
}

/// Secret bytes that protect nothing.
pub(crate) fn secret(numbers: &mut Numbers, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| numbers.next() as u8).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_large_as_they_may_be() {
        for (bytes, count) in [(16, 256), (1000, 256), (1420, 178), (9000, 29), (65_535, 4)] {
            let packets = Packets::new(bytes, 3, 1);
            assert_eq!(packets.count(), count, "{bytes}");
            assert_eq!(packets.texts.len(), count * packets.stride);
            assert!(packets.keys.iter().all(|key| *key < 3));
        }
    }
}

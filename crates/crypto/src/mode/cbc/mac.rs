//! CBC's chain alone, across packets: what CCM authenticates with.

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::simd::{self, KeyTable, MOST_LANES};
use crate::cipher::bitslice::PlaneKeys;
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Chains side by side, each under a key of its own, all of the same size.
pub(crate) struct ChainLanes {
    tier: Tier,
    keys: KeyTable,
    /// Where the tier has no kernel: the keys themselves.
    round_keys: Zeroizing<[[Block; MOST_ROUND_KEYS]; MOST_LANES]>,
    rounds: usize,
    chains: [Block; MOST_LANES],
}

/// Most chains at once.
pub(crate) const MOST_CHAINS: usize = MOST_LANES;

impl ChainLanes {
    /// Chains under keys of so many rounds.
    pub(crate) fn new(tier: Tier, rounds: usize) -> ChainLanes {
        ChainLanes {
            tier: tier.min(weir_simd::detect()),
            keys: KeyTable::new(rounds),
            round_keys: Zeroizing::new([[[0; 16]; MOST_ROUND_KEYS]; MOST_LANES]),
            rounds,
            chains: [[0; 16]; MOST_LANES],
        }
    }

    /// How many chains there are.
    pub(crate) fn lanes(&self) -> usize {
        match simd::lanes(self.tier) {
            0 => 1,
            lanes => lanes,
        }
    }

    /// Begins a chain at zero.
    pub(crate) fn begin(&mut self, lane: usize, round_keys: &[Block; MOST_ROUND_KEYS]) {
        match simd::lanes(self.tier) {
            0 => self.round_keys[lane] = *round_keys,
            _ => self.keys.set(lane, round_keys),
        }
        self.chains[lane] = [0; 16];
    }

    /// Chains the next blocks of each lane that has some, equally many; they
    /// are overwritten.
    pub(crate) fn absorb(&mut self, mut texts: [Option<&mut [u8]>; MOST_LANES]) {
        if simd::lanes(self.tier) > 0 {
            let bytes = texts.iter().flatten().next().map_or(0, |text| text.len());
            let blocks = bytes / size_of::<Block>();
            return simd::encrypt(self.tier, &self.keys, &mut self.chains, &mut texts, blocks);
        }
        let chains = self.chains.iter_mut().zip(self.round_keys.iter());
        for ((chain, round_keys), text) in chains.zip(texts) {
            if let Some(text) = text {
                let keys = PlaneKeys::new(&round_keys[..=self.rounds]);
                for block in text.as_chunks::<16>().0 {
                    for (chain, byte) in chain.iter_mut().zip(block) {
                        *chain ^= byte;
                    }
                    *chain = keys.encrypt_one(*chain);
                }
            }
        }
    }

    /// The last block of a chain.
    pub(crate) fn last(&self, lane: usize) -> Block {
        self.chains[lane]
    }
}

//! The kernel: eight vectors, each with a block of as many packets as it has places.

use std::hint::black_box;

use super::{KeyRow, KeyTable, MOST_LANES, Text};
use crate::cipher::simd::{AesLanes, AesUnit, Kernel};
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Independent chains that hide the latency of an AES round.
const VECTORS: usize = 8;

/// Encrypts a number of blocks of each text, chained to the block of its lane, which becomes the
/// text's last block. Chains of lanes without a text are lost.
pub(super) struct Encrypt<'a> {
    keys: &'a KeyTable,
    chains: &'a mut [Block; MOST_LANES],
    texts: &'a [Text; MOST_LANES],
    blocks: usize,
}

impl<'a> Encrypt<'a> {
    /// # Safety
    /// Each text has at least `blocks` blocks, which may be written while the kernel is there,
    /// and no two overlap.
    pub(super) unsafe fn new(
        keys: &'a KeyTable,
        chains: &'a mut [Block; MOST_LANES],
        texts: &'a [Text; MOST_LANES],
        blocks: usize,
    ) -> Encrypt<'a> {
        Encrypt {
            keys,
            chains,
            texts,
            blocks,
        }
    }

    #[inline(always)]
    fn run_by<L: AesLanes, const KEYS: usize>(self, unit: L) {
        let Some(keys) = self.keys.rows.first_chunk::<KEYS>() else {
            return;
        };
        let mut states = [unit.load_blocks(self.chains); VECTORS];
        for (vector, state) in states.iter_mut().enumerate() {
            *state = unit.load_blocks(&self.chains[L::BLOCKS * vector..]);
        }
        if self.texts[..VECTORS * L::BLOCKS]
            .iter()
            .all(Option::is_some)
        {
            for block in 0..self.blocks {
                self.chain::<L, true, KEYS>(unit, keys, &mut states, block);
            }
        } else {
            for block in 0..self.blocks {
                self.chain::<L, false, KEYS>(unit, keys, &mut states, block);
            }
        }
        for (vector, state) in states.into_iter().enumerate() {
            unit.store_blocks(state, &mut self.chains[L::BLOCKS * vector..]);
        }
    }

    /// Encrypts a block of every text. Lanes may lack a text unless `ALL` is set: they chain a
    /// block that nobody reads.
    #[inline(always)]
    fn chain<L: AesLanes, const ALL: bool, const KEYS: usize>(
        &self,
        unit: L,
        keys: &[KeyRow; KEYS],
        states: &mut [L::Vector; VECTORS],
        block: usize,
    ) {
        let mut nowhere = [0; 16];
        let mut places = [&raw mut nowhere; MOST_LANES];
        for (place, text) in places[..VECTORS * L::BLOCKS].iter_mut().zip(self.texts) {
            if ALL || text.is_some() {
                // SAFETY: there is a text, and the block lies within it.
                *place = unsafe { text.unwrap_unchecked().as_ptr().add(block) };
            }
        }
        // The keys of all lanes are more than the registers hold. Loaded anew for
        // each block they are operands of the instructions that use them; known to
        // be the same, they would be loaded, spilled and loaded again.
        let keys = black_box(keys);
        // What does not wait for the chain comes first.
        for (vector, state) in states.iter_mut().enumerate() {
            // SAFETY: there is a block at every place.
            let plain = unsafe { unit.gather(&places[L::BLOCKS * vector..]) };
            let key = unit.load_blocks(&keys[0][L::BLOCKS * vector..]);
            *state = unit.xor(*state, unit.xor(plain, key));
        }
        for row in &keys[1..KEYS - 1] {
            for (vector, state) in states.iter_mut().enumerate() {
                *state = unit.round(*state, unit.load_blocks(&row[L::BLOCKS * vector..]));
            }
        }
        for (vector, state) in states.iter_mut().enumerate() {
            let key = unit.load_blocks(&keys[KEYS - 1][L::BLOCKS * vector..]);
            *state = unit.last_round(*state, key);
            // SAFETY: the block at every place may be written.
            unsafe { unit.scatter(*state, &places[L::BLOCKS * vector..]) };
        }
    }
}

impl Kernel for Encrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        match self.keys.rounds + 1 {
            11 => self.run_by::<U::Lanes, 11>(unit.lanes()),
            13 => self.run_by::<U::Lanes, 13>(unit.lanes()),
            _ => self.run_by::<U::Lanes, MOST_ROUND_KEYS>(unit.lanes()),
        }
    }
}

//! Samples with AES instructions: eight at a time, each under its own key.

use std::array;
use std::cell::Cell;

use super::Lane;
use crate::cipher::Block;
use crate::cipher::simd::{AesUnit, Kernel};

/// Blocks at a time: enough to hide the latency of AES.
const LANES: usize = 8;

/// Encrypts the sample of each lane, in a vector of its own.
pub(super) struct EncryptEach<'l, 'a, const ROUND_KEYS: usize>(
    pub(super) &'l mut [Lane<'a, ROUND_KEYS>],
);

impl<const ROUND_KEYS: usize> Kernel for EncryptEach<'_, '_, ROUND_KEYS> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        for lanes in self.0.chunks_mut(LANES) {
            // Lanes that no packet fills repeat the first one.
            let keys: [&[Block; ROUND_KEYS]; LANES] =
                array::from_fn(|lane| lanes.get(lane).unwrap_or(&lanes[0]).round_keys);
            let mut states = [unit.zero(); LANES];
            for (lane, state) in states.iter_mut().enumerate() {
                let block = unit.broadcast(lanes.get(lane).unwrap_or(&lanes[0]).block);
                *state = unit.xor(block, unit.broadcast(&keys[lane][0]));
            }
            for round in 1..ROUND_KEYS - 1 {
                for (state, keys) in states.iter_mut().zip(&keys) {
                    *state = unit.round(*state, unit.broadcast(&keys[round]));
                }
            }
            for (lane, (state, keys)) in lanes.iter_mut().zip(states.iter().zip(&keys)) {
                let state = unit.last_round(*state, unit.broadcast(&keys[ROUND_KEYS - 1]));
                unit.store(
                    state,
                    Cell::from_mut(&mut lane.block[..]).as_slice_of_cells(),
                );
            }
        }
    }
}

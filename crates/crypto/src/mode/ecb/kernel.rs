//! Independent blocks with AES instructions: up to eight vectors side by side.

use std::cell::Cell;

use crate::cipher::Block;
use crate::cipher::simd::{self, AesUnit, Kernel};

/// Vectors side by side: enough to hide the latency of AES.
const MOST_VECTORS: usize = 8;

/// Encrypts the blocks, or decrypts them by the keys of the equivalent inverse cipher. There are
/// at least two round keys.
pub(super) struct Apply<'a, const DECRYPT: bool> {
    pub(super) keys: &'a [Block],
    pub(super) blocks: &'a mut [Block],
}

impl<const DECRYPT: bool> Kernel for Apply<'_, DECRYPT> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        let bytes = 16 * U::BLOCKS;
        let mut left = Cell::from_mut(self.blocks.as_flattened_mut()).as_slice_of_cells();
        while let Some((text, rest)) = left.split_at_checked(MOST_VECTORS * bytes) {
            side_by_side::<U, MOST_VECTORS, DECRYPT>(unit, self.keys, text);
            left = rest;
        }
        while let Some((text, rest)) = left.split_at_checked(2 * bytes) {
            side_by_side::<U, 2, DECRYPT>(unit, self.keys, text);
            left = rest;
        }
        for text in left.chunks(bytes) {
            side_by_side::<U, 1, DECRYPT>(unit, self.keys, text);
        }
    }
}

/// Blocks that lie in `VECTORS` vectors, the last perhaps not filled.
#[inline(always)]
fn side_by_side<U: AesUnit, const VECTORS: usize, const DECRYPT: bool>(
    unit: U,
    keys: &[Block],
    text: &[Cell<u8>],
) {
    let mut states = [unit.zero(); VECTORS];
    for (vector, state) in states.iter_mut().enumerate() {
        *state = unit.load(&text[16 * U::BLOCKS * vector..]);
    }
    match DECRYPT {
        true => simd::decrypt(unit, keys, &mut states),
        false => simd::encrypt(unit, keys, &mut states),
    }
    for (vector, state) in states.into_iter().enumerate() {
        unit.store(state, &text[16 * U::BLOCKS * vector..]);
    }
}

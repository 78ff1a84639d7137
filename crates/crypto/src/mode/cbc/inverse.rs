//! CBC decryption with AES instructions: several blocks of one packet side by side.

use std::cell::Cell;

use crate::cipher::Block;
use crate::cipher::simd::{self, AesUnit, Kernel};

/// Decrypts the blocks of one packet by the round keys that [`Invert`] leaves.
pub(super) struct Decrypt<'a> {
    pub(super) round_keys: &'a [Block],
    pub(super) iv: &'a Block,
    pub(super) blocks: &'a mut [Block],
}

impl Kernel for Decrypt<'_> {
    type Output = ();

    /// As many vectors at once as hide the latency of AES and fit the registers twice.
    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        match U::BLOCKS {
            1 => self.run_by::<U, 8>(unit),
            _ => self.run_by::<U, 4>(unit),
        }
    }
}

impl Decrypt<'_> {
    #[inline(always)]
    fn run_by<U: AesUnit, const VECTORS: usize>(self, unit: U) {
        let bytes = 16 * U::BLOCKS;
        let mut before = unit.broadcast(self.iv);
        let mut left = Cell::from_mut(self.blocks.as_flattened_mut()).as_slice_of_cells();
        while let Some((text, rest)) = left.split_at_checked(VECTORS * bytes) {
            decrypt::<U, VECTORS>(unit, self.round_keys, &mut before, text);
            left = rest;
        }
        for text in left.chunks(bytes) {
            decrypt::<U, 1>(unit, self.round_keys, &mut before, text);
        }
    }
}

/// Decrypts vectors, the last of which may not be filled. `before` is the ciphertext in front of
/// them, and becomes the last of theirs.
#[inline(always)]
fn decrypt<U: AesUnit, const VECTORS: usize>(
    unit: U,
    round_keys: &[Block],
    before: &mut U::Vector,
    text: &[Cell<u8>],
) {
    let mut sealed = [unit.zero(); VECTORS];
    for (vector, sealed) in sealed.iter_mut().enumerate() {
        *sealed = unit.load(&text[16 * U::BLOCKS * vector..]);
    }
    let mut states = sealed;
    simd::decrypt(unit, round_keys, &mut states);
    for (vector, (state, sealed)) in states.into_iter().zip(sealed).enumerate() {
        let plain = unit.xor(state, unit.blocks_before(*before, sealed));
        unit.store(plain, &text[16 * U::BLOCKS * vector..]);
        *before = sealed;
    }
}

/// Round keys for encryption become those of the equivalent inverse cipher
/// (FIPS 197 section 5.3.5), in the order of decryption.
pub(super) struct Invert<'a>(pub(super) &'a mut [Block]);

impl Kernel for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        self.0.reverse();
        if let [_, middle @ .., _] = self.0 {
            for key in middle {
                let inverse = unit.inverse_columns(unit.broadcast(key));
                unit.store(inverse, Cell::from_mut(&mut key[..]).as_slice_of_cells());
            }
        }
    }
}

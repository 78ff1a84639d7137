//! Single blocks (SP 800-38A section 6.1): what other modes are made of, and
//! what only the lab and tests may apply to texts.

mod kernel;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{Block, simd};
use kernel::Apply;

/// Encrypts every block by itself.
///
/// # Panics
/// There are less than two round keys: the blocks would be left in plain.
pub(crate) fn encrypt(tier: Tier, round_keys: &[Block], blocks: &mut [Block]) {
    if !apply::<false>(tier, round_keys, blocks) {
        let keys = PlaneKeys::new(round_keys);
        for_each_four(blocks, |four| keys.encrypt(four));
    }
}

/// Decrypts every block independently. The kernels of a tier take `inverse_keys`,
/// those of [`crate::cipher::bitslice::invert`]; the scalar reference takes `round_keys`.
#[cfg(feature = "hazmat")]
pub(crate) fn decrypt(
    tier: Tier,
    round_keys: &[Block],
    inverse_keys: &[Block],
    blocks: &mut [Block],
) {
    if !apply::<true>(tier, inverse_keys, blocks) {
        let keys = PlaneKeys::new(round_keys);
        for_each_four(blocks, |four| keys.decrypt(four));
    }
}

/// Applies the kernel of `tier` and returns true; or returns false where there is none.
fn apply<const DECRYPT: bool>(tier: Tier, keys: &[Block], blocks: &mut [Block]) -> bool {
    assert!(keys.len() > 1);
    simd::run(tier, Apply::<DECRYPT> { keys, blocks }).is_some()
}

/// Hands the blocks over by four, the last ones filled up with zeros.
fn for_each_four(blocks: &mut [Block], apply: impl Fn(&mut [Block; BLOCKS])) {
    let (fours, rest) = blocks.as_chunks_mut();
    fours.iter_mut().for_each(&apply);
    if !rest.is_empty() {
        let mut four = [[0; 16]; BLOCKS];
        four[..rest.len()].copy_from_slice(rest);
        apply(&mut four);
        rest.copy_from_slice(&four[..rest.len()]);
    }
}

//! Single blocks (SP 800-38A section 6.1): what other modes are made of, and
//! what only the lab and tests may apply to texts.

mod simd;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

use crate::cipher::Block;
use crate::cipher::bitslice::{BLOCKS, PlaneKeys};

/// Encrypts every block by itself.
pub(crate) fn encrypt(tier: Tier, round_keys: &[Block], blocks: &mut [Block]) {
    if !simd::encrypt(tier, round_keys, blocks) {
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
    if !simd::decrypt(tier, inverse_keys, blocks) {
        let keys = PlaneKeys::new(round_keys);
        for_each_four(blocks, |four| keys.decrypt(four));
    }
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

//! Masks by ChaCha20: RFC 9001, section 5.4.4.
//!
//! The sample is counter and nonce, the last four words of ChaCha20's input. HChaCha20 is the
//! same permutation of the same input without the addition of the input at the end, so that the
//! mask is its head plus the constants. Unlike a stream cipher, it takes every counter, also
//! the last one.

use chacha20::{R20, hchacha};
use zeroize::Zeroize;

use crate::cipher::Block;

/// The first two words of ChaCha20's input: `expand 3` (RFC 8439, section 2.3).
const CONSTANTS: [u32; 2] = [0x6170_7865, 0x3320_646e];

/// Replaces the sample by a block whose first eight bytes are the keystream.
pub(super) fn encrypt(key: &[u8; 32], block: &mut Block) {
    let mut permuted: [u8; 32] = hchacha::<R20>(key.into(), (&*block).into()).into();
    let (words, _) = permuted.as_chunks::<4>();
    let (keystream, _) = block.as_chunks_mut::<4>();
    for ((bytes, word), constant) in keystream.iter_mut().zip(words).zip(CONSTANTS) {
        *bytes = u32::from_le_bytes(*word)
            .wrapping_add(constant)
            .to_le_bytes();
    }
    permuted.zeroize();
}

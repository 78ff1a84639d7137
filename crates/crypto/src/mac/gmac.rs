//! GMAC by itself: NIST SP 800-38D section 6.4, with the nonce of RFC 4543.

use weir_simd::Tier;

use super::message::for_whole_blocks;
use crate::aead::gcm::{GcmKey, Gmac};
use crate::cipher::Block;

/// The tag of a message under a key with a full schedule.
pub(super) fn tag(tier: Tier, key: &GcmKey, nonce: u64, parts: [&[u8]; 4]) -> Block {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let mut hash = Gmac::new(tier, key);
    let (rest, filled) = for_whole_blocks(parts, |blocks| hash.absorb(blocks));
    let lengths = (8 * bytes as u128) << 64;
    let end = [rest, lengths.to_be_bytes()];
    hash.absorb(&end[usize::from(filled == 0)..]);
    hash.tag(nonce.to_be_bytes())
}

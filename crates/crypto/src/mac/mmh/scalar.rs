//! The scalar reference, in constant time. AES, and the products on a processor with AVX2
//! but without AVX-512, use the tier's instructions.

use weir_hash::multilinear::mmh32;
use weir_hash::prime::mod_p32;
use weir_simd::Tier;

use super::key::{BLOCK_WORDS, KEY_WORDS, LEVEL_2_WORDS, MmhKey};
use super::simd;
use crate::cipher::Block;
use crate::mac::message::{BLOCK_BYTES, Message, Room};
use crate::mode::ecb;

/// The tag of a message, and zeros.
pub(super) fn tag(tier: Tier, message: &mut Message<'_, MmhKey>) -> Block {
    let key = message.key;
    let mut pad = [key.pad_block(message.nonce)];
    ecb::encrypt(tier, &key.pad_keys, &mut pad);
    let (pad, _) = pad[0].as_chunks();

    let mut tag = [0; 16];
    let words = tag.as_chunks_mut().0.iter_mut().zip(pad);
    for ((word, pad), hash) in words.zip(hash(tier, message)).take(key.words.count()) {
        *word = u32::from_le_bytes(*pad).wrapping_add(hash).to_le_bytes();
    }
    tag
}

/// The tags before the pad, of which as many count as the key makes.
fn hash(tier: Tier, message: &mut Message<'_, MmhKey>) -> [u32; 4] {
    let key = message.key;
    let length = message.bytes as u32;
    if message.bytes <= BLOCK_BYTES {
        let mut words = [0; BLOCK_WORDS + 1];
        read(message, message.bytes, &mut words);
        words[BLOCK_WORDS] = length;
        return toeplitz(tier, &key.level_1.0, &words);
    }
    let tags = key.words.count();
    let mut level_2 = [0; LEVEL_2_WORDS];
    level_2[0] = length;
    let mut left = message.bytes;
    for above in level_2[1..].chunks_mut(tags) {
        if left == 0 {
            break;
        }
        let bytes = left.min(BLOCK_BYTES);
        left -= bytes;
        let mut words = [0; BLOCK_WORDS];
        read(message, bytes, &mut words);
        above.copy_from_slice(&toeplitz(tier, &key.level_1.0, &words)[..tags]);
    }
    toeplitz(tier, &key.level_2.0, &level_2)
}

/// Reads bytes of the message as little-endian words, followed by zeros.
fn read(message: &mut Message<'_, MmhKey>, bytes: usize, words: &mut [u32]) {
    let mut room = Room::new();
    let (whole, rest) = message.next(bytes, &mut room).as_chunks();
    let (place, behind) = words.split_at_mut(whole.len());
    for (word, bytes) in place.iter_mut().zip(whole) {
        *word = u32::from_le_bytes(*bytes);
    }
    if let Some(word) = behind.first_mut() {
        let mut padded = [0; 4];
        padded[..rest.len()].copy_from_slice(rest);
        *word = u32::from_le_bytes(padded);
    }
}

fn toeplitz(tier: Tier, key: &[u32; KEY_WORDS], words: &[u32]) -> [u32; 4] {
    match simd::sums(tier, key, words) {
        Some(sums) => sums.map(|sum| mod_p32(sum) as u32),
        None => std::array::from_fn(|t| mmh32(&key[t..], words)),
    }
}

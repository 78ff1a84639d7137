//! The twin, in constant time.

use weir_hash::multilinear::mmh32;
use weir_simd::Tier;

use super::key::{BLOCK_WORDS, LEVEL_2_WORDS, MmhKey};
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
    for ((word, pad), hash) in words.zip(hash(message)).take(key.words.count()) {
        *word = u32::from_le_bytes(*pad).wrapping_add(hash).to_le_bytes();
    }
    tag
}

/// The tags before the pad, of which as many count as the key makes.
fn hash(message: &mut Message<'_, MmhKey>) -> [u32; 4] {
    let key = message.key;
    let length = message.bytes as u32;
    if message.bytes <= BLOCK_BYTES {
        let mut words = [0; BLOCK_WORDS + 1];
        read(message, message.bytes, &mut words);
        words[BLOCK_WORDS] = length;
        return toeplitz(&key.level_1.0, &words);
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
        above.copy_from_slice(&toeplitz(&key.level_1.0, &words)[..tags]);
    }
    toeplitz(&key.level_2.0, &level_2)
}

/// Reads bytes of the message as little-endian words, followed by zeros.
fn read(message: &mut Message<'_, MmhKey>, bytes: usize, words: &mut [u32]) {
    let mut room = Room::new();
    let block = message.next(bytes, &mut room);
    for (word, bytes) in words.iter_mut().zip(block.chunks(4)) {
        let mut padded = [0; 4];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_le_bytes(padded);
    }
}

fn toeplitz(key: &[u32], words: &[u32]) -> [u32; 4] {
    std::array::from_fn(|t| mmh32(&key[t..], words))
}

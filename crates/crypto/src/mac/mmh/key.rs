//! A key of MMH-MAC in the form that kernels load.

use weir_simd::{Lanes, Tier};

use crate::cipher::{Block, expand};
use crate::kernel::InvalidLength;
use crate::mac::algorithm::TagWords;
use crate::mac::kdf::{self, Label};
use crate::mac::message::BLOCK_BYTES;
use crate::simd::{Wiped, wipe};
use crate::suite::AesKeySize;

/// Words of a block.
pub(super) const BLOCK_WORDS: usize = BLOCK_BYTES / 4;

/// Most blocks of a message.
const MOST_BLOCKS: usize = 64;

/// The longest message.
pub(crate) const MOST_BYTES: usize = MOST_BLOCKS * BLOCK_BYTES;

/// Words of what level 2 hashes: the length, and four tags of each block.
pub(super) const LEVEL_2_WORDS: usize = 1 + 4 * MOST_BLOCKS;

/// Words of a level's key, with those that three more Toeplitz tags need, up to
/// the end of a cache line. Level 1 hashes a length behind its block.
pub(super) const KEY_WORDS: usize = 272;

/// 2368 bytes, of which a message of one block touches no more than its own
/// length, 64 bytes, and 192 of the cipher.
#[repr(C, align(64))]
pub(crate) struct MmhKey {
    /// AES-128's, of the pads.
    pub(super) pad_keys: [Block; 11],
    pub(super) words: TagWords,
    pub(super) level_1: Lanes<u32, KEY_WORDS>,
    pub(super) level_2: Lanes<u32, KEY_WORDS>,
}

const PAD: Label = Label(*b"mmh-pad ");
const LEVEL_1: Label = Label(*b"mmh-lvl1");
const LEVEL_2: Label = Label(*b"mmh-lvl2");

const _: () = assert!(BLOCK_WORDS + 1 + 3 <= KEY_WORDS && LEVEL_2_WORDS + 3 <= KEY_WORDS);

impl MmhKey {
    /// All zeros, to be filled.
    pub(super) fn blank(words: TagWords) -> Box<MmhKey> {
        Box::new(MmhKey {
            pad_keys: Default::default(),
            words,
            level_1: Lanes([0; KEY_WORDS]),
            level_2: Lanes([0; KEY_WORDS]),
        })
    }

    /// Derives the key from 16 bytes.
    pub(crate) fn new(
        tier: Tier,
        words: TagWords,
        raw: &[u8],
    ) -> Result<Box<MmhKey>, InvalidLength> {
        let round_keys = expand(tier, AesKeySize::Aes128, raw)?;
        let derive = |label, stream: &mut [Block]| {
            kdf::fill(tier, &round_keys[..11], label, stream);
        };
        let mut key = MmhKey::blank(words);
        let MmhKey {
            level_1, level_2, ..
        } = &mut *key;
        for (label, level) in [(LEVEL_1, level_1), (LEVEL_2, level_2)] {
            let mut stream = Wiped([[0; 16]; KEY_WORDS / 4]);
            derive(label, &mut *stream);
            let (words, _) = stream.as_flattened().as_chunks();
            for (place, word) in level.iter_mut().zip(words) {
                *place = u32::from_le_bytes(*word);
            }
        }
        let mut pad_key = Wiped([[0; 16]]);
        derive(PAD, &mut *pad_key);
        let pad_keys = expand(tier, AesKeySize::Aes128, &pad_key[0])?;
        key.pad_keys.copy_from_slice(&pad_keys[..11]);
        Ok(key)
    }

    /// What is encrypted to the pad of a nonce.
    #[inline]
    pub(super) fn pad_block(&self, nonce: u64) -> Block {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&(self.words.count() as u64).to_be_bytes());
        block[8..].copy_from_slice(&nonce.to_be_bytes());
        block
    }
}

impl Drop for MmhKey {
    fn drop(&mut self) {
        wipe(&mut self.pad_keys);
        wipe(&mut self.level_1.0);
        wipe(&mut self.level_2.0);
    }
}

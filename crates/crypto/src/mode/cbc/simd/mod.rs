//! AES-CBC encryption with AES instructions: several packets side by side, since each waits for
//! its last block.

#![allow(unsafe_code)]

mod chains;

use std::ptr::NonNull;

use weir_simd::Tier;

use crate::cipher::simd::{self, has_unit};
use crate::cipher::{Block, MOST_ROUND_KEYS};
use crate::simd::wipe;
use chains::Encrypt;

/// Lanes of the widest kernel.
pub(super) const MOST_LANES: usize = 16;

/// The round keys of every lane; a row is one round of all lanes.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct KeyTable {
    rows: [KeyRow; MOST_ROUND_KEYS],
    rounds: usize,
}

/// Where a lane's text begins.
type Text = Option<NonNull<Block>>;

/// One round key of every lane.
type KeyRow = [Block; MOST_LANES];

impl KeyTable {
    /// A table for keys of so many rounds.
    pub(super) fn new(rounds: usize) -> KeyTable {
        KeyTable {
            rows: [[[0; 16]; MOST_LANES]; MOST_ROUND_KEYS],
            rounds: rounds.min(MOST_ROUND_KEYS - 1),
        }
    }

    /// Gives a lane its round keys.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, round_keys: &[Block; MOST_ROUND_KEYS]) {
        for (row, key) in self.rows[..=self.rounds].iter_mut().zip(round_keys) {
            row[lane] = *key;
        }
    }
}

impl Drop for KeyTable {
    fn drop(&mut self) {
        wipe(&mut self.rows[..=self.rounds]);
    }
}

/// How many packets `tier` encrypts side by side; none where it has no kernel.
pub(super) fn lanes(tier: Tier) -> usize {
    match tier {
        Tier::Avx512 if cfg!(target_arch = "x86_64") => 16,
        Tier::Aesni if cfg!(target_arch = "x86_64") => 8,
        Tier::NeonAes if cfg!(target_arch = "aarch64") => 8,
        _ => 0,
    }
}

/// Encrypts the first `blocks` blocks of each text in place, under the key of its
/// lane and chained to the block of its lane, which becomes the text's last block.
///
/// # Panics
/// The processor lacks `tier`, it has no kernel, keys of no rounds, a text beyond its
/// lanes, or one that is shorter: it would be left in plain.
pub(super) fn encrypt(
    tier: Tier,
    keys: &KeyTable,
    chains: &mut [Block; MOST_LANES],
    texts: &mut [Option<&mut [u8]>; MOST_LANES],
    blocks: usize,
) {
    let lanes = lanes(tier);
    assert!(has_unit(tier) && keys.rounds > 0);
    let mut starts: [Text; MOST_LANES] = [None; MOST_LANES];
    for (lane, (start, text)) in starts.iter_mut().zip(texts).enumerate() {
        if let Some(text) = text {
            assert!(lane < lanes && text.len() / size_of::<Block>() >= blocks);
            *start = Some(NonNull::from(&mut **text).cast());
        }
    }
    // SAFETY: the texts have `blocks` blocks, and being borrowed for writing none overlaps another.
    let kernel = unsafe { Encrypt::new(keys, chains, &starts, blocks) };
    simd::run(tier, kernel);
}

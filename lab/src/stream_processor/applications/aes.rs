//! AES-128 (FIPS 197) as chapter 2 of the stream thesis does it.
//!
//! One round of a column is four look-ups in one table `T` of 256 words and
//! three rotations (equation 2.1). The table is in every scratchpad of a
//! cluster; the S-box is two of the bytes of its words. Words are columns of
//! the state, row 0 in the least significant byte.
//!
//! - `aes-table` puts the table into scratchpads, once.
//! - `aes-key-expansion`: each cluster expands one key (dual: two), leaves the
//!   44 sub-keys in its scratchpad and gives them out as 11 records.
//! - `aes-core`: the sub-keys of one cluster, which the scalar `key source`
//!   names, from the word that `key offset` names (0 or 44, the second set),
//!   are sent to all; then each cluster takes one block at a time (dual:
//!   two) through whitening and nine rounds.
//! - `aes-final-round`: the tenth.
//! - `…-per-cluster`: the same for a packet in each cluster, under its own key.
//! - `…-merged`: the same for two packets in one stream, each under a key of its
//!   own (load balancing, 2.7).
//! - `…-cached`: sub-keys stay in scratchpads for later packets of a flow, as in a
//!   cache (2.6.1).

use super::{Entry, fill};
use crate::stream_processor::kernel::{ArrayId, BuildError, Builder, Kernel, Placement, Value};

pub use expansion::{key_expansion, key_expansion_dual};
pub use layouts::{core_apart, core_merged, final_round_apart, final_round_merged};
pub use rounds::{core, core_dual, final_round, final_round_dual};

pub mod cache;
pub mod dealing;
mod expansion;
mod layouts;
pub mod programs;
mod rounds;

/// Rounds of AES-128, the last one without `MixColumns`.
pub const ROUNDS: u32 = 10;
/// Words of the expanded key.
pub const SUB_KEY_WORDS: u32 = 4 * (ROUNDS + 1);

pub(super) const KERNELS: &[Entry] = &[
    Entry {
        name: "aes-table",
        about: "loads the AES table into the scratchpads",
        source: "Lai 2006, 2.3.1",
        records: 256,
        build: |_| table_load(),
    },
    Entry {
        name: "aes-key-expansion",
        about: "expands one AES-128 key in each cluster",
        source: "Lai 2006, 2.5",
        records: 1,
        build: |_| key_expansion(),
    },
    Entry {
        name: "aes-key-expansion-dual",
        about: "expands two AES-128 keys in each cluster",
        source: "Lai 2006, 2.5",
        records: 2,
        build: |_| key_expansion_dual(),
    },
    Entry {
        name: "aes-key-expansion-cached",
        about: "expands one key in each cluster and keeps earlier sets of sub-keys",
        source: "Lai 2006, 2.6.1",
        records: 1,
        build: |_| expansion::key_expansion_kept(cache::EXAMPLE_SETS),
    },
    Entry {
        name: "aes-core",
        about: "broadcasts a cluster's sub-keys, then whitening and nine rounds, one block at a time",
        source: "Lai 2006, 2.4",
        records: 12,
        build: |_| core(),
    },
    Entry {
        name: "aes-core-dual",
        about: "as aes-core, two blocks at a time",
        source: "Lai 2006, 2.4",
        records: 12,
        build: |_| core_dual(),
    },
    Entry {
        name: "aes-final-round",
        about: "the last round, one block at a time",
        source: "Lai 2006, 2.4",
        records: 12,
        build: |_| final_round(),
    },
    Entry {
        name: "aes-final-round-dual",
        about: "the last round, two blocks at a time",
        source: "Lai 2006, 2.4",
        records: 12,
        build: |_| final_round_dual(),
    },
    Entry {
        name: "aes-core-per-cluster",
        about: "whitening and nine rounds, one packet and one key per cluster",
        source: "Lai 2006, figure 2.1",
        records: 12,
        build: |_| core_apart(),
    },
    Entry {
        name: "aes-final-round-per-cluster",
        about: "the last round, one packet per cluster",
        source: "Lai 2006, figure 2.1",
        records: 12,
        build: |_| final_round_apart(),
    },
    Entry {
        name: "aes-core-merged",
        about: "whitening and nine rounds of two packets in one stream",
        source: "Lai 2006, 2.7",
        records: 12,
        build: |_| core_merged(),
    },
    Entry {
        name: "aes-final-round-merged",
        about: "the last round of two packets in one stream",
        source: "Lai 2006, 2.7",
        records: 12,
        build: |_| final_round_merged(),
    },
];

/// The table `T` (equation 2.1): the column that `SubBytes` and `MixColumns`
/// make of a byte in row 0. Byte 1 and byte 2 are the S-box.
pub fn table() -> [u32; 256] {
    let sbox = sbox();
    std::array::from_fn(|byte| {
        let s = sbox[byte];
        u32::from_le_bytes([double(s), s, s, double(s) ^ s])
    })
}

/// Twice an element of GF(2⁸).
fn double(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 != 0 { 0x1b } else { 0 }
}

/// The S-box (FIPS 197, 5.1.1): inverse, then the affine map. Powers of the
/// generator 3 and of its inverse run through all pairs of inverses.
fn sbox() -> [u8; 256] {
    let mut sbox = [0; 256];
    let (mut element, mut inverse) = (1u8, 1u8);
    loop {
        element ^= double(element);
        // Division by 3.
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        if inverse & 0x80 != 0 {
            inverse ^= 0x09;
        }
        let turned = (1..5).fold(inverse, |sum, bits| sum ^ inverse.rotate_left(bits));
        sbox[usize::from(element)] = turned ^ 0x63;
        if element == 1 {
            break;
        }
    }
    sbox[0] = 0x63;
    sbox
}

/// The words of a block or key.
pub fn words_of(block: &[u8; 16]) -> [u32; 4] {
    let (columns, _) = block.as_chunks::<4>();
    std::array::from_fn(|column| u32::from_le_bytes(columns[column]))
}

/// Fills `T` from a stream that holds every word once for each cluster.
pub fn table_load() -> Result<Kernel, BuildError> {
    fill("aes-table", declare_table)
}

fn declare_table(k: &mut Builder) -> ArrayId {
    k.array("aes T", 256, Placement::Every)
}

/// Sets of sub-keys that a cluster has room for, where they are not kept for
/// later packets.
const SETS: u32 = 2;

/// The sub-keys that a cluster expanded, set after set.
fn declare_sub_keys(k: &mut Builder, sets: u32) -> ArrayId {
    k.array("aes sub-keys", sets * SUB_KEY_WORDS, Placement::Unit(0))
}

/// `T` of a byte of a word, byte 0 being the least significant: shuffle and
/// mask, as in figure 2.7.
fn look_up(k: &mut Builder, table: ArrayId, word: Value, byte: u32) -> Value {
    let mask = k.constant(0xff);
    let moved = if byte == 0 {
        word
    } else {
        k.shuffle(word, 0x3210 & !0xf | byte)
    };
    let index = k.and(moved, mask);
    k.scratch_read(table, index, 0)
}

/// The S-box of a byte of a word, put into byte `to` of an otherwise empty
/// word: "an extra rotate and mask".
fn substitute(k: &mut Builder, table: ArrayId, word: Value, byte: u32, to: u32) -> Value {
    let found = look_up(k, table, word, byte);
    let turned = match to {
        0 => k.rotate_left(found, 24),
        3 => k.rotate_left(found, 8),
        _ => found,
    };
    let mask = k.constant(0xff << (8 * to));
    k.and(turned, mask)
}

#[cfg(test)]
mod tests;

//! AES-NI and PCLMULQDQ: one block per instruction.

mod field;
pub(super) mod hash;
mod packet;

use std::arch::x86_64::*;
use std::ptr;

use super::super::batch::Task;
use super::super::key::POWERS as FULL_POWERS;
use super::super::plan::Route;
use crate::cipher::simd::expand_one;
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::impossible::{Impossible, happens};
use field::{hash_key, product};
use packet::{POWERS, Schedule};

/// How many packets ahead a packet's key is prefetched.
const LOOK_AHEAD: usize = 8;

/// Processes the packets of a task. No packets share vectors in this tier.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(super) fn run(task: &mut Task<'_, '_>) {
    match task.open {
        true => run_one_way::<true>(task),
        false => run_one_way::<false>(task),
    }
}

#[inline]
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
fn run_one_way<const OPEN: bool>(task: &mut Task<'_, '_>) {
    match task.kind.route {
        Route::FullShort | Route::FullWide => full::<OPEN>(task),
        Route::RawLanes | Route::RawWide => raw::<OPEN>(task),
    }
}

/// Fills `table` with the powers of the hash key that belongs to `round_keys`,
/// highest first.
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(super) fn hash_key_powers(round_keys: &[Block], table: &mut [Block]) {
    let h = hash_key(encrypted_zero(round_keys));
    let mut power = h;
    for block in table.iter_mut().rev() {
        *block = bytes(power);
        power = product(power, h);
    }
}

#[inline]
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
fn encrypted_zero(round_keys: &[Block]) -> __m128i {
    let mut zero = _mm_setzero_si128();
    for (round, key) in round_keys.iter().enumerate() {
        // SAFETY: 16 bytes are readable.
        let key = unsafe { _mm_loadu_si128(key.as_ptr().cast()) };
        zero = match round {
            0 => key,
            _ if round + 1 < round_keys.len() => _mm_aesenc_si128(zero, key),
            _ => _mm_aesenclast_si128(zero, key),
        };
    }
    zero
}

#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
fn full<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.kind.size);
    for position in 0..task.len() {
        prefetch(task, position + LOOK_AHEAD);
        if let Some(packet) = task.packet(position)
            && let Some(keys) = expanded(packet.key, rounds)
        {
            let schedule = Schedule {
                hash_key: &raw const keys[FULL_POWERS - 1],
                round_keys: &raw const keys[FULL_POWERS],
                rounds,
            };
            // SAFETY: 17 powers end with H, and round keys follow.
            let tag = unsafe { packet::process::<OPEN>(schedule, &packet) };
            task.finish(position, tag);
        }
    }
}

#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
fn raw<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.kind.size);
    let mut powers = [[0; 16]; POWERS];
    let mut round_keys = [[0; 16]; MOST_ROUND_KEYS];
    for position in 0..task.len() {
        prefetch(task, position + LOOK_AHEAD);
        if let Some(packet) = task.packet(position)
            && packet.key.len() == task.kind.size.key_bytes()
            && !happens(Impossible::NoKey)
            && expand_one(packet.key, &mut round_keys)
        {
            let h = hash_key(encrypted_zero(&round_keys[..=rounds]));
            fill_powers(h, packet.text.len(), &mut powers);
            let schedule = Schedule {
                hash_key: &raw const powers[POWERS - 1],
                round_keys: &raw const round_keys[0],
                rounds,
            };
            // SAFETY: the powers that the packet needs end with H, and there
            // are as many round keys as a key of the size has.
            let tag = unsafe { packet::process::<OPEN>(schedule, &packet) };
            task.finish(position, tag);
        }
    }
    wipe(&mut powers);
    wipe(&mut round_keys);
}

/// Fills the end of `table` with as many powers of `h` as a text needs.
#[inline]
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
fn fill_powers(h: __m128i, text_bytes: usize, table: &mut [Block; POWERS]) {
    let most = (2 + text_bytes.div_ceil(16)).min(POWERS);
    let mut power = h;
    for block in table[POWERS - most..].iter_mut().rev() {
        *block = bytes(power);
        power = product(power, h);
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn bytes(block: __m128i) -> Block {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    bytes
}

/// The blocks of an expanded key, if it has these rounds.
#[inline]
fn expanded(key: &[u8], rounds: usize) -> Option<&[Block]> {
    let (blocks, _) = key.as_chunks::<16>();
    let is_whole = blocks.len() > FULL_POWERS + rounds;
    (is_whole && !happens(Impossible::NoKey)).then_some(blocks)
}

/// Prefetches the key of the packet at `position`.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch(task: &Task<'_, '_>, position: usize) {
    if let Some(key) = task.key(position) {
        let unused = match task.kind.route.computes_keys() {
            true => 0,
            false => FULL_POWERS - POWERS,
        };
        for line in key.chunks(64).skip(unused / 4) {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
}

/// Clears what was computed for a batch, which nobody reads again: a write that
/// the compiler may not leave out.
fn wipe(blocks: &mut [Block]) {
    for block in blocks {
        // SAFETY: the reference is valid for writes.
        unsafe { ptr::write_volatile(block, [0; 16]) };
    }
}

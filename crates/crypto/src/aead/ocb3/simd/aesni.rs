//! One block per vector, up to eight in an unroll group.

use std::arch::x86_64::*;
use std::cell::Cell;

use super::super::packet::{Packet, Task, top_and_bottom};
use super::schedule::{Schedule, bytes, first_offset, load, padded};
use crate::cipher::{Block, rounds};

/// Blocks of an unroll group: enough to hide the latency of AES.
const MOST_BLOCKS: usize = 8;

/// Processes the packets of a task. No packets share vectors in this tier.
///
/// # Safety
/// The packets' keys are of the task's size, and can open if they have to.
#[target_feature(enable = "aes,avx2")]
pub(super) unsafe fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.kind);
    for (position, packet) in task.packets.iter().enumerate() {
        // SAFETY: the caller's.
        let tag = unsafe {
            let schedule = Schedule::of(packet.key, rounds);
            process::<OPEN>(schedule, packet)
        };
        task.finish(position, tag);
    }
}

/// Encrypts or decrypts a packet's text and returns the tag.
///
/// # Safety
/// The schedule is of a key of its size, and can open if `OPEN` says so.
#[target_feature(enable = "aes,avx2")]
unsafe fn process<const OPEN: bool>(schedule: Schedule<'_>, packet: &Packet<'_>) -> Block {
    let cipher = Cipher {
        round_keys: schedule.round_keys(),
        rounds: schedule.rounds,
    };
    let ([low, high], bottom) = top_and_bottom(packet.nonce);
    let (sum, last, last_offset) = hash_head(&schedule, &cipher, packet.associated);
    let nonce = _mm_set_epi64x(high as i64, low as i64);
    let mut states = [
        nonce,
        _mm_xor_si128(padded(last.iter().map(Cell::get)), last_offset),
    ];
    // SAFETY: the caller's; texts are `bytes` long from `at` on.
    unsafe {
        cipher.apply::<2, false>(&mut states);
        let [k_top, hashed] = states;
        let mut hash = sum;
        if !last.is_empty() {
            hash = _mm_xor_si128(hash, hashed);
        }
        let mut text = Text {
            schedule,
            at: packet.text.as_ptr().cast::<u8>().cast_mut(),
            bytes: packet.text.len(),
            done: 0,
            offset: first_offset(k_top, bottom),
            checksum: _mm_setzero_si128(),
        };
        while text.bytes >= 16 * MOST_BLOCKS {
            text.blocks::<MOST_BLOCKS, OPEN>();
        }
        match text.bytes / 16 {
            1 => text.blocks::<1, OPEN>(),
            2 => text.blocks::<2, OPEN>(),
            3 => text.blocks::<3, OPEN>(),
            4 => text.blocks::<4, OPEN>(),
            5 => text.blocks::<5, OPEN>(),
            6 => text.blocks::<6, OPEN>(),
            7 => text.blocks::<7, OPEN>(),
            _ => {}
        }
        if text.bytes > 0 {
            text.partial_block::<OPEN>(&cipher);
        }
        let last = _mm_xor_si128(text.checksum, text.offset);
        let mut tag = [_mm_xor_si128(last, schedule.l_dollar())];
        cipher.apply::<1, false>(&mut tag);
        bytes(_mm_xor_si128(tag[0], hash))
    }
}

/// The hash of the associated data before its last block, that block, and its
/// offset: RFC 7253 section 4.1.
#[inline]
#[target_feature(enable = "aes,avx2")]
fn hash_head<'a>(
    schedule: &Schedule<'_>,
    cipher: &Cipher,
    associated: &'a [Cell<u8>],
) -> (__m128i, &'a [Cell<u8>], __m128i) {
    let before = associated.len().saturating_sub(1) / 16 * 16;
    let (before, last) = associated.split_at(before);
    let (mut sum, mut offset) = (_mm_setzero_si128(), _mm_setzero_si128());
    let mut number = 1u64;
    for block in before.as_chunks::<16>().0 {
        offset = _mm_xor_si128(offset, schedule.l(number.trailing_zeros()));
        number += 1;
        // SAFETY: a block is readable, and the keys are the cipher's.
        unsafe {
            let mut state = [_mm_xor_si128(load(block.as_ptr().cast()), offset)];
            cipher.apply::<1, false>(&mut state);
            sum = _mm_xor_si128(sum, state[0]);
        }
    }
    let l = match last.len() {
        16 => schedule.l(number.trailing_zeros()),
        _ => schedule.l_star(),
    };
    (sum, last, _mm_xor_si128(offset, l))
}

/// Round keys of either direction.
struct Cipher {
    round_keys: *const Block,
    rounds: usize,
}

impl Cipher {
    /// Encrypts or decrypts blocks that do not depend on each other.
    ///
    /// # Safety
    /// There are `rounds + 1` round keys, of the inverse cipher if `DECRYPT` says so.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    unsafe fn apply<const BLOCKS: usize, const DECRYPT: bool>(
        &self,
        states: &mut [__m128i; BLOCKS],
    ) {
        // SAFETY: the caller's.
        let key = |round: usize| unsafe { load(self.round_keys.add(round)) };
        let first = key(0);
        for state in states.iter_mut() {
            *state = _mm_xor_si128(*state, first);
        }
        for round in 1..self.rounds {
            let key = key(round);
            for state in states.iter_mut() {
                *state = match DECRYPT {
                    true => _mm_aesdec_si128(*state, key),
                    false => _mm_aesenc_si128(*state, key),
                };
            }
        }
        let last = key(self.rounds);
        for state in states {
            *state = match DECRYPT {
                true => _mm_aesdeclast_si128(*state, last),
                false => _mm_aesenclast_si128(*state, last),
            };
        }
    }
}

/// A text under way.
struct Text<'a> {
    schedule: Schedule<'a>,
    /// What is left of it.
    at: *mut u8,
    bytes: usize,
    /// Blocks done.
    done: u64,
    offset: __m128i,
    checksum: __m128i,
}

impl Text<'_> {
    /// The next blocks.
    ///
    /// # Safety
    /// `BLOCKS` are left, and the schedule has its round keys, of the inverse cipher if
    /// `OPEN` says so.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    unsafe fn blocks<const BLOCKS: usize, const OPEN: bool>(&mut self) {
        let mut offsets = [self.offset; BLOCKS];
        for offset in &mut offsets {
            self.done += 1;
            let l = self.schedule.l(self.done.trailing_zeros());
            self.offset = _mm_xor_si128(self.offset, l);
            *offset = self.offset;
        }
        let cipher = Cipher {
            round_keys: self.schedule.text_keys::<OPEN>(),
            rounds: self.schedule.rounds,
        };
        // SAFETY: the caller's.
        unsafe {
            let mut states = offsets;
            for (block, state) in states.iter_mut().enumerate() {
                let input = load(self.at.cast::<Block>().add(block));
                *state = _mm_xor_si128(*state, input);
                if !OPEN {
                    self.checksum = _mm_xor_si128(self.checksum, input);
                }
            }
            cipher.apply::<BLOCKS, OPEN>(&mut states);
            for (block, (state, offset)) in states.into_iter().zip(offsets).enumerate() {
                let output = _mm_xor_si128(state, offset);
                _mm_storeu_si128(self.at.cast::<__m128i>().add(block), output);
                if OPEN {
                    self.checksum = _mm_xor_si128(self.checksum, output);
                }
            }
            self.at = self.at.add(16 * BLOCKS);
        }
        self.bytes -= 16 * BLOCKS;
    }

    /// What is left: less than a block.
    ///
    /// # Safety
    /// Some is left, and the cipher encrypts under the schedule's keys.
    #[inline]
    #[target_feature(enable = "aes,avx2")]
    unsafe fn partial_block<const OPEN: bool>(&mut self, cipher: &Cipher) {
        self.offset = _mm_xor_si128(self.offset, self.schedule.l_star());
        let mut pad = [self.offset];
        // SAFETY: the caller's.
        unsafe { cipher.apply::<1, false>(&mut pad) };
        let mut block = [0; 16];
        // SAFETY: `bytes` of text are left, less than a block.
        unsafe {
            self.at
                .copy_to_nonoverlapping(block.as_mut_ptr(), self.bytes);
            let output = bytes(_mm_xor_si128(load(&block), pad[0]));
            self.at
                .copy_from_nonoverlapping(output.as_ptr(), self.bytes);
            let plain = if OPEN { output } else { block };
            let plain = padded(plain[..self.bytes].iter().copied());
            self.checksum = _mm_xor_si128(self.checksum, plain);
        }
    }
}

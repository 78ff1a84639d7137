//! AES and PMULL instructions of Armv8: one packet at a time, eight blocks of it
//! in flight.
//!
//! The blocks of a flight are encrypted together and hashed with H⁸ … H and one
//! reduction. Whatever form a key is in, a packet needs its round keys and as
//! many powers as its longest flight has blocks.

mod field;

use std::arch::aarch64::*;
use std::cell::Cell;

use zeroize::Zeroize;

use super::super::batch::Task;
use super::super::field::hash_key;
use super::super::key::POWERS as FULL_POWERS;
use super::super::packet::Packet;
use super::super::plan::Kind;
use crate::cipher::simd::neon_aes::{encrypt, load, store};
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds, simd};
use crate::impossible::{Impossible, happens};
use field::{Sums, product, reverse};

/// Blocks in flight: enough to hide the latency of AES, few enough for 32
/// registers.
const FLIGHT: usize = 8;

/// Processes the packets of a task.
#[target_feature(enable = "neon,aes")]
pub(super) fn run(task: &mut Task<'_, '_>) {
    let mut scratch = Scratch {
        powers: [[0; 16]; FLIGHT],
        round_keys: [[0; 16]; MOST_ROUND_KEYS],
    };
    for position in 0..task.len() {
        if let Some(packet) = task.packet(position)
            && let Some(schedule) = Schedule::of(task.kind, &packet, &mut scratch)
        {
            let tag = match task.open {
                true => process::<true>(schedule, &packet),
                false => process::<false>(schedule, &packet),
            };
            task.finish(position, tag);
        }
    }
    scratch.powers.zeroize();
    scratch.round_keys.zeroize();
}

/// Fills `table` with the powers of the hash key that belongs to `round_keys`,
/// highest first.
#[target_feature(enable = "neon,aes")]
pub(super) fn hash_key_powers(round_keys: &[Block], table: &mut [Block]) {
    let mut zero = [vdupq_n_u8(0)];
    encrypt(round_keys, &mut zero);
    let mut encrypted_zero = [0; 16];
    store(&mut encrypted_zero, zero[0]);
    fill_powers(hash_key(encrypted_zero).to_le_bytes(), table);
}

/// Fills `table` with powers of `h`, highest first.
#[inline]
#[target_feature(enable = "neon,aes")]
fn fill_powers(h: Block, table: &mut [Block]) {
    let h = load(&h);
    let mut power = h;
    for block in table.iter_mut().rev() {
        store(block, power);
        power = product(power, h);
    }
}

/// The hash of `blocks` after `sum`, under a full schedule.
#[target_feature(enable = "neon,aes")]
pub(super) fn absorb(key: &[Block], sum: u128, blocks: &[Block]) -> u128 {
    let mut hash = Hash {
        powers: &key[..FULL_POWERS],
        sum: load(&sum.to_le_bytes()),
    };
    for blocks in blocks.chunks(FLIGHT) {
        let mut flight = [vdupq_n_u8(0); FLIGHT];
        for (vector, block) in flight.iter_mut().zip(blocks) {
            *vector = load(block);
        }
        hash.absorb(&flight[..blocks.len()]);
    }
    hash.number()
}

/// What is computed of a packet's key, where it is not in memory.
struct Scratch {
    powers: [Block; FLIGHT],
    round_keys: [Block; MOST_ROUND_KEYS],
}

/// What a packet is processed with.
#[derive(Clone, Copy)]
struct Schedule<'s> {
    /// Powers of the hash key, which end in the first.
    powers: &'s [Block],
    round_keys: &'s [Block],
}

impl<'s> Schedule<'s> {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn of(kind: Kind, packet: &Packet<'s>, scratch: &'s mut Scratch) -> Option<Schedule<'s>> {
        let bytes = packet.key;
        let rounds = rounds(kind.size);
        let needed = packet.text.len().max(packet.associated.len()).div_ceil(16);
        let most = needed.clamp(1, FLIGHT);
        let (blocks, _) = bytes.as_chunks::<16>();
        if happens(Impossible::NoKey) {
            return None;
        }
        Some(match kind.route.computes_keys() {
            true => {
                // A key of another length was refused when it was made.
                if !simd::expand(weir_simd::Tier::NeonAes, bytes, &mut scratch.round_keys) {
                    return None;
                }
                let round_keys = &scratch.round_keys[..=rounds];
                let powers = &mut scratch.powers[FLIGHT - most..];
                hash_key_powers(round_keys, powers);
                Schedule { powers, round_keys }
            }
            false => Schedule {
                powers: blocks.get(..FULL_POWERS)?,
                round_keys: blocks.get(FULL_POWERS..=FULL_POWERS + rounds)?,
            },
        })
    }
}

/// Encrypts or decrypts the text and returns the tag.
#[inline]
#[target_feature(enable = "neon,aes")]
fn process<const OPEN: bool>(schedule: Schedule<'_>, packet: &Packet<'_>) -> Block {
    let mut hash = Hash {
        powers: schedule.powers,
        sum: vdupq_n_u8(0),
    };
    for bytes in packet.associated.chunks(16 * FLIGHT) {
        let mut flight = [vdupq_n_u8(0); FLIGHT];
        for (vector, bytes) in flight.iter_mut().zip(bytes.chunks(16)) {
            let mut block = [0; 16];
            for (place, byte) in block.iter_mut().zip(bytes) {
                *place = byte.get();
            }
            *vector = load(&block);
        }
        hash.absorb(&flight[..bytes.len().div_ceil(16)]);
    }

    // The first counter is the tag's (J0), the others are the text's.
    let nonce = vreinterpretq_u32_u8(load(packet.nonce));
    let mut tag = key_stream::<1>(schedule.round_keys, nonce, 1);
    let mut counter = 2u32;
    for text in packet.text.chunks(16 * FLIGHT) {
        match text.len().div_ceil(16) {
            1 => hash.apply::<OPEN, 1>(schedule.round_keys, nonce, counter, text),
            2 => hash.apply::<OPEN, 2>(schedule.round_keys, nonce, counter, text),
            3 | 4 => hash.apply::<OPEN, 4>(schedule.round_keys, nonce, counter, text),
            _ => hash.apply::<OPEN, FLIGHT>(schedule.round_keys, nonce, counter, text),
        }
        counter = counter.wrapping_add(FLIGHT as u32);
    }

    let bits = |bytes: usize| 8 * bytes as u128;
    let lengths = bits(packet.associated.len()) << 64 | bits(packet.text.len());
    hash.absorb(&[load(&lengths.to_be_bytes())]);
    tag[0] = veorq_u8(tag[0], reverse(hash.sum));
    let mut bytes = [0; 16];
    store(&mut bytes, tag[0]);
    bytes
}

/// The encrypted counter blocks from `first_counter` on.
#[inline]
#[target_feature(enable = "neon,aes")]
fn key_stream<const BLOCKS: usize>(
    round_keys: &[Block],
    nonce: uint32x4_t,
    first_counter: u32,
) -> [uint8x16_t; BLOCKS] {
    let mut states = [vdupq_n_u8(0); BLOCKS];
    for (block, state) in (0..).zip(&mut states) {
        let counter = first_counter.wrapping_add(block).swap_bytes();
        *state = vreinterpretq_u8_u32(vsetq_lane_u32::<3>(counter, nonce));
    }
    encrypt(round_keys, &mut states);
    states
}

/// Adds the key stream to a block of text and returns it before and after.
#[inline]
#[target_feature(enable = "neon")]
fn add_whole(text: &[Cell<u8>; 16], key_stream: uint8x16_t) -> (uint8x16_t, uint8x16_t) {
    let at: *mut u8 = text.as_ptr().cast_mut().cast();
    // SAFETY: 16 bytes are readable, and, being cells, writable; neither needs
    // any alignment.
    unsafe {
        let input = vld1q_u8(at);
        let output = veorq_u8(input, key_stream);
        vst1q_u8(at, output);
        (input, output)
    }
}

/// As [`add_whole`], of fewer bytes than a block has, with zeros behind them.
#[inline]
#[target_feature(enable = "neon")]
fn add_partial(text: &[Cell<u8>], key_stream: uint8x16_t) -> (uint8x16_t, uint8x16_t) {
    let mut block = [0; 16];
    for (byte, cell) in block.iter_mut().zip(text) {
        *byte = cell.get();
    }
    let input = load(&block);
    store(&mut block, veorq_u8(input, key_stream));
    for (byte, cell) in block.iter_mut().zip(text) {
        cell.set(*byte);
    }
    block[text.len()..].fill(0);
    (input, load(&block))
}

/// GHASH: SP 800-38D section 6.4.
struct Hash<'s> {
    /// As in [`Schedule::powers`].
    powers: &'s [Block],
    sum: uint8x16_t,
}

impl Hash<'_> {
    /// Encrypts or decrypts at most `BLOCKS` blocks, the last perhaps partial,
    /// and absorbs the ciphertext.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn apply<const OPEN: bool, const BLOCKS: usize>(
        &mut self,
        round_keys: &[Block],
        nonce: uint32x4_t,
        first_counter: u32,
        text: &[Cell<u8>],
    ) {
        let stream = key_stream::<BLOCKS>(round_keys, nonce, first_counter);
        let mut hashed = [vdupq_n_u8(0); BLOCKS];
        for ((hashed, key_stream), cells) in hashed.iter_mut().zip(stream).zip(text.chunks(16)) {
            let (input, output) = match cells.as_array::<16>() {
                Some(cells) => add_whole(cells, key_stream),
                None => add_partial(cells, key_stream),
            };
            *hashed = if OPEN { input } else { output };
        }
        self.absorb(&hashed[..text.len().div_ceil(16)]);
    }

    /// Absorbs blocks, no more than there are powers, with one reduction.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn absorb(&mut self, blocks: &[uint8x16_t]) {
        let mut sums = Sums::zero();
        let mut carried = self.sum;
        let powers = &self.powers[self.powers.len() - blocks.len()..];
        for (block, power) in blocks.iter().zip(powers) {
            sums.add(veorq_u8(reverse(*block), carried), load(power));
            carried = vdupq_n_u8(0);
        }
        self.sum = sums.reduce();
    }

    /// The hash as the number that [`super::super::field`] computes with.
    #[inline]
    #[target_feature(enable = "neon")]
    fn number(&self) -> u128 {
        let mut bytes = [0; 16];
        store(&mut bytes, self.sum);
        u128::from_le_bytes(bytes)
    }
}

//! The unit of Armv8.
//!
//! AESE adds the round key first, then substitutes and shifts; AESMC mixes columns. A round of
//! FIPS 197 adds its key last. The compiler moves that addition into the next round's AESE.

use std::arch::aarch64::*;
use std::cell::Cell;

use super::{AesLanes, AesUnit, Kernel, operations};
use crate::cipher::Block;

/// A block per vector. It exists only where the processor has [`weir_simd::Tier::NeonAes`].
#[derive(Clone, Copy)]
pub(super) struct NeonAes(());

#[target_feature(enable = "neon,aes")]
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(NeonAes(()))
}

/// SubBytes and ShiftRows, before the key is added.
#[inline]
#[target_feature(enable = "aes")]
fn substituted(state: uint8x16_t) -> uint8x16_t {
    vaeseq_u8(state, vdupq_n_u8(0))
}

/// The same, and MixColumns: processors take the two instructions as one.
#[inline]
#[target_feature(enable = "aes")]
fn substituted_and_mixed(state: uint8x16_t) -> uint8x16_t {
    vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0)))
}

/// InvSubBytes and InvShiftRows.
#[inline]
#[target_feature(enable = "aes")]
fn inverse_substituted(state: uint8x16_t) -> uint8x16_t {
    vaesdq_u8(state, vdupq_n_u8(0))
}

/// InvMixColumns.
#[inline]
#[target_feature(enable = "aes")]
fn inverse_mixed(state: uint8x16_t) -> uint8x16_t {
    vaesimcq_u8(state)
}

#[inline]
#[target_feature(enable = "neon,aes")]
fn product_of_low(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    let (x, y) = (vreinterpretq_u64_u8(x), vreinterpretq_u64_u8(y));
    vreinterpretq_u8_p128(vmull_p64(vgetq_lane_u64::<0>(x), vgetq_lane_u64::<0>(y)))
}

#[inline]
#[target_feature(enable = "neon,aes")]
fn product_of_high(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
    vreinterpretq_u8_p128(vmull_high_p64(
        vreinterpretq_p64_u8(x),
        vreinterpretq_p64_u8(y),
    ))
}

impl AesLanes for NeonAes {
    type Vector = uint8x16_t;

    const BLOCKS: usize = 1;

    operations! {
        xor(a, b) = veorq_u8(a, b);
        round(state, key) = veorq_u8(substituted_and_mixed(state), key);
        last_round(state, key) = veorq_u8(substituted(state), key);
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> uint8x16_t {
        // SAFETY: 16 bytes are readable; the load needs no alignment.
        unsafe { vld1q_u8(blocks[0].as_ptr()) }
    }

    #[inline(always)]
    fn store_blocks(self, vector: uint8x16_t, blocks: &mut [Block]) {
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { vst1q_u8(blocks[0].as_mut_ptr(), vector) };
    }

    #[inline(always)]
    unsafe fn gather(self, places: &[*mut Block]) -> uint8x16_t {
        // SAFETY: the caller's.
        unsafe { vld1q_u8(places[0].cast()) }
    }

    #[inline(always)]
    unsafe fn scatter(self, vector: uint8x16_t, places: &[*mut Block]) {
        // SAFETY: the caller's.
        unsafe { vst1q_u8(places[0].cast(), vector) };
    }
}

impl AesUnit for NeonAes {
    type Lanes = NeonAes;

    operations! {
        zero() = vdupq_n_u8(0);
        inverse_round(state, key) = veorq_u8(inverse_mixed(inverse_substituted(state)), key);
        last_inverse_round(state, key) = veorq_u8(inverse_substituted(state), key);
        inverse_columns(key) = inverse_mixed(key);
        pick(vector, which) = vqtbl1q_u8(vector, which);
        up_a_word(vector) = vextq_u8::<12>(vdupq_n_u8(0), vector);
        up_a_half(vector) = vextq_u8::<8>(vdupq_n_u8(0), vector);
        down_a_half(vector) = vextq_u8::<8>(vector, vdupq_n_u8(0));
        swap_halves(vector) = vextq_u8::<8>(vector, vector);
        low_halves(first, second) = {
            let (first, second) = (vreinterpretq_u64_u8(first), vreinterpretq_u64_u8(second));
            vreinterpretq_u8_u64(vzip1q_u64(first, second))
        };
        middle_halves(first, second) = vextq_u8::<8>(first, second);
        multiply_low(x, y) = product_of_low(x, y);
        multiply_high(x, y) = product_of_high(x, y);
        multiply_crossed(x, y) = {
            let crossed = vextq_u8::<8>(y, y);
            veorq_u8(product_of_low(x, crossed), product_of_high(x, crossed))
        };
        reverse(vector) = {
            let halves = vrev64q_u8(vector);
            vextq_u8::<8>(halves, halves)
        };
    }

    #[inline(always)]
    fn lanes(self) -> NeonAes {
        self
    }

    #[inline(always)]
    fn broadcast(self, block: &Block) -> uint8x16_t {
        self.load_blocks(std::slice::from_ref(block))
    }

    #[inline(always)]
    fn load(self, text: &[Cell<u8>]) -> uint8x16_t {
        if text.len() >= 16 {
            // SAFETY: 16 bytes are readable.
            return unsafe { vld1q_u8(text.as_ptr().cast()) };
        }
        let mut block = [0; 16];
        for (place, byte) in block.iter_mut().zip(text) {
            *place = byte.get();
        }
        self.broadcast(&block)
    }

    #[inline(always)]
    fn store(self, vector: uint8x16_t, text: &[Cell<u8>]) {
        if text.len() >= 16 {
            // SAFETY: 16 bytes are writable, being cells.
            return unsafe { vst1q_u8(text.as_ptr().cast_mut().cast(), vector) };
        }
        let mut block = [[0; 16]];
        self.store_blocks(vector, &mut block);
        for (byte, place) in text.iter().zip(block[0]) {
            byte.set(place);
        }
    }

    #[inline(always)]
    fn load_some(self, text: &[Cell<u8>]) -> uint8x16_t {
        self.load(text)
    }

    #[inline(always)]
    fn store_some(self, vector: uint8x16_t, text: &[Cell<u8>]) {
        self.store(vector, text);
    }

    #[inline(always)]
    fn counters(self, first: &Block) -> uint8x16_t {
        self.reverse(self.broadcast(first))
    }

    #[inline(always)]
    fn count_on(self, counters: uint8x16_t, blocks: u32) -> uint8x16_t {
        // SAFETY: the unit is there, so that the processor has the instructions.
        unsafe {
            let blocks = vsetq_lane_u32::<0>(blocks, vdupq_n_u32(0));
            vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(counters), blocks))
        }
    }

    #[inline(always)]
    fn words(self, word: u32) -> uint8x16_t {
        // SAFETY: as above.
        unsafe { vreinterpretq_u8_u32(vdupq_n_u32(word)) }
    }

    #[inline(always)]
    fn blocks_before(self, before: uint8x16_t, _vector: uint8x16_t) -> uint8x16_t {
        before
    }
}

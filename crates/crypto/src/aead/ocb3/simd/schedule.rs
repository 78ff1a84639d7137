//! Where the blocks of a key lie, for kernels of any width.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::key::{LAST_L, Ocb3Key, ROUND_KEYS, inverse_keys, l_beyond, place_of_l};
use crate::cipher::Block;

/// A key's blocks, borrowed.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a> {
    /// In the order of [`Ocb3Key`]; 64-byte aligned.
    pub(super) blocks: *const Block,
    pub(super) rounds: usize,
    borrowed: PhantomData<&'a Ocb3Key>,
}

impl<'a> Schedule<'a> {
    /// The schedule of a key.
    ///
    /// # Safety
    /// The key has `rounds` rounds.
    #[inline]
    pub(super) unsafe fn of(key: &'a Ocb3Key, rounds: usize) -> Schedule<'a> {
        Schedule {
            blocks: key.lines().as_ptr().cast(),
            rounds,
            borrowed: PhantomData,
        }
    }

    /// Round key 0.
    #[inline]
    pub(super) fn round_keys(self) -> *const Block {
        self.blocks.wrapping_add(ROUND_KEYS)
    }

    /// The keys that texts are processed with: to open them, those of the
    /// inverse cipher, which not every key has.
    #[inline]
    pub(super) fn text_keys<const OPEN: bool>(self) -> *const Block {
        match OPEN {
            true => self.blocks.wrapping_add(inverse_keys(self.rounds)),
            false => self.round_keys(),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn l_star(self) -> __m128i {
        // SAFETY: every key has the block.
        unsafe { load(self.blocks) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn l_dollar(self) -> __m128i {
        // SAFETY: every key has the block.
        unsafe { load(self.blocks.add(1)) }
    }

    /// Lᵢ.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn l(self, i: u32) -> __m128i {
        match i {
            ..=LAST_L => self.l_in_memory(i),
            _ => beyond(self.l_in_memory(LAST_L), i),
        }
    }

    /// Lᵢ, up to the last in memory.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn l_in_memory(self, i: u32) -> __m128i {
        // SAFETY: every key has L₀ to the last; a block is 16 readable bytes.
        unsafe { load(self.blocks.add(place_of_l(self.rounds, i.min(LAST_L)))) }
    }

    /// The offset of the partial block behind `blocks` whole ones.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn offset_of_partial(self, first: __m128i, blocks: usize) -> __m128i {
        _mm_xor_si128(self.offset_behind(first, blocks), self.l_star())
    }

    /// The offset of the last of `blocks` whole blocks.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn offset_behind(self, first: __m128i, blocks: usize) -> __m128i {
        let mut offset = first;
        // The sum over blocks 1 to m of L[ntz] is a Gray code's: see the module.
        let mut gray = blocks ^ blocks >> 1;
        while gray != 0 {
            offset = _mm_xor_si128(offset, self.l(gray.trailing_zeros()));
            gray &= gray - 1;
        }
        offset
    }
}

/// Lᵢ from the last one in memory.
#[cold]
#[inline(never)]
#[target_feature(enable = "sse2")]
fn beyond(last: __m128i, i: u32) -> __m128i {
    // SAFETY: a block is readable.
    unsafe { load(&l_beyond(bytes(last), i)) }
}

/// # Safety
/// A block is readable.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) unsafe fn load(block: *const Block) -> __m128i {
    // SAFETY: the caller's; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn bytes(block: __m128i) -> Block {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    bytes
}

/// Offset₀ from Ktop: RFC 7253 section 4.2.
///
/// ```text
/// Ktop           k₀ … k₇   k₈ … k₁₅
/// behind it      k₈ … k₁₅  k₀+k₁ … k₇+k₈     what shifts in from the right
/// ```
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn first_offset(k_top: __m128i, bottom: u32) -> __m128i {
    let differences = _mm_xor_si128(k_top, _mm_srli_si128::<1>(k_top));
    let behind = _mm_alignr_epi8::<8>(differences, k_top);
    // Bytes of each half reversed: halves are numbers.
    let reversed = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
    let (k_top, behind) = (
        _mm_shuffle_epi8(k_top, reversed),
        _mm_shuffle_epi8(behind, reversed),
    );
    let bottom = i64::from(bottom);
    let offset = _mm_or_si128(
        _mm_sll_epi64(k_top, _mm_cvtsi64_si128(bottom)),
        _mm_srl_epi64(behind, _mm_cvtsi64_si128(64 - bottom)),
    );
    _mm_shuffle_epi8(offset, reversed)
}

/// A block of up to 16 bytes; shorter ones with a one bit behind their last.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn padded(bytes: impl Iterator<Item = u8>) -> __m128i {
    let mut block = [0; 16];
    for (place, byte) in block.iter_mut().zip(bytes.chain([0x80])) {
        *place = byte;
    }
    // SAFETY: a block is readable.
    unsafe { load(&block) }
}

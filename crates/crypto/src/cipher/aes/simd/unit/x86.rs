//! The units of x86-64.

use std::arch::x86_64::*;
use std::cell::Cell;

use super::{AesLanes, AesUnit, Kernel, operations};
use crate::cipher::Block;

/// AES-NI: a block per vector. It exists only where the processor has [`weir_simd::Tier::Aesni`].
#[derive(Clone, Copy)]
pub(super) struct AesNi(());

/// Two blocks per vector. It exists only where the processor has [`weir_simd::Tier::Avx512`].
#[derive(Clone, Copy)]
pub(in super::super) struct PairedVaes(());

/// Four blocks per vector. It exists only where the processor has [`weir_simd::Tier::Avx512`].
#[derive(Clone, Copy)]
pub(in super::super) struct Vaes(());

impl Vaes {
    /// For functions that need the tier themselves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    pub(in super::super) fn of_tier() -> Vaes {
        Vaes(())
    }
}

#[target_feature(enable = "aes,pclmulqdq,avx2")]
pub(super) fn run_aesni<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(AesNi(()))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq,bmi2")]
pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Vaes(()))
}

/// The words of a block, highest first, that say which byte goes where: bytes reversed.
const REVERSED: [i32; 4] = [0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f];

/// The lowest `bytes` bytes of a vector, all of them from 64 on.
///
/// # Safety
/// The processor has [`weir_simd::Tier::Avx512`].
#[inline(always)]
unsafe fn mask_of(bytes: usize) -> __mmask64 {
    // SAFETY: the caller's.
    unsafe { _bzhi_u64(u64::MAX, bytes.min(64) as u32) }
}

impl AesLanes for AesNi {
    type Vector = __m128i;

    const BLOCKS: usize = 1;

    operations! {
        xor(a, b) = _mm_xor_si128(a, b);
        round(state, key) = _mm_aesenc_si128(state, key);
        last_round(state, key) = _mm_aesenclast_si128(state, key);
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> __m128i {
        // SAFETY: 16 bytes are readable; the load needs no alignment.
        unsafe { _mm_loadu_si128(blocks[0].as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_blocks(self, vector: __m128i, blocks: &mut [Block]) {
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { _mm_storeu_si128(blocks[0].as_mut_ptr().cast(), vector) };
    }

    #[inline(always)]
    unsafe fn gather(self, places: &[*mut Block]) -> __m128i {
        // SAFETY: the caller's.
        unsafe { _mm_loadu_si128(places[0].cast()) }
    }

    #[inline(always)]
    unsafe fn scatter(self, vector: __m128i, places: &[*mut Block]) {
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(places[0].cast(), vector) };
    }
}

impl AesUnit for AesNi {
    type Lanes = AesNi;

    operations! {
        zero() = _mm_setzero_si128();
        inverse_round(state, key) = _mm_aesdec_si128(state, key);
        last_inverse_round(state, key) = _mm_aesdeclast_si128(state, key);
        inverse_columns(key) = _mm_aesimc_si128(key);
        pick(vector, which) = _mm_shuffle_epi8(vector, which);
        up_a_word(vector) = _mm_slli_si128::<4>(vector);
        up_a_half(vector) = _mm_slli_si128::<8>(vector);
        down_a_half(vector) = _mm_srli_si128::<8>(vector);
        swap_halves(vector) = _mm_shuffle_epi32::<0x4e>(vector);
        low_halves(first, second) = _mm_unpacklo_epi64(first, second);
        middle_halves(first, second) = _mm_alignr_epi8::<8>(second, first);
        multiply_low(x, y) = _mm_clmulepi64_si128::<0x00>(x, y);
        multiply_high(x, y) = _mm_clmulepi64_si128::<0x11>(x, y);
        multiply_crossed(x, y) = {
            let low_by_high = _mm_clmulepi64_si128::<0x10>(x, y);
            _mm_xor_si128(low_by_high, _mm_clmulepi64_si128::<0x01>(x, y))
        };
        reverse(vector) = {
            let [a, b, c, d] = REVERSED;
            _mm_shuffle_epi8(vector, _mm_set_epi32(a, b, c, d))
        };
    }

    #[inline(always)]
    fn lanes(self) -> AesNi {
        self
    }

    #[inline(always)]
    fn broadcast(self, block: &Block) -> __m128i {
        self.load_blocks(std::slice::from_ref(block))
    }

    #[inline(always)]
    fn load(self, text: &[Cell<u8>]) -> __m128i {
        if text.len() >= 16 {
            // SAFETY: 16 bytes are readable.
            return unsafe { _mm_loadu_si128(text.as_ptr().cast()) };
        }
        let mut block = [0; 16];
        for (place, byte) in block.iter_mut().zip(text) {
            *place = byte.get();
        }
        self.broadcast(&block)
    }

    #[inline(always)]
    fn store(self, vector: __m128i, text: &[Cell<u8>]) {
        if text.len() >= 16 {
            // SAFETY: 16 bytes are writable, being cells.
            return unsafe { _mm_storeu_si128(text.as_ptr().cast_mut().cast(), vector) };
        }
        let mut block = [[0; 16]];
        self.store_blocks(vector, &mut block);
        for (byte, place) in text.iter().zip(block[0]) {
            byte.set(place);
        }
    }

    #[inline(always)]
    fn load_some(self, text: &[Cell<u8>]) -> __m128i {
        self.load(text)
    }

    #[inline(always)]
    fn store_some(self, vector: __m128i, text: &[Cell<u8>]) {
        self.store(vector, text);
    }

    #[inline(always)]
    fn counters(self, first: &Block) -> __m128i {
        self.reverse(self.broadcast(first))
    }

    #[inline(always)]
    fn count_on(self, counters: __m128i, blocks: u32) -> __m128i {
        // SAFETY: the unit is there, so that the processor has the instructions.
        unsafe { _mm_add_epi32(counters, _mm_set_epi32(0, 0, 0, blocks as i32)) }
    }

    #[inline(always)]
    fn words(self, word: u32) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_set1_epi32(word as i32) }
    }

    #[inline(always)]
    fn blocks_before(self, before: __m128i, _vector: __m128i) -> __m128i {
        before
    }
}

impl AesLanes for PairedVaes {
    type Vector = __m256i;

    const BLOCKS: usize = 2;

    operations! {
        xor(a, b) = _mm256_xor_si256(a, b);
        round(state, key) = _mm256_aesenc_epi128(state, key);
        last_round(state, key) = _mm256_aesenclast_epi128(state, key);
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> __m256i {
        let blocks = &blocks[..2];
        // SAFETY: 32 bytes are readable; the load needs no alignment.
        unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_blocks(self, vector: __m256i, blocks: &mut [Block]) {
        let blocks = &mut blocks[..2];
        // SAFETY: 32 bytes are writable; the store needs no alignment.
        unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), vector) };
    }

    #[inline(always)]
    unsafe fn gather(self, places: &[*mut Block]) -> __m256i {
        // SAFETY: the caller's.
        unsafe {
            let low = _mm_loadu_si128(places[0].cast());
            let high = _mm_loadu_si128(places[1].cast());
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, vector: __m256i, places: &[*mut Block]) {
        // SAFETY: the caller's.
        unsafe {
            _mm_storeu_si128(places[0].cast(), _mm256_castsi256_si128(vector));
            _mm_storeu_si128(places[1].cast(), _mm256_extracti128_si256::<1>(vector));
        }
    }
}

impl AesLanes for Vaes {
    type Vector = __m512i;

    const BLOCKS: usize = 4;

    operations! {
        xor(a, b) = _mm512_xor_si512(a, b);
        round(state, key) = _mm512_aesenc_epi128(state, key);
        last_round(state, key) = _mm512_aesenclast_epi128(state, key);
    }

    #[inline(always)]
    fn load_blocks(self, blocks: &[Block]) -> __m512i {
        let blocks = &blocks[..4];
        // SAFETY: 64 bytes are readable; the load needs no alignment.
        unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_blocks(self, vector: __m512i, blocks: &mut [Block]) {
        let blocks = &mut blocks[..4];
        // SAFETY: 64 bytes are writable; the store needs no alignment.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), vector) };
    }

    #[inline(always)]
    unsafe fn gather(self, places: &[*mut Block]) -> __m512i {
        let pairs = self.lanes();
        // SAFETY: the caller's.
        unsafe {
            let (low, high) = (pairs.gather(&places[..2]), pairs.gather(&places[2..]));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, vector: __m512i, places: &[*mut Block]) {
        let pairs = self.lanes();
        // SAFETY: the caller's.
        unsafe {
            pairs.scatter(_mm512_castsi512_si256(vector), &places[..2]);
            pairs.scatter(_mm512_extracti64x4_epi64::<1>(vector), &places[2..]);
        }
    }
}

impl AesUnit for Vaes {
    type Lanes = PairedVaes;

    operations! {
        zero() = _mm512_setzero_si512();
        inverse_round(state, key) = _mm512_aesdec_epi128(state, key);
        last_inverse_round(state, key) = _mm512_aesdeclast_epi128(state, key);
        inverse_columns(key) = _mm512_zextsi128_si512(_mm_aesimc_si128(_mm512_castsi512_si128(key)));
        pick(vector, which) = _mm512_shuffle_epi8(vector, which);
        up_a_word(vector) = _mm512_bslli_epi128::<4>(vector);
        up_a_half(vector) = _mm512_bslli_epi128::<8>(vector);
        down_a_half(vector) = _mm512_bsrli_epi128::<8>(vector);
        swap_halves(vector) = _mm512_shuffle_epi32::<0x4e>(vector);
        low_halves(first, second) = _mm512_unpacklo_epi64(first, second);
        middle_halves(first, second) = _mm512_alignr_epi8::<8>(second, first);
        multiply_low(x, y) = _mm512_clmulepi64_epi128::<0x00>(x, y);
        multiply_high(x, y) = _mm512_clmulepi64_epi128::<0x11>(x, y);
        multiply_crossed(x, y) = {
            let low_by_high = _mm512_clmulepi64_epi128::<0x10>(x, y);
            _mm512_xor_si512(low_by_high, _mm512_clmulepi64_epi128::<0x01>(x, y))
        };
        reverse(vector) = {
            let [a, b, c, d] = REVERSED;
            _mm512_shuffle_epi8(vector, _mm512_set4_epi32(a, b, c, d))
        };
        blocks_before(before, vector) = _mm512_alignr_epi64::<6>(vector, before);
    }

    #[inline(always)]
    fn lanes(self) -> PairedVaes {
        PairedVaes(())
    }

    #[inline(always)]
    fn broadcast(self, block: &Block) -> __m512i {
        // SAFETY: 16 bytes are readable; the load needs no alignment.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load(self, text: &[Cell<u8>]) -> __m512i {
        if text.len() >= 64 {
            // SAFETY: 64 bytes are readable.
            return unsafe { _mm512_loadu_si512(text.as_ptr().cast()) };
        }
        self.load_some(text)
    }

    #[inline(always)]
    fn store(self, vector: __m512i, text: &[Cell<u8>]) {
        if text.len() >= 64 {
            // SAFETY: 64 bytes are writable, being cells.
            return unsafe { _mm512_storeu_si512(text.as_ptr().cast_mut().cast(), vector) };
        }
        self.store_some(vector, text);
    }

    #[inline(always)]
    fn load_some(self, text: &[Cell<u8>]) -> __m512i {
        // SAFETY: the unit is there; the mask covers the text, or 64 bytes of it.
        unsafe { _mm512_maskz_loadu_epi8(mask_of(text.len()), text.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_some(self, vector: __m512i, text: &[Cell<u8>]) {
        let at = text.as_ptr().cast_mut().cast();
        // SAFETY: as above; the text is made of cells.
        unsafe { _mm512_mask_storeu_epi8(at, mask_of(text.len()), vector) };
    }

    #[inline(always)]
    fn words(self, word: u32) -> __m512i {
        // SAFETY: the unit is there, so that the processor has the instructions.
        unsafe { _mm512_set1_epi32(word as i32) }
    }

    #[inline(always)]
    fn counters(self, first: &Block) -> __m512i {
        let first = self.reverse(self.broadcast(first));
        // SAFETY: the unit is there, so that the processor has the instructions.
        unsafe {
            let places = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
            _mm512_add_epi32(first, places)
        }
    }

    #[inline(always)]
    fn count_on(self, counters: __m512i, blocks: u32) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_add_epi32(counters, _mm512_set4_epi32(0, 0, 0, blocks as i32)) }
    }
}

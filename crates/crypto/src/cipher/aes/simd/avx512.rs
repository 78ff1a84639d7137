//! Four keys per vector, one per 128-bit lane.

use std::arch::x86_64::*;

use super::{ROUND_CONSTANTS, schedules};

schedules! {
    features "avx512f,avx512bw,vaes", vector __m512i,
    _mm512_setzero_si512 _mm512_set1_epi32 _mm512_shuffle_epi8 _mm512_shuffle_epi32
    _mm512_aesenclast_epi128 _mm512_xor_si512 _mm512_bslli_epi128 _mm512_unpacklo_epi64
    _mm512_alignr_epi8,
    next_128_lanes expand_128_lanes expand_192_lanes expand_256_lanes
}

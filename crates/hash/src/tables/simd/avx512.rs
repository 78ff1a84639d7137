//! AVX-512: the look-ups of AVX2, which are loads of 32 bytes here too, for two blocks
//! of keys that fill one vector per row; rows are handed out as elsewhere.

use std::arch::x86_64::*;

use super::super::{LANES, Tables};
use super::avx2::{self, Places};
use crate::buckets::{BucketSink, Buckets};
use crate::columns::KeyColumns;
use crate::family::MAX_ROWS;
use crate::simd::avx512;

/// Eight vectors of values, as many times as all rows take.
const MAX_GROUPS: usize = MAX_ROWS / LANES;

/// Fills `out`, which has the shape of the result, and hands it out. `places` makes
/// those of the eight keys from the one with the given number on.
///
/// # Safety
/// As of [`avx2::values`], for all that `places` makes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) unsafe fn buckets_to<P: Places>(
    tables: &Tables,
    width: u32,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
    places: impl Fn(usize) -> P,
) {
    if tables.rows <= LANES {
        // SAFETY: as the caller says.
        unsafe { groups::<1, P>(tables, width, keys, out, sink, places) };
    } else {
        // SAFETY: as the caller says.
        unsafe { groups::<MAX_GROUPS, P>(tables, width, keys, out, sink, places) };
    }
}

/// [`buckets_to`] for up to `GROUPS` times eight rows.
///
/// # Safety
/// The same.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn groups<const GROUPS: usize, P: Places>(
    tables: &Tables,
    width: u32,
    keys: &KeyColumns,
    out: &mut Buckets,
    sink: &mut impl BucketSink,
    places: impl Fn(usize) -> P,
) {
    let rows: [usize; MAX_ROWS] = std::array::from_fn(|row| row);
    let values = |first: usize| {
        let (front, back) = (places(first), places(first + avx2::BLOCK));
        let mut values = [[_mm512_setzero_si512(); LANES]; GROUPS];
        let starts = (0..tables.rows).step_by(LANES);
        for (row, values) in starts.zip(&mut values) {
            // SAFETY: as the caller says of all places.
            let (front, back) = unsafe {
                (
                    avx2::values(tables, &front, row),
                    avx2::values(tables, &back, row),
                )
            };
            *values = std::array::from_fn(|row| {
                let front = _mm512_castsi256_si512(front[row]);
                _mm512_inserti64x4::<1>(front, back[row])
            });
        }
        values
    };
    let hash = |row: &usize, values: &[[__m512i; LANES]; GROUPS]| {
        scale(values.as_flattened()[*row], width)
    };
    avx512::buckets_to(keys, &rows[..tables.rows], out, sink, values, hash);
}

/// ⌊value·`width` / 2³²⌋ in 32-bit lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn scale(values: __m512i, width: u32) -> __m512i {
    let width = _mm512_set1_epi32(width as i32);
    let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(values, width));
    let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(values), width);
    _mm512_mask_blend_epi32(0b1010_1010_1010_1010, even, odd)
}

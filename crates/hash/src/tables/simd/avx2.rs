//! AVX2: eight rows per load, eight keys per block.
//!
//! ```text
//! key 0   entry of character 0 ^ entry of character 1 ^ …    lanes are rows
//!   …                                                        8 x 8 transposed
//! row 0   value of key 0, of key 1, …                        lanes are keys
//! ```

use std::arch::x86_64::*;

use super::super::{LANES, Tables};
use crate::buckets::Buckets;
use crate::columns::KeyColumns;

/// Keys of a block.
pub(crate) const BLOCK: usize = 8;

/// For each position, where the words of the entries stand that the characters of
/// eight keys look up there: entry times rows.
pub(crate) trait Places {
    fn positions(&self) -> &[[u32; BLOCK]];
}

/// Fills `out`, which has the shape of the result. `places` makes those of the eight
/// keys from the one with the given number on.
///
/// # Safety
/// As of [`values`], for all that `places` makes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn buckets<P: Places>(
    tables: &Tables,
    width: u32,
    keys: &KeyColumns,
    out: &mut Buckets,
    places: impl Fn(usize) -> P,
) {
    let stride = keys.padded_len();
    let out = out.padded_rows();
    for first in (0..stride).step_by(BLOCK) {
        let places = places(first);
        for (group, out) in out.chunks_mut(LANES * stride).enumerate() {
            // SAFETY: as the caller says of all places.
            let values = unsafe { values(tables, &places, LANES * group) };
            for (values, out) in values.into_iter().zip(out.chunks_exact_mut(stride)) {
                let out = &mut out[first..first + BLOCK];
                // SAFETY: 32 bytes are writable; the store needs no alignment.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), scale(values, width)) };
            }
        }
    }
}

/// The values of eight keys under the eight rows from `row` on, which lies below the
/// tables' rows: a vector for each row, those of rows that do not exist of no meaning.
///
/// # Safety
/// At all of `places` an entry of `tables` starts.
///
/// Never inlined, or the compiler keeps places in registers, of which there are too few,
/// where loads from memory are what takes them apart best.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn values(tables: &Tables, places: &impl Places, row: usize) -> [__m256i; LANES] {
    assert!(row < tables.rows);
    let places = places.positions();
    let words = &tables.words[row..];
    let mut values = [_mm256_setzero_si256(); BLOCK];
    for (key, value) in values.iter_mut().enumerate() {
        for places in places {
            let place = places[key] as usize;
            debug_assert!(place + LANES <= words.len());
            // SAFETY: the caller says that an entry starts there, in row 0; in row `row`
            // eight words follow, since the table is eight words longer than its entries.
            // Unaligned loads are allowed.
            let entry = unsafe { _mm256_loadu_si256(words.as_ptr().add(place).cast()) };
            *value = _mm256_xor_si256(*value, entry);
        }
    }
    transposed(values)
}

/// Rows become columns: 32-bit words by pairs, by pairs of pairs, and by halves.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
    let pairs: [__m256i; 8] = std::array::from_fn(|i| {
        let (one, other) = (rows[i / 2 * 2], rows[i / 2 * 2 + 1]);
        match i % 2 {
            0 => _mm256_unpacklo_epi32(one, other),
            _ => _mm256_unpackhi_epi32(one, other),
        }
    });
    // Columns i and i + 4 of rows 0 to 3, then of rows 4 to 7.
    let fours: [__m256i; 8] = std::array::from_fn(|i| {
        let at = i / 4 * 4 + i % 4 / 2;
        let (one, other) = (pairs[at], pairs[at + 2]);
        match i % 2 {
            0 => _mm256_unpacklo_epi64(one, other),
            _ => _mm256_unpackhi_epi64(one, other),
        }
    });
    std::array::from_fn(|i| {
        let (one, other) = (fours[i % 4], fours[i % 4 + 4]);
        match i / 4 {
            0 => _mm256_permute2x128_si256::<0x20>(one, other),
            _ => _mm256_permute2x128_si256::<0x31>(one, other),
        }
    })
}

/// ⌊value·`width` / 2³²⌋ in 32-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn scale(values: __m256i, width: u32) -> __m256i {
    let width = _mm256_set1_epi32(width as i32);
    let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(values, width));
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(values), width);
    _mm256_blend_epi32::<0b1010_1010>(even, odd)
}

/// Word `word` of the eight keys from number `first` on, zeros where keys have fewer
/// words.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(keys: &KeyColumns, word: usize, first: usize) -> __m256i {
    if word >= keys.words() {
        return _mm256_setzero_si256();
    }
    let words = &keys.padded_column(word)[first..first + BLOCK];
    // SAFETY: 32 bytes are readable; the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// The places of `characters` that look up the entries from number `first_entry` on.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn places(tables: &Tables, first_entry: usize, characters: __m256i) -> [u32; BLOCK] {
    let rows = tables.rows as i32;
    let base = _mm256_set1_epi32(first_entry as i32 * rows);
    let places = _mm256_mullo_epi32(characters, _mm256_set1_epi32(rows));
    let mut out = [0; BLOCK];
    // SAFETY: 32 bytes are writable; the store needs no alignment.
    unsafe {
        _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_add_epi32(base, places));
    }
    out
}

/// The places of the four bytes of a word, the entries of its lowest one starting at
/// `first_entry`.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn byte_places(
    tables: &Tables,
    first_entry: usize,
    words: __m256i,
) -> [[u32; BLOCK]; 4] {
    let byte = _mm256_set1_epi32(0xff);
    [
        _mm256_and_si256(words, byte),
        _mm256_and_si256(_mm256_srli_epi32::<8>(words), byte),
        _mm256_and_si256(_mm256_srli_epi32::<16>(words), byte),
        _mm256_srli_epi32::<24>(words),
    ]
    .into_iter()
    .enumerate()
    .fold([[0; BLOCK]; 4], |mut all, (position, characters)| {
        all[position] = places(tables, first_entry + 256 * position, characters);
        all
    })
}

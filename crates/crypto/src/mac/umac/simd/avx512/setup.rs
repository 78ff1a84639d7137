//! Sixteen keys at a time: their schedules in lanes, four to a vector, then the streams
//! of each, whose counter blocks are constants and lie in a table.

use std::arch::x86_64::*;

use super::super::super::key::{POINT_MASK, TOGETHER, UmacKey, label};
use super::layers::reduce_36;
use crate::cipher::Block;
use crate::cipher::simd::expand_128_lanes;
use crate::mac::kdf::Label;
use crate::simd::Wiped;

/// Keys of a vector.
const KEYS: usize = 4;

/// Vectors of lanes of L1's key that all streams share, even ones and as many odd ones.
const SHARED: usize = 8;

/// Vectors that are encrypted first.
const FIRST: usize = 10;

/// Vectors of a key of one or two streams, and of any.
const OF_TWO_STREAMS: usize = 19;
const OF_ANY: usize = 21;

/// What is encrypted under a key.
///
/// ```text
/// 0 … 7    8 … 15   16                             17             18           19               20
/// even     odd      even 32, odd 32, pads' key,    L2: 1 2 4 5    L3: 3 4 7 8  L3: 11 12 15 16  even 33
///                   L3's second key
/// ```
static TABLE: [[Block; 4]; OF_ANY] = {
    let mut blocks = [[[0; 16]; 4]; OF_ANY];
    let mut lane = 0;
    while lane < 4 * SHARED {
        blocks[lane / 4][lane % 4] = even(lane);
        blocks[SHARED + lane / 4][lane % 4] = odd(lane);
        lane += 1;
    }
    blocks[16] = [
        even(32),
        odd(32),
        label::PAD.block(1),
        label::L3_TRANSLATION.block(1),
    ];
    blocks[17] = four(label::L2, [1, 2, 4, 5]);
    blocks[18] = four(label::L3_DIGITS, [3, 4, 7, 8]);
    blocks[19] = four(label::L3_DIGITS, [11, 12, 15, 16]);
    blocks[20] = [even(33); 4];
    blocks
};

const fn even(lane: usize) -> Block {
    label::L1.block(2 * lane as u64 + 1)
}

const fn odd(lane: usize) -> Block {
    label::L1.block(2 * lane as u64 + 2)
}

const fn four(label: Label, counters: [u64; 4]) -> [Block; 4] {
    let [a, b, c, d] = counters;
    [
        label.block(a),
        label.block(b),
        label.block(c),
        label.block(d),
    ]
}

/// Fills at most sixteen keys, whose number of words is set, from 16 bytes each.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes")]
pub(in crate::mac::umac) fn expand(raw: &[Block; TOGETHER], keys: &mut [Box<UmacKey>]) {
    let schedules = Wiped(schedules(raw));
    let mut pad_raw = Wiped([[0; 16]; TOGETHER]);
    for (index, (key, raw)) in keys.iter_mut().zip(&mut *pad_raw).enumerate() {
        let (schedules, lane) = (&schedules[index / KEYS], index % KEYS);
        *raw = match key.words.count() {
            1 | 2 => derive::<OF_TWO_STREAMS, { OF_TWO_STREAMS - FIRST }>(schedules, lane, key),
            _ => derive::<OF_ANY, { OF_ANY - FIRST }>(schedules, lane, key),
        };
    }
    let pads = Wiped(self::schedules(&pad_raw));
    for (index, key) in keys.iter_mut().enumerate().take(TOGETHER) {
        for (place, round) in key.pad_keys.iter_mut().zip(&pads[index / KEYS]) {
            *place = round[index % KEYS];
        }
    }
}

/// The round keys of four keys, a lane for each.
type Schedules = [[Block; KEYS]; 11];

/// The round keys of sixteen keys, whose expansions do not wait for each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn schedules(raw: &[Block; TOGETHER]) -> [Schedules; TOGETHER / KEYS] {
    let mut schedules = [[[[0; 16]; KEYS]; 11]; TOGETHER / KEYS];
    for (rounds, raw) in schedules.iter_mut().zip(raw.as_chunks().0) {
        for (place, round) in rounds.iter_mut().zip(expand_128_lanes(load(raw))) {
            store(place, round);
        }
    }
    schedules
}

/// Fills a key but for the round keys of its pads, and returns their key. Of lanes and
/// numbers that no stream of the key uses, what lay there before remains.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes")]
fn derive<const VECTORS: usize, const SECOND: usize>(
    schedules: &Schedules,
    lane: usize,
    key: &mut UmacKey,
) -> Block {
    let words = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let (even, even_rest) = key.even.0.as_chunks_mut().0.split_at_mut(SHARED);
    let (odd, odd_rest) = key.odd.0.as_chunks_mut().0.split_at_mut(SHARED);
    let first = encrypt::<FIRST>(schedules, lane, &TABLE[..FIRST]);
    for index in 0..SHARED {
        store_words(&mut even[index], _mm512_shuffle_epi8(first[index], words));
    }
    for index in 0..FIRST - SHARED {
        let vector = first[SHARED + index];
        store_words(&mut odd[index], _mm512_shuffle_epi8(vector, words));
    }
    let second = encrypt::<SECOND>(schedules, lane, &TABLE[FIRST..VECTORS]);
    for index in FIRST - SHARED..SHARED {
        let vector = second[SHARED + index - FIRST];
        store_words(&mut odd[index], _mm512_shuffle_epi8(vector, words));
    }
    let vector = |index: usize| second[index - FIRST];

    let mixed = _mm512_shuffle_epi8(vector(16), words);
    let thirty_three = match VECTORS {
        OF_ANY => _mm512_shuffle_epi8(vector(OF_ANY - 1), words),
        _ => _mm512_setzero_si512(),
    };
    let even = _mm512_mask_mov_epi64(thirty_three, 0b11, mixed);
    store_words(&mut even_rest[0], _mm512_maskz_mov_epi64(0b1111, even));
    let odd = _mm512_shuffle_i32x4::<0x55>(mixed, mixed);
    store_words(&mut odd_rest[0], _mm512_maskz_mov_epi64(0b11, odd));

    let numbers = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
    // Streams take 24 bytes each and use 8: the first of block 1, the second half
    // of block 2, and the same of blocks 4 and 5.
    let points = _mm512_shuffle_epi8(vector(17), numbers);
    let order = _mm512_setr_epi64(0, 3, 4, 7, 0, 0, 0, 0);
    let points = _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, points));
    let points = _mm256_and_si256(points, _mm256_set1_epi64x(POINT_MASK as i64));
    // SAFETY: 32 bytes are writable.
    unsafe { _mm256_storeu_si256(key.points.as_mut_ptr().cast(), points) };

    let digits = key.digits.as_chunks_mut::<2>().0;
    for (place, vector) in digits
        .iter_mut()
        .zip(&second[18 - FIRST..VECTORS.min(20) - FIRST])
    {
        let digits = reduce_36(_mm512_shuffle_epi8(*vector, numbers));
        // SAFETY: 64 bytes are writable.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), digits) };
    }

    let mut rest = [[0; 16]; 4];
    store(&mut rest, vector(16));
    let [_, _, pad_key, translation] = rest;
    key.translation = translation;
    pad_key
}

/// Encrypts vectors of blocks under the key of a lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,vaes")]
fn encrypt<const VECTORS: usize>(
    schedules: &Schedules,
    lane: usize,
    blocks: &[[Block; 4]],
) -> [__m512i; VECTORS] {
    let round_key = |round: usize| {
        let key: &Block = &schedules[round][lane];
        // SAFETY: 16 bytes are readable; the load needs no alignment.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_ptr().cast()) })
    };
    let mut states = [round_key(0); VECTORS];
    for (state, block) in states.iter_mut().zip(blocks) {
        *state = _mm512_xor_si512(*state, load(block));
    }
    for round in 1..10 {
        let key = round_key(round);
        for state in &mut states {
            *state = _mm512_aesenc_epi128(*state, key);
        }
    }
    let key = round_key(10);
    for state in &mut states {
        *state = _mm512_aesenclast_epi128(*state, key);
    }
    states
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(blocks: &[Block; 4]) -> __m512i {
    // SAFETY: 64 bytes are readable.
    unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(place: &mut [Block; 4], vector: __m512i) {
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), vector) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_words(place: &mut [[u32; 4]; 4], vector: __m512i) {
    // SAFETY: 64 bytes are writable.
    unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), vector) };
}

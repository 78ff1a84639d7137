//! Sixteen keys at a time: their schedules in lanes, four to a vector, then the streams
//! of each, whose counter blocks are known beforehand and lie in a table.

use std::arch::x86_64::*;

use super::super::super::key::{LANES_EACH, POINT_MASK, TOGETHER, UmacKey, label};
use super::layers::reduce_36;
use crate::cipher::Block;
use crate::cipher::simd::expand_128_lanes;
use crate::mac::kdf::Label;
use crate::simd::Wiped;

/// Keys of a vector.
const KEYS: usize = 4;

/// Vectors of blocks in flight.
const HALF: usize = 11;

/// What is encrypted under a key: the even lanes of L1's key, the odd ones, and
/// four vectors of all else.
///
/// ```text
/// 0 … 8     9 … 17   18              19, 20                    21
/// even      odd      L2: 1 2 4 5     L3: 3 4 7 8 11 12 15 16   L3's second key, the pads' key
/// ```
static TABLE: [[[Block; 4]; HALF]; 2] = {
    let mut blocks = [[[0; 16]; 4]; 2 * HALF];
    let mut lane = 0;
    while lane < LANES_EACH {
        blocks[lane / 4][lane % 4] = label::L1.block(2 * lane as u64 + 1);
        blocks[9 + lane / 4][lane % 4] = label::L1.block(2 * lane as u64 + 2);
        lane += 1;
    }
    blocks[18] = four(label::L2, [1, 2, 4, 5]);
    blocks[19] = four(label::L3_DIGITS, [3, 4, 7, 8]);
    blocks[20] = four(label::L3_DIGITS, [11, 12, 15, 16]);
    blocks[21][0] = label::L3_TRANSLATION.block(1);
    blocks[21][1] = label::PAD.block(1);
    let mut table = [[[[0; 16]; 4]; HALF]; 2];
    let mut vector = 0;
    while vector < 2 * HALF {
        table[vector / HALF][vector % HALF] = blocks[vector];
        vector += 1;
    }
    table
};

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
        *raw = derive(&schedules[index / KEYS], index % KEYS, key);
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

/// Fills a key but for the round keys of its pads, and returns their key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes")]
fn derive(schedules: &Schedules, lane: usize, key: &mut UmacKey) -> Block {
    let first = encrypt(schedules, lane, &TABLE[0]);
    let second = encrypt(schedules, lane, &TABLE[1]);
    let vector = |index: usize| match index.checked_sub(HALF) {
        None => first[index],
        Some(index) => second[index],
    };

    let words = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
    let (even, odd) = (key.even.0.as_chunks_mut().0, key.odd.0.as_chunks_mut().0);
    for index in 0..LANES_EACH / 4 {
        store_words(&mut even[index], _mm512_shuffle_epi8(vector(index), words));
        let vector = vector(LANES_EACH / 4 + index);
        store_words(&mut odd[index], _mm512_shuffle_epi8(vector, words));
    }

    let numbers = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
    // Streams take 24 bytes each and use 8: the first of block 1, the second half
    // of block 2, and the same of blocks 4 and 5.
    let points = _mm512_shuffle_epi8(second[7], numbers);
    let order = _mm512_setr_epi64(0, 3, 4, 7, 0, 0, 0, 0);
    let points = _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, points));
    let points = _mm256_and_si256(points, _mm256_set1_epi64x(POINT_MASK as i64));
    // SAFETY: 32 bytes are writable.
    unsafe { _mm256_storeu_si256(key.points.as_mut_ptr().cast(), points) };

    for (place, vector) in key
        .digits
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(&second[8..])
    {
        let digits = reduce_36(_mm512_shuffle_epi8(*vector, numbers));
        // SAFETY: 64 bytes are writable.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), digits) };
    }

    let mut rest = [[0; 16]; 4];
    store(&mut rest, second[10]);
    key.translation = rest[0];
    rest[1]
}

/// Encrypts vectors of blocks under the key of a lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,vaes")]
fn encrypt(schedules: &Schedules, lane: usize, blocks: &[[Block; 4]; HALF]) -> [__m512i; HALF] {
    let round_key = |round: usize| {
        let key: &Block = &schedules[round][lane];
        // SAFETY: 16 bytes are readable; the load needs no alignment.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.as_ptr().cast()) })
    };
    let mut states = [round_key(0); HALF];
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

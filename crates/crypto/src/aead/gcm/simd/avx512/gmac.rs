//! GMAC of eight messages, each under a key of its own.
//!
//! Pads are eight chains of AES. Messages are hashed in fours, 32 blocks of each
//! at a time, four blocks to a vector, against powers of its hash key that lie in memory.
//! The sums of four messages, and their lengths where they end, are then reduced
//! together, a lane for each:
//!
//! ```text
//! message 0   blocks ─► products ─► sums ┐
//! message 1   blocks ─► products ─► sums ├─► add up ─► reduce ─► 4 hashes, carried to
//!         ⋮                              │    ▲                  the next 32 blocks
//! 4 lengths × H of 4 messages            ┘────┘
//! ```

use std::arch::x86_64::*;

use arrayvec::ArrayVec;

use super::field::{KaratsubaSums, Sums, in_turn, reverse};
use super::schedules::join;
use super::wide::{VECTOR, mask_of};
use crate::aead::gcm::gmac::counter_block;
use crate::aead::gcm::key::{GcmKey, POWERS};
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::mac::{LANES, Message, pads};
use crate::suite::AesKeySize;
use crate::tags::Tags;

/// Blocks that are hashed with one reduction, and one for the lengths behind them.
const CHUNK_BYTES: usize = 16 * (POWERS - 1);

/// What is put together where a message's parts meet.
type Joint = ArrayVec<u8, VECTOR>;

/// Powers of a hash key, highest first, and three blocks that a vector of them may
/// reach into.
type Powers = [Block; POWERS + 3];

/// The tags of one to eight messages whose keys are of one size and have full
/// schedules.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq,aes")]
pub(in super::super) fn tag(messages: &mut [Message<'_, GcmKey>], tags: &mut Tags<LANES>) {
    let Some(first) = messages.first() else {
        return;
    };
    match first.key.size() {
        AesKeySize::Aes128 => tag_with::<11>(messages, tags),
        AesKeySize::Aes192 => tag_with::<13>(messages, tags),
        AesKeySize::Aes256 => tag_with::<15>(messages, tags),
    }
}

/// With keys of `ROUND_KEYS` round keys.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq,aes")]
fn tag_with<const ROUND_KEYS: usize>(messages: &mut [Message<'_, GcmKey>], tags: &mut Tags<LANES>) {
    // Lanes without a message repeat the last one's key and pad.
    let last = messages.len() - 1;
    let mut powers = [const { &[[0; 16]; POWERS + 3] }; LANES];
    let mut round_keys = [const { &[[0; 16]; ROUND_KEYS] }; LANES];
    let mut has_key = [false; LANES];
    for lane in 0..LANES {
        let schedule = messages[lane.min(last)].key.schedule();
        if let Some(table) = schedule.first_chunk()
            && let Some(keys) = schedule[POWERS..].first_chunk()
            && !happens(Impossible::NoKey)
        {
            powers[lane] = table;
            round_keys[lane] = keys;
            has_key[lane] = true;
        }
    }
    let blocks = std::array::from_fn(|lane| {
        let block = counter_block(&messages[lane.min(last)]);
        [block as u64, (block >> 64) as u64]
    });
    let pads = pads::eight(&round_keys, &blocks);
    let (powers, _) = powers.as_chunks::<4>();
    let (pads, _) = pads.as_chunks::<4>();
    let fours = messages.chunks_mut(4).zip(powers);
    for (first, ((messages, powers), pads)) in (0..).step_by(4).zip(fours.zip(pads)) {
        let tagged = _mm512_xor_si512(reverse(four(messages, powers)), join(*pads));
        let mut blocks = [[0; 16]; 4];
        // SAFETY: four blocks are writable.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), tagged) };
        for (lane, (block, _)) in (first..).zip(blocks.into_iter().zip(messages)) {
            if has_key[lane] {
                tags.set(lane, block);
            }
        }
    }
}

/// The hashes of one to four messages, a lane for each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn four(messages: &mut [Message<'_, GcmKey>], powers: &[&Powers; 4]) -> __m512i {
    let (carried, read) = in_step(messages, powers);
    // The lengths are of associated data, and there is no text.
    let bits = |lane: usize| {
        messages
            .get(lane)
            .map_or(0, |message| 8 * message.bytes as i64)
    };
    let lengths = _mm512_set_epi64(bits(3), 0, bits(2), 0, bits(1), 0, bits(0), 0);
    let mut rest = |lane: usize, carried| match messages.get_mut(lane) {
        Some(message) => rest(message, message.bytes - read, powers[lane], carried),
        None => Sums::zero(),
    };
    let mut sums = Sums::add_up([
        rest(0, _mm512_castsi512_si128(carried)),
        rest(1, _mm512_extracti32x4_epi32::<1>(carried)),
        rest(2, _mm512_extracti32x4_epi32::<2>(carried)),
        rest(3, _mm512_extracti32x4_epi32::<3>(carried)),
    ]);
    let hash_key = |lane: usize| load(&powers[lane][POWERS - 1]);
    let hash_keys = join([hash_key(0), hash_key(1), hash_key(2), hash_key(3)]);
    sums.add(lengths, hash_keys);
    sums.reduce_lanes()
}

/// Hashes four messages as far as all of them have chunks that lie in one place and
/// are not their last; a lane for each, and how many bytes of each that was.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn in_step(messages: &mut [Message<'_, GcmKey>], powers: &[&Powers; 4]) -> (__m512i, usize) {
    let mut hashes = _mm512_setzero_si512();
    let mut read = 0;
    while let [a, b, c, d] = messages
        && let Some(bytes_a) = a.ahead::<CHUNK_BYTES>()
        && let Some(bytes_b) = b.ahead::<CHUNK_BYTES>()
        && let Some(bytes_c) = c.ahead::<CHUNK_BYTES>()
        && let Some(bytes_d) = d.ahead::<CHUNK_BYTES>()
    {
        let mut sums = [KaratsubaSums::zero(); 4];
        let mut carried = [
            _mm512_zextsi128_si512(_mm512_castsi512_si128(hashes)),
            _mm512_zextsi128_si512(_mm512_extracti32x4_epi32::<1>(hashes)),
            _mm512_zextsi128_si512(_mm512_extracti32x4_epi32::<2>(hashes)),
            _mm512_zextsi128_si512(_mm512_extracti32x4_epi32::<3>(hashes)),
        ];
        let bytes = [bytes_a, bytes_b, bytes_c, bytes_d].map(|bytes| bytes.as_chunks().0);
        for vector in 0..CHUNK_BYTES / VECTOR {
            let vector = in_turn(vector).min(CHUNK_BYTES / VECTOR - 1);
            for lane in 0..4 {
                let x = _mm512_xor_si512(load_vector(&bytes[lane][vector]), carried[lane]);
                let powers = powers[lane][1 + 4 * vector..].as_ptr();
                // SAFETY: from the second power on, 32 are readable.
                sums[lane].add(x, unsafe { _mm512_loadu_si512(powers.cast()) });
                sums[lane].in_order();
            }
            carried = [_mm512_setzero_si512(); 4];
        }
        hashes = Sums::add_up([
            sums[0].sums(),
            sums[1].sums(),
            sums[2].sums(),
            sums[3].sums(),
        ])
        .reduce_lanes();
        for message in [a, b, c, d] {
            message.in_place(CHUNK_BYTES);
        }
        read += CHUNK_BYTES;
    }
    (hashes, read)
}

/// The sums of a message's last blocks, the `left` bytes that are unread, to which those
/// before are added, but for its length.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn rest(message: &mut Message<'_, GcmKey>, left: usize, powers: &Powers, carried: __m128i) -> Sums {
    if left <= CHUNK_BYTES
        && let Some(bytes) = message.in_place(left)
    {
        return products(powers, 2, carried, bytes);
    }
    long_rest(message, left, powers, carried)
}

/// The same of more than one chunk, or of one that lies in several places.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn long_rest(
    message: &mut Message<'_, GcmKey>,
    mut left: usize,
    powers: &Powers,
    mut carried: __m128i,
) -> Sums {
    loop {
        let chunk = left.min(CHUNK_BYTES);
        left -= chunk;
        let lowest = if left > 0 { 1 } else { 2 };
        let sums = match message.in_place(chunk) {
            Some(bytes) => products(powers, lowest, carried, bytes),
            None => scattered(message, chunk, powers, lowest, carried),
        };
        if left == 0 {
            return sums;
        }
        carried = sums.reduce();
    }
}

/// As [`products`], of a chunk of `missing` bytes that lies in several places: vectors are
/// loaded from where they lie, but for those that two places share.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn scattered(
    message: &mut Message<'_, GcmKey>,
    mut missing: usize,
    powers: &Powers,
    lowest: usize,
    carried: __m128i,
) -> Sums {
    let highest = missing.div_ceil(16) + lowest - 1;
    let (mut powers, _) = powers[POWERS - highest.min(POWERS)..].as_chunks::<4>();
    let mut sums = KaratsubaSums::zero();
    let mut first = _mm512_zextsi128_si512(carried);
    while missing > 0 {
        let mut joint = Joint::new();
        let bytes = match message.in_place_by::<VECTOR>(missing) {
            [] => message.next(missing.min(VECTOR), &mut joint),
            bytes => bytes,
        };
        let vectors = bytes.chunks(VECTOR);
        let used = vectors.len();
        for (bytes, powers) in vectors.zip(powers) {
            // SAFETY: the mask covers no more than the bytes, and 64 bytes are readable.
            let (x, power) = unsafe {
                (
                    _mm512_maskz_loadu_epi8(mask_of(bytes.len()), bytes.as_ptr().cast()),
                    _mm512_loadu_si512(powers.as_ptr().cast()),
                )
            };
            sums.add(_mm512_xor_si512(first, reverse(x)), power);
            first = _mm512_setzero_si512();
        }
        powers = powers.get(used..).unwrap_or_default();
        missing -= bytes.len();
    }
    sums.sums()
}

/// The products of at most 32 blocks, of which the last may be partial, times powers
/// down to number `lowest`, 1 or 2; `carried` is added to the first.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
fn products(powers: &Powers, lowest: usize, carried: __m128i, bytes: &[u8]) -> Sums {
    let bytes = &bytes[..bytes.len().min(CHUNK_BYTES)];
    let highest = bytes.len().div_ceil(16) + lowest - 1;
    let (vectors, rest) = bytes.as_chunks::<VECTOR>();
    let powers = powers.as_ptr().wrapping_add(POWERS - highest);
    let powers = |vector: usize| {
        // SAFETY: the highest is at most number 33, the first of the table, and a
        // vector of bytes has at least one block, so that at most three blocks
        // behind the lowest are read.
        unsafe { _mm512_loadu_si512(powers.wrapping_add(4 * vector).cast()) }
    };
    let mut sums = KaratsubaSums::zero();
    let mut first = _mm512_zextsi128_si512(carried);
    if let [head, others @ ..] = vectors {
        first = _mm512_xor_si512(first, load_vector(head));
        for (vector, bytes) in (1..).zip(others) {
            sums.add(load_vector(bytes), powers(in_turn(vector)));
            sums.in_order();
        }
        sums.add(first, powers(0));
        first = _mm512_setzero_si512();
    }
    if !rest.is_empty() {
        // SAFETY: the mask covers no more than the bytes.
        let x = unsafe { _mm512_maskz_loadu_epi8(mask_of(rest.len()), rest.as_ptr().cast()) };
        sums.add(_mm512_xor_si512(first, reverse(x)), powers(vectors.len()));
    }
    sums.sums()
}

/// Four elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_vector(bytes: &[u8; VECTOR]) -> __m512i {
    // SAFETY: 64 bytes are readable.
    reverse(unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: 16 bytes are readable; the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

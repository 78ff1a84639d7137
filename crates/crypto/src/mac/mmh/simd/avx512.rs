//! Eight messages at a time, block by block.
//!
//! The multiplier takes the lower words of 64-bit lanes. With m₀ m₁ m₂ … sixteen
//! words of a message, and k the key from the same word on,
//!
//! ```text
//! tag t   even words   m       × k moved by t words
//!         odd words    m >> 32 × k moved by t + 1 words
//! ```
//!
//! so that T tags take T + 1 views of the key, which are loaded or put together from its
//! vectors, and no shift of it. The sums of eight messages, T each, become lanes of
//! T vectors, message by message:
//!
//! ```text
//! T = 2   vector 0   a₀ a₁ b₀ b₁ c₀ c₁ d₀ d₁      vector 1   e₀ e₁ …
//! ```

use std::arch::x86_64::*;

use arrayvec::ArrayVec;
use weir_hash::prime::P32;

use super::super::key::{BLOCK_WORDS, KEY_WORDS, LEVEL_2_WORDS, MmhKey};
use crate::mac::message::{BLOCK_BYTES, LANES, Message, Room};
use crate::mac::simd::{pads, sums};
use crate::tags::Tags;

/// Bytes of a vector.
const VECTOR_BYTES: usize = 64;

/// The tags of one to eight messages whose keys make tags of one length; the
/// longest message has `most` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,aes")]
pub(super) fn tag(messages: &mut [Message<'_, MmhKey>], most: usize, tags: &mut Tags<LANES>) {
    let Some(first) = messages.first() else {
        return;
    };
    match first.key.words.count() {
        1 => tag_words::<1>(messages, most, tags),
        2 => tag_words::<2>(messages, most, tags),
        3 => tag_words::<3>(messages, most, tags),
        _ => tag_words::<4>(messages, most, tags),
    }
}

/// With `T` words.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,aes")]
fn tag_words<const T: usize>(
    messages: &mut [Message<'_, MmhKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) {
    // Lanes without a message repeat the last one's pad.
    let last = messages.len() - 1;
    let keys: [&MmhKey; LANES] = std::array::from_fn(|lane| messages[lane.min(last)].key);
    let mut blocks = [[(T as u64).to_be(), 0]; LANES];
    for lane in 0..LANES {
        blocks[lane][1] = messages[lane.min(last)].nonce.to_be();
    }
    let round_keys = std::array::from_fn(|lane| &keys[lane].pad_keys);
    let pads = pads::eight(&round_keys, &blocks);
    let hashes = hash::<T>(messages, most);
    for (lane, pad) in pads.into_iter().enumerate() {
        // SAFETY: 16 bytes are readable from word 7T on, of 32 words and T at
        // most 4.
        let hash = unsafe { _mm_loadu_si128(hashes.as_ptr().add(lane * T).cast()) };
        let tag = _mm_add_epi32(hash, pad);
        let mut bytes = [0; 16];
        // SAFETY: 16 bytes are writable; the store needs no alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), tag) };
        tags.set(lane, bytes);
    }
}

/// The tags before the pad, T words for each message.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn hash<const T: usize>(messages: &mut [Message<'_, MmhKey>], most: usize) -> Words {
    let mut room = Room::new();
    let mut sums = [[_mm256_setzero_si256(); T]; LANES];
    for (sums, message) in sums.iter_mut().zip(&mut *messages) {
        let bytes = message.bytes.min(BLOCK_BYTES);
        let block = message.next(bytes, &mut room);
        let key = &message.key.level_1.0;
        let start = match message.bytes <= BLOCK_BYTES {
            true => length::<T>(message.bytes, key),
            false => [_mm512_setzero_si512(); T],
        };
        *sums = add(start, block, key);
    }
    if most <= BLOCK_BYTES {
        return residues(&sums);
    }

    let mut above = [const { Level2::new_const() }; LANES];
    for (above, message) in above.iter_mut().zip(&*messages) {
        above.push(message.bytes as u32);
    }
    let mut done = BLOCK_BYTES;
    loop {
        let words = residues(&sums);
        for (lane, above) in above[..messages.len()].iter_mut().enumerate() {
            // The block that was hashed last is this message's.
            if done == BLOCK_BYTES || done - BLOCK_BYTES < messages[lane].bytes {
                above.extend(words[lane * T..][..T].iter().copied());
            }
        }
        if done >= most {
            break;
        }
        for (sums, message) in sums.iter_mut().zip(&mut *messages) {
            if done < message.bytes {
                let bytes = (message.bytes - done).min(BLOCK_BYTES);
                let block = message.next(bytes, &mut room);
                *sums = add([_mm512_setzero_si512(); T], block, &message.key.level_1.0);
            }
        }
        done += BLOCK_BYTES;
    }
    for (lane, message) in messages.iter().enumerate() {
        if message.bytes > BLOCK_BYTES {
            let start = [_mm512_setzero_si512(); T];
            sums[lane] = add(start, bytes_of(&above[lane]), &message.key.level_2.0);
        }
    }
    let mut words = residues(&sums);
    for (lane, message) in messages.iter().enumerate() {
        if message.bytes <= BLOCK_BYTES {
            words[lane * T..][..T].copy_from_slice(&above[lane][1..=T]);
        }
    }
    words
}

/// T words for each of eight messages.
type Words = [u32; 4 * LANES];

/// What level 2 hashes of a message.
type Level2 = ArrayVec<u32, LEVEL_2_WORDS>;

type Key = [u32; KEY_WORDS];

fn bytes_of(words: &[u32]) -> &[u8] {
    // SAFETY: words are bytes, whose order in memory is little-endian here.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The products of the length, which follows 256 words.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn length<const T: usize>(bytes: usize, key: &Key) -> [__m512i; T] {
    let length = _mm_cvtsi32_si128(bytes as i32);
    let mut products = [_mm512_setzero_si512(); T];
    for (product, key) in products.iter_mut().zip(&key[BLOCK_WORDS..]) {
        let key = _mm_cvtsi32_si128(*key as i32);
        *product = _mm512_zextsi128_si512(_mm_mul_epu32(length, key));
    }
    products
}

/// Adds the products of a block, and folds the sums.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn add<const T: usize>(mut sums: [__m512i; T], block: &[u8], key: &Key) -> [__m256i; T] {
    let (lines, _) = key.as_chunks::<16>();
    let (vectors, rest) = block.as_chunks::<VECTOR_BYTES>();
    let mut here = load_key(&lines[0]);
    for (bytes, moved) in vectors.iter().zip(key.windows(32).step_by(16)) {
        // SAFETY: 64 bytes are readable.
        let message = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let moved = |words: usize| {
            // SAFETY: 32 words are readable, and there are at most four tags.
            unsafe { _mm512_loadu_si512(moved.as_ptr().wrapping_add(words.min(16)).cast()) }
        };
        let next = moved(16);
        step(&mut sums, message, here, next, moved);
        here = next;
    }
    if !rest.is_empty() {
        let mask = _bzhi_u64(u64::MAX, rest.len() as u32);
        // SAFETY: the mask covers no more than the bytes.
        let message = unsafe { _mm512_maskz_loadu_epi8(mask, rest.as_ptr().cast()) };
        // The last words of a key are followed by none, and meet zeros.
        let next = load_key(lines.get(vectors.len() + 1).unwrap_or(&[0; 16]));
        step(&mut sums, message, here, next, |words| match words {
            2 => _mm512_alignr_epi32::<2>(next, here),
            _ => _mm512_alignr_epi32::<4>(next, here),
        });
    }
    let mut folded = [_mm256_setzero_si256(); T];
    for (folded, sum) in folded.iter_mut().zip(sums) {
        *folded = sums::fold(sum);
    }
    folded
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_key(words: &[u32; 16]) -> __m512i {
    // SAFETY: 64 bytes are readable.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Adds the products of sixteen words, whose key is `here`, before `next`. Of the
/// views of the key, the odd ones are put together from these, and `moved` makes those
/// by two and by four words: half of the work for the ports that shuffle, half for
/// those that load.
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const T: usize>(
    sums: &mut [__m512i; T],
    message: __m512i,
    here: __m512i,
    next: __m512i,
    moved: impl Fn(usize) -> __m512i,
) {
    let odd = _mm512_srli_epi64::<32>(message);
    let mut key = here;
    for (t, sum) in sums.iter_mut().enumerate() {
        let moved = match t {
            0 => _mm512_alignr_epi32::<1>(next, here),
            1 => moved(2),
            2 => _mm512_alignr_epi32::<3>(next, here),
            _ => moved(4),
        };
        let products =
            _mm512_add_epi64(_mm512_mul_epu32(message, key), _mm512_mul_epu32(odd, moved));
        *sum = _mm512_add_epi64(*sum, products);
        key = moved;
    }
}

/// Sums modulo 2³² + 15, of which the lower 32 bits are kept.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn residues<const T: usize>(sums: &[[__m256i; T]; LANES]) -> Words {
    let flat = sums.as_flattened();
    let mut words = [0; 4 * LANES];
    for (sums, words) in flat
        .as_chunks()
        .0
        .iter()
        .zip(words.as_chunks_mut::<LANES>().0)
    {
        let residues = mod_p32(sums::eight(sums));
        // SAFETY: 32 bytes are writable.
        unsafe {
            _mm256_storeu_si256(words.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(residues));
        }
    }
    words
}

/// [`weir_hash::prime::mod_p32`] of each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn mod_p32(x: __m512i) -> __m512i {
    let fold = |x, multiple: u64| {
        let low = _mm512_and_si512(x, _mm512_set1_epi64(u32::MAX.into()));
        let low = _mm512_add_epi64(low, _mm512_set1_epi64(multiple as i64));
        let high = _mm512_srli_epi64::<32>(x);
        _mm512_sub_epi64(low, _mm512_mul_epu32(high, _mm512_set1_epi64(15)))
    };
    let x = fold(fold(x, 16 * P32), P32);
    _mm512_min_epu64(x, _mm512_sub_epi64(x, _mm512_set1_epi64(P32 as i64)))
}

//! Eight messages at a time, block by block.
//!
//! ```text
//! block b of message 0 ─► NH ─► 4 partial sums of each stream ┐
//! block b of message 1 ─► NH ─►          ⋮                    ├─► a vector of 8 sums per stream,
//!          ⋮                                                  ┘   a lane for each message
//! ```
//!
//! L2 and L3 then run with a lane for each message, so that nothing is gathered,
//! while the next blocks are on their way. Pads come first: eight chains of AES,
//! as many as hide its latency.

mod layers;
mod nh;
mod setup;

use std::arch::x86_64::*;

pub(super) use setup::expand;

use super::super::key::UmacKey;
use crate::cipher::Block;
use crate::mac::message::{BLOCK_BYTES, LANES, Message, Room};
use crate::mac::simd::{pads, sums};
use crate::tags::Tags;

/// The tags of one to eight messages whose keys make tags of one length; the
/// longest message has `most` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi2,aes")]
pub(super) fn tag(messages: &mut [Message<'_, UmacKey>], most: usize, tags: &mut Tags<LANES>) {
    let Some(first) = messages.first() else {
        return;
    };
    match first.key.words.count() {
        1 => tag_streams::<1>(messages, most, tags),
        2 => tag_streams::<2>(messages, most, tags),
        3 => tag_streams::<3>(messages, most, tags),
        _ => tag_streams::<4>(messages, most, tags),
    }
}

/// With `S` streams.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi2,aes")]
fn tag_streams<const S: usize>(
    messages: &mut [Message<'_, UmacKey>],
    most: usize,
    tags: &mut Tags<LANES>,
) {
    // Lanes without a message repeat the last one's key.
    let last = messages.len() - 1;
    let keys: [&UmacKey; LANES] = std::array::from_fn(|lane| messages[lane.min(last)].key);
    let mut blocks = [[0; 2]; LANES];
    let mut offsets = [0; LANES];
    for lane in 0..LANES {
        let nonce = messages[lane.min(last)].nonce;
        let (first, offset) = UmacKey::pad_place(S, nonce);
        blocks[lane][0] = u64::from_le_bytes(first);
        offsets[lane] = offset;
    }
    let round_keys = std::array::from_fn(|lane| &keys[lane].pad_keys);
    let pads = pads::eight(&round_keys, &blocks);
    let hashes = hash::<S>(&keys, messages, most);
    for lane in 0..LANES {
        // SAFETY: 16 bytes are readable, of the order from offset 12 at most, and 16
        // are writable; none of this needs an alignment.
        unsafe {
            let order = PAD_BYTES.as_ptr().wrapping_add(offsets[lane].min(12));
            let pad = _mm_shuffle_epi8(pads[lane], _mm_loadu_si128(order.cast()));
            let key = _mm_loadu_si128(keys[lane].translation.as_ptr().cast());
            let hash = _mm_loadu_si128(hashes[lane].as_ptr().cast());
            let tag = _mm_ternarylogic_epi64::<XOR3>(hash, key, pad);
            let mut bytes = [0; 16];
            _mm_storeu_si128(bytes.as_mut_ptr().cast(), tag);
            tags.set(lane, bytes);
        }
    }
}

/// The bytes of a pad's block, from any on.
static PAD_BYTES: [u8; 28] = {
    let mut order = [0; 28];
    let mut byte = 0;
    while byte < 16 {
        order[byte] = byte as u8;
        byte += 1;
    }
    order
};

/// a ⊕ b ⊕ c.
const XOR3: i32 = 0x96;

/// L3 of each message, before its second key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512ifma,bmi2")]
fn hash<const S: usize>(
    keys: &[&UmacKey; LANES],
    messages: &mut [Message<'_, UmacKey>],
    most: usize,
) -> [Block; LANES] {
    let bytes = |lane: usize| messages.get(lane).map_or(0, |message| message.bytes as i64);
    let lengths = _mm512_setr_epi64(
        bytes(0),
        bytes(1),
        bytes(2),
        bytes(3),
        bytes(4),
        bytes(5),
        bytes(6),
        bytes(7),
    );
    let mut scratch = Room::new();
    let mut sums = [[_mm256_setzero_si256(); LANES]; S];
    if most <= nh::SHORT_BYTES {
        for (lane, message) in messages.iter_mut().enumerate() {
            let block = message.next(message.bytes, &mut scratch);
            let sum = nh::short::<S>(block, keys[lane], 0);
            (0..S).for_each(|s| sums[s][lane] = sum[s]);
        }
        return layers::l3(keys, &l1_values(&sums, lengths));
    }

    let block_bytes = _mm512_set1_epi64(BLOCK_BYTES as i64);
    let mut left = lengths;
    let mut values = [_mm512_setzero_si512(); S];
    let points = layers::points::<S>(keys);
    let mut done = 0;
    while done == 0 || done < most {
        for (lane, message) in messages.iter_mut().enumerate() {
            if done < message.bytes || done == 0 {
                let bytes = (message.bytes - done).min(BLOCK_BYTES);
                let block = message.next(bytes, &mut scratch);
                let sum = nh::block::<S>(block, keys[lane]);
                (0..S).for_each(|s| sums[s][lane] = sum[s]);
            }
        }
        let live = match done {
            0 => 0xff,
            _ => _mm512_cmpneq_epi64_mask(left, _mm512_setzero_si512()),
        };
        let now = _mm512_min_epu64(left, block_bytes);
        left = _mm512_sub_epi64(left, now);
        let numbers = l1_values(&sums, now);
        if done > 0 {
            layers::poly(&points, &mut values, &numbers, live);
        } else if most > BLOCK_BYTES {
            values = layers::first(&points, &numbers, keep(lengths, block_bytes));
        } else {
            values = numbers;
        }
        done += BLOCK_BYTES;
    }
    layers::reduce(&mut values, !keep(lengths, block_bytes));
    layers::l3(keys, &values)
}

/// Messages of one block, whose L1 value is kept as it is.
#[inline]
#[target_feature(enable = "avx512f")]
fn keep(lengths: __m512i, block_bytes: __m512i) -> __mmask8 {
    _mm512_cmple_epu64_mask(lengths, block_bytes)
}

/// Sums of NH with their lengths in bits, a lane for each message.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn l1_values<const S: usize>(sums: &[[__m256i; LANES]; S], bytes: __m512i) -> [__m512i; S] {
    let bits = _mm512_slli_epi64::<3>(bytes);
    std::array::from_fn(|s| _mm512_add_epi64(sums::eight(&sums[s]), bits))
}

//! One packet in each 128-bit lane, each under its own key: four packets per
//! vector.
//!
//! Lanes end together. A packet of n blocks in a group whose longest packet
//! fills c chunks of four blocks begins after 4c - n empty slots, which neither
//! cost a branch nor change its hash, since leading zeros do not:
//!
//! ```text
//! slot           s₀      x₀   x₁   x₂   x₃     x₄   x₅   x₆   x₇    last
//! lane 0, n = 8  assoc.  t₀   t₁   t₂   t₃     t₄   t₅   t₆   t₇    lengths
//! lane 1, n = 6  0       0    assoc.t₀  t₁     t₂   t₃   t₄   t₅    lengths
//! lane 2, n = 5  0       0    0    assoc.t₀    t₁   t₂   t₃   t₄    lengths
//! lane 3, n = 7  0       assoc.t₀  t₁   t₂     t₃   t₄   t₅   t₆    lengths
//! hashed         (s₀H² + x₀H), (… + x₁)H² + x₂H, (… + x₃)H² + x₄H, …
//! ```
//!
//! Text is loaded and stored four blocks of one packet at a time, and
//! transposed on the way; partial blocks are masked.

use std::arch::x86_64::*;

use super::super::super::key::Form;
use super::super::super::packet::{GcmJob, Packet, group};
use super::field::{Sums, hash_keys, reverse, square};
use super::schedules::round_keys;
use super::{bytes, expanded, finish, load_raw, prefetch, transpose};
use crate::cipher::{MOST_ROUND_KEYS, rounds};
use crate::suite::AesKeySize;

/// Lanes of a vector, and so packets of a group.
pub(crate) const LANES: usize = 4;

/// Bytes of a chunk of four blocks.
const CHUNK: usize = 64;

/// How many packets before its own a packet's key is asked for.
const LOOK_AHEAD: usize = 12;

/// Processes the packets of `order`, whose keys are raw if `RAW` and compact if
/// not, and whose associated data fits one block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<J: GcmJob, const RAW: bool>(size: AesKeySize, jobs: &mut [J], order: &[u8]) {
    for (at, indices) in order.chunks(LANES).enumerate() {
        for position in 0..indices.len() {
            prefetch(jobs, order, LANES * at + position + LOOK_AHEAD);
        }
        let mut four = group(jobs, indices);
        let keys = match RAW {
            true => GroupKeys::raw(size, &four),
            false => GroupKeys::compact(size, &four),
        };
        let group = Group::new(keys, &mut four);
        let tags = match J::OPEN {
            true => group.process::<RAW, true>(),
            false => group.process::<RAW, false>(),
        };
        let tags = [
            _mm512_castsi512_si128(tags),
            _mm512_extracti32x4_epi32::<1>(tags),
            _mm512_extracti32x4_epi32::<2>(tags),
            _mm512_extracti32x4_epi32::<3>(tags),
        ];
        for (&index, tag) in indices.iter().zip(tags) {
            finish(jobs, index, &bytes(tag));
        }
    }
}

/// The schedules of four packets, one per lane.
struct GroupKeys {
    round_keys: [__m512i; MOST_ROUND_KEYS],
    rounds: usize,
    /// Of raw keys it is computed along with the first blocks.
    hash_key: __m512i,
}

impl GroupKeys {
    /// Expands raw keys.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn raw(size: AesKeySize, packets: &[Option<Packet<'_>>; LANES]) -> GroupKeys {
        let mut keys = [[_mm_setzero_si128(); 2]; LANES];
        for (key, packet) in keys.iter_mut().zip(packets) {
            if let Some(packet) = packet {
                *key = load_raw(packet.key);
            }
        }
        GroupKeys {
            round_keys: round_keys(size, keys),
            rounds: rounds(size),
            hash_key: _mm512_setzero_si512(),
        }
    }

    /// Loads compact schedules, four blocks of a key at a time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn compact(size: AesKeySize, packets: &[Option<Packet<'_>>; LANES]) -> GroupKeys {
        let mut rows = [[_mm512_setzero_si512(); LANES]; 4];
        for (lane, packet) in packets.iter().enumerate() {
            let Some(blocks) = packet
                .as_ref()
                .and_then(|packet| expanded(packet.key, size, Form::Compact))
            else {
                continue;
            };
            for (row, blocks) in rows.iter_mut().zip(blocks.as_chunks::<4>().0) {
                // SAFETY: four blocks are readable.
                row[lane] = unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) };
            }
        }
        let mut columns = [[_mm512_setzero_si512(); 4]; 4];
        for (column, row) in columns.iter_mut().zip(rows) {
            *column = transpose(row);
        }
        let mut round_keys = [_mm512_setzero_si512(); MOST_ROUND_KEYS];
        round_keys.copy_from_slice(&columns.as_flattened()[1..]);
        GroupKeys {
            round_keys,
            rounds: rounds(size),
            hash_key: columns[0][0],
        }
    }
}

/// One lane's text.
#[derive(Clone, Copy)]
struct Text {
    at: *mut u8,
    bytes: usize,
    /// Empty slots in front of it.
    empty: usize,
}

/// Four packets under way.
struct Group {
    keys: GroupKeys,
    texts: [Text; LANES],
    /// Chunks of the longest text.
    chunks: usize,
    /// The most empty slots of any lane.
    most_empty: usize,
    /// Reversed counter blocks of slot x₀.
    counters: __m512i,
    /// Empty slots, in every word of a lane.
    empty: __m512i,
    /// Elements of the associated data and of the lengths.
    associated: __m512i,
    lengths: __m512i,
}

impl Group {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn new(keys: GroupKeys, packets: &mut [Option<Packet<'_>>; LANES]) -> Group {
        let mut texts = [Text {
            at: std::ptr::dangling_mut(),
            bytes: 0,
            empty: 0,
        }; LANES];
        let zero = _mm_setzero_si128();
        let (mut nonces, mut associated, mut lengths) = ([zero; 4], [zero; 4], [zero; 4]);
        let mut most_blocks = 0;
        for (lane, packet) in packets.iter_mut().enumerate() {
            let Some(packet) = packet else {
                continue;
            };
            let mask = (1u32 << packet.associated.len().min(16)) - 1;
            // SAFETY: the mask covers no more than the associated data.
            associated[lane] = unsafe {
                _mm_maskz_loadu_epi8(mask as __mmask16, packet.associated.as_ptr().cast())
            };
            nonces[lane] = _mm_set_epi64x((packet.nonce >> 64) as i64, packet.nonce as i64);
            lengths[lane] = _mm_set_epi64x(
                8 * packet.associated.len() as i64,
                8 * packet.text.len() as i64,
            );
            texts[lane].at = packet.text.as_mut_ptr();
            texts[lane].bytes = packet.text.len();
            most_blocks = most_blocks.max(packet.text.len().div_ceil(16));
        }
        let chunks = most_blocks.div_ceil(4);
        let mut most_empty = 0;
        for text in &mut texts {
            text.empty = 4 * chunks - text.bytes.div_ceil(16);
            most_empty = most_empty.max(text.empty);
        }
        let [a, b, c, d] = texts.map(|text| text.empty as i32);
        let empty = _mm512_set_epi32(d, d, d, d, c, c, c, c, b, b, b, b, a, a, a, a);
        let first = _mm512_sub_epi32(_mm512_set1_epi32(2), empty);
        Group {
            keys,
            texts,
            chunks,
            most_empty,
            counters: _mm512_mask_mov_epi32(reverse(join(nonces)), 0x1111, first),
            empty,
            associated: reverse(join(associated)),
            lengths: join(lengths),
        }
    }

    /// Encrypts or decrypts the texts and returns the tags, one per lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn process<const RAW: bool, const OPEN: bool>(&self) -> __m512i {
        let tag_block = _mm512_mask_mov_epi32(self.counters, 0x1111, _mm512_set1_epi32(1));
        let rounds = self.keys.rounds;
        // The zero block, the tag's block and the first four of the text.
        let [x0, x1, x2, x3] = self.counter_blocks(0);
        let key = self.keys.round_keys[0];
        let mut states = [_mm512_setzero_si512(), reverse(tag_block), x0, x1, x2, x3];
        for state in &mut states {
            *state = _mm512_xor_si512(*state, key);
        }
        for key in &self.keys.round_keys[1..rounds] {
            for state in &mut states {
                *state = _mm512_aesenc_epi128(*state, *key);
            }
        }
        let key = self.keys.round_keys[rounds];
        for state in &mut states {
            *state = _mm512_aesenclast_epi128(*state, key);
        }
        let [zero, tag_pad, x0, x1, x2, x3] = states;
        let h = if RAW {
            hash_keys(zero)
        } else {
            self.keys.hash_key
        };
        let mut hash = Hash {
            h,
            h_squared: square(h),
            sum: _mm512_setzero_si512(),
            waiting: _mm512_maskz_mov_epi32(self.starting(0), self.associated),
        };
        let mut key_stream = [x0, x1, x2, x3];
        for chunk in 0..self.chunks {
            let elements = self.apply::<OPEN>(chunk, key_stream);
            if chunk + 1 < self.chunks {
                key_stream = self.counter_blocks(chunk + 1);
                self.encrypt(&mut key_stream);
            }
            hash.absorb(elements);
        }
        _mm512_xor_si512(reverse(hash.finish(self.lengths)), tag_pad)
    }

    /// The lanes whose associated data comes at `slot`, counted from s₀.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn starting(&self, slot: usize) -> __mmask16 {
        _mm512_cmpeq_epi32_mask(self.empty, _mm512_set1_epi32(slot as i32))
    }

    /// Counter blocks of a chunk.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counter_blocks(&self, chunk: usize) -> [__m512i; 4] {
        let mut blocks = [self.counters; 4];
        for (slot, block) in blocks.iter_mut().enumerate() {
            let slots = _mm512_maskz_set1_epi32(0x1111, (4 * chunk + slot) as i32);
            *block = reverse(_mm512_add_epi32(*block, slots));
        }
        blocks
    }

    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    fn encrypt(&self, blocks: &mut [__m512i; 4]) {
        let rounds = self.keys.rounds;
        let key = self.keys.round_keys[0];
        for block in &mut *blocks {
            *block = _mm512_xor_si512(*block, key);
        }
        for key in &self.keys.round_keys[1..rounds] {
            for block in &mut *blocks {
                *block = _mm512_aesenc_epi128(*block, *key);
            }
        }
        let key = self.keys.round_keys[rounds];
        for block in &mut *blocks {
            *block = _mm512_aesenclast_epi128(*block, key);
        }
    }

    /// Adds the key stream to a chunk of every text and returns the chunk's
    /// elements for the hash, with associated data where a text is about to
    /// begin.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn apply<const OPEN: bool>(&self, chunk: usize, key_stream: [__m512i; 4]) -> [__m512i; 4] {
        let key_stream = transpose(key_stream);
        let mut hashed = [_mm512_setzero_si512(); LANES];
        for (lane, text) in self.texts.iter().enumerate() {
            // Where this chunk begins, from the text's first byte.
            let from = (CHUNK * chunk) as isize - 16 * text.empty as isize;
            let at = text.at.wrapping_offset(from);
            let mask = mask_between(-from, text.bytes as isize - from);
            // SAFETY: the mask covers bytes of the text only, which is borrowed
            // while the group is processed.
            unsafe {
                let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                let output = _mm512_xor_si512(input, key_stream[lane]);
                let output = _mm512_maskz_mov_epi8(mask, output);
                _mm512_mask_storeu_epi8(at.cast(), mask, output);
                hashed[lane] = if OPEN { input } else { output };
            }
        }
        let mut elements = transpose(hashed);
        for (slot, element) in elements.iter_mut().enumerate() {
            *element = reverse(*element);
            // Slot s₀ is the first, x₀ the second.
            let slot = 4 * chunk + slot + 1;
            if slot <= self.most_empty {
                *element = _mm512_mask_mov_epi32(*element, self.starting(slot), self.associated);
            }
        }
        elements
    }
}

/// Four lanes of one vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn join(lanes: [__m128i; 4]) -> __m512i {
    let [a, b, c, d] = lanes;
    let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
    let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// The bytes of a vector from `first` to before `end`, as far as there are any.
#[inline]
fn mask_between(first: isize, end: isize) -> __mmask64 {
    let below = |bytes: isize| match bytes {
        ..=0 => 0,
        1..64 => (1 << bytes) - 1,
        _ => u64::MAX,
    };
    below(end) & !below(first)
}

/// GHASH of four packets, two elements at a time.
struct Hash {
    h: __m512i,
    h_squared: __m512i,
    sum: __m512i,
    /// An element that waits for its neighbour.
    waiting: __m512i,
}

impl Hash {
    /// (sum + x)H² + yH.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn pair(&mut self, x: __m512i, y: __m512i) {
        let mut sums = Sums::of(y, self.h);
        sums.add(_mm512_xor_si512(self.sum, x), self.h_squared);
        self.sum = sums.reduce_lanes();
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn absorb(&mut self, elements: [__m512i; 4]) {
        let [x0, x1, x2, x3] = elements;
        self.pair(self.waiting, x0);
        self.pair(x1, x2);
        self.waiting = x3;
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn finish(mut self, lengths: __m512i) -> __m512i {
        self.pair(self.waiting, lengths);
        self.sum
    }
}

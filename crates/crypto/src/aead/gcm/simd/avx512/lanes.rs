//! One packet in each 128-bit lane, each under its own key: four packets per
//! vector, and two such groups in flight.
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
use super::super::super::plan::Task;
use super::field::{Sums, hash_keys, in_turns, reverse, square};
use super::schedules::{RawKey, join, lanes_of, round_keys};
use super::{LOOK_AHEAD, aes_round, expanded, load_raw, nonce, prefetch, transpose};
use crate::cipher::simd::{ROUND_CONSTANTS, next_128_lanes};
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::suite::AesKeySize;

/// Lanes of a vector, and so packets of a group.
const LANES: usize = 4;

/// Bytes of a chunk of four blocks.
const CHUNK: usize = 64;

/// Processes the packets of `order`, whose keys are raw if `RAW` and compact if
/// not, and whose associated data fits one block.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const RAW: bool>(task: &mut Task<'_, '_>) {
    let size = task.kind.size;
    let mut flight = [Group::new(), Group::new()];
    for first in (0..task.order.len()).step_by(2 * LANES) {
        for position in first..first + 2 * LANES {
            prefetch(task, position + LOOK_AHEAD);
        }
        let mut tags = [[0; 16]; 2 * LANES];
        let (low_tags, high_tags) = tags.split_at_mut(LANES);
        // SAFETY: these are this function's features.
        unsafe {
            flight[0].load::<RAW>(task, first);
            if first + LANES < task.order.len() {
                flight[1].load::<RAW>(task, first + LANES);
                let chunks = flight[0].chunks.max(flight[1].chunks);
                flight[0].end_with(chunks);
                flight[1].end_with(chunks);
                let [low, high] = process::<RAW, 2>(size, task.open, &mut flight);
                store(low, low_tags);
                store(high, high_tags);
            } else {
                let [first, _] = &mut flight;
                first.end_with(first.chunks);
                let [low] = process::<RAW, 1>(size, task.open, std::array::from_mut(first));
                store(low, low_tags);
            }
        }
        for (position, tag) in (first..).zip(tags) {
            task.finish(position, tag);
        }
    }
    for group in &mut flight {
        group.wipe();
    }
}

/// Writes the blocks of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(blocks: __m512i, at: &mut [Block]) {
    assert!(at.len() == LANES);
    // SAFETY: four blocks are writable; the store needs no alignment.
    unsafe { _mm512_storeu_si512(at.as_mut_ptr().cast(), blocks) };
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
    /// Round keys, one packet's per lane; of a raw AES-128 key, which is
    /// expanded round by round, the first only.
    round_keys: [__m512i; MOST_ROUND_KEYS],
    /// Of raw keys it is computed along with the first blocks.
    hash_key: __m512i,
    texts: [Text; LANES],
    /// Chunks up to the one with which all texts end.
    chunks: usize,
    /// The most empty slots of any lane.
    most_empty: usize,
    /// Chunks before this one end in whole blocks in every lane.
    whole_until: usize,
    /// Reversed nonces, and reversed counter blocks of slot x₀.
    nonces: __m512i,
    counters: __m512i,
    /// Empty slots, in every word of a lane.
    empty: __m512i,
    /// Elements of the associated data and of the lengths.
    associated: __m512i,
    lengths: __m512i,
}

impl Group {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Group {
        let zero = _mm512_setzero_si512();
        Group {
            round_keys: [zero; MOST_ROUND_KEYS],
            hash_key: zero,
            texts: [Text {
                at: std::ptr::dangling_mut(),
                bytes: 0,
                empty: 0,
            }; LANES],
            chunks: 0,
            most_empty: 0,
            whole_until: 0,
            nonces: zero,
            counters: zero,
            empty: zero,
            associated: zero,
            lengths: zero,
        }
    }

    /// Takes up to four packets from position `first` on; lanes without one have
    /// no text.
    ///
    /// It is always inlined, since vectors cross a call through memory, and so
    /// has no features of its own.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn load<const RAW: bool>(&mut self, task: &Task<'_, '_>, first: usize) {
        let size = task.kind.size;
        // SAFETY: the caller's; reads are explained where they are.
        unsafe {
            let zero = _mm_setzero_si128();
            let (mut nonces, mut associated) = ([zero; LANES], [zero; LANES]);
            let mut raw: [RawKey; LANES] = [[zero; 2]; LANES];
            let mut rows = [[_mm512_setzero_si512(); LANES]; 4];
            let mut bits = [[0u64; 2]; LANES];
            let mut most_blocks = 0;
            for lane in 0..LANES {
                let text = &mut self.texts[lane];
                text.bytes = 0;
                let Some(packet) = task.packet(first + lane) else {
                    continue;
                };
                if RAW {
                    raw[lane] = load_raw(packet.key, size);
                } else if let Some(blocks) = expanded(packet.key, size, Form::Compact) {
                    for (row, blocks) in rows.iter_mut().zip(blocks.as_chunks::<4>().0) {
                        // SAFETY: four blocks are readable.
                        row[lane] = _mm512_loadu_si512(blocks.as_ptr().cast());
                    }
                }
                let mask = (1u32 << packet.associated.len().min(16)) - 1;
                // SAFETY: the mask covers no more than the associated data.
                associated[lane] =
                    _mm_maskz_loadu_epi8(mask as __mmask16, packet.associated.as_ptr().cast());
                nonces[lane] = nonce(packet);
                bits[lane] = [
                    8 * packet.text.len() as u64,
                    8 * packet.associated.len() as u64,
                ];
                text.at = packet.text.as_ptr().cast::<u8>().cast_mut();
                text.bytes = packet.text.len();
                most_blocks = most_blocks.max(packet.text.len().div_ceil(16));
            }
            if RAW {
                match size {
                    AesKeySize::Aes128 => self.round_keys[0] = lanes_of(&raw)[0],
                    _ => round_keys(size, &raw, &mut self.round_keys),
                }
            } else {
                for (row, keys) in rows.into_iter().zip(0..) {
                    let column = transpose(row);
                    for (block, key) in column.into_iter().enumerate() {
                        match (4 * keys + block).checked_sub(1) {
                            None => self.hash_key = key,
                            Some(round) => self.round_keys[round] = key,
                        }
                    }
                }
            }
            self.nonces = reverse(join(nonces));
            self.associated = reverse(join(associated));
            self.lengths = _mm512_loadu_si512(bits.as_ptr().cast());
            self.chunks = most_blocks.div_ceil(4);
        }
    }

    /// Lets all texts end with this chunk, which is no earlier than the longest
    /// text asks for.
    ///
    /// # Safety
    /// As for [`Group::load`].
    #[inline(always)]
    unsafe fn end_with(&mut self, chunks: usize) {
        self.chunks = chunks;
        // SAFETY: the caller's.
        unsafe {
            let mut empty = [0i32; LANES];
            self.most_empty = 0;
            self.whole_until = self.chunks;
            for (text, empty) in self.texts.iter_mut().zip(&mut empty) {
                text.empty = 4 * self.chunks - text.bytes.div_ceil(16);
                *empty = text.empty as i32;
                self.most_empty = self.most_empty.max(text.empty);
                self.whole_until = self.whole_until.min((text.bytes + 16 * text.empty) / CHUNK);
            }
            // SAFETY: four words are readable.
            let empty = _mm512_castsi128_si512(_mm_loadu_si128(empty.as_ptr().cast()));
            let lanes = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
            self.empty = _mm512_permutexvar_epi32(lanes, empty);
            let first = _mm512_sub_epi32(_mm512_set1_epi32(2), self.empty);
            self.counters = _mm512_mask_mov_epi32(self.nonces, 0x1111, first);
        }
    }

    /// Clears the keys, by writes that the compiler may not leave out.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn wipe(&mut self) {
        for key in self.round_keys.iter_mut().chain([&mut self.hash_key]) {
            // SAFETY: the reference is valid for writes.
            unsafe { std::ptr::write_volatile(key, _mm512_setzero_si512()) };
        }
    }

    /// The lanes whose associated data comes at `slot`, counted from s₀.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn starting(&self, slot: usize) -> __mmask16 {
        _mm512_cmpeq_epi32_mask(self.empty, _mm512_set1_epi32(slot as i32))
    }

    /// Counter blocks of a chunk, with `key` added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counter_block(&self, chunk: usize, slot: usize) -> __m512i {
        let slots = _mm512_maskz_set1_epi32(0x1111, (4 * chunk + slot) as i32);
        let block = reverse(_mm512_add_epi32(self.counters, slots));
        _mm512_xor_si512(block, self.round_keys[0])
    }

    /// Adds the key stream to a chunk of every text and returns the chunk's
    /// elements for the hash, with associated data where a text is about to
    /// begin. Chunks past the group's last have no text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn apply(&self, open: bool, chunk: usize, key_stream: [__m512i; 4]) -> [__m512i; 4] {
        let key_stream = transpose(key_stream);
        let mut hashed = [_mm512_setzero_si512(); LANES];
        let is_whole = self.most_empty <= 4 * chunk && chunk < self.whole_until;
        for lane in 0..LANES {
            let text = self.texts[lane];
            // Where this chunk begins, from the text's first byte.
            let from = (CHUNK * chunk) as isize - 16 * text.empty as isize;
            let at = text.at.wrapping_offset(from);
            // SAFETY: the chunk, or what the mask covers of it, is text, which is
            // borrowed while the group is processed.
            hashed[lane] = unsafe {
                if is_whole {
                    let input = _mm512_loadu_si512(at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    _mm512_storeu_si512(at.cast(), output);
                    if open { input } else { output }
                } else {
                    let mask = mask_between(-from, text.bytes as isize - from);
                    let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    let output = _mm512_maskz_mov_epi8(mask, output);
                    _mm512_mask_storeu_epi8(at.cast(), mask, output);
                    if open { input } else { output }
                }
            };
        }
        let mut elements = transpose(hashed);
        for element in &mut elements {
            *element = reverse(*element);
        }
        // Slot s₀ is the first, x₀ the second.
        if 4 * chunk < self.most_empty {
            for (slot, element) in elements.iter_mut().enumerate() {
                let starting = self.starting(4 * chunk + slot + 1);
                *element = _mm512_mask_mov_epi32(*element, starting, self.associated);
            }
        }
        elements
    }
}

/// Encrypts or decrypts the texts of `GROUPS` groups and returns the tags, one
/// per lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn process<const RAW: bool, const GROUPS: usize>(
    size: AesKeySize,
    open: bool,
    groups: &mut [Group; GROUPS],
) -> [__m512i; GROUPS] {
    let zero = _mm512_setzero_si512();
    let rounds = rounds(size);
    let on_the_fly = RAW && matches!(size, AesKeySize::Aes128);

    // Of each group the zero block, the tag's block and four of the text.
    let mut states = [[zero; 6]; GROUPS];
    let one = _mm512_set1_epi32(1);
    for (states, group) in states.iter_mut().zip(&*groups) {
        let tag_block = reverse(_mm512_mask_mov_epi32(group.counters, 0x1111, one));
        states[0] = group.round_keys[0];
        states[1] = _mm512_xor_si512(tag_block, group.round_keys[0]);
        for slot in 0..4 {
            states[2 + slot] = group.counter_block(0, slot);
        }
    }
    if on_the_fly {
        let mut keys = [zero; GROUPS];
        for (key, group) in keys.iter_mut().zip(&*groups) {
            *key = group.round_keys[0];
        }
        #[expect(clippy::needless_range_loop, reason = "constant bounds are unrolled")]
        for round in 1..10 {
            for ((states, group), key) in states.iter_mut().zip(&mut *groups).zip(&mut keys) {
                *key = next_128_lanes(*key, ROUND_CONSTANTS[round]);
                group.round_keys[round] = *key;
                aes_round(states, *key);
            }
        }
        for ((states, group), key) in states.iter_mut().zip(&mut *groups).zip(&mut keys) {
            *key = next_128_lanes(*key, ROUND_CONSTANTS[10]);
            group.round_keys[10] = *key;
            aes_last_round(states, *key);
        }
    } else {
        // The zero block is only asked for where the hash key is.
        let first = usize::from(!RAW);
        for round in 1..rounds {
            for (states, group) in states.iter_mut().zip(&*groups) {
                aes_round(&mut states[first..], group.round_keys[round]);
            }
        }
        for (states, group) in states.iter_mut().zip(&*groups) {
            aes_last_round(&mut states[first..], group.round_keys[rounds]);
        }
    }

    let mut hashes = [Hash::new(zero); GROUPS];
    let chunks = groups[0].chunks;
    for ((hash, group), states) in hashes.iter_mut().zip(&*groups).zip(&states) {
        let h = if RAW {
            hash_keys(states[0])
        } else {
            group.hash_key
        };
        *hash = Hash::new(h);
        hash.waiting = _mm512_maskz_mov_epi32(group.starting(0), group.associated);
    }
    for chunk in 0..chunks {
        let mut elements = [[zero; 4]; GROUPS];
        for ((elements, group), states) in elements.iter_mut().zip(&*groups).zip(&states) {
            let [_, _, x0, x1, x2, x3] = *states;
            *elements = group.apply(open, chunk, [x0, x1, x2, x3]);
        }
        let is_last = chunk + 1 == chunks;
        if !is_last {
            for (states, group) in states.iter_mut().zip(&*groups) {
                for slot in 0..4 {
                    states[2 + slot] = group.counter_block(chunk + 1, slot);
                }
            }
        }
        // The hash of this chunk and the cipher of the next take turns.
        if is_last {
            for half in 0..2 {
                for (hash, elements) in hashes.iter_mut().zip(&elements) {
                    hash.absorb(half, elements);
                }
            }
        } else {
            let first = &mut hashes[0];
            aes_rounds::<2, GROUPS>(1, groups, &mut states);
            first.absorb(0, &elements[0]);
            first.in_turns_with(&mut states[0][2..]);
            aes_rounds::<2, GROUPS>(3, groups, &mut states);
            if let Some(second) = hashes.get_mut(1) {
                second.absorb(0, &elements[1]);
                second.in_turns_with(&mut states[1][2..]);
            }
            let first = &mut hashes[0];
            aes_rounds::<2, GROUPS>(5, groups, &mut states);
            first.absorb(1, &elements[0]);
            first.in_turns_with(&mut states[0][2..]);
            aes_rounds::<2, GROUPS>(7, groups, &mut states);
            if let Some(second) = hashes.get_mut(1) {
                second.absorb(1, &elements[1]);
                second.in_turns_with(&mut states[1][2..]);
            }
            aes_rounds::<1, GROUPS>(9, groups, &mut states);
            for round in 10..rounds {
                aes_rounds::<1, GROUPS>(round, groups, &mut states);
            }
            for (states, group) in states.iter_mut().zip(&*groups) {
                aes_last_round(&mut states[2..], group.round_keys[rounds]);
            }
        }
    }
    let mut tags = [zero; GROUPS];
    for ((tag, hash), (group, states)) in
        tags.iter_mut().zip(hashes).zip(groups.iter().zip(&states))
    {
        *tag = _mm512_xor_si512(reverse(hash.finish(group.lengths)), states[1]);
    }
    tags
}

/// So many rounds from `first` on of all groups' text blocks.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn aes_rounds<const ROUNDS: usize, const GROUPS: usize>(
    first: usize,
    groups: &[Group; GROUPS],
    states: &mut [[__m512i; 6]; GROUPS],
) {
    for round in first..first + ROUNDS {
        for (states, group) in states.iter_mut().zip(groups) {
            aes_round(&mut states[2..], group.round_keys[round]);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn aes_last_round(states: &mut [__m512i], key: __m512i) {
    for state in states {
        *state = _mm512_aesenclast_epi128(*state, key);
    }
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
#[derive(Clone, Copy)]
struct Hash {
    h: __m512i,
    h_squared: __m512i,
    sum: __m512i,
    /// An element that waits for its neighbour.
    waiting: __m512i,
}

impl Hash {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn new(h: __m512i) -> Hash {
        Hash {
            h,
            h_squared: square(h),
            sum: _mm512_setzero_si512(),
            waiting: _mm512_setzero_si512(),
        }
    }

    /// (sum + x)H² + yH.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn pair(&mut self, x: __m512i, y: __m512i) {
        let mut sums = Sums::of(y, self.h);
        sums.add(_mm512_xor_si512(self.sum, x), self.h_squared);
        self.sum = sums.reduce_lanes();
    }

    /// As [`Sums::in_turns_with`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn in_turns_with(&mut self, others: &mut [__m512i]) {
        in_turns(&mut self.sum, others);
    }

    /// One of two steps that absorb the elements of a chunk.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn absorb(&mut self, half: usize, elements: &[__m512i; 4]) {
        let [x0, x1, x2, x3] = *elements;
        if half == 0 {
            self.pair(self.waiting, x0);
        } else {
            self.pair(x1, x2);
            self.waiting = x3;
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn finish(mut self, lengths: __m512i) -> __m512i {
        self.pair(self.waiting, lengths);
        self.sum
    }
}

//! One packet in all lanes: four slots per vector, sixteen slots in flight.
//!
//! ```text
//! lane               0       1       2       3
//! vector 0  cipher   J0      2       3       4        counters
//!           text     -       block 0 block 1 block 2
//!           hash     assoc.  block 0 block 1 block 2
//!           times    Hᵐ      Hᵐ⁻¹    Hᵐ⁻²    Hᵐ⁻³     one load from the table
//! vector 1  cipher   5       6       7       8
//!           …
//! last      hash     block   lengths 0       0
//!           times    H²      H       (what follows the table, times nothing)
//! ```
//!
//! The table of powers lies in memory from the highest to H itself, so that the
//! factors of a vector are one load, wherever the packet ends. More than sixteen
//! slots are taken sixteen at a time with H¹⁶ … H; the hash of one such chunk
//! runs between the rounds of the next one's cipher, so that both units work:
//!
//! ```text
//! sealing   cipher 0 │ cipher 1, hash 0 │ cipher 2, hash 1 │ … │ hash last
//! opening   cipher 0, hash 0 │ cipher 1, hash 1 │ …
//! ```

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::super::packet::Packet;
use super::bytes;
use super::field::{Sums, reverse, reverse_one};
use crate::cipher::Block;

/// Bytes of a vector, and of a chunk of sixteen slots.
pub(super) const VECTOR: usize = 64;
const CHUNK: usize = 4 * VECTOR;

/// Where a key's schedule lies.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// H: preceded by its powers up to the 17th, or as far as the packets that
    /// use this schedule ask, and followed by three readable blocks.
    pub(super) hash_key: *const u8,
    /// Round key 0.
    pub(super) round_keys: *const u8,
    pub(super) rounds: usize,
}

/// A packet under way.
pub(super) struct Stream<'a> {
    pub(super) schedule: Schedule,
    /// Salt and IV, the counter's place zero.
    pub(super) nonce: __m128i,
    /// The text's address less the 16 bytes of slot 0.
    pub(super) slots: *mut u8,
    /// Bytes of all slots that end with the text.
    pub(super) bytes: usize,
    /// Element of the lengths.
    pub(super) lengths: __m128i,
    pub(super) associated: &'a [u8],
    text: PhantomData<&'a mut [u8]>,
}

impl Schedule {
    /// A round key in every lane.
    ///
    /// # Safety
    /// There is such a round key.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn round_key(&self, round: usize) -> __m512i {
        // SAFETY: the caller's.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(self.round_keys.add(16 * round).cast()) })
    }

    /// Hᵐ, Hᵐ⁻¹, Hᵐ⁻², Hᵐ⁻³ for m = `highest`; what lies behind H stands for
    /// powers below the first.
    ///
    /// # Safety
    /// There is such a power.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn powers(&self, highest: usize) -> __m512i {
        // SAFETY: the caller's; three blocks behind H are readable.
        unsafe { _mm512_loadu_si512(self.hash_key.sub(16 * (highest - 1)).cast()) }
    }
}

/// The lowest `bytes` lanes of a vector, all of them from 64 on.
#[inline]
pub(super) fn mask_of(bytes: usize) -> __mmask64 {
    match bytes {
        0..64 => (1 << bytes) - 1,
        _ => u64::MAX,
    }
}

/// Slot 0, which has no text.
pub(super) const SLOT_0: __mmask64 = 0xffff;

impl<'a> Stream<'a> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) fn new(schedule: Schedule, packet: Packet<'a>) -> Stream<'a> {
        let Packet {
            nonce,
            associated,
            text,
            ..
        } = packet;
        Stream {
            schedule,
            nonce: _mm_set_epi64x((nonce >> 64) as i64, nonce as i64),
            slots: text.as_mut_ptr().wrapping_sub(16),
            bytes: 16 + text.len(),
            lengths: _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64),
            associated,
            text: PhantomData,
        }
    }

    /// A packet without text under the same key.
    #[inline]
    pub(super) fn empty(of: &Stream<'_>) -> Stream<'static> {
        Stream {
            schedule: of.schedule,
            nonce: of.nonce,
            slots: std::ptr::dangling_mut(),
            bytes: 16,
            lengths: of.lengths,
            associated: &[],
            text: PhantomData,
        }
    }

    /// Encrypts or decrypts the text and returns the tag.
    ///
    /// # Safety
    /// The schedule is readable as its fields say, up to power
    /// `min(17, 2 + blocks of text)`, and up to the fourth where there are more
    /// than 16 bytes of associated data.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn process(&self, open: bool) -> Block {
        // SAFETY: the caller's.
        let (tag_pad, hash) = unsafe {
            match open {
                true => self.chunks_and_rest::<true>(),
                false => self.chunks_and_rest::<false>(),
            }
        };
        bytes(_mm_xor_si128(reverse_one(hash), tag_pad))
    }

    /// # Safety
    /// As for [`Stream::process`].
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn chunks_and_rest<const OPEN: bool>(&self) -> (__m128i, __m128i) {
        // The last chunk is never empty: slot 0 at least is in it.
        let chunks = (self.bytes - 1) / CHUNK;
        let rest = self.bytes - chunks * CHUNK;
        // SAFETY: the caller's.
        unsafe {
            let head = self.head();
            if chunks == 0 {
                return match rest.div_ceil(VECTOR) {
                    1 => self.rest::<1, OPEN>(0, head),
                    2 => self.rest::<2, OPEN>(0, head),
                    3 => self.rest::<3, OPEN>(0, head),
                    _ => self.rest::<4, OPEN>(0, head),
                };
            }
            let (tag_pad, hash) = self.chunks::<OPEN>(chunks, head);
            let (_, hash) = match rest.div_ceil(VECTOR) {
                1 => self.rest::<1, OPEN>(chunks, hash),
                2 => self.rest::<2, OPEN>(chunks, hash),
                3 => self.rest::<3, OPEN>(chunks, hash),
                _ => self.rest::<4, OPEN>(chunks, hash),
            };
            (tag_pad, hash)
        }
    }

    /// The element of slot 0: the only block of associated data, or the last
    /// one with the hash of those before it added.
    ///
    /// # Safety
    /// As for [`Stream::process`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn head(&self) -> __m128i {
        let before = self.associated.len().saturating_sub(1) / 16 * 16;
        let (before, last) = self.associated.split_at(before);
        let mask = ((1u32 << last.len()) - 1) as __mmask16;
        // SAFETY: the mask covers the 0 to 16 bytes of `last`.
        let last = unsafe { _mm_maskz_loadu_epi8(mask, last.as_ptr().cast()) };
        let mut hash = _mm_setzero_si128();
        for chunk in before.chunks(VECTOR) {
            // SAFETY: the mask covers the chunk; there are four powers.
            unsafe {
                let x = _mm512_maskz_loadu_epi8(mask_of(chunk.len()), chunk.as_ptr().cast());
                let x = _mm512_xor_si512(reverse(x), _mm512_zextsi128_si512(hash));
                hash = Sums::of(x, self.schedule.powers(chunk.len() / 16)).reduce();
            }
        }
        _mm_xor_si128(reverse_one(last), hash)
    }

    /// Counter blocks from the vector numbered `vector` on, four of them per
    /// vector.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counter_blocks(&self, vector: usize) -> CounterBlocks {
        let first = _mm512_set1_epi32(4 * vector as i32 + 1);
        let lanes = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
        let nonce = reverse(_mm512_broadcast_i32x4(self.nonce));
        CounterBlocks {
            next: _mm512_mask_add_epi32(nonce, 0x1111, first, lanes),
        }
    }

    /// Enciphers and hashes `chunks` chunks of sixteen slots, slot 0 first;
    /// returns the encrypted first counter block and the hash of all chunks.
    ///
    /// # Safety
    /// The text fills that many chunks, at least one, and the schedule has
    /// sixteen powers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn chunks<const OPEN: bool>(&self, chunks: usize, head: __m128i) -> (__m128i, __m128i) {
        // SAFETY: all accesses are to the schedule and, slot 0 masked out, to
        // the text.
        unsafe {
            let mut counters = self.counter_blocks(0);
            let mut states = counters.take::<4>(self.schedule.round_key(0));
            let mut hash = head;
            if OPEN {
                let data = elements(self.load(0, !SLOT_0));
                hash = self.encrypt_and_hash(&mut states, data, hash);
            } else {
                self.encrypt(&mut states);
            }
            let tag_pad = _mm512_castsi512_si128(states[0]);
            let mut sealed = self.apply(0, !SLOT_0, states);
            for chunk in 1..chunks {
                let mut states = counters.take::<4>(self.schedule.round_key(0));
                let data = match OPEN {
                    true => self.load(chunk, u64::MAX),
                    false => sealed,
                };
                hash = self.encrypt_and_hash(&mut states, elements(data), hash);
                sealed = self.apply(chunk, u64::MAX, states);
            }
            if !OPEN {
                let mut data = elements(sealed);
                data[0] = _mm512_xor_si512(data[0], _mm512_zextsi128_si512(hash));
                let mut sums = Sums::zero();
                for (vector, data) in data.iter().enumerate() {
                    sums.add(*data, self.schedule.powers(16 - 4 * vector));
                }
                hash = sums.reduce();
            }
            (tag_pad, hash)
        }
    }

    /// The four vectors of a chunk; `first` masks the first.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load(&self, chunk: usize, first: __mmask64) -> [__m512i; 4] {
        let at = self.slots.wrapping_add(chunk * CHUNK);
        // SAFETY: the caller's.
        unsafe {
            [
                _mm512_maskz_loadu_epi8(first, at.cast()),
                _mm512_loadu_si512(at.wrapping_add(VECTOR).cast()),
                _mm512_loadu_si512(at.wrapping_add(2 * VECTOR).cast()),
                _mm512_loadu_si512(at.wrapping_add(3 * VECTOR).cast()),
            ]
        }
    }

    /// Adds the key stream to a chunk and returns the result.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn apply(
        &self,
        chunk: usize,
        first: __mmask64,
        key_stream: [__m512i; 4],
    ) -> [__m512i; 4] {
        let at = self.slots.wrapping_add(chunk * CHUNK);
        // SAFETY: the caller's.
        unsafe {
            let mut data = self.load(chunk, first);
            for (data, key) in data.iter_mut().zip(key_stream) {
                *data = _mm512_xor_si512(*data, key);
            }
            data[0] = _mm512_maskz_mov_epi8(first, data[0]);
            _mm512_mask_storeu_epi8(at.cast(), first, data[0]);
            for (vector, data) in data.iter().enumerate().skip(1) {
                _mm512_storeu_si512(at.wrapping_add(vector * VECTOR).cast(), *data);
            }
            data
        }
    }

    /// Rounds 1 to the last of the cipher.
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn encrypt<const VECTORS: usize>(&self, states: &mut [__m512i; VECTORS]) {
        // SAFETY: the caller's.
        unsafe {
            for round in 1..self.schedule.rounds {
                let key = self.schedule.round_key(round);
                for state in &mut *states {
                    *state = _mm512_aesenc_epi128(*state, key);
                }
            }
            let key = self.schedule.round_key(self.schedule.rounds);
            for state in states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
        }
    }

    /// Rounds 1 to the last of the cipher, and in between the hash of a chunk,
    /// of which the sum is returned.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn encrypt_and_hash(
        &self,
        states: &mut [__m512i; 4],
        mut data: [__m512i; 4],
        hash: __m128i,
    ) -> __m128i {
        // SAFETY: the caller's.
        unsafe {
            data[0] = _mm512_xor_si512(data[0], _mm512_zextsi128_si512(hash));
            let mut sums = Sums::zero();
            // Two rounds of the cipher for each vector of the hash, of which
            // the first waits for the hash before: it comes last.
            for vector in [3, 2, 1, 0] {
                let round = 7 - 2 * vector;
                for round in [round, round + 1] {
                    let key = self.schedule.round_key(round);
                    for state in &mut *states {
                        *state = _mm512_aesenc_epi128(*state, key);
                    }
                }
                sums.add(data[vector], self.schedule.powers(16 - 4 * vector));
            }
            let hash = sums.reduce();
            for round in 9..self.schedule.rounds {
                let key = self.schedule.round_key(round);
                for state in &mut *states {
                    *state = _mm512_aesenc_epi128(*state, key);
                }
            }
            let key = self.schedule.round_key(self.schedule.rounds);
            for state in states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            hash
        }
    }

    /// Enciphers and hashes the last one to sixteen slots, which lie in
    /// `VECTORS` vectors and come after `chunks` chunks, and hashes the lengths;
    /// `hash` is the hash so far, or the element of slot 0. Returns the first
    /// block of key stream and the hash.
    ///
    /// # Safety
    /// The schedule has as many powers as there are slots, and one more.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn rest<const VECTORS: usize, const OPEN: bool>(
        &self,
        chunks: usize,
        hash: __m128i,
    ) -> (__m128i, __m128i) {
        // SAFETY: all accesses are to the schedule and, under masks, to the
        // text.
        unsafe {
            let bytes = self.bytes - chunks * CHUNK;
            let at = self.slots.wrapping_add(chunks * CHUNK);
            let slots = bytes.div_ceil(16);
            let mut counters = self.counter_blocks(4 * chunks);
            let mut states = counters.take::<VECTORS>(self.schedule.round_key(0));
            self.encrypt(&mut states);

            // A length block that shares the last vector is added to it; one
            // behind a full vector is hashed by itself.
            let lengths_lane = slots % 4;
            let mut sums = Sums::zero();
            for (vector, state) in states.iter().enumerate() {
                let at = at.wrapping_add(VECTOR * vector);
                let mut mask = mask_of(bytes - VECTOR * vector);
                if vector == 0 && chunks == 0 {
                    mask &= !SLOT_0;
                }
                let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                let output = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(input, *state));
                _mm512_mask_storeu_epi8(at.cast(), mask, output);
                let mut x = reverse(if OPEN { input } else { output });
                if vector == 0 {
                    x = _mm512_xor_si512(x, _mm512_zextsi128_si512(hash));
                }
                if vector + 1 == VECTORS && lengths_lane > 0 {
                    let lane = 0xf << (4 * lengths_lane);
                    x = _mm512_mask_broadcast_i32x4(x, lane, self.lengths);
                }
                sums.add(x, self.schedule.powers(slots + 1 - 4 * vector));
            }
            if lengths_lane == 0 {
                let lengths = _mm512_zextsi128_si512(self.lengths);
                sums.add(lengths, self.schedule.powers(1));
            }
            (_mm512_castsi512_si128(states[0]), sums.reduce())
        }
    }
}

/// Elements of a chunk.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn elements(chunk: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = chunk;
    [reverse(a), reverse(b), reverse(c), reverse(d)]
}

/// Counter blocks of consecutive vectors, their bytes reversed so that the
/// counter is the lowest word.
struct CounterBlocks {
    next: __m512i,
}

impl CounterBlocks {
    /// The next counter blocks, with `key` added as round 0 adds it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn take<const VECTORS: usize>(&mut self, key: __m512i) -> [__m512i; VECTORS] {
        let mut states = [key; VECTORS];
        let four = _mm512_set4_epi32(0, 0, 0, 4);
        for state in &mut states {
            *state = _mm512_xor_si512(reverse(self.next), key);
            self.next = _mm512_add_epi32(self.next, four);
        }
        states
    }
}

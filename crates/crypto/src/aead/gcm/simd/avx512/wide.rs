//! One packet in all lanes: four slots per vector, and up to sixteen slots in
//! flight.
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
//! runs between the rounds of the next one's cipher, so that both units work.

use std::arch::x86_64::*;

use super::field::{Sums, reverse, reverse_one};

/// Bytes of a vector, and of a chunk of sixteen slots.
const VECTOR: usize = 64;
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
struct Stream {
    schedule: Schedule,
    /// Salt and IV in every lane, the counter's place zero.
    nonce: __m512i,
    /// The text's address less the 16 bytes of slot 0.
    slots: *mut u8,
    /// Bytes of all slots that end with the text.
    bytes: usize,
}

/// Encrypts or decrypts `text` and returns the tag.
///
/// # Safety
/// `schedule` is readable as its fields say, up to power
/// `min(17, 2 + blocks of text)`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) unsafe fn process<const OPEN: bool>(
    schedule: Schedule,
    nonce: u128,
    associated: &[u8],
    text: &mut [u8],
) -> __m128i {
    let nonce = _mm_set_epi64x((nonce >> 64) as i64, nonce as i64);
    let stream = Stream {
        schedule,
        nonce: _mm512_broadcast_i32x4(nonce),
        slots: text.as_mut_ptr().wrapping_sub(16),
        bytes: 16 + text.len(),
    };
    let lengths = _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64);
    // SAFETY: `stream` describes `text`, which is borrowed for the call, and
    // the caller vouches for the schedule.
    unsafe {
        let head = hash_head(&schedule, associated);
        // The last chunk is never empty: slot 0 at least is in it.
        let chunks = (stream.bytes - 1) / CHUNK;
        if chunks > 0 {
            let (tag_pad, hash) = stream.chunks::<OPEN>(chunks, head);
            let rest = stream.bytes - chunks * CHUNK;
            let hash = match rest.div_ceil(VECTOR) {
                1 => {
                    stream
                        .last::<1, false, false, OPEN>(chunks, hash, lengths)
                        .1
                }
                2 => {
                    stream
                        .last::<2, false, false, OPEN>(chunks, hash, lengths)
                        .1
                }
                3 => {
                    stream
                        .last::<3, false, false, OPEN>(chunks, hash, lengths)
                        .1
                }
                _ => {
                    stream
                        .last::<4, false, false, OPEN>(chunks, hash, lengths)
                        .1
                }
            };
            return _mm_xor_si128(reverse_one(hash), tag_pad);
        }
        let (tag_pad, hash) = match stream.bytes.div_ceil(VECTOR / 2) {
            1 => stream.last::<0, true, true, OPEN>(0, head, lengths),
            2 => stream.last::<1, false, true, OPEN>(0, head, lengths),
            3 => stream.last::<1, true, true, OPEN>(0, head, lengths),
            4 => stream.last::<2, false, true, OPEN>(0, head, lengths),
            5 => stream.last::<2, true, true, OPEN>(0, head, lengths),
            6 => stream.last::<3, false, true, OPEN>(0, head, lengths),
            7 => stream.last::<3, true, true, OPEN>(0, head, lengths),
            _ => stream.last::<4, false, true, OPEN>(0, head, lengths),
        };
        _mm_xor_si128(reverse_one(hash), tag_pad)
    }
}

/// The element of slot 0: the only block of associated data, or the last one
/// with the hash of those before it added.
///
/// # Safety
/// As for [`process`], up to power 16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn hash_head(schedule: &Schedule, associated: &[u8]) -> __m128i {
    let before = associated.len().saturating_sub(1) / 16 * 16;
    let (before, last) = associated.split_at(before);
    let mask = ((1u32 << last.len()) - 1) as __mmask16;
    // SAFETY: the mask covers the 0 to 16 bytes of `last`.
    let last = unsafe { _mm_maskz_loadu_epi8(mask, last.as_ptr().cast()) };
    let mut hash = _mm_setzero_si128();
    for chunk in before.chunks(VECTOR) {
        // SAFETY: the mask covers the chunk; powers from its number of blocks
        // downwards and three blocks behind them are readable.
        unsafe {
            let blocks = chunk.len() / 16;
            let x = _mm512_maskz_loadu_epi8(mask_of(chunk.len()), chunk.as_ptr().cast());
            let x = _mm512_xor_si512(reverse(x), _mm512_zextsi128_si512(hash));
            hash = Sums::of(x, schedule.powers(blocks)).reduce();
        }
    }
    _mm_xor_si128(reverse_one(last), hash)
}

/// The lowest `bytes` lanes of a vector, all of them from 64 on.
#[inline]
fn mask_of(bytes: usize) -> __mmask64 {
    match bytes {
        0..64 => (1 << bytes) - 1,
        _ => u64::MAX,
    }
}

impl Schedule {
    /// A round key in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn round_key(&self, round: usize) -> __m512i {
        // SAFETY: the caller asks for a round key that there is.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(self.round_keys.add(16 * round).cast()) })
    }

    /// Hᵐ, Hᵐ⁻¹, Hᵐ⁻², Hᵐ⁻³ for m = `highest`; what lies behind H stands for
    /// powers below the first.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn powers(&self, highest: usize) -> __m512i {
        // SAFETY: the caller asks for a power that there is, and three blocks
        // behind H are readable.
        unsafe { _mm512_loadu_si512(self.hash_key.sub(16 * (highest - 1)).cast()) }
    }
}

/// Counters 1, 2, 3, …, one per lane, as the last word of a block.
#[repr(C, align(64))]
struct Counters([[u32; 4]; 16]);

static FIRST_COUNTERS: Counters = {
    let mut blocks = [[0; 4]; 16];
    let mut slot = 0;
    while slot < 16 {
        blocks[slot][3] = (slot as u32 + 1).swap_bytes();
        slot += 1;
    }
    Counters(blocks)
};

/// Counter blocks of consecutive vectors, their bytes reversed so that the
/// counter is the lowest word.
struct CounterBlocks {
    next: __m512i,
}

impl Stream {
    /// Counter blocks from the vector numbered `vector` on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counter_blocks(&self, vector: usize) -> CounterBlocks {
        let first = _mm512_set1_epi32(4 * vector as i32);
        let counters = _mm512_add_epi32(
            first,
            _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1),
        );
        CounterBlocks {
            next: _mm512_mask_mov_epi32(reverse(self.nonce), 0x1111, counters),
        }
    }

    /// Enciphers and hashes `chunks` chunks of sixteen slots, slot 0 first;
    /// returns the encrypted first counter block and the hash of all chunks.
    ///
    /// # Safety
    /// `self` describes that many full chunks of writable text, and a schedule
    /// with sixteen powers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn chunks<const OPEN: bool>(&self, chunks: usize, head: __m128i) -> (__m128i, __m128i) {
        // SAFETY: all accesses are to the schedule and, slot 0 masked out, to
        // the text.
        unsafe {
            let mut counters = self.counter_blocks(0);
            let mut tag_pad = _mm_setzero_si128();
            let mut hash = head;
            let mut pending = [_mm512_setzero_si512(); 4];
            // Slot 0 has no text.
            let mut text = 0xffff_ffff_ffff_0000;
            for chunk in 0..chunks {
                let at = self.slots.wrapping_add(chunk * CHUNK);
                let mut data = [_mm512_setzero_si512(); 4];
                for (vector, data) in data.iter_mut().enumerate() {
                    let at = at.wrapping_add(vector * VECTOR);
                    let mask = if vector == 0 { text } else { u64::MAX };
                    *data = _mm512_maskz_loadu_epi8(mask, at.cast());
                }
                if OPEN {
                    for (pending, data) in pending.iter_mut().zip(data) {
                        *pending = reverse(data);
                    }
                }
                let hashes = OPEN || chunk > 0;
                if hashes {
                    pending[0] = _mm512_xor_si512(pending[0], _mm512_zextsi128_si512(hash));
                }
                let mut states = counters.take::<4>(self.schedule.round_key(0));
                let mut sums = Sums::zero();
                // Two rounds of the cipher for each vector of the hash.
                for vector in 0..4 {
                    for half in 1..3 {
                        let key = self.schedule.round_key(2 * vector + half);
                        for state in &mut states {
                            *state = _mm512_aesenc_epi128(*state, key);
                        }
                    }
                    if hashes {
                        // The first vector waits for the hash before: last.
                        let vector = 3 - vector;
                        sums.add(pending[vector], self.schedule.powers(16 - 4 * vector));
                    }
                }
                if hashes {
                    hash = sums.reduce();
                }
                for round in 9..self.schedule.rounds {
                    let key = self.schedule.round_key(round);
                    for state in &mut states {
                        *state = _mm512_aesenc_epi128(*state, key);
                    }
                }
                let key = self.schedule.round_key(self.schedule.rounds);
                for state in &mut states {
                    *state = _mm512_aesenclast_epi128(*state, key);
                }
                if chunk == 0 {
                    tag_pad = _mm512_castsi512_si128(states[0]);
                }
                for (vector, data) in data.iter_mut().enumerate() {
                    let at = at.wrapping_add(vector * VECTOR);
                    let mask = if vector == 0 { text } else { u64::MAX };
                    *data = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(*data, states[vector]));
                    _mm512_mask_storeu_epi8(at.cast(), mask, *data);
                    if !OPEN {
                        pending[vector] = reverse(*data);
                    }
                }
                text = u64::MAX;
            }
            if !OPEN {
                pending[0] = _mm512_xor_si512(pending[0], _mm512_zextsi128_si512(hash));
                let mut sums = Sums::zero();
                for vector in (0..4).rev() {
                    sums.add(pending[vector], self.schedule.powers(16 - 4 * vector));
                }
                hash = sums.reduce();
            }
            (tag_pad, hash)
        }
    }

    /// Enciphers and hashes the last one to sixteen slots, which come after
    /// `chunks` chunks, and hashes the lengths; `hash` is the hash so far, or
    /// the element of slot 0. They lie in `FULL` vectors and, if `HALF`, half a
    /// vector more; `FIRST` says that slot 0 is among them. Returns the first
    /// block of key stream and the hash.
    ///
    /// # Safety
    /// `self` describes that much writable text, and a schedule with as many
    /// powers as there are slots, and one more.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn last<const FULL: usize, const HALF: bool, const FIRST: bool, const OPEN: bool>(
        &self,
        chunks: usize,
        hash: __m128i,
        lengths: __m128i,
    ) -> (__m128i, __m128i) {
        // SAFETY: all accesses are to the schedule and, under masks, to the
        // text.
        unsafe {
            let bytes = self.bytes - chunks * CHUNK;
            let at = self.slots.wrapping_add(chunks * CHUNK);
            let slots = bytes.div_ceil(16);

            let key = self.schedule.round_key(0);
            let mut states = [_mm512_setzero_si512(); FULL];
            let mut half = _mm256_setzero_si256();
            if FIRST {
                let counters: *const u8 = (&raw const FIRST_COUNTERS).cast();
                for (vector, state) in states.iter_mut().enumerate() {
                    let counters = _mm512_load_si512(counters.add(VECTOR * vector).cast());
                    *state = xor3(self.nonce, counters, key);
                }
                if HALF {
                    let counters = _mm256_load_si256(counters.add(VECTOR * FULL).cast());
                    let block = _mm256_xor_si256(_mm512_castsi512_si256(self.nonce), counters);
                    half = _mm256_xor_si256(block, _mm512_castsi512_si256(key));
                }
            } else {
                states = self.counter_blocks(4 * chunks).take::<FULL>(key);
            }
            for round in 1..self.schedule.rounds {
                let key = self.schedule.round_key(round);
                for state in &mut states {
                    *state = _mm512_aesenc_epi128(*state, key);
                }
                if HALF {
                    half = _mm256_aesenc_epi128(half, _mm512_castsi512_si256(key));
                }
            }
            let key = self.schedule.round_key(self.schedule.rounds);
            for state in &mut states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            if HALF {
                half = _mm256_aesenclast_epi128(half, _mm512_castsi512_si256(key));
            }
            let tag_pad = match FULL {
                0 => _mm256_castsi256_si128(half),
                _ => _mm512_castsi512_si128(states[0]),
            };

            // A length block that shares the last vector is added to it; one
            // behind a full vector is hashed by itself.
            let vectors = FULL + HALF as usize;
            let lengths_lane = slots % 4;
            let mut sums = Sums::zero();
            for vector in 0..vectors {
                let state = match vector < FULL {
                    true => states[vector],
                    false => _mm512_zextsi256_si512(half),
                };
                let at = at.wrapping_add(VECTOR * vector);
                let mut mask = u64::MAX;
                if vector + 1 == vectors {
                    mask = mask_of(bytes - VECTOR * vector);
                }
                if FIRST && vector == 0 {
                    mask &= !0xffff;
                }
                let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                let output = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(input, state));
                _mm512_mask_storeu_epi8(at.cast(), mask, output);
                let mut x = reverse(if OPEN { input } else { output });
                if vector == 0 {
                    x = _mm512_xor_si512(x, _mm512_zextsi128_si512(hash));
                }
                if vector + 1 == vectors && lengths_lane > 0 {
                    let lane = 0xf << (4 * lengths_lane);
                    x = _mm512_mask_broadcast_i32x4(x, lane, lengths);
                }
                sums.add(x, self.schedule.powers(slots + 1 - 4 * vector));
            }
            if lengths_lane == 0 {
                sums.add(_mm512_zextsi128_si512(lengths), self.schedule.powers(1));
            }
            (tag_pad, sums.reduce())
        }
    }
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

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

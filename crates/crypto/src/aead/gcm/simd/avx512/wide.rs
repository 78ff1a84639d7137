//! One packet in all lanes: four slots per vector, up to thirty-two slots in
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
//! last      hash     block   -       -       -
//!           times    H²      (H and what follows it, times nothing)
//! lengths   times    H
//! ```
//!
//! The table of powers lies in memory from the highest to H itself, so that the
//! factors of a vector are one load, wherever the packet ends. A packet is taken
//! in chunks of up to eight vectors. The cipher of a
//! chunk and the rest of the work on the chunk before it, which may be the packet
//! before's, run in turns, so that all units work all the time:
//!
//! ```text
//! key stream       A 0    A 1    A 2    B 0    B 1    C 0
//! text and hash    -      A 0    A 1    A 2    B 0    B 1    C 0
//! tag                                   A             B      C
//! ```

use std::arch::x86_64::*;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use super::super::super::batch::Task;
use super::super::super::packet::Packet;
use super::field::{Sums, in_order, reverse, reverse_one};
use super::{aes_round, bytes, nonce};
use crate::cipher::Block;

/// Bytes of a vector.
pub(super) const VECTOR: usize = 64;

/// The most vectors of a chunk, which is hashed with one reduction.
const CHUNK: usize = 8;

/// Slot 0, which has no text.
pub(super) const SLOT_0: __mmask64 = 0xffff;

/// What the counters of a chunk have beside a multiple of 32, in counter blocks.
static LOWER_BITS: [[Block; 4]; CHUNK] = {
    let mut blocks = [[[0; 16]; 4]; CHUNK];
    let mut slot = 0;
    while slot < 4 * CHUNK {
        blocks[slot / 4][slot % 4][15] = ((slot + 1) % (4 * CHUNK)) as u8;
        slot += 1;
    }
    blocks
};

/// Where a key's schedule lies.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a> {
    /// H: preceded by its powers up to the 33rd, or as far as the packets that
    /// use this schedule ask, and followed by three readable blocks.
    pub(super) hash_key: *const u8,
    /// Round key 0.
    pub(super) round_keys: *const u8,
    pub(super) borrowed: PhantomData<&'a [Block]>,
}

impl Schedule<'_> {
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

    /// Where Hᵐ, Hᵐ⁻¹, Hᵐ⁻², Hᵐ⁻³ for m = `highest` lie, and 64 bytes further
    /// on the next four; what lies behind H stands for powers below the first,
    /// which only elements that are zero are multiplied by.
    #[inline]
    pub(super) fn powers_at(&self, highest: usize) -> *const u8 {
        self.hash_key.wrapping_add(16).wrapping_sub(16 * highest)
    }

    /// As [`Schedule::powers_at`], loaded.
    ///
    /// # Safety
    /// There is such a power.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn powers(&self, highest: usize) -> __m512i {
        // SAFETY: the caller's; three blocks behind H are readable.
        unsafe { _mm512_loadu_si512(self.powers_at(highest).cast()) }
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

/// Packets one after the other, of which the last chunk's text and hash are pending.
pub(super) struct Conveyor<'a, const OPEN: bool> {
    rounds: usize,
    pending: Pending<'a>,
    /// The packet that the pending chunk is the last of.
    last: Option<Last>,
}

/// A packet but for its tag.
#[derive(Clone, Copy)]
struct Last {
    position: usize,
    /// The first block of key stream.
    tag_pad: __m128i,
}

/// A chunk whose key stream is there, while its text is still to be enciphered
/// and hashed.
#[derive(Clone, Copy)]
struct Pending<'a> {
    /// The last `vectors` vectors.
    key_stream: [__m512i; CHUNK],
    vectors: usize,
    /// Where the text of the first of all eight would be; the others' follows.
    text: *mut u8,
    /// Which bytes of the first vector there is, and of the last one, are text.
    first_mask: __mmask64,
    last_mask: __mmask64,
    /// What is still to be added to the first element: the hash so far.
    hash: __m128i,
    /// What the first vector there is is multiplied by; the others' follow.
    powers: *const u8,
    /// The element of the lengths and what it is to be multiplied by.
    lengths: __m128i,
    hash_key: *const u8,
    borrowed: PhantomData<(&'a [Block], &'a [Cell<u8>])>,
}

/// A block of zeros, in place of a hash key.
static NO_HASH_KEY: Block = [0; 16];

impl<'a, const OPEN: bool> Conveyor<'a, OPEN> {
    /// Without a packet, for keys of so many rounds.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(rounds: usize) -> Conveyor<'a, OPEN> {
        Conveyor {
            rounds,
            pending: Pending {
                key_stream: [_mm512_setzero_si512(); CHUNK],
                vectors: 0,
                text: ptr::null_mut(),
                first_mask: 0,
                last_mask: 0,
                hash: _mm_setzero_si128(),
                powers: NO_HASH_KEY.as_ptr(),
                lengths: _mm_setzero_si128(),
                hash_key: NO_HASH_KEY.as_ptr(),
                borrowed: PhantomData,
            },
            last: None,
        }
    }

    /// Encrypts or decrypts the packet at `position` but for its last chunk, whose
    /// text waits for the next call, and returns the position and the tag of the
    /// packet before it.
    ///
    /// # Safety
    /// The schedule is readable as its fields say, up to power
    /// `min(33, 2 + blocks of text)`, and up to the fourth where there are more
    /// than 16 bytes of associated data.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn packet(
        &mut self,
        position: usize,
        packet: &Packet<'a>,
        schedule: Schedule<'a>,
    ) -> Option<(usize, Block)> {
        // SAFETY: the caller's; a chunk has as many vectors as it is called with.
        unsafe {
            let stream = Stream::new(schedule, packet, self.rounds);
            let vectors = stream.bytes.div_ceil(VECTOR);
            let pending = &mut self.pending;
            let (sums_before, tag_pad) = match vectors {
                1 => stream.chunk::<1, true, true, OPEN>(pending, 0),
                2 => stream.chunk::<2, true, true, OPEN>(pending, 0),
                3 => stream.chunk::<3, true, true, OPEN>(pending, 0),
                4 => stream.chunk::<4, true, true, OPEN>(pending, 0),
                5 => stream.chunk::<5, true, true, OPEN>(pending, 0),
                6 => stream.chunk::<6, true, true, OPEN>(pending, 0),
                7 => stream.chunk::<7, true, true, OPEN>(pending, 0),
                8 => stream.chunk::<8, true, true, OPEN>(pending, 0),
                _ => stream.chunk::<8, true, false, OPEN>(pending, 0),
            };
            let hash_before = sums_before.reduce();
            if vectors > CHUNK {
                *pending = stream.further_chunks::<OPEN>(*pending, vectors);
            }
            let before = self.last.replace(Last { position, tag_pad });
            before.map(|before| before.tag(hash_before))
        }
    }

    /// Enciphers the end of the last packet, and keeps its tag.
    ///
    /// # Safety
    /// What the packet borrowed still is.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn finish(&mut self, task: &mut Task<'_, '_>) {
        let Some(last) = self.last.take() else { return };
        // SAFETY: the caller's; without states, no round key is read.
        let sums = unsafe {
            self.pending
                .text_and_key_stream::<0, false, OPEN>(&mut [], |_| zero())
        };
        // SAFETY: it is a field.
        unsafe { ptr::write_volatile(&mut self.pending.key_stream, [zero(); CHUNK]) };
        let (position, tag) = last.tag(sums.reduce());
        task.finish(position, tag);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn zero() -> __m512i {
    _mm512_setzero_si512()
}

impl Last {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn tag(self, hash: __m128i) -> (usize, Block) {
        let tag = _mm_xor_si128(reverse_one(hash), self.tag_pad);
        (self.position, bytes(tag))
    }
}

impl Pending<'_> {
    /// Enciphers the text and returns the sums of its hash, and in between does
    /// rounds 1 to 8 of the next chunk's cipher.
    ///
    /// A `WHOLE` chunk has eight vectors and is not its packet's last.
    ///
    /// # Safety
    /// The text is still borrowed, the powers are readable, and so is the hash
    /// key; features as for [`Stream::chunk`].
    #[inline(always)]
    unsafe fn text_and_key_stream<const VECTORS: usize, const WHOLE: bool, const OPEN: bool>(
        &self,
        states: &mut [__m512i; VECTORS],
        round_key: impl Fn(usize) -> __m512i,
    ) -> Sums {
        // SAFETY: the caller's.
        unsafe {
            let mut sums = Sums::zero();
            let has = |vector| WHOLE || vector + self.vectors >= CHUNK;
            // Written out, or vectors would lie in memory.
            macro_rules! turns {
                ($($round:literal: $vector:literal $next:literal),*) => {$(
                    aes_round(states, round_key($round));
                    in_order(states);
                    if has($next) {
                        let one = self.element::<WHOLE, OPEN>($vector);
                        let mut next = self.element::<WHOLE, OPEN>($next);
                        if WHOLE && $next == 0 {
                            next = _mm512_xor_si512(next, _mm512_zextsi128_si512(self.hash));
                        }
                        sums.add_two([one, next], [self.powers::<WHOLE>($vector), self.powers::<WHOLE>($next)]);
                    } else if has($vector) {
                        let one = self.element::<WHOLE, OPEN>($vector);
                        sums.add(one, self.powers::<WHOLE>($vector));
                    }
                    sums.in_order();
                    aes_round(states, round_key($round + 1));
                    in_order(states);
                )*};
            }
            // The first vector waits for the hash before: it comes last.
            turns!(1: 7 6, 3: 5 4, 5: 3 2, 7: 1 0);
            if !WHOLE {
                let load = |at: *const u8| _mm_loadu_si128(at.cast());
                sums.add_half(
                    _mm256_set_m128i(self.lengths, self.hash),
                    _mm256_set_m128i(load(self.hash_key), load(self.powers)),
                );
            }
            sums
        }
    }

    /// What a vector is multiplied by.
    ///
    /// # Safety
    /// As for [`Pending::text_and_key_stream`]; there is such a vector.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn powers<const WHOLE: bool>(&self, vector: usize) -> __m512i {
        let first = CHUNK - if WHOLE { CHUNK } else { self.vectors };
        let at = self
            .powers
            .wrapping_add(VECTOR * vector)
            .wrapping_sub(VECTOR * first);
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_si512(at.cast()) }
    }

    /// Enciphers one vector of the text, and returns the element to be hashed.
    ///
    /// # Safety
    /// As for [`Pending::text_and_key_stream`]; there is such a vector.
    #[inline(always)]
    unsafe fn element<const WHOLE: bool, const OPEN: bool>(&self, vector: usize) -> __m512i {
        let at = self.text.wrapping_add(VECTOR * vector);
        let is_last = !WHOLE && vector + 1 == CHUNK;
        let is_first = vector == if WHOLE { 0 } else { CHUNK - self.vectors };
        // SAFETY: the mask covers what there is of the text, and without one the
        // vector is whole.
        unsafe {
            let key_stream = self.key_stream[vector];
            let input;
            let output;
            if is_last || is_first && self.first_mask != u64::MAX {
                let last = if is_last { self.last_mask } else { u64::MAX };
                let first = if is_first { self.first_mask } else { u64::MAX };
                let mask = first & last;
                input = _mm512_maskz_loadu_epi8(mask, at.cast());
                output = _mm512_xor_si512(input, key_stream);
                _mm512_mask_storeu_epi8(at.cast(), mask, output);
            } else {
                input = _mm512_loadu_si512(at.cast());
                output = _mm512_xor_si512(input, key_stream);
                _mm512_storeu_si512(at.cast(), output);
            }
            reverse(if OPEN { input } else { output })
        }
    }
}

/// A packet under way.
struct Stream<'a> {
    schedule: Schedule<'a>,
    rounds: usize,
    /// The counter block of counter 0 with round key 0 added.
    start: __m512i,
    /// The text's address less the 16 bytes of slot 0.
    slots: *mut u8,
    /// Bytes of all slots that end with the text.
    bytes: usize,
    /// Elements of slot 0 and of the lengths.
    head: __m128i,
    lengths: __m128i,
}

impl<'a> Stream<'a> {
    /// # Safety
    /// As for [`Conveyor::packet`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn new(schedule: Schedule<'a>, packet: &Packet<'_>, rounds: usize) -> Stream<'a> {
        let (associated, text) = (packet.associated, packet.text);
        // SAFETY: there is a round key 0.
        let key = unsafe { schedule.round_key(0) };
        Stream {
            schedule,
            rounds,
            start: _mm512_xor_si512(_mm512_broadcast_i32x4(nonce(packet)), key),
            slots: text.as_ptr().cast::<u8>().cast_mut().wrapping_sub(16),
            bytes: 16 + text.len(),
            // SAFETY: the caller's.
            head: unsafe { head(&schedule, associated) },
            lengths: _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64),
        }
    }

    /// Goes on behind the first chunk of a packet of so many vectors: with whole
    /// chunks, and a last one of what remains.
    ///
    /// # Safety
    /// As for [`Stream::chunk`].
    #[inline(always)]
    unsafe fn further_chunks<const OPEN: bool>(
        &self,
        mut pending: Pending<'a>,
        vectors: usize,
    ) -> Pending<'a> {
        let mut done = CHUNK;
        // SAFETY: the caller's.
        unsafe {
            while vectors - done > CHUNK {
                let (sums, _) = self.chunk::<8, false, false, OPEN>(&mut pending, done);
                pending.hash = sums.reduce();
                done += CHUNK;
            }
            let (sums, _) = match vectors - done {
                1 => self.chunk::<1, false, true, OPEN>(&mut pending, done),
                2 => self.chunk::<2, false, true, OPEN>(&mut pending, done),
                3 => self.chunk::<3, false, true, OPEN>(&mut pending, done),
                4 => self.chunk::<4, false, true, OPEN>(&mut pending, done),
                5 => self.chunk::<5, false, true, OPEN>(&mut pending, done),
                6 => self.chunk::<6, false, true, OPEN>(&mut pending, done),
                7 => self.chunk::<7, false, true, OPEN>(&mut pending, done),
                _ => self.chunk::<8, false, true, OPEN>(&mut pending, done),
            };
            pending.hash = sums.reduce();
            pending
        }
    }

    /// Makes the key stream of a chunk of `VECTORS` vectors behind the `done` ones
    /// before it, while the text of the pending chunk is enciphered and hashed, and
    /// leaves its own text pending. The `FIRST` chunk begins with slot 0, the `LAST`
    /// may end in a partial block and takes the lengths along. Returns the sums of
    /// the hash that was pending and the chunk's first block of key stream.
    ///
    /// It is always inlined, since a call between functions that use vectors
    /// costs as much as half a chunk, and so has no features of its own.
    ///
    /// # Safety
    /// As for [`Conveyor::packet`], whose features the caller has.
    #[inline(always)]
    unsafe fn chunk<const VECTORS: usize, const FIRST: bool, const LAST: bool, const OPEN: bool>(
        &self,
        pending: &mut Pending<'a>,
        done: usize,
    ) -> (Sums, __m128i) {
        // SAFETY: the caller's; masks cover the text.
        unsafe {
            let round_key = |round| self.schedule.round_key(round);
            let mut states = self.counter_blocks::<VECTORS>(done);
            let sums = if FIRST {
                pending.text_and_key_stream::<VECTORS, false, OPEN>(&mut states, round_key)
            } else {
                pending.text_and_key_stream::<VECTORS, true, OPEN>(&mut states, round_key)
            };
            for round in 1 + CHUNK..self.rounds {
                aes_round(&mut states, round_key(round));
            }
            let key = round_key(self.rounds);
            for state in &mut states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            let tag_pad = _mm512_castsi512_si128(states[0]);
            if FIRST {
                states[0] = _mm512_maskz_mov_epi8(!SLOT_0, states[0]);
            }
            if LAST {
                let bytes = self.bytes - VECTOR * (done + VECTORS - 1);
                pending.last_mask = mask_of(bytes);
                states[VECTORS - 1] = _mm512_maskz_mov_epi8(mask_of(bytes), states[VECTORS - 1]);
            }
            for (vector, state) in states.iter().enumerate() {
                pending.key_stream[CHUNK - VECTORS + vector] = *state;
            }
            let unused = VECTOR * (CHUNK - VECTORS);
            pending.vectors = VECTORS;
            pending.text = self.slots.wrapping_add(VECTOR * done).wrapping_sub(unused);
            pending.first_mask = if FIRST { !SLOT_0 } else { u64::MAX };
            let mut slots = 4 * VECTORS;
            if LAST {
                // The lengths come behind.
                slots = (self.bytes - VECTOR * done).div_ceil(16) + 1;
                pending.lengths = self.lengths;
                pending.hash_key = self.schedule.hash_key;
            }
            if FIRST {
                pending.hash = self.head;
            }
            pending.powers = self.schedule.powers_at(slots);
            (sums, tag_pad)
        }
    }

    /// The counter blocks of a chunk behind `done` vectors, which are whole chunks,
    /// with round key 0 added.
    ///
    /// Of the 32 counters from 32·c + 1 on, all but the last are 32·c with lower
    /// bits set.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn counter_blocks<const VECTORS: usize>(&self, done: usize) -> [__m512i; VECTORS] {
        let (before, after) = counters_around(done);
        let counters = _mm512_maskz_set1_epi32(0x8888, before.swap_bytes() as i32);
        let mut states = [_mm512_xor_si512(self.start, counters); VECTORS];
        if VECTORS == CHUNK {
            let counters = _mm512_mask_set1_epi32(counters, 0x8000, after.swap_bytes() as i32);
            states[CHUNK - 1] = _mm512_xor_si512(self.start, counters);
        }
        for (state, lower_bits) in states.iter_mut().zip(&LOWER_BITS) {
            // SAFETY: four blocks are readable.
            let lower_bits = unsafe { _mm512_loadu_si512(lower_bits.as_ptr().cast()) };
            *state = _mm512_xor_si512(*state, lower_bits);
        }
        states
    }
}

/// The counters in front of a chunk behind `done` vectors, and in front of the next: of a
/// text of 2³² - 2 blocks the latter wraps, and no slot has it.
#[inline]
fn counters_around(done: usize) -> (u32, u32) {
    let before = (4 * done) as u32;
    (before, before.wrapping_add(4 * CHUNK as u32))
}

/// The element of slot 0: the only block of associated data, or the last one
/// with the hash of those before it added.
///
/// # Safety
/// As for [`Conveyor::packet`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn head(schedule: &Schedule<'_>, associated: &[Cell<u8>]) -> __m128i {
    let before = associated.len().saturating_sub(1) / 16 * 16;
    let (before, last) = associated.split_at(before);
    let mask = ((1u32 << last.len()) - 1) as __mmask16;
    // SAFETY: the mask covers the 0 to 16 bytes of `last`.
    let last = unsafe { _mm_maskz_loadu_epi8(mask, last.as_ptr().cast()) };
    let mut hash = _mm_setzero_si128();
    for chunk in before.chunks(VECTOR) {
        // SAFETY: the mask covers the chunk; there are four powers.
        unsafe {
            let x = _mm512_maskz_loadu_epi8(mask_of(chunk.len()), chunk.as_ptr().cast());
            let x = _mm512_xor_si512(reverse(x), _mm512_zextsi128_si512(hash));
            hash = Sums::of(x, schedule.powers(chunk.len() / 16)).reduce();
        }
    }
    _mm_xor_si128(reverse_one(last), hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_of_the_longest_text_has_counters() {
        assert_eq!(counters_around(0), (0, 32));
        let vectors = (16 + ((1usize << 36) - 32)).div_ceil(VECTOR);
        let before_last = (vectors - 1) / CHUNK * CHUNK;
        assert_eq!(counters_around(before_last), (u32::MAX - 31, 0));
    }
}

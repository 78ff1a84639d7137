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
//! factors of a vector are one load, wherever the packet ends. Packets are taken
//! in chunks of sixteen slots, the last of one to sixteen. The cipher of a chunk
//! and the hash of the chunk before it, which may be the packet before's, run in
//! turns, so that both units work:
//!
//! ```text
//! cipher   A 0    A 1    A 2    B 0    B 1    C 0
//! hash     -      A 0    A 1    A 2    B 0    B 1    C 0
//! tag                           A             B      C
//! ```

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::super::super::packet::Packet;
use super::field::{Sums, reverse, reverse_one};
use super::{bytes, nonce};
use crate::cipher::Block;

/// Bytes of a vector, and of a chunk of sixteen slots.
pub(super) const VECTOR: usize = 64;
const CHUNK: usize = 4 * VECTOR;

/// Slot 0, which has no text.
pub(super) const SLOT_0: __mmask64 = 0xffff;

/// Where a key's schedule lies.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a> {
    /// H: preceded by its powers up to the 17th, or as far as the packets that
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

    /// Where Hᵐ, Hᵐ⁻¹, Hᵐ⁻², Hᵐ⁻³ for m = `highest` lie; what lies behind H
    /// stands for powers below the first. H itself for a power below it, which
    /// only elements that are zero are multiplied by.
    #[inline]
    fn powers_at(&self, highest: usize) -> *const u8 {
        self.hash_key.wrapping_sub(16 * highest.saturating_sub(1))
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

/// Packets one after the other, of which the last chunk's hash is pending, under
/// keys of `ROUNDS` rounds.
pub(super) struct Conveyor<'a, const ROUNDS: usize, const OPEN: bool> {
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

/// Elements of a chunk that are still to be hashed.
#[derive(Clone, Copy)]
struct Pending<'a> {
    /// The first with the hash so far added.
    elements: [__m512i; 4],
    /// What they are to be multiplied by.
    powers: [*const u8; 4],
    borrowed: PhantomData<&'a [Block]>,
}

/// Four blocks of zeros, in place of powers.
static NO_POWERS: [Block; 4] = [[0; 16]; 4];

impl<'a, const ROUNDS: usize, const OPEN: bool> Conveyor<'a, ROUNDS, OPEN> {
    /// Without a packet.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Conveyor<'a, ROUNDS, OPEN> {
        Conveyor {
            pending: Pending {
                elements: [_mm512_setzero_si512(); 4],
                powers: [NO_POWERS.as_ptr().cast(); 4],
                borrowed: PhantomData,
            },
            last: None,
        }
    }

    /// Encrypts or decrypts the packet at `position`, and returns the position
    /// and the tag of the packet before it.
    ///
    /// # Safety
    /// The schedule is readable as its fields say, up to power
    /// `min(17, 2 + blocks of text)`, and up to the fourth where there are more
    /// than 16 bytes of associated data.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn packet(
        &mut self,
        position: usize,
        packet: &Packet<'_>,
        schedule: Schedule<'a>,
    ) -> Option<(usize, Block)> {
        // SAFETY: the caller's.
        unsafe {
            let stream = Stream::new(schedule, packet);
            // A copy of its own stays in registers.
            let mut pending = self.pending;
            // Whole chunks, and one to sixteen slots behind them.
            let chunks = (stream.bytes - 1) / CHUNK;
            let rest = stream.bytes - chunks * CHUNK;
            let vectors = rest.div_ceil(VECTOR);
            let (hash_before, tag_pad) = if chunks == 0 {
                match vectors {
                    1 => stream.chunk::<1, ROUNDS, true, true, OPEN>(&mut pending, 0),
                    2 => stream.chunk::<2, ROUNDS, true, true, OPEN>(&mut pending, 0),
                    3 => stream.chunk::<3, ROUNDS, true, true, OPEN>(&mut pending, 0),
                    _ => stream.chunk::<4, ROUNDS, true, true, OPEN>(&mut pending, 0),
                }
            } else {
                let first = stream.chunk::<4, ROUNDS, true, false, OPEN>(&mut pending, 0);
                for chunk in 1..chunks {
                    stream.chunk::<4, ROUNDS, false, false, OPEN>(&mut pending, chunk);
                }
                match vectors {
                    1 => stream.chunk::<1, ROUNDS, false, true, OPEN>(&mut pending, chunks),
                    2 => stream.chunk::<2, ROUNDS, false, true, OPEN>(&mut pending, chunks),
                    3 => stream.chunk::<3, ROUNDS, false, true, OPEN>(&mut pending, chunks),
                    _ => stream.chunk::<4, ROUNDS, false, true, OPEN>(&mut pending, chunks),
                };
                first
            };
            pending.add_lengths(&stream, rest.div_ceil(16));
            self.pending = pending;
            let before = self.last.replace(Last { position, tag_pad });
            before.map(|before| before.tag(hash_before))
        }
    }

    /// The position and the tag of the last packet.
    ///
    /// # Safety
    /// What the packet borrowed still is.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn finish(&mut self) -> Option<(usize, Block)> {
        let last = self.last.take()?;
        // SAFETY: the caller's.
        Some(last.tag(unsafe { self.pending.hash() }))
    }
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
    /// The hash.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn hash(&self) -> __m128i {
        let mut sums = Sums::zero();
        for vector in 0..4 {
            // SAFETY: the caller's.
            unsafe { self.multiply(vector, &mut sums) };
        }
        sums.reduce()
    }

    /// Adds the products of one vector.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    unsafe fn multiply(&self, vector: usize, sums: &mut Sums) {
        // SAFETY: the powers are readable as long as they are borrowed.
        let powers = unsafe { _mm512_loadu_si512(self.powers[vector].cast()) };
        sums.add(self.elements[vector], powers);
    }

    /// Rounds 1 to the last of the cipher, and in between the hash, which is
    /// returned.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn hash_and_encrypt<const VECTORS: usize, const ROUNDS: usize>(
        &self,
        states: &mut [__m512i; VECTORS],
        schedule: &Schedule<'_>,
    ) -> __m128i {
        let mut sums = Sums::zero();
        // SAFETY: the caller's.
        unsafe {
            // The first vector waits for the hash before: it comes last.
            for (pair, vector) in [3, 2, 1, 0].into_iter().enumerate() {
                let element = self.elements[vector];
                let powers = _mm512_loadu_si512(self.powers[vector].cast());
                aes_round(states, schedule.round_key(2 * pair + 1));
                sums.add_outer(element, powers);
                sums.in_turns_with(&mut states[0]);
                aes_round(states, schedule.round_key(2 * pair + 2));
                sums.add_inner(element, powers);
                sums.in_turns_with(&mut states[0]);
            }
            let hash = sums.reduce();
            for round in 9..ROUNDS {
                aes_round(states, schedule.round_key(round));
            }
            let key = schedule.round_key(ROUNDS);
            for state in states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            hash
        }
    }

    /// Adds the lengths behind the `slots` slots of a packet's last chunk.
    ///
    /// # Safety
    /// As for [`Conveyor::packet`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn add_lengths(&mut self, stream: &Stream<'_>, slots: usize) {
        let mut after = slots;
        if slots == 16 {
            // No slot is left: the lengths are a chunk of their own.
            // SAFETY: the caller's.
            let hash = unsafe { self.hash() };
            self.elements = [_mm512_setzero_si512(); 4];
            self.elements[0] = _mm512_zextsi128_si512(hash);
            after = 0;
        }
        // Lane by lane, because registers have no index.
        let lanes = 0xf_u64 << (4 * after);
        for (vector, element) in self.elements.iter_mut().enumerate() {
            let lanes = (lanes >> (16 * vector)) as __mmask16;
            let lengths = _mm512_maskz_broadcast_i32x4(lanes, stream.lengths);
            *element = _mm512_xor_si512(*element, lengths);
        }
        for (vector, powers) in self.powers.iter_mut().enumerate() {
            *powers = stream
                .schedule
                .powers_at((after + 1).saturating_sub(4 * vector));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn aes_round<const VECTORS: usize>(states: &mut [__m512i; VECTORS], key: __m512i) {
    for state in states {
        *state = _mm512_aesenc_epi128(*state, key);
    }
}

/// A packet under way.
struct Stream<'a> {
    schedule: Schedule<'a>,
    /// The nonce with its bytes reversed, so that the counter is the lowest
    /// word: 1, 2, 3 and 4.
    counters: __m512i,
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
    unsafe fn new(schedule: Schedule<'a>, packet: &Packet<'_>) -> Stream<'a> {
        let (associated, text) = (packet.associated, packet.text);
        let nonce = nonce(packet);
        let counters = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1);
        let nonce = _mm512_broadcast_i32x4(reverse_one(nonce));
        Stream {
            schedule,
            counters: _mm512_or_si512(nonce, counters),
            slots: text.as_ptr().cast::<u8>().cast_mut().wrapping_sub(16),
            bytes: 16 + text.len(),
            // SAFETY: the caller's.
            head: unsafe { head(&schedule, associated) },
            lengths: _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64),
        }
    }

    /// Enciphers chunk number `chunk`, which lies in `VECTORS` vectors, while
    /// the pending chunk is hashed, and leaves its own hash pending. The `FIRST`
    /// chunk begins with slot 0, the `LAST` may end in a partial block. Returns
    /// the hash that was pending and the chunk's first block of key stream.
    ///
    /// # Safety
    /// As for [`Conveyor::packet`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    unsafe fn chunk<
        const VECTORS: usize,
        const ROUNDS: usize,
        const FIRST: bool,
        const LAST: bool,
        const OPEN: bool,
    >(
        &self,
        pending: &mut Pending<'a>,
        chunk: usize,
    ) -> (__m128i, __m128i) {
        // SAFETY: the caller's; masks cover the text.
        unsafe {
            let mut states = self.counter_blocks::<VECTORS>(chunk);
            let hash = pending.hash_and_encrypt::<VECTORS, ROUNDS>(&mut states, &self.schedule);
            let key_stream = _mm512_castsi512_si128(states[0]);
            let carried = if FIRST { self.head } else { hash };
            let at = self.slots.wrapping_add(chunk * CHUNK);
            let mut elements = [_mm512_setzero_si512(); 4];
            for (vector, state) in states.iter().enumerate() {
                let at = at.wrapping_add(VECTOR * vector);
                let mut mask = u64::MAX;
                if LAST && vector + 1 == VECTORS {
                    mask = mask_of(self.bytes - chunk * CHUNK - VECTOR * vector);
                }
                if FIRST && vector == 0 {
                    mask &= !SLOT_0;
                }
                let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                let mut output = _mm512_xor_si512(input, *state);
                if !OPEN {
                    output = _mm512_maskz_mov_epi8(mask, output);
                }
                _mm512_mask_storeu_epi8(at.cast(), mask, output);
                elements[vector] = reverse(if OPEN { input } else { output });
            }
            elements[0] = _mm512_xor_si512(elements[0], _mm512_zextsi128_si512(carried));
            pending.elements = elements;
            for (vector, powers) in pending.powers.iter_mut().enumerate() {
                *powers = self.schedule.powers_at(16 - 4 * vector);
            }
            (hash, key_stream)
        }
    }

    /// The counter blocks of a chunk, with round key 0 added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn counter_blocks<const VECTORS: usize>(&self, chunk: usize) -> [__m512i; VECTORS] {
        // SAFETY: there is a round key 0.
        let key = unsafe { self.schedule.round_key(0) };
        let first = _mm512_maskz_set1_epi32(0x1111, 16 * chunk as i32);
        let first = _mm512_add_epi32(self.counters, first);
        let mut states = [reverse(first); VECTORS];
        for (vector, state) in (0..).zip(&mut states) {
            if chunk % 16 == 15 {
                // The last counter has a carry, 15 chunks of 16 have none.
                let slots = _mm512_set4_epi32(0, 0, 0, 4 * vector);
                *state = reverse(_mm512_add_epi32(first, slots));
            } else {
                let slots = _mm512_set4_epi32((4 * vector) << 24, 0, 0, 0);
                *state = _mm512_add_epi32(*state, slots);
            }
            *state = _mm512_xor_si512(*state, key);
        }
        states
    }
}

/// The element of slot 0: the only block of associated data, or the last one
/// with the hash of those before it added.
///
/// # Safety
/// As for [`Conveyor::packet`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn head(schedule: &Schedule<'_>, associated: &[u8]) -> __m128i {
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

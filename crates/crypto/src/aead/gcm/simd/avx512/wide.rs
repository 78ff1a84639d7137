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
//! chunk and the hash of the chunk before it, which may be the packet before's,
//! run in turns, so that both units work:
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
use super::{aes_round, bytes, nonce};
use crate::cipher::Block;

/// Bytes of a vector.
pub(super) const VECTOR: usize = 64;

/// The most vectors of a chunk, which is hashed with one reduction.
const CHUNK: usize = 8;

/// Slot 0, which has no text.
pub(super) const SLOT_0: __mmask64 = 0xffff;

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

/// Packets one after the other, of which the last chunk's hash is pending.
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

/// Elements of a chunk that are still to be hashed.
struct Pending<'a> {
    /// The last ones, as many as there are, the first with the hash so far
    /// added.
    elements: [__m512i; CHUNK],
    vectors: usize,
    /// What the first of all eight would be multiplied by; the others' follow.
    powers: *const u8,
    /// The element of the lengths and what it is to be multiplied by.
    lengths: __m128i,
    hash_key: *const u8,
    borrowed: PhantomData<&'a [Block]>,
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
                elements: [_mm512_setzero_si512(); CHUNK],
                vectors: 0,
                powers: NO_HASH_KEY.as_ptr(),
                lengths: _mm_setzero_si128(),
                hash_key: NO_HASH_KEY.as_ptr(),
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
    /// `min(33, 2 + blocks of text)`, and up to the fourth where there are more
    /// than 16 bytes of associated data.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    pub(super) unsafe fn packet(
        &mut self,
        position: usize,
        packet: &Packet<'_>,
        schedule: Schedule<'a>,
    ) -> Option<(usize, Block)> {
        // SAFETY: the caller's; a chunk has as many vectors as it is called with.
        unsafe {
            let stream = Stream::new(schedule, packet, self.rounds);
            let vectors = stream.bytes.div_ceil(VECTOR);
            let pending = &mut self.pending;
            let no_carry = _mm_setzero_si128();
            let (sums_before, tag_pad) = match vectors {
                1 => stream.chunk::<1, true, true, OPEN>(pending, 0, no_carry),
                2 => stream.chunk::<2, true, true, OPEN>(pending, 0, no_carry),
                3 => stream.chunk::<3, true, true, OPEN>(pending, 0, no_carry),
                4 => stream.chunk::<4, true, true, OPEN>(pending, 0, no_carry),
                5 => stream.chunk::<5, true, true, OPEN>(pending, 0, no_carry),
                6 => stream.chunk::<6, true, true, OPEN>(pending, 0, no_carry),
                7 => stream.chunk::<7, true, true, OPEN>(pending, 0, no_carry),
                8 => stream.chunk::<8, true, true, OPEN>(pending, 0, no_carry),
                _ => stream.chunk::<8, true, false, OPEN>(pending, 0, no_carry),
            };
            let hash_before = sums_before.reduce();
            if vectors > CHUNK {
                stream.further_chunks::<OPEN>(pending, vectors);
            }
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
        // SAFETY: the caller's; without states, no round key is asked for.
        let sums = unsafe {
            self.pending
                .hash_and_cipher::<0, false>(&mut [], |_| zero(), _mm_setzero_si128())
        };
        Some(last.tag(sums.reduce()))
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
    /// The sums of the hash, and in between rounds 1 to 8 of the cipher.
    ///
    /// # Safety
    /// The powers are readable, and so is the hash key; features as for
    /// [`Stream::chunk`].
    #[inline(always)]
    unsafe fn hash_and_cipher<const VECTORS: usize, const WHOLE: bool>(
        &self,
        states: &mut [__m512i; VECTORS],
        round_key: impl Fn(usize) -> __m512i,
        carried: __m128i,
    ) -> Sums {
        // SAFETY: the caller's.
        unsafe {
            let mut sums = Sums::zero();
            // The first vector waits for the hash before: it comes last.
            for (round, vector) in (1..).zip((0..CHUNK).rev()) {
                aes_round(states, round_key(round));
                if WHOLE || vector + self.vectors >= CHUNK {
                    let powers = self.powers.wrapping_add(VECTOR * vector);
                    let powers = _mm512_loadu_si512(powers.cast());
                    let mut element = self.elements[vector];
                    if WHOLE && vector == 0 {
                        element = _mm512_xor_si512(element, _mm512_zextsi128_si512(carried));
                    }
                    sums.add(element, powers);
                    sums.in_turns_with(states);
                }
            }
            if !WHOLE {
                sums.add_one(self.lengths, _mm_loadu_si128(self.hash_key.cast()));
            }
            sums
        }
    }

    /// Adds the hash of what comes before.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn carry(&mut self, hash: __m128i) {
        let first = &mut self.elements[CHUNK - self.vectors];
        *first = _mm512_xor_si512(*first, _mm512_zextsi128_si512(hash));
    }
}

/// A packet under way.
struct Stream<'a> {
    schedule: Schedule<'a>,
    rounds: usize,
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
    unsafe fn new(schedule: Schedule<'a>, packet: &Packet<'_>, rounds: usize) -> Stream<'a> {
        let (associated, text) = (packet.associated, packet.text);
        let nonce = nonce(packet);
        let counters = _mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1);
        let nonce = _mm512_broadcast_i32x4(reverse_one(nonce));
        Stream {
            schedule,
            rounds,
            counters: _mm512_or_si512(nonce, counters),
            slots: text.as_ptr().cast::<u8>().cast_mut().wrapping_sub(16),
            bytes: 16 + text.len(),
            // SAFETY: the caller's.
            head: unsafe { head(&schedule, associated) },
            lengths: _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64),
        }
    }

    /// Enciphers what is behind the first chunk of a packet of so many vectors:
    /// whole chunks, and a last one of what remains.
    ///
    /// # Safety
    /// As for [`Stream::chunk`].
    #[inline(always)]
    unsafe fn further_chunks<const OPEN: bool>(&self, pending: &mut Pending<'a>, vectors: usize) {
        let mut done = CHUNK;
        // SAFETY: the caller's.
        unsafe {
            let mut hash = _mm_setzero_si128();
            while vectors - done > CHUNK {
                let (sums, _) = self.chunk::<8, false, false, OPEN>(pending, done, hash);
                hash = sums.reduce();
                done += CHUNK;
            }
            let (sums, _) = match vectors - done {
                1 => self.chunk::<1, false, true, OPEN>(pending, done, hash),
                2 => self.chunk::<2, false, true, OPEN>(pending, done, hash),
                3 => self.chunk::<3, false, true, OPEN>(pending, done, hash),
                4 => self.chunk::<4, false, true, OPEN>(pending, done, hash),
                5 => self.chunk::<5, false, true, OPEN>(pending, done, hash),
                6 => self.chunk::<6, false, true, OPEN>(pending, done, hash),
                7 => self.chunk::<7, false, true, OPEN>(pending, done, hash),
                _ => self.chunk::<8, false, true, OPEN>(pending, done, hash),
            };
            pending.carry(sums.reduce());
        }
    }

    /// Enciphers a chunk of `VECTORS` vectors behind the `done` ones before it,
    /// while the pending chunk is hashed, and leaves its own hash pending. The
    /// `FIRST` chunk begins with slot 0, the `LAST` may end in a partial block
    /// and takes the lengths along. Returns the sums of the hash that was pending
    /// and the chunk's first block of key stream.
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
        carried: __m128i,
    ) -> (Sums, __m128i) {
        // SAFETY: the caller's; masks cover the text.
        unsafe {
            let round_key = |round| self.schedule.round_key(round);
            let mut states = self.counter_blocks::<VECTORS>(done);
            let sums = if FIRST {
                pending.hash_and_cipher::<VECTORS, false>(&mut states, round_key, carried)
            } else {
                pending.hash_and_cipher::<VECTORS, true>(&mut states, round_key, carried)
            };
            for round in 1 + CHUNK..self.rounds {
                aes_round(&mut states, round_key(round));
            }
            let key = round_key(self.rounds);
            for state in &mut states {
                *state = _mm512_aesenclast_epi128(*state, key);
            }
            let key_stream = _mm512_castsi512_si128(states[0]);
            let at = self.slots.wrapping_add(VECTOR * done);
            for (vector, state) in states.iter().enumerate() {
                let at = at.wrapping_add(VECTOR * vector);
                let mut mask = u64::MAX;
                if LAST && vector + 1 == VECTORS {
                    mask = mask_of(self.bytes - VECTOR * (done + vector));
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
                let mut element = reverse(if OPEN { input } else { output });
                if FIRST && vector == 0 {
                    element = _mm512_xor_si512(element, _mm512_zextsi128_si512(self.head));
                }
                pending.elements[CHUNK - VECTORS + vector] = element;
            }
            pending.vectors = VECTORS;
            let mut slots = 4 * VECTORS;
            pending.lengths = _mm_setzero_si128();
            if LAST {
                // The lengths come behind.
                slots = (self.bytes - VECTOR * done).div_ceil(16) + 1;
                pending.lengths = self.lengths;
            }
            let unused = VECTOR * (CHUNK - VECTORS);
            pending.powers = self.schedule.powers_at(slots).wrapping_sub(unused);
            pending.hash_key = self.schedule.hash_key;
            (sums, key_stream)
        }
    }

    /// The counter blocks of a chunk behind `done` vectors, with round key 0
    /// added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn counter_blocks<const VECTORS: usize>(&self, done: usize) -> [__m512i; VECTORS] {
        // SAFETY: there is a round key 0.
        let key = unsafe { self.schedule.round_key(0) };
        let before = _mm512_maskz_set1_epi32(0x1111, 4 * done as i32);
        let first = _mm512_add_epi32(self.counters, before);
        let mut states = [reverse(first); VECTORS];
        // Counters whose lowest byte alone grows need not be reversed one by one.
        let has_carry = (4 * done) % 256 + 4 * VECTORS > 255;
        for (vector, state) in (0..).zip(&mut states) {
            if has_carry {
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

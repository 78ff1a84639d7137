//! One packet: eight slots in flight.
//!
//! Slots are those of the module [`crate::aead::gcm`]. Eight of them are
//! encrypted together and hashed with H⁸ … H and one reduction; the last one to
//! eight are hashed along with the lengths:
//!
//! ```text
//! slot       8k      8k + 1  …  8k + 7       last 8k    …   n      lengths
//! times      H⁸      H⁷      …  H            Hᵐ         …   H²     H
//! ```
//!
//! A packet's hash waits for its cipher, the next packet's cipher for neither:
//! the processor overlaps them.

use std::arch::x86_64::*;
use std::cell::Cell;

use super::super::super::packet::Packet;
use super::bytes;
use super::field::{Sums, reverse};
use crate::cipher::Block;

/// Slots in flight.
const SLOTS: usize = 8;

/// Powers of the hash key that a packet may ask for.
pub(super) const POWERS: usize = SLOTS + 1;

/// Where a key's schedule lies.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// H, preceded by its powers up to the ninth, or as far as the packets that
    /// use this schedule ask.
    pub(super) hash_key: *const Block,
    /// Round key 0.
    pub(super) round_keys: *const Block,
    pub(super) rounds: usize,
}

impl Schedule {
    /// # Safety
    /// There is such a round key.
    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn round_key(&self, round: usize) -> __m128i {
        // SAFETY: the caller's.
        unsafe { _mm_loadu_si128(self.round_keys.add(round).cast()) }
    }

    /// # Safety
    /// There is such a power, counted from 1.
    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn power(&self, power: usize) -> __m128i {
        // SAFETY: the caller's.
        unsafe { _mm_loadu_si128(self.hash_key.sub(power - 1).cast()) }
    }
}

/// Encrypts or decrypts a packet's text and returns the tag.
///
/// # Safety
/// The schedule is readable as its fields say, up to power
/// `min(9, 2 + blocks of text)`.
#[inline]
#[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
pub(super) unsafe fn process<const OPEN: bool>(schedule: Schedule, packet: &Packet<'_>) -> Block {
    let (associated, text) = (packet.associated, packet.text);
    // SAFETY: `nonce` is 16 bytes long.
    let nonce = unsafe { _mm_loadu_si128(packet.nonce.as_ptr().cast()) };
    let mut stream = Stream {
        schedule,
        nonce,
        counter: 1,
        text: text.as_ptr().cast::<u8>().cast_mut(),
        bytes: text.len(),
        sums: Sums::zero(),
    };
    // SAFETY: the caller's; the stream describes the text.
    unsafe {
        let head = stream.head(associated);
        // Slot 0 shares a chunk with the first blocks of text.
        let slots = 1 + text.len().div_ceil(16);
        let mut left = slots;
        let mut hash = head;
        let mut tag_pad = None;
        while left > SLOTS {
            let first = stream.chunk::<SLOTS, OPEN>(tag_pad.is_none(), hash, SLOTS);
            tag_pad = tag_pad.or(Some(first));
            hash = stream.sums.reduce();
            stream.sums = Sums::zero();
            left -= SLOTS;
        }
        let is_first = tag_pad.is_none();
        let first = match left {
            1 => stream.chunk::<1, OPEN>(is_first, hash, 2),
            2 => stream.chunk::<2, OPEN>(is_first, hash, 3),
            3 => stream.chunk::<3, OPEN>(is_first, hash, 4),
            4 => stream.chunk::<4, OPEN>(is_first, hash, 5),
            5 => stream.chunk::<5, OPEN>(is_first, hash, 6),
            6 => stream.chunk::<6, OPEN>(is_first, hash, 7),
            7 => stream.chunk::<7, OPEN>(is_first, hash, 8),
            _ => stream.chunk::<8, OPEN>(is_first, hash, 9),
        };
        let lengths = _mm_set_epi64x(8 * associated.len() as i64, 8 * text.len() as i64);
        stream.sums.add(lengths, schedule.power(1));
        let hash = reverse(stream.sums.reduce());
        bytes(_mm_xor_si128(hash, tag_pad.unwrap_or(first)))
    }
}

/// A packet under way.
struct Stream {
    schedule: Schedule,
    /// Salt and IV, the counter's place zero.
    nonce: __m128i,
    counter: u32,
    /// What is left of the text.
    text: *mut u8,
    bytes: usize,
    /// Products that are not reduced yet.
    sums: Sums,
}

impl Stream {
    /// The element of slot 0: the only block of associated data, or the last
    /// one with the hash of those before it added.
    ///
    /// # Safety
    /// There is a power.
    #[inline]
    #[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
    unsafe fn head(&self, associated: &[Cell<u8>]) -> __m128i {
        let before = associated.len().saturating_sub(1) / 16 * 16;
        let (before, last) = associated.split_at(before);
        // SAFETY: the caller's.
        let h = unsafe { self.schedule.power(1) };
        let mut hash = _mm_setzero_si128();
        for block in before.as_chunks::<16>().0 {
            // SAFETY: 16 bytes are readable.
            let block = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
            let mut sums = Sums::zero();
            sums.add(_mm_xor_si128(hash, reverse(block)), h);
            hash = sums.reduce();
        }
        let mut block = [0; 16];
        for (place, byte) in block.iter_mut().zip(last) {
            *place = byte.get();
        }
        // SAFETY: 16 bytes are readable.
        let block = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
        _mm_xor_si128(hash, reverse(block))
    }

    /// Enciphers `BLOCKS` slots, of which the first is slot 0 if `is_first` and
    /// the last may be partial, and adds their products, the first with `carried`
    /// and times power `highest`. Returns the first block of key stream.
    ///
    /// # Safety
    /// As much text is left, and the schedule has such a power.
    #[inline]
    #[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
    unsafe fn chunk<const BLOCKS: usize, const OPEN: bool>(
        &mut self,
        is_first: bool,
        carried: __m128i,
        highest: usize,
    ) -> __m128i {
        let mut states = [self.nonce; BLOCKS];
        // SAFETY: the caller's.
        unsafe {
            let key = self.schedule.round_key(0);
            for state in &mut states {
                let counter = self.counter.swap_bytes() as i32;
                *state = _mm_xor_si128(_mm_insert_epi32::<3>(*state, counter), key);
                self.counter = self.counter.wrapping_add(1);
            }
            for round in 1..self.schedule.rounds {
                let key = self.schedule.round_key(round);
                for state in &mut states {
                    *state = _mm_aesenc_si128(*state, key);
                }
            }
            let key = self.schedule.round_key(self.schedule.rounds);
            for state in &mut states {
                *state = _mm_aesenclast_si128(*state, key);
            }
            for (slot, state) in states.iter().enumerate() {
                let mut element = _mm_setzero_si128();
                if slot > 0 || !is_first {
                    element = reverse(self.apply::<OPEN>(*state));
                }
                if slot == 0 {
                    element = _mm_xor_si128(element, carried);
                }
                self.sums.add(element, self.schedule.power(highest - slot));
            }
        }
        states[0]
    }

    /// Adds a block of key stream to the next block of text, which may be
    /// partial, and returns the ciphertext.
    ///
    /// # Safety
    /// Some text is left.
    #[inline]
    #[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
    unsafe fn apply<const OPEN: bool>(&mut self, key_stream: __m128i) -> __m128i {
        // SAFETY: `bytes` of text are left, and the buffer holds a block.
        unsafe {
            if self.bytes >= 16 {
                let input = _mm_loadu_si128(self.text.cast());
                let output = _mm_xor_si128(input, key_stream);
                _mm_storeu_si128(self.text.cast(), output);
                self.text = self.text.add(16);
                self.bytes -= 16;
                return if OPEN { input } else { output };
            }
            let mut block = [0; 16];
            self.text
                .copy_to_nonoverlapping(block.as_mut_ptr(), self.bytes);
            let input = _mm_loadu_si128(block.as_ptr().cast());
            block = bytes(_mm_xor_si128(input, key_stream));
            self.text
                .copy_from_nonoverlapping(block.as_ptr(), self.bytes);
            block[self.bytes..].fill(0);
            let output = _mm_loadu_si128(block.as_ptr().cast());
            if OPEN { input } else { output }
        }
    }
}

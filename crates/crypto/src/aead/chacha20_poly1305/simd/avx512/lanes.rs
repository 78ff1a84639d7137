//! What ChaCha20 computes next: blocks of one-time keys, and of texts. They are moved to
//! lanes a few at a time, while the vector units compute the blocks before.

use std::arch::x86_64::*;

use super::super::super::packet::Packet;
use super::super::pieces::{BLOCK_BYTES, Pieces};
use super::chacha20::{BLOCKS, Blocks};
use super::poly1305::{Hashes, MESSAGES};
use super::{GROUP, GroupHashes, transpose};

/// Which lane computes the one-time key of each packet: unpacked, the words of the first
/// eight are one vector.
const LANE_OF_KEY: [usize; GROUP] = [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15];

/// Block 0 of each packet of a group.
pub(super) struct OneTimeKeys<'t, 'a> {
    blocks: Blocks<'a>,
    packets: &'t [Packet<'a>],
    /// Those that are in their lanes.
    moved: usize,
}

impl<'t, 'a> OneTimeKeys<'t, 'a> {
    /// Of no packets.
    #[inline]
    pub(super) fn new(any: &Packet<'a>) -> OneTimeKeys<'t, 'a> {
        OneTimeKeys {
            blocks: Blocks::new(any.key),
            packets: &[],
            moved: 0,
        }
    }

    /// Begins with the packets of another group, of which none is in its lane yet. Lanes
    /// without a packet compute what they did before.
    #[inline]
    pub(super) fn begin(&mut self, packets: &'t [Packet<'a>]) {
        self.packets = packets;
        self.moved = 0;
    }

    /// Moves a packet to its lane, and returns whether one was left.
    #[inline(always)]
    pub(super) fn move_one(&mut self) -> bool {
        let lane = LANE_OF_KEY.get(self.moved);
        let (Some(lane), Some(packet)) = (lane, self.packets.get(self.moved)) else {
            return false;
        };
        self.blocks.set(*lane, packet.key, 0, packet.nonce);
        self.moved += 1;
        true
    }

    /// Hashes of nothing yet, under the packets' one-time keys (RFC 8439 section 2.6).
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    pub(super) fn hashes(&mut self, mut meanwhile: impl FnMut()) -> GroupHashes {
        while self.move_one() {}
        let words = self.blocks.words(|_| meanwhile());
        let low = |at: usize| _mm512_unpacklo_epi32(words[2 * at], words[2 * at + 1]);
        let high = |at: usize| _mm512_unpackhi_epi32(words[2 * at], words[2 * at + 1]);
        [
            Hashes::new([low(0), low(1), low(2), low(3)]),
            Hashes::new([high(0), high(1), high(2), high(3)]),
        ]
    }
}

const _: () = assert!(GROUP == 2 * MESSAGES && GROUP == BLOCKS);

/// The texts of a group: a block of any packet in each lane.
///
/// ```text
/// rounds of       blocks n
/// meanwhile       blocks n - 1 are transposed and added to their texts,
///                 blocks n + 1 move to their lanes
/// ```
pub(super) struct Texts<'t, 'a> {
    pieces: Pieces<'t, 'a>,
    lanes: [Lanes<'a>; 3],
}

impl<'t, 'a> Texts<'t, 'a> {
    /// Of no packets.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(any: &'t Packet<'a>) -> Texts<'t, 'a> {
        let lanes = || Lanes {
            blocks: Blocks::new(any.key),
            filled: 0,
            at: [std::ptr::null_mut(); BLOCKS],
            bytes: [0; BLOCKS],
        };
        Texts {
            pieces: Pieces::none(any),
            lanes: [lanes(), lanes(), lanes()],
        }
    }

    /// Begins with the bytes from `begin` to `end` of the packets' texts, as far as they
    /// have any; `begin` is a multiple of 64.
    #[inline]
    pub(super) fn begin(&mut self, packets: &'t [Packet<'a>], begin: usize, end: usize) {
        self.pieces.begin(packets, begin, end);
        self.lanes[0].filled = 0;
    }

    /// Moves a block to its lane, and returns whether it did.
    #[inline(always)]
    pub(super) fn move_one(&mut self) -> bool {
        self.lanes[0].fill(&mut self.pieces)
    }

    /// Encrypts or decrypts the bytes. Calls `meanwhile` when all blocks are in their
    /// lanes, while the last ones are computed.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    pub(super) fn apply_key_stream(&mut self, mut meanwhile: impl FnMut()) {
        while self.move_one() {}
        let Texts { pieces, lanes } = self;
        let [mut lanes, mut next, mut last] = lanes.each_mut();
        last.filled = 0;
        // Of the last blocks: words; behind half of the steps, quarters of blocks.
        let mut streams = [_mm512_setzero_si512(); BLOCKS];
        while lanes.filled > 0 {
            next.filled = 0;
            let words = lanes.blocks.words(|number| {
                // SAFETY: lanes hold blocks of texts, which nobody else looks at meanwhile.
                unsafe { last.finish(&mut streams, number) };
                for _ in 0..2 {
                    if !next.fill(pieces) {
                        meanwhile();
                    }
                }
            });
            streams = words;
            (last, lanes, next) = (lanes, next, last);
        }
        for number in 0..STEPS {
            // SAFETY: as above.
            unsafe { last.finish(&mut streams, number) };
        }
    }
}

/// Blocks of text that wait for their key stream.
struct Lanes<'a> {
    blocks: Blocks<'a>,
    filled: usize,
    at: [*mut u8; BLOCKS],
    /// 1 to 64 of each.
    bytes: [usize; BLOCKS],
}

/// Steps in which key streams are added to texts.
const STEPS: usize = 8;

impl<'a> Lanes<'a> {
    /// Moves the next piece to the next lane, and returns whether there were both.
    #[inline(always)]
    fn fill(&mut self, pieces: &mut Pieces<'_, 'a>) -> bool {
        let lane = self.filled;
        if lane >= BLOCKS {
            return false;
        }
        let Some(piece) = pieces.take() else {
            return false;
        };
        let Packet { key, nonce, .. } = *piece.packet;
        self.blocks.set(lane, key, piece.counter, nonce);
        (self.at[lane], self.bytes[lane]) = (piece.at, piece.bytes);
        self.filled += 1;
        true
    }

    /// Does one of the [`STEPS`] in which key streams are transposed and added to texts.
    ///
    /// # Safety
    /// The blocks' bytes are readable and writable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    unsafe fn finish(&self, s: &mut [__m512i; BLOCKS], step: usize) {
        if let Some(words) = s.as_chunks_mut::<4>().0.get_mut(step) {
            *words = transpose::words(*words);
        } else if step < STEPS {
            let first = step % 4;
            let quarters = [s[first], s[4 + first], s[8 + first], s[12 + first]];
            for (index, stream) in transpose::quarters(quarters).into_iter().enumerate() {
                let lane = 4 * index + first;
                if lane < self.filled {
                    // SAFETY: the caller's.
                    unsafe { add(self.at[lane], self.bytes[lane], stream) };
                }
            }
        }
    }
}

/// Adds a key stream to at most 64 bytes.
///
/// # Safety
/// They are readable and writable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn add(at: *mut u8, bytes: usize, stream: __m512i) {
    // SAFETY: the caller's; the mask covers no more bytes than there are.
    unsafe {
        if bytes == BLOCK_BYTES {
            let text = _mm512_loadu_si512(at.cast());
            _mm512_storeu_si512(at.cast(), _mm512_xor_si512(text, stream));
        } else {
            let mask = _bzhi_u64(u64::MAX, bytes as u32);
            let text = _mm512_maskz_loadu_epi8(mask, at.cast());
            _mm512_mask_storeu_epi8(at.cast(), mask, _mm512_xor_si512(text, stream));
        }
    }
}

//! What ChaCha20 computes next: blocks of one-time keys, and of texts. Where there are registers
//! for it, they are moved to lanes a few at a time, while the vector units compute the blocks
//! before.

use super::super::packet::Packet;
use super::chacha20::{Blocks, DOUBLE_ROUNDS, MOST_BLOCKS, Words, add_first, double_round};
use super::pieces::Pieces;
use crate::simd::vector::{Isa, Vector, transpose_quads, transpose_words};

/// Block 0 of each packet of a group.
pub(super) struct OneTimeKeys<'t, 'a, I> {
    blocks: Blocks<'a, I>,
    packets: &'t [Packet<'a>],
    /// Those that are in their lanes.
    moved: usize,
}

impl<'t, 'a, I: Isa> OneTimeKeys<'t, 'a, I> {
    /// Of no packets.
    #[inline(always)]
    pub(super) fn new(isa: I, any: &Packet<'a>) -> Self {
        OneTimeKeys {
            blocks: Blocks::new(isa, any.key),
            packets: &[],
            moved: 0,
        }
    }

    /// Begins with the packets of another group, of which none is in its lane yet. Lanes
    /// without a packet compute what they did before.
    #[inline(always)]
    pub(super) fn begin(&mut self, packets: &'t [Packet<'a>]) {
        self.packets = packets;
        self.moved = 0;
    }

    /// Moves a packet to its lane, and returns whether one was left. Unpacked, the words of the
    /// first half of the packets are one vector.
    #[inline(always)]
    pub(super) fn move_one(&mut self) -> bool {
        let Some(packet) = self.packets.get(self.moved) else {
            return false;
        };
        let half_packets = 2 * I::Vector::QUADS;
        let (half, place) = (self.moved / half_packets, self.moved % half_packets);
        let lane = 4 * (place / 2) + 2 * half + place % 2;
        self.blocks.set(lane, packet.key, 0, packet.nonce);
        self.moved += 1;
        true
    }

    /// The one-time keys (RFC 8439 section 2.6): two halves of the packets, four words of 64 bits
    /// of each. Pieces of `texts` move to their lanes meanwhile.
    #[inline(always)]
    pub(super) fn compute(&mut self, texts: &mut Texts<'t, 'a, I>) -> [[I::Vector; 4]; 2] {
        while self.move_one() {}
        let first = self.blocks.first();
        let mut words = first;
        for _ in 0..DOUBLE_ROUNDS {
            double_round(&mut words);
            texts.move_one();
            texts.move_one();
        }
        add_first(&mut words, &first);
        let mut keys = [[words[0]; 4]; 2];
        for at in 0..4 {
            keys[0][at] = words[2 * at].unpack_low_32(words[2 * at + 1]);
            keys[1][at] = words[2 * at].unpack_high_32(words[2 * at + 1]);
        }
        keys
    }
}

/// The texts of a group: a block of any packet in each lane.
///
/// ```text
/// rounds of       blocks n
/// meanwhile       blocks n - 1 are transposed and added to their texts, where a vector unit has
///                 more registers than the rounds take; blocks n + 1 move to their lanes
/// ```
pub(super) struct Texts<'t, 'a, I: Isa> {
    isa: I,
    pieces: Pieces<'t, 'a>,
    lanes: [TextLanes<'a, I>; 3],
}

impl<'t, 'a, I: Isa> Texts<'t, 'a, I> {
    /// Of no packets.
    #[inline(always)]
    pub(super) fn new(isa: I, any: &'t Packet<'a>) -> Self {
        let lanes = || TextLanes {
            blocks: Blocks::new(isa, any.key),
            filled: 0,
            at: [std::ptr::null_mut(); MOST_BLOCKS],
            bytes: [0; MOST_BLOCKS],
        };
        Texts {
            isa,
            pieces: Pieces::none(any),
            lanes: [lanes(), lanes(), lanes()],
        }
    }

    /// Begins with the bytes from `begin` to `end` of the packets' texts, as far as they
    /// have any; `begin` is a multiple of 64.
    #[inline(always)]
    pub(super) fn begin(&mut self, packets: &'t [Packet<'a>], begin: usize, end: usize) {
        self.pieces.begin(packets, begin, end);
        self.lanes[0].filled = 0;
    }

    /// Moves a block to its lane, and returns whether it did.
    #[inline(always)]
    fn move_one(&mut self) -> bool {
        self.lanes[0].fill(&mut self.pieces)
    }

    /// Encrypts or decrypts the bytes. One-time `keys` move to their lanes when all blocks are in
    /// theirs, while the last ones are computed.
    #[inline(always)]
    pub(super) fn apply_key_stream(&mut self, keys: &mut OneTimeKeys<'t, 'a, I>) {
        while self.move_one() {}
        let overlaps = I::Vector::REGISTERS > 16;
        let Texts { isa, pieces, lanes } = self;
        let [mut lanes, mut next, mut last] = lanes.each_mut();
        last.filled = 0;
        // Of the last blocks: words; behind half of the steps, quads of blocks.
        let mut streams = [isa.zero(); 16];
        while lanes.filled > 0 {
            next.filled = 0;
            let first = lanes.blocks.first();
            let mut words = first;
            for number in 0..DOUBLE_ROUNDS {
                double_round(&mut words);
                if overlaps {
                    // SAFETY: lanes hold blocks of texts, which nobody else looks at meanwhile.
                    unsafe { last.finish(&mut streams, number) };
                }
                for _ in 0..2 {
                    if !next.fill(pieces) {
                        keys.move_one();
                    }
                }
            }
            add_first(&mut words, &first);
            streams = words;
            (last, lanes, next) = (lanes, next, last);
            if !overlaps {
                // SAFETY: as above.
                unsafe { last.finish_all(&mut streams) };
            }
        }
        if overlaps {
            // SAFETY: as above.
            unsafe { last.finish_all(&mut streams) };
        }
    }
}

/// Blocks of text that wait for their key stream.
struct TextLanes<'a, I> {
    blocks: Blocks<'a, I>,
    filled: usize,
    at: [*mut u8; MOST_BLOCKS],
    /// 1 to 64 of each.
    bytes: [usize; MOST_BLOCKS],
}

/// Steps in which key streams are added to texts.
const STEPS: usize = 8;

impl<'a, I: Isa> TextLanes<'a, I> {
    /// Moves the next piece to the next lane, and returns whether there were both.
    #[inline(always)]
    fn fill(&mut self, pieces: &mut Pieces<'_, 'a>) -> bool {
        let lane = self.filled;
        if lane >= Blocks::<I>::BLOCKS {
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

    /// Does all of the steps.
    ///
    /// # Safety
    /// As for [`TextLanes::finish`].
    #[inline(always)]
    unsafe fn finish_all(&self, streams: &mut Words<I>) {
        for step in 0..STEPS {
            // SAFETY: the caller's.
            unsafe { self.finish(streams, step) };
        }
    }

    /// Does one of the [`STEPS`] in which key streams are transposed and added to texts.
    ///
    /// # Safety
    /// The blocks' bytes are readable and writable.
    #[inline(always)]
    unsafe fn finish(&self, s: &mut Words<I>, step: usize) {
        let quads = I::Vector::QUADS;
        if let Some(words) = s.as_chunks_mut::<4>().0.get_mut(step) {
            *words = transpose_words(*words);
        } else if step < STEPS {
            let first = step % 4;
            // A block is one vector, or two.
            for part in 0..4 / quads {
                let at = 4 * quads * part + first;
                let four = [s[at], s[at + 4], s[(at + 8) % 16], s[(at + 12) % 16]];
                let streams = transpose_quads(four);
                for (quad, stream) in streams.into_iter().take(quads).enumerate() {
                    let lane = 4 * quad + first;
                    if lane < self.filled {
                        let begin = 16 * quads * part;
                        let bytes = self.bytes[lane].saturating_sub(begin);
                        // SAFETY: the caller's.
                        unsafe { add(self.at[lane].wrapping_add(begin), bytes, stream) };
                    }
                }
            }
        }
    }
}

/// Adds a key stream to the bytes that there are of its length.
///
/// # Safety
/// They are readable and writable.
#[inline(always)]
unsafe fn add<V: Vector>(at: *mut u8, bytes: usize, stream: V) {
    let isa = stream.isa();
    // SAFETY: the caller's.
    unsafe {
        if bytes >= 16 * V::QUADS {
            isa.load_at(at).xor(stream).store_at(at);
        } else if bytes > 0 {
            isa.load_first(at, bytes).xor(stream).store_first(at, bytes);
        }
    }
}

//! The four compression functions: their shapes, and the kept crates that
//! define them.

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::kernel::{Kernel, MOST_LANES, WipedStates, Words};
use super::simd::{self, Candidates};
use crate::simd::Numbers;

/// One compression function over words `W`, and the padding of the hash
/// functions built on it.
pub(crate) struct Compression<W: 'static> {
    /// How words and the message's length are written.
    big_endian: bool,
    /// The kept crate's code, one message at a time: what the lanes must agree
    /// with. The bytes are whole blocks.
    pub(super) scalar: fn(&mut [W; 8], &[u8]),
    pub(super) candidates: Candidates<W>,
}

/// A word of 32 or 64 bits.
pub(crate) trait Word: Numbers + Default + 'static {
    /// A block has 16 words, whichever the function.
    const BLOCK_BYTES: usize = 16 * size_of::<Self>();
    /// The message's length at the end of the last block has two.
    const LENGTH_BYTES: usize = 2 * size_of::<Self>();

    /// Room for the blocks that a lane gathers: one that ties parts together, or
    /// the end of a message, with its padding at most two. Two blocks.
    type Gathered: AsRef<[u8]> + AsMut<[u8]>;
    const NOTHING_GATHERED: Self::Gathered;

    /// The word whose first byte in memory order is `0x80`, which ends a message.
    fn end_mark(big_endian: bool) -> Self;

    /// The bit length of a message of `bytes`, as a word; `u32` bounds the length.
    fn bit_length(bytes: u32) -> Self;

    /// Writes the first bytes of `state`, at most all, to `out`.
    fn write(state: &[Self; 8], big_endian: bool, out: &mut [u8]);
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            type Gathered = [u8; 2 * Self::BLOCK_BYTES];
            const NOTHING_GATHERED: Self::Gathered = [0; _];

            fn end_mark(big_endian: bool) -> $word {
                if big_endian {
                    1 << (<$word>::BITS - 1)
                } else {
                    0x80
                }
            }

            fn bit_length(bytes: u32) -> $word {
                <$word>::from(bytes.saturating_mul(8))
            }

            #[inline(always)]
            fn write(state: &[$word; 8], big_endian: bool, out: &mut [u8]) {
                let bytes_of = |word: $word| {
                    if big_endian {
                        word.to_be_bytes()
                    } else {
                        word.to_le_bytes()
                    }
                };
                let (whole, part) = out.as_chunks_mut();
                for (bytes, word) in whole.iter_mut().zip(state) {
                    *bytes = bytes_of(*word);
                }
                if let Some(word) = state.get(whole.len()) {
                    for (byte, value) in part.iter_mut().zip(bytes_of(*word)) {
                        *byte = value;
                    }
                }
            }
        }
    };
}
word!(u32);
word!(u64);

/// RFC 1321.
pub(crate) static MD5: Compression<u32> = Compression {
    big_endian: false,
    scalar: |state, blocks| {
        let [a, b, c, d, ..] = state;
        let mut used = [*a, *b, *c, *d];
        md5::block_api::compress(&mut used, blocks.as_chunks().0);
        [*a, *b, *c, *d] = used;
    },
    candidates: simd::MD5,
};

/// FIPS 180-4 section 6.1.
pub(crate) static SHA1: Compression<u32> = Compression {
    big_endian: true,
    scalar: |state, blocks| {
        let [a, b, c, d, e, ..] = state;
        let mut used = [*a, *b, *c, *d, *e];
        sha1::block_api::compress(&mut used, blocks.as_chunks().0);
        [*a, *b, *c, *d, *e] = used;
    },
    candidates: simd::SHA1,
};

/// FIPS 180-4 section 6.2, also for SHA-224.
pub(crate) static SHA256: Compression<u32> = Compression {
    big_endian: true,
    scalar: |state, blocks| sha2::block_api::compress256(state, blocks.as_chunks().0),
    candidates: simd::SHA256,
};

/// FIPS 180-4 section 6.4, also for SHA-384.
pub(crate) static SHA512: Compression<u64> = Compression {
    big_endian: true,
    scalar: |state, blocks| sha2::block_api::compress512(state, blocks.as_chunks().0),
    candidates: simd::SHA512,
};

impl<W: Word> Compression<W> {
    /// The kernel of the tier that suits so many messages.
    pub(super) fn kernel(&'static self, tier: Tier, messages: usize) -> Kernel<W> {
        Kernel::choose(self, tier, messages)
    }

    /// The last state of a message of which some blocks have gone into `state`, and `rest` follows,
    /// by the scalar reference implementation.
    pub(crate) fn finish_one(&self, state: &[W; 8], blocks_before: usize, rest: &[u8]) -> [W; 8] {
        let mut state = *state;
        let (blocks, end) = rest.split_at(rest.len() / W::BLOCK_BYTES * W::BLOCK_BYTES);
        (self.scalar)(&mut state, blocks);
        let mut padded = Zeroizing::new([0; 2 * MOST_BLOCK_BYTES]);
        let bytes = (blocks_before * W::BLOCK_BYTES) as u64 + rest.len() as u64;
        let count = self.pad(&mut *padded, end.len(), bytes);
        padded[..end.len()].copy_from_slice(end);
        (self.scalar)(&mut state, &padded[..count * W::BLOCK_BYTES]);
        state
    }

    /// Takes one block of each of the first `count` lanes into its state, with
    /// the kernels that suit so many.
    pub(crate) fn take_words(
        &'static self,
        tier: Tier,
        states: &mut WipedStates<W>,
        words: &Words<W>,
        count: usize,
    ) {
        let mut first = 0;
        while first < count {
            let kernel = self.kernel(tier, count - first);
            let end = count.min(first + kernel.lanes());
            kernel.take_words(states, words, first..end, self.big_endian);
            first = end;
        }
    }

    /// Writes the first bytes of a state, as many as `out` takes (at most the
    /// state's).
    #[inline(always)]
    pub(crate) fn write(&self, state: &[W; 8], out: &mut [u8]) {
        W::write(state, self.big_endian, out);
    }

    /// The words of every lane's last block, after `words` words that are still
    /// to come, when the whole message has `bytes` bytes.
    pub(crate) fn padded_words(&self, words: usize, bytes: u32) -> Words<W> {
        let mut rows = Words::default();
        rows[words] = [W::end_mark(self.big_endian); MOST_LANES];
        // The length has two words, of which the upper one is zero.
        let lower = if self.big_endian { 15 } else { 14 };
        rows[lower] = [W::bit_length(bytes); MOST_LANES];
        rows
    }

    /// Pads what `used` bytes at the front of `blocks` will be, the end of a
    /// message of `total_bytes`. Returns how many blocks that fills; the padding
    /// must fit.
    pub(crate) fn pad(&self, blocks: &mut [u8], used: usize, total_bytes: u64) -> usize {
        let count = (used + 1 + W::LENGTH_BYTES).div_ceil(W::BLOCK_BYTES);
        let end = count * W::BLOCK_BYTES;
        // What is zero lies in the last block, or as far before it as the
        // length is long: of a fixed length, which takes no call.
        let last = end - W::BLOCK_BYTES;
        blocks[last..][..W::BLOCK_BYTES].fill(0);
        if last > 0 {
            blocks[last - W::LENGTH_BYTES..][..W::LENGTH_BYTES].fill(0);
        }
        blocks[used] = 0x80;
        // A length of more than 64 bits does not occur.
        let bits = total_bytes.wrapping_mul(8);
        let length = &mut blocks[end - W::LENGTH_BYTES..end];
        if self.big_endian {
            length[W::LENGTH_BYTES - 8..].copy_from_slice(&bits.to_be_bytes());
        } else {
            length[..8].copy_from_slice(&bits.to_le_bytes());
        }
        count
    }
}

const MOST_BLOCK_BYTES: usize = 128;

//! The four compression functions: their shapes, and the kept crates that
//! define them.

use weir_simd::Tier;
use zeroize::Zeroize;

use super::kernel::{Kernel, MOST_LANES, WipedStates};
use super::simd::{self, Candidates};

/// One compression function over words `W`, and the padding of the hash
/// functions built on it.
pub(crate) struct Compression<W: 'static> {
    /// How words and the message's length are written.
    big_endian: bool,
    /// The kept crate's code, one message at a time: what the lanes must agree
    /// with. The bytes are whole blocks.
    pub(super) twin: fn(&mut [W; 8], &[u8]),
    pub(super) candidates: Candidates<W>,
}

/// A word of 32 or 64 bits.
pub(crate) trait Word: Copy + Default + Zeroize + 'static {
    /// A block has 16 words, whichever the function.
    const BLOCK_BYTES: usize = 16 * size_of::<Self>();
    /// The message's length at the end of the last block has two.
    const LENGTH_BYTES: usize = 2 * size_of::<Self>();

    type Bytes: AsRef<[u8]>;
    fn big_endian(self) -> Self::Bytes;
    fn little_endian(self) -> Self::Bytes;
}

impl Word for u32 {
    type Bytes = [u8; 4];
    fn big_endian(self) -> [u8; 4] {
        self.to_be_bytes()
    }
    fn little_endian(self) -> [u8; 4] {
        self.to_le_bytes()
    }
}

impl Word for u64 {
    type Bytes = [u8; 8];
    fn big_endian(self) -> [u8; 8] {
        self.to_be_bytes()
    }
    fn little_endian(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

/// RFC 1321.
pub(crate) static MD5: Compression<u32> = Compression {
    big_endian: false,
    twin: |state, blocks| {
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
    twin: |state, blocks| {
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
    twin: |state, blocks| sha2::block_api::compress256(state, blocks.as_chunks().0),
    candidates: simd::SHA256,
};

/// FIPS 180-4 section 6.4, also for SHA-384.
pub(crate) static SHA512: Compression<u64> = Compression {
    big_endian: true,
    twin: |state, blocks| sha2::block_api::compress512(state, blocks.as_chunks().0),
    candidates: simd::SHA512,
};

impl<W: Word> Compression<W> {
    /// The kernel of the tier that suits so many messages.
    pub(super) fn kernel(&'static self, tier: Tier, messages: usize) -> Kernel<W> {
        Kernel::choose(self, tier, messages)
    }

    /// The state after `blocks`, whole blocks of one message.
    pub(crate) fn after(&self, state: &[W; 8], blocks: &[u8]) -> [W; 8] {
        let mut state = *state;
        (self.twin)(&mut state, blocks);
        state
    }

    /// Takes one block of each of the first streams into the state of its lane,
    /// with the kernels that suit so many.
    pub(crate) fn take_blocks(
        &'static self,
        tier: Tier,
        states: &mut WipedStates<W>,
        streams: &[&[u8]; MOST_LANES],
        count: usize,
    ) {
        let mut first = 0;
        while first < count {
            let kernel = self.kernel(tier, count - first);
            let end = count.min(first + kernel.lanes());
            kernel.advance(states, first..end, streams, 1);
            first = end;
        }
    }

    /// Writes the first bytes of a state, as many as `out` takes (at most the
    /// state's).
    pub(crate) fn write(&self, state: &[W; 8], out: &mut [u8]) {
        let bytes_per_word = size_of::<W>();
        for (word, out) in state.iter().zip(out.chunks_mut(bytes_per_word)) {
            let bytes = if self.big_endian {
                word.big_endian()
            } else {
                word.little_endian()
            };
            out.copy_from_slice(&bytes.as_ref()[..out.len()]);
        }
    }

    /// Ends a message whose last `used` bytes, fewer than a block, are at the
    /// front of `blocks`, two blocks that are zero otherwise; `total_bytes` is
    /// the length of the whole message. Returns how many of the blocks (one or
    /// two) are its end.
    pub(crate) fn pad(&self, blocks: &mut [u8], used: usize, total_bytes: u64) -> usize {
        let count = (used + 1 + W::LENGTH_BYTES).div_ceil(W::BLOCK_BYTES);
        let end = count * W::BLOCK_BYTES;
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

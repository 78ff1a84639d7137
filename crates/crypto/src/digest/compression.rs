//! The four compression functions: their shapes, and the kept crates that
//! define them.

use zeroize::Zeroize;

use super::kernel::Kernel;
use super::simd::{self, Candidates};

/// One compression function over words `W`, and the padding of the hash
/// functions built on it.
pub(crate) struct Compression<W: 'static> {
    pub(crate) block_bytes: usize,
    /// Bytes of the message's length at the end of its last block.
    pub(crate) length_bytes: usize,
    /// How words and that length are written.
    big_endian: bool,
    /// The kept crate's code, one message at a time: what the lanes must agree
    /// with. The bytes are whole blocks.
    pub(super) twin: fn(&mut [W; 8], &[u8]),
    pub(super) candidates: Candidates<W>,
}

/// A word of 32 or 64 bits.
pub(crate) trait Word: Copy + Default + Zeroize + 'static {
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
    block_bytes: 64,
    length_bytes: 8,
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
    block_bytes: 64,
    length_bytes: 8,
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
    block_bytes: 64,
    length_bytes: 8,
    big_endian: true,
    twin: |state, blocks| sha2::block_api::compress256(state, blocks.as_chunks().0),
    candidates: simd::SHA256,
};

/// FIPS 180-4 section 6.4, also for SHA-384.
pub(crate) static SHA512: Compression<u64> = Compression {
    block_bytes: 128,
    length_bytes: 16,
    big_endian: true,
    twin: |state, blocks| sha2::block_api::compress512(state, blocks.as_chunks().0),
    candidates: simd::SHA512,
};

impl<W: Word> Compression<W> {
    /// The kernel of the tier that suits so many messages.
    pub(super) fn kernel(&'static self, tier: weir_simd::Tier, messages: usize) -> Kernel<W> {
        Kernel::choose(self, tier, messages)
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

    /// Pads a message's last `used` bytes at the front of `blocks`, which has
    /// room for two blocks; `total_bytes` is the length of the whole message.
    /// Returns how many blocks (one or two) the end now fills.
    pub(crate) fn pad(&self, blocks: &mut [u8], used: usize, total_bytes: u64) -> usize {
        let count = (used + 1 + self.length_bytes).div_ceil(self.block_bytes);
        let end = count * self.block_bytes;
        blocks[used..end].fill(0);
        blocks[used] = 0x80;
        let bits = total_bytes.wrapping_mul(8);
        if self.big_endian {
            // A length that needs more than 64 bits does not occur.
            blocks[end - 8..end].copy_from_slice(&bits.to_be_bytes());
        } else {
            blocks[end - 8..end].copy_from_slice(&bits.to_le_bytes());
        }
        count
    }
}

//! Digests of many messages at once: MD5 (RFC 1321), SHA-1 and SHA-2
//! (FIPS 180-4).
//!
//! A hash function chains the blocks of its message, so one message alone
//! leaves most of a processor idle. Messages do not depend on each other: each
//! takes a lane of a vector, and a lane whose message has ended takes the next.
//!
//! ```text
//! lane        0    1    2    3   …
//!            A0   B0   C0   D0       block 0 of four messages
//!            A1   B1   E0   D1       C has ended, E has its lane
//!            A2   F0   E1   D2
//! ```
//!
//! `compression` describes the functions and their scalar reference implementations, which
//! are well-maintained crates; `rounds` holds their steps for vectors of any width, `simd` the
//! vectors; `message` cuts messages into blocks, `scheduler` fills lanes, and `row`
//! hashes messages that fill them by themselves.

mod compression;
mod copy;
mod kernel;
mod message;
mod order;
mod published;
#[cfg(target_arch = "x86_64")]
mod rounds;
mod row;
mod scheduler;
mod simd;
#[cfg(test)]
mod tests;

use compression::{MD5, SHA1, SHA256, SHA512};
use published::{numbers, words};

pub(crate) use compression::{Compression, Word};
pub(crate) use kernel::{MOST_LANES, WipedStates, Words, advance_each};
pub(crate) use message::{Message, PARTS, total_bytes};
pub(crate) use order::longest_first;
pub(crate) use row::{Row, RowKernel};
pub(crate) use scheduler::{Room, Scheduler};

/// A hash function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Digest {
    /// MD5, 16 bytes, RFC 1321. Broken: for old captures only.
    Md5,
    /// SHA-1, 20 bytes, FIPS 180-4. Broken as a digest; HMAC with it is not.
    Sha1,
    /// SHA-224, 28 bytes, FIPS 180-4.
    Sha224,
    /// SHA-256, 32 bytes, FIPS 180-4.
    Sha256,
    /// SHA-384, 48 bytes, FIPS 180-4.
    Sha384,
    /// SHA-512, 64 bytes, FIPS 180-4.
    Sha512,
}

impl Digest {
    /// Every hash function.
    pub const ALL: [Digest; 6] = [
        Digest::Md5,
        Digest::Sha1,
        Digest::Sha224,
        Digest::Sha256,
        Digest::Sha384,
        Digest::Sha512,
    ];

    /// Bytes of the whole digest.
    pub const fn bytes(self) -> usize {
        match self {
            Digest::Md5 => 16,
            Digest::Sha1 => 20,
            Digest::Sha224 => 28,
            Digest::Sha256 => 32,
            Digest::Sha384 => 48,
            Digest::Sha512 => 64,
        }
    }

    /// Hashes one message by the scalar reference implementation; `digest` takes its first
    /// bytes, at most [`Digest::bytes`].
    pub(crate) fn hash_one(self, message: &[u8], digest: &mut [u8]) {
        match self.initial() {
            Initial::Narrow(of, state) => of.write(&of.finish_one(&state, 0, message), digest),
            Initial::Wide(of, state) => of.write(&of.finish_one(&state, 0, message), digest),
        }
    }

    /// The function that takes in blocks, and the state before the first.
    pub(crate) fn initial(self) -> Initial {
        match self {
            Digest::Md5 => Initial::Narrow(&MD5, MD5_INITIAL),
            Digest::Sha1 => Initial::Narrow(&SHA1, SHA1_INITIAL),
            Digest::Sha224 => Initial::Narrow(&SHA256, SHA224_INITIAL),
            Digest::Sha256 => Initial::Narrow(&SHA256, SHA256_INITIAL),
            Digest::Sha384 => Initial::Wide(&SHA512, SHA384_INITIAL),
            Digest::Sha512 => Initial::Wide(&SHA512, SHA512_INITIAL),
        }
    }
}

/// A compression function and a state, of words of either size.
pub(crate) enum Initial {
    Narrow(&'static Compression<u32>, [u32; 8]),
    Wide(&'static Compression<u64>, [u64; 8]),
}

/// RFC 1321 section 3.3. Words that a function lacks are zero.
const MD5_INITIAL: [u32; 8] = narrow(numbers("67452301 efcdab89 98badcfe 10325476 0 0 0 0"), 0);

/// FIPS 180-4 section 5.3.1.
const SHA1_INITIAL: [u32; 8] = narrow(
    numbers("67452301 efcdab89 98badcfe 10325476 c3d2e1f0 0 0 0"),
    0,
);

/// FIPS 180-4 section 5.3.2: the second 32 bits of the fractions that SHA-384 has 64 of.
const SHA224_INITIAL: [u32; 8] = narrow([SHA384_INITIAL], 0);

/// FIPS 180-4 section 5.3.3: the first 32 bits of the fractions that SHA-512 has 64 of.
const SHA256_INITIAL: [u32; 8] = narrow([SHA512_INITIAL], 32);

/// FIPS 180-4 section 5.3.4.
const SHA384_INITIAL: [u64; 8] = {
    let [state] = numbers(
        "\
         cbbb9d5dc1059ed8 629a292a367cd507 9159015a3070dd17 152fecd8f70e5939 \
         67332667ffc00b31 8eb44a8768581511 db0c2e0d64f98fa7 47b5481dbefa4fa4",
    );
    state
};

/// FIPS 180-4 section 5.3.5.
const SHA512_INITIAL: [u64; 8] = {
    let [state] = numbers(
        "\
         6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1 \
         510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179",
    );
    state
};

/// A state of 32 bits of each number, from bit `first` on.
const fn narrow(numbers: [[u64; 8]; 1], first: u32) -> [u32; 8] {
    let [state] = words(&numbers, first);
    state
}

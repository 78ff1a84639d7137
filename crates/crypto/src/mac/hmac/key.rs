//! Keys of HMAC (RFC 2104) over any of the hash functions.

use std::fmt;

use zeroize::Zeroizing;

use crate::digest::{Compression, Digest, Initial, Word};
use crate::simd::wipe;
use crate::suite::Mac;

/// The hash states behind the inner and the outer pad, which is all of the key
/// that a message needs. Wiped when dropped.
pub(crate) struct HmacKey {
    digest: Digest,
    pads: Pads,
}

pub(crate) enum Pads {
    Narrow(PadStates<u32>),
    Wide(PadStates<u64>),
}

/// States of words `W`, for one hash function.
pub(crate) struct PadStates<W: Word> {
    pub(crate) of: &'static Compression<W>,
    pub(super) digest_bytes: usize,
    pub(super) inner: [W; 8],
    pub(super) outer: [W; 8],
}

impl HmacKey {
    /// Hashes the pads of a key of any length.
    pub(crate) fn new(digest: Digest, key: &[u8]) -> HmacKey {
        let pads = match digest.initial() {
            Initial::Narrow(of, initial) => Pads::Narrow(PadStates::new(of, &initial, digest, key)),
            Initial::Wide(of, initial) => Pads::Wide(PadStates::new(of, &initial, digest, key)),
        };
        HmacKey { digest, pads }
    }

    /// Hashes the pads of a suite's key. Its rule for the key's length is
    /// checked with the key material.
    pub(crate) fn of_suite(mac: Mac, key: &[u8]) -> HmacKey {
        let digest = match mac {
            Mac::HmacSha1_96 => Digest::Sha1,
            Mac::HmacSha2_256_128 => Digest::Sha256,
            Mac::HmacSha2_384_192 => Digest::Sha384,
            Mac::HmacSha2_512_256 => Digest::Sha512,
        };
        HmacKey::new(digest, key)
    }

    /// The states, of words of either size.
    pub(crate) fn pads(&self) -> &Pads {
        &self.pads
    }

    /// The hash function.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }
}

impl<W: Word> PadStates<W> {
    fn new(
        of: &'static Compression<W>,
        initial: &[W; 8],
        digest: Digest,
        key: &[u8],
    ) -> PadStates<W> {
        // RFC 2104 section 2: a key longer than a block is hashed first.
        let mut block = Zeroizing::new([0; MOST_BLOCK_BYTES]);
        let block = &mut block[..W::BLOCK_BYTES];
        match block.get_mut(..key.len()) {
            Some(place) => place.copy_from_slice(key),
            None => digest.hash_one(key, &mut block[..digest.bytes()]),
        }
        let behind_pad = |pad: u8| {
            let mut padded = Zeroizing::new([pad; MOST_BLOCK_BYTES]);
            let padded = &mut padded[..W::BLOCK_BYTES];
            padded.iter_mut().zip(&*block).for_each(|(p, b)| *p ^= b);
            of.after(initial, padded)
        };
        PadStates {
            of,
            digest_bytes: digest.bytes(),
            inner: behind_pad(0x36),
            outer: behind_pad(0x5c),
        }
    }
}

/// A word, and where a key keeps its states of such words.
pub(crate) trait PadWord: Word {
    /// The states of `key`, if its hash function has words of this size.
    fn pads(key: &HmacKey) -> Option<&PadStates<Self>>;
}

impl PadWord for u32 {
    fn pads(key: &HmacKey) -> Option<&PadStates<u32>> {
        match &key.pads {
            Pads::Narrow(pads) => Some(pads),
            Pads::Wide(_) => None,
        }
    }
}

impl PadWord for u64 {
    fn pads(key: &HmacKey) -> Option<&PadStates<u64>> {
        match &key.pads {
            Pads::Narrow(_) => None,
            Pads::Wide(pads) => Some(pads),
        }
    }
}

impl<W: Word> Drop for PadStates<W> {
    fn drop(&mut self) {
        wipe(&mut self.inner);
        wipe(&mut self.outer);
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmacKey")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

const MOST_BLOCK_BYTES: usize = 128;

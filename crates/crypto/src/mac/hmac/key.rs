//! Keys of HMAC (RFC 2104) over any of the hash functions.

use std::fmt;

use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::digest::{Compression, Digest, Initial, MOST_LANES, Word, advance_each};
use crate::simd::{self, Wiped};
use crate::suite::Mac;

/// The hash states behind the inner and the outer pad, which is all of the key
/// that a message needs. Wiped when dropped.
pub(crate) struct HmacKey {
    /// Of words of 32 bits, half of it is used.
    pads: Wiped<[u64; 16]>,
    digest: Digest,
}

/// The states behind the inner and the outer pad.
pub(crate) type PadStates<W> = [[W; 8]; 2];

impl HmacKey {
    /// Hashes the pads of a key of any length.
    pub(crate) fn new(digest: Digest, key: &[u8]) -> HmacKey {
        let mut this = HmacKey::zeros(digest);
        HmacKey::set_each(Tier::Scalar, digest, [(key, &mut this)].into_iter());
        this
    }

    /// A key that is not there yet.
    pub(crate) fn zeros(digest: Digest) -> HmacKey {
        HmacKey {
            pads: Wiped([0; 16]),
            digest,
        }
    }

    /// Hashes the pads of several keys, those of one lane each side by side where `tier` has
    /// kernels for so many.
    pub(crate) fn set_each<'k>(
        tier: Tier,
        digest: Digest,
        keys: impl Iterator<Item = (&'k [u8], &'k mut HmacKey)>,
    ) {
        match digest.initial() {
            Initial::Narrow(of, initial) => set_each(of, &initial, tier, digest, keys),
            Initial::Wide(of, initial) => set_each(of, &initial, tier, digest, keys),
        }
    }

    /// The hash function.
    #[inline]
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }
}

/// The hash function of a suite's MAC.
pub(crate) fn digest_of(mac: Mac) -> Digest {
    match mac {
        Mac::HmacSha1_96 => Digest::Sha1,
        Mac::HmacSha2_256_128 => Digest::Sha256,
        Mac::HmacSha2_384_192 => Digest::Sha384,
        Mac::HmacSha2_512_256 => Digest::Sha512,
    }
}

fn set_each<'k, W: PadWord>(
    of: &'static Compression<W>,
    initial: &[W; 8],
    tier: Tier,
    digest: Digest,
    keys: impl Iterator<Item = (&'k [u8], &'k mut HmacKey)>,
) {
    let mut blocks = Wiped([[0u8; MOST_BLOCK_BYTES]; MOST_LANES]);
    let mut places = [const { None }; MOST_LANES];
    let mut count = 0;
    let mut keys = keys.peekable();
    while let Some((key, place)) = keys.next() {
        // RFC 2104 section 2: a key longer than a block is hashed first.
        let block = &mut blocks[count][..W::BLOCK_BYTES];
        block.fill(0);
        match block.get_mut(..key.len()) {
            Some(front) => front.copy_from_slice(key),
            None => digest.hash_one(key, &mut block[..digest.bytes()]),
        }
        places[count] = Some(place);
        count += 1;
        if count < MOST_LANES && keys.peek().is_some() {
            continue;
        }
        // The outer pad follows the inner one.
        for (which, pad) in [INNER_PAD, INNER_PAD ^ OUTER_PAD].into_iter().enumerate() {
            let mut streams = [&[][..]; MOST_LANES];
            for (stream, block) in streams.iter_mut().zip(&mut blocks[..count]) {
                block.iter_mut().for_each(|byte| *byte ^= pad);
                *stream = &block[..W::BLOCK_BYTES];
            }
            advance_each(of, tier, initial, &streams[..count], |lane, state| {
                if let Some(Some(place)) = places.get_mut(lane) {
                    W::pads_mut(place)[which] = state;
                }
            });
        }
        count = 0;
    }
}

/// RFC 2104 section 2.
const INNER_PAD: u8 = 0x36;
const OUTER_PAD: u8 = 0x5c;

/// The first bytes of the tag of one message, by the scalar reference implementation.
pub(crate) fn tag_one(digest: Digest, key: &[u8], message: &[u8], tag: &mut [u8]) {
    fn hash<W: PadWord>(of: &Compression<W>, key: &HmacKey, message: &[u8], tag: &mut [u8]) {
        let [inner, outer] = W::pads(key);
        let digest_bytes = key.digest.bytes();
        let mut block = Zeroizing::new([0; MOST_BLOCK_BYTES]);
        let inner = of.finish_one(inner, 1, message);
        of.write(&inner, &mut block[..digest_bytes]);
        let outer = of.finish_one(outer, 1, &block[..digest_bytes]);
        of.write(&outer, tag);
    }
    let key = HmacKey::new(digest, key);
    match digest.initial() {
        Initial::Narrow(of, _) => hash(of, &key, message, tag),
        Initial::Wide(of, _) => hash(of, &key, message, tag),
    }
}

/// A word, and where a key keeps its states of such words.
pub(crate) trait PadWord: Word {
    /// The states of `key`, whose hash function has words of this size.
    #[inline]
    fn pads(key: &HmacKey) -> &PadStates<Self> {
        simd::front(&*key.pads)
    }

    /// The same.
    #[inline]
    fn pads_mut(key: &mut HmacKey) -> &mut PadStates<Self> {
        simd::front_mut(&mut *key.pads)
    }
}

impl PadWord for u32 {}
impl PadWord for u64 {}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmacKey")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

const MOST_BLOCK_BYTES: usize = 128;

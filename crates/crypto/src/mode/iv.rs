//! Initialization vectors for CBC, which an observer must not be able to
//! predict (SP 800-38A appendix C, RFC 3602 section 3).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::ecb;
use crate::cipher::{AesRoundKeys, Block};
use crate::digest::Digest;
use crate::frames;
use crate::keys::{IvSource, KeyError};
use crate::mac::hmac;
use crate::suite::AesKeySize;

/// IVs that are made side by side.
pub(crate) const IVS_TOGETHER: usize = 16;

/// An AES-128 key that encrypts nothing but numbers, one block each. A block cipher is a
/// permutation, so no block comes twice, and without the key they are indistinguishable from
/// random blocks. The keys of a sealer share it, so that its round keys stay in the cache;
/// each key has its own range of numbers.
struct IvKey {
    round_keys: AesRoundKeys,
    /// Of the next cipher key.
    next_id: AtomicU64,
}

/// The IVs of one cipher key: the encryption of its own number and of the packet's.
///
/// ```text
/// 8 bytes             8 bytes              big-endian
/// cipher key's number packet's number
/// ```
pub(crate) struct CbcIvSource {
    key: Arc<IvKey>,
    id: u64,
    is_random: bool,
}

impl CbcIvSource {
    /// The source that goes with `cipher_key`, drawn or derived as `source` says, for the
    /// instructions of `tier`, which have passed their self-test.
    pub(crate) fn new(
        source: IvSource,
        cipher_key: &[u8],
        tier: Tier,
    ) -> Result<CbcIvSource, KeyError> {
        const SIZE: AesKeySize = AesKeySize::Aes128;
        let mut iv_key = Zeroizing::new([0; SIZE.key_bytes()]);
        match source {
            IvSource::Random => getrandom::fill(&mut *iv_key).map_err(KeyError::Entropy)?,
            IvSource::RepeatableInsecure => derive(cipher_key, &mut *iv_key),
        }
        Ok(CbcIvSource {
            key: Arc::new(IvKey {
                round_keys: frames::cleared(|| AesRoundKeys::new(SIZE, tier, &*iv_key))?,
                next_id: AtomicU64::new(1),
            }),
            id: 0,
            is_random: source == IvSource::Random,
        })
    }

    /// Other IVs under the same key.
    pub(crate) fn another(&self) -> CbcIvSource {
        CbcIvSource {
            key: Arc::clone(&self.key),
            id: self.key.next_id.fetch_add(1, Ordering::Relaxed),
            is_random: self.is_random,
        }
    }

    /// Whether IVs may as well come from another random key.
    pub(crate) fn is_random(&self) -> bool {
        self.is_random
    }

    /// Whether IVs of both are encrypted under the same key.
    #[inline]
    pub(crate) fn shares_key_with(&self, other: &CbcIvSource) -> bool {
        Arc::ptr_eq(&self.key, &other.key)
    }

    /// What the IV of packet `number` is the encryption of.
    #[inline]
    pub(crate) fn block(&self, number: u64) -> Block {
        (u128::from(self.id) << 64 | u128::from(number)).to_be_bytes()
    }

    /// Encrypts blocks, of this source or of others that share its key. An IV of fewer bytes is
    /// a part of a block.
    pub(crate) fn encrypt(&self, blocks: &mut [Block]) {
        let keys = &self.key.round_keys;
        ecb::encrypt(keys.tier, keys.used(), blocks);
    }
}

/// Fills `iv_key` from HMAC-SHA-512 of a label under the cipher's key, so that
/// equal keys give equal IVs and yet neither key reveals anything of the other.
fn derive(cipher_key: &[u8], iv_key: &mut [u8]) {
    let label = b"weir repeatable cbc iv key";
    hmac::tag_one(Digest::Sha512, cipher_key, label, iv_key);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where wider kernels have failed their self-test, IVs are made without them too.
    #[test]
    fn ivs_are_made_with_the_instructions_that_are_trusted() {
        for source in [IvSource::Random, IvSource::RepeatableInsecure] {
            let source = CbcIvSource::new(source, &[7; 16], Tier::Scalar).unwrap();
            assert_eq!(source.another().key.round_keys.tier, Tier::Scalar);
        }
    }

    #[test]
    fn an_iv_is_its_numbers_encrypted_whatever_the_tier() {
        let repeatable = |tier| {
            let source = CbcIvSource::new(IvSource::RepeatableInsecure, &[7; 32], tier);
            source.expect("16 bytes")
        };
        let numbers = [0, 1, 0x0102_0304_0506_0708, u64::MAX];
        let scalar = repeatable(Tier::Scalar);
        let mut expected = numbers.map(|number| {
            let mut block = [0; 16];
            block[8..].copy_from_slice(&number.to_be_bytes());
            block
        });
        assert_eq!(expected, numbers.map(|number| scalar.block(number)));
        scalar.encrypt(&mut expected);
        weir_simd::for_each_tier(|tier| {
            let source = repeatable(tier);
            let mut blocks = numbers.map(|number| source.block(number));
            source.encrypt(&mut blocks);
            assert_eq!(blocks, expected, "{tier}");
        });
    }

    #[test]
    fn keys_that_share_an_iv_key_have_ivs_of_their_own() {
        let first = CbcIvSource::new(IvSource::Random, &[], Tier::Scalar).unwrap();
        let others = [first.another(), first.another()];
        let other_key = CbcIvSource::new(IvSource::Random, &[], Tier::Scalar).unwrap();
        assert!(others.iter().all(|other| other.shares_key_with(&first)));
        assert!(!other_key.shares_key_with(&first));
        let mut blocks = vec![first.block(5), others[0].block(5), others[1].block(5)];
        first.encrypt(&mut blocks);
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 3);
    }
}

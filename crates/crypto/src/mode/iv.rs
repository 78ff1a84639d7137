//! Initialization vectors for CBC, which an observer must not be able to
//! predict (SP 800-38A appendix C, RFC 3602 section 3).

use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::digest::Digest;
use crate::kernel::Misshapen;
use crate::keys::{IvSource, KeyError};
use crate::mac::{HmacKey, MacJob, write_tags};
use crate::mode::{CbcCipher, CbcEncryptKey, CbcKey};

/// A key of its own, under which counter values are encrypted, one block each.
/// A block cipher is a permutation, so no IV comes twice; whoever lacks the
/// key cannot tell the sequence from random blocks.
pub(crate) struct CbcIvKey(CbcEncryptKey);

impl CbcIvKey {
    /// The IV key that goes with `cipher_key`, drawn or derived as `source` says.
    pub(crate) fn new(
        source: IvSource,
        cipher: CbcCipher,
        cipher_key: &[u8],
    ) -> Result<CbcIvKey, KeyError> {
        let mut iv_key = Zeroizing::new(vec![0; cipher_key.len()]);
        match source {
            IvSource::Random => getrandom::fill(&mut iv_key).map_err(KeyError::Entropy)?,
            IvSource::RepeatableInsecure => derive(cipher_key, &mut iv_key)?,
        }
        Ok(CbcIvKey(CbcEncryptKey::new(
            cipher,
            weir_simd::tier(),
            &iv_key,
        )?))
    }

    /// Writes the IV of `counter`: its encryption as a big-endian block.
    pub(crate) fn write(&self, counter: u64, iv: &mut [u8]) -> Result<(), Misshapen> {
        let (high, low) = iv.split_last_chunk_mut::<8>().ok_or(Misshapen)?;
        high.fill(0);
        *low = counter.to_be_bytes();
        // Chaining one block to zero is to encrypt it.
        const ZERO: [u8; 16] = [0; 16];
        self.0.encrypt(ZERO.get(..iv.len()).ok_or(Misshapen)?, iv)
    }
}

/// Fills `iv_key` from HMAC-SHA-512 of a label under the cipher's key, so that
/// equal keys give equal IVs and yet neither key tells anything of the other.
fn derive(cipher_key: &[u8], iv_key: &mut [u8]) -> Result<(), Misshapen> {
    let job = MacJob {
        key: &HmacKey::new(Digest::Sha512, cipher_key),
        parts: [b"weir repeatable cbc iv key", &[], &[], &[]],
        tag: iv_key,
    };
    write_tags(Tier::Scalar, &mut [job]).map_err(|_| Misshapen)
}

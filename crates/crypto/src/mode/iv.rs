//! Initialization vectors for CBC, which an observer must not be able to
//! predict (SP 800-38A appendix C, RFC 3602 section 3).

use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::digest::Digest;
use crate::kernel::InvalidLength;
use crate::keys::{IvSource, KeyError};
use crate::mac::{self, Algorithm, MacKey, MacPacket};
use crate::mode::{CbcCipher, CbcEncryptKey, CbcKey};

/// A key of its own, under which counter values are encrypted, one block each.
/// A block cipher is a permutation, so no IV comes twice; whoever lacks the
/// key cannot tell the sequence from random blocks.
pub(crate) struct CbcIvKey(CbcEncryptKey);

impl CbcIvKey {
    /// The IV key that goes with `cipher_key`, drawn or derived as `source` says, for the
    /// instructions of `tier`, which have passed their self-test.
    pub(crate) fn new(
        source: IvSource,
        cipher: CbcCipher,
        cipher_key: &[u8],
        tier: Tier,
    ) -> Result<CbcIvKey, KeyError> {
        let mut iv_key = Zeroizing::new(vec![0; cipher_key.len()]);
        match source {
            IvSource::Random => getrandom::fill(&mut iv_key).map_err(KeyError::Entropy)?,
            IvSource::RepeatableInsecure => derive(cipher_key, &mut iv_key)?,
        }
        Ok(CbcIvKey(CbcEncryptKey::new(cipher, tier, &iv_key)?))
    }

    /// Writes the IV of `counter`: its encryption as a big-endian block.
    pub(crate) fn write(&self, counter: u64, iv: &mut [u8]) -> Result<(), InvalidLength> {
        self.0.encrypt_counter(counter, iv)
    }
}

/// Fills `iv_key` from HMAC-SHA-512 of a label under the cipher's key, so that
/// equal keys give equal IVs and yet neither key tells anything of the other.
fn derive(cipher_key: &[u8], iv_key: &mut [u8]) -> Result<(), InvalidLength> {
    let key = MacKey::new(
        Tier::Scalar,
        Algorithm::Hmac(Digest::Sha512),
        cipher_key,
        [0; 4],
    )?;
    let mut packet = [MacPacket {
        index: 0,
        key: &key,
        nonce: 0,
        parts: [b"weir repeatable cbc iv key", &[], &[], &[]],
        tag: iv_key,
        is_verified: false,
        is_good: false,
    }];
    mac::process(|_| Tier::Scalar, &mut packet);
    match packet[0].is_good {
        true => Ok(()),
        false => Err(InvalidLength),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::AesKeySize;

    /// Where wider kernels have failed their self-test, IVs are made without them too.
    #[test]
    fn ivs_are_made_with_the_instructions_that_are_trusted() {
        let aes = CbcCipher::Aes(AesKeySize::Aes128);
        for source in [IvSource::Random, IvSource::RepeatableInsecure] {
            let iv_key = CbcIvKey::new(source, aes, &[7; 16], Tier::Scalar).unwrap();
            assert!(matches!(iv_key.0, CbcEncryptKey::Aes(_)), "{source:?}");
        }
    }

    #[test]
    fn an_iv_is_its_counter_encrypted_whatever_the_tier() {
        let ciphers = [
            (CbcCipher::Aes(AesKeySize::Aes128), 16, 16),
            (CbcCipher::Aes(AesKeySize::Aes192), 24, 16),
            (CbcCipher::Aes(AesKeySize::Aes256), 32, 16),
            (CbcCipher::TripleDes, 24, 8),
        ];
        for (cipher, key_bytes, block_bytes) in ciphers {
            let key: Vec<u8> = (1..=key_bytes).collect();
            weir_simd::for_each_tier(|tier| {
                let iv_key = CbcIvKey(CbcEncryptKey::new(cipher, tier, &key).unwrap());
                let scalar = CbcEncryptKey::new(cipher, Tier::Scalar, &key).unwrap();
                for counter in [0, 1, 0x0102_0304_0506_0708, u64::MAX] {
                    let mut expected = vec![0; block_bytes];
                    expected[block_bytes - 8..].copy_from_slice(&counter.to_be_bytes());
                    let zero = vec![0; block_bytes];
                    scalar.encrypt(&zero, &mut expected).unwrap();
                    let mut iv = vec![0xa5; block_bytes];
                    iv_key.write(counter, &mut iv).unwrap();
                    assert_eq!(iv, expected, "{tier} {counter}");
                    assert!(iv_key.write(counter, &mut [0; 7]).is_err());
                }
            });
        }
    }
}

//! A key of encrypt-then-MAC in the form that kernels take.

use weir_simd::Tier;

use crate::cipher::AesRoundKeys;
use crate::digest::Digest;
use crate::frames;
use crate::kernel::InvalidLength;
use crate::mac::hmac::HmacKey;
use crate::mode::{self, CbcCipher, CbcKey};
use crate::suite::{AesKeySize, Cipher};

/// The expanded keys of a suite. `C` is the direction, as in [`crate::kernel::Kernel`]. All of
/// it lies in one place, so that a packet under a key that is in no cache waits once.
#[repr(align(64))]
pub(crate) struct EtmKey<C> {
    /// Of AES where it has kernels; for CBC in the order of the direction.
    pub(super) round_keys: AesRoundKeys,
    pub(super) mac: HmacKey,
    pub(super) cipher: EtmCipher,
    /// Of CTR.
    pub(super) salt: [u8; 4],
    /// Keys of one group share lanes.
    pub(super) group: Group,
    /// Of CBC without kernels of this crate.
    pub(super) other: Option<C>,
    /// Whether all that the suite needs of it has been set.
    pub(super) is_there: bool,
}

/// How packets are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EtmCipher {
    Null,
    Ctr,
    Cbc,
    /// By the key beside the others.
    Other,
}

/// A number below [`GROUPS`]: of the hash function and, where packets share lanes, of cipher
/// and key size.
pub(super) type Group = u8;

/// Hash functions, times the kinds of keys that have lanes, three sizes each of CBC and CTR,
/// and one that has not.
pub(super) const GROUPS: usize = Digest::ALL.len() * (2 * AesKeySize::ALL.len() + 1);

/// The secret bytes of a key.
#[derive(Clone, Copy)]
pub(crate) struct EtmSecret<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) salt: [u8; 4],
    pub(crate) integrity_key: &'a [u8],
}

impl<C: CbcKey> EtmKey<C> {
    pub(crate) fn new(
        cipher: Cipher,
        digest: Digest,
        secret: EtmSecret<'_>,
        tier: Tier,
    ) -> Result<EtmKey<C>, InvalidLength> {
        // What lies between the fields is never wiped: none of it may be what the cipher left.
        let mut this = frames::cleared(|| {
            let mut this = EtmKey::zeros(cipher, digest, tier);
            this.set_salt_and_other(cipher, secret)?;
            if let Some(size) = this.aes_size(cipher) {
                this.round_keys = AesRoundKeys::new(size, tier, secret.key)?;
                this.turn();
            }
            Ok(this)
        })?;
        this.mac = HmacKey::new(digest, secret.integrity_key);
        this.is_there = true;
        Ok(this)
    }

    /// A key that is not there yet.
    pub(super) fn zeros(cipher: Cipher, digest: Digest, tier: Tier) -> EtmKey<C> {
        let (cipher, size) = match cipher {
            Cipher::Null => (EtmCipher::Null, AesKeySize::Aes128),
            Cipher::AesCtr(size) => (EtmCipher::Ctr, size),
            Cipher::AesCbc(size) if mode::has_lanes(tier) => (EtmCipher::Cbc, size),
            Cipher::AesCbc(size) => (EtmCipher::Other, size),
            Cipher::TripleDesCbc => (EtmCipher::Other, AesKeySize::Aes128),
        };
        let round_keys = AesRoundKeys::zeros(size, tier);
        let lanes = match cipher {
            EtmCipher::Cbc if !C::DECRYPTS => 1 + round_keys.size_index(),
            EtmCipher::Ctr if !C::DECRYPTS => 4 + round_keys.size_index(),
            _ => 0,
        };
        EtmKey {
            round_keys,
            mac: HmacKey::zeros(digest),
            cipher,
            salt: [0; 4],
            group: lanes * Digest::ALL.len() as u8 + digest as u8,
            other: None,
            is_there: false,
        }
    }

    /// Sets what does not come from lanes.
    pub(super) fn set_salt_and_other(
        &mut self,
        cipher: Cipher,
        secret: EtmSecret<'_>,
    ) -> Result<(), InvalidLength> {
        self.salt = secret.salt;
        let other = match cipher {
            Cipher::AesCbc(size) => CbcCipher::Aes(size),
            _ => CbcCipher::TripleDes,
        };
        if self.cipher == EtmCipher::Other {
            self.other = Some(C::new(other, secret.key)?);
        }
        Ok(())
    }

    /// The size of the AES key that is to be expanded.
    pub(super) fn aes_size(&self, cipher: Cipher) -> Option<AesKeySize> {
        match (self.cipher, cipher) {
            (EtmCipher::Ctr | EtmCipher::Cbc, Cipher::AesCtr(size) | Cipher::AesCbc(size)) => {
                Some(size)
            }
            _ => None,
        }
    }

    /// Turns round keys that were just expanded to the direction.
    pub(super) fn turn(&mut self) {
        if C::DECRYPTS && self.cipher == EtmCipher::Cbc {
            mode::invert(&mut self.round_keys);
        }
    }
}

impl<C> EtmKey<C> {
    /// The keys of CBC in lanes.
    #[inline]
    pub(super) fn cbc_keys(&self) -> Option<&AesRoundKeys> {
        (self.cipher == EtmCipher::Cbc).then_some(&self.round_keys)
    }
}

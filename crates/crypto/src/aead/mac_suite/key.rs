//! The keys of a suite: those of a cipher and a MAC are derived from one.

use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::cipher::expand;
use crate::kernel::InvalidLength;
use crate::mac::kdf::{self, Label};
use crate::mac::{Algorithm, MacKey, MacPacketKey, TagWords};
use crate::mode::CtrKey;
use crate::suite::{AesKeySize, UniversalMac};

/// What the cipher's key and the salt of its counter blocks are derived for. The
/// labels of the MACs are numbers or
/// other letters, so that no block of key stream serves two purposes.
const CIPHER: Label = Label(*b"ctr-key ");

/// Expanded keys of the cipher, if there is one, and of the MAC.
pub(crate) struct MacSuiteKey {
    cipher: Option<CtrKey>,
    mac: MacKey,
}

impl MacSuiteKey {
    /// Of AES-CTR and a MAC: from 16 bytes, expanded for the kernels of `tier`.
    pub(crate) fn new(
        tier: Tier,
        mac: UniversalMac,
        key: &[u8],
    ) -> Result<MacSuiteKey, InvalidLength> {
        const SIZE: AesKeySize = AesKeySize::Aes128;
        let round_keys = expand(tier, SIZE, key)?;
        let mut stream = Zeroizing::new([[0; 16]; 2]);
        kdf::fill(tier, &round_keys[..ROUND_KEYS], CIPHER, &mut *stream);
        let [cipher_key, [a, b, c, d, ..]] = &*stream;
        let algorithm = match mac {
            UniversalMac::Umac64 => Algorithm::Umac(TagWords::Two),
            UniversalMac::Umac96 => Algorithm::Umac(TagWords::Three),
            UniversalMac::Mmh96 => Algorithm::Mmh(TagWords::Three),
            UniversalMac::Mmh128 => Algorithm::Mmh(TagWords::Four),
        };
        Ok(MacSuiteKey {
            cipher: Some(CtrKey::new(SIZE, tier, cipher_key, [*a, *b, *c, *d])?),
            mac: MacKey::new(tier, algorithm, key, [0; 4])?,
        })
    }

    /// Of GMAC: from a key of this size and the salt of its nonces.
    pub(crate) fn gmac(
        tier: Tier,
        size: AesKeySize,
        key: &[u8],
        salt: [u8; 4],
    ) -> Result<MacSuiteKey, InvalidLength> {
        Ok(MacSuiteKey {
            cipher: None,
            mac: MacKey::new(tier, Algorithm::Gmac(size), key, salt)?,
        })
    }

    /// As packets take it.
    #[inline]
    pub(crate) fn packet_key(&self) -> MacPacketKey<'_> {
        MacPacketKey {
            mac: &self.mac,
            cipher: self.cipher.as_ref(),
        }
    }
}

/// Of AES-128.
const ROUND_KEYS: usize = 11;

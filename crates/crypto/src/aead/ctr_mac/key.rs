//! The keys of a suite, derived from one.

use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::cipher::expand;
use crate::kernel::Misshapen;
use crate::mac::kdf::{self, Label};
use crate::mac::{Algorithm, MacKey, Material, TagWords};
use crate::mode::CtrKey;
use crate::suite::{AesKeySize, UniversalMac};

/// What the cipher's key and the salt of its counter blocks are derived for. The
/// labels of the MACs are numbers or
/// other letters, so that no block of key stream serves two purposes.
const CIPHER: Label = Label(*b"ctr-key ");

/// Expanded keys of the cipher and of the MAC.
pub(crate) struct CtrMacKey {
    cipher: CtrKey,
    mac: MacKey,
}

impl CtrMacKey {
    /// Of 16 bytes, expanded for the kernels of `tier`.
    pub(crate) fn new(tier: Tier, mac: UniversalMac, key: &[u8]) -> Result<CtrMacKey, Misshapen> {
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
        let material = Material::new(algorithm, key).map_err(|_| Misshapen)?;
        Ok(CtrMacKey {
            cipher: CtrKey::new(SIZE, tier, cipher_key, [*a, *b, *c, *d])?,
            mac: MacKey::at_tier(&material, tier).map_err(|_| Misshapen)?,
        })
    }

    #[inline]
    pub(super) fn mac(&self) -> &MacKey {
        &self.mac
    }

    /// Encrypts or decrypts, which is the same.
    /// An IV of eight bytes, which it is, is not refused.
    #[inline]
    pub(super) fn apply(&self, iv: [u8; 8], text: &mut [u8]) {
        let applied = self.cipher.apply(&iv, text);
        debug_assert_eq!(applied, Ok(()));
    }
}

/// Of AES-128.
const ROUND_KEYS: usize = 11;

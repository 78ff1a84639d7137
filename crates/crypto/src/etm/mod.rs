//! Encrypt-then-MAC suites by the batch: a cipher, and HMAC over what it
//! produced (RFC 4303 section 3.3.2).
//!
//! Packets of one hash function, and for CBC of one key size, flow through
//! lanes that hand them on, so that a packet is hashed soon after it was
//! encrypted, while its bytes are in the nearest cache; and decrypted soon
//! after its tag was found right, not before.
//!
//! ```text
//! seal   longest first ──► CBC lanes ───────────────► HMAC lanes ──► tag
//!                     └──► CTR, 3DES, one by one ──┘
//! open   longest first ──► HMAC lanes ──► tags agree? ──► decrypted, one by one
//!                                                └─ no ─► zeros
//! ```

mod open;
mod seal;
#[cfg(test)]
mod tests;

use weir_simd::Tier;

use crate::digest::Message;
use crate::kernel::Misshapen;
use crate::keys::KeyMaterial;
use crate::mac::HmacKey;
use crate::mode::{CbcCipher, CbcKey, Chained, CtrKey};
use crate::suite::{Cipher, Mac};

pub(crate) use open::{EtmOpenJob, open};
pub(crate) use seal::{EtmSealJob, seal};

/// The expanded keys of a suite. `C` is the direction, as in
/// [`crate::kernel::Kernel`].
pub(crate) struct EtmKey<C> {
    cipher: EtmCipher<C>,
    mac: HmacKey,
}

#[expect(
    clippy::large_enum_variant,
    reason = "lies in the box of its key, next to the states of the MAC"
)]
enum EtmCipher<C> {
    Null,
    Ctr(CtrKey),
    Cbc(C),
}

impl<C: CbcKey> EtmKey<C> {
    pub(crate) fn new(
        material: &KeyMaterial,
        (cipher, mac): (Cipher, Mac),
        tier: Tier,
    ) -> Result<EtmKey<C>, Misshapen> {
        let key = material.cipher_key();
        Ok(EtmKey {
            cipher: match cipher {
                Cipher::Null => EtmCipher::Null,
                Cipher::AesCtr(size) => {
                    EtmCipher::Ctr(CtrKey::new(size, tier, key, material.salt())?)
                }
                Cipher::AesCbc(size) => EtmCipher::Cbc(C::new(CbcCipher::Aes(size), tier, key)?),
                Cipher::TripleDesCbc => EtmCipher::Cbc(C::new(CbcCipher::TripleDes, tier, key)?),
            },
            mac: HmacKey::of_suite(mac, material.integrity_key()),
        })
    }
}

/// A packet among the jobs of a batch, which holds its key for `'k`.
pub(crate) trait EtmJob<'k> {
    /// The key's direction.
    type Direction: 'k;

    /// The packet's key; none where it is of another kind of suite, or refused.
    fn key(&self) -> Option<&'k EtmKey<Self::Direction>>;

    /// What the tag covers: prefix, IV, text, suffix.
    fn parts(&self) -> [&[u8]; 4];

    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]);
}

/// A job in the lanes.
struct InLanes<'j, J>(&'j mut J);

impl<'k, J: EtmJob<'k>> Message for InLanes<'_, J> {
    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        self.0.parts()[index]
    }
}

impl<'k, J: EtmJob<'k>> Chained for InLanes<'_, J> {
    #[inline]
    fn text(&mut self) -> &mut [u8] {
        self.0.iv_and_text().1
    }
}

/// What the tag of `job` covers, in bytes.
fn covered_bytes<'k, J: EtmJob<'k>>(job: &J) -> usize {
    job.parts().iter().map(|part| part.len()).sum()
}

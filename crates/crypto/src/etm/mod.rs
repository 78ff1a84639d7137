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

use crate::digest::{Digest, Message, total_bytes};
use crate::frames;
use crate::kernel::Misshapen;
use crate::keys::KeyMaterial;
use crate::mac::hmac::HmacKey;
use crate::mode::{AesRoundKeys, CbcCipher, CbcKey, Chained, CtrKey};
use crate::suite::{Cipher, Mac};

pub(crate) use open::{EtmOpenJob, open};
pub(crate) use seal::{EtmSealJob, seal};

/// The expanded keys of a suite. `C` is the direction, as in
/// [`crate::kernel::Kernel`].
pub(crate) struct EtmKey<C> {
    /// Keys of one group share lanes.
    group: Group,
    cipher: EtmCipher<C>,
    mac: HmacKey,
}

/// A number below [`GROUPS`]: of the hash function and, where packets chain in
/// lanes, of the kind of key.
type Group = u8;

/// Hash functions, times the kinds of key that have lanes and one that has not.
const GROUPS: usize = Digest::ALL.len() * (AesRoundKeys::KINDS + 1);

enum EtmCipher<C> {
    Null,
    Ctr(Box<CtrKey>),
    Cbc(C),
}

impl<C: CbcKey> EtmKey<C> {
    pub(crate) fn new(
        material: &KeyMaterial,
        (cipher, mac): (Cipher, Mac),
        tier: Tier,
    ) -> Result<EtmKey<C>, Misshapen> {
        let key = material.cipher_key();
        let cipher = || {
            Ok(match cipher {
                Cipher::Null => EtmCipher::Null,
                Cipher::AesCtr(size) => {
                    EtmCipher::Ctr(Box::new(CtrKey::new(size, tier, key, material.salt())?))
                }
                Cipher::AesCbc(size) => EtmCipher::Cbc(C::new(CbcCipher::Aes(size), tier, key)?),
                Cipher::TripleDesCbc => EtmCipher::Cbc(C::new(CbcCipher::TripleDes, tier, key)?),
            })
        };
        // What lies between the fields of the MAC's states is never wiped: none of it may be
        // what the cipher left.
        let cipher = frames::cleared(cipher)?;
        let mac = HmacKey::of_suite(mac, material.integrity_key());
        let lanes = match &cipher {
            EtmCipher::Cbc(key) => key.lanes_kind().map_or(0, |kind| 1 + kind),
            EtmCipher::Null | EtmCipher::Ctr(_) => 0,
        };
        Ok(EtmKey {
            group: lanes * Digest::ALL.len() as u8 + mac.digest() as u8,
            cipher,
            mac,
        })
    }
}

/// A packet among the jobs of a batch, which holds its key for `'k`.
pub(crate) trait EtmJob<'k> {
    /// The key's direction.
    type Direction: 'k;

    /// The packet's key; none where it is of another kind of suite, or refused.
    fn key(&self) -> Option<&'k EtmKey<Self::Direction>>;

    /// A part of what the tag covers: prefix, IV, text, suffix.
    fn part(&self, index: usize) -> &[u8];

    /// All of them.
    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        [self.part(0), self.part(1), self.part(2), self.part(3)]
    }

    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]);
}

/// A job in the lanes.
struct InLanes<'j, J>(&'j mut J);

impl<'k, J: EtmJob<'k>> Message for InLanes<'_, J> {
    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        self.0.parts()
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        self.0.part(index)
    }
}

impl<'k, J: EtmJob<'k>> Chained for InLanes<'_, J> {
    #[inline]
    fn text(&mut self) -> &mut [u8] {
        self.0.iv_and_text().1
    }
}

/// The packets of a batch by group, and how many each has.
struct Groups {
    counts: [usize; GROUPS],
}

impl Groups {
    fn of<'k, J: EtmJob<'k>>(jobs: &[J]) -> Groups {
        let mut counts = [0; GROUPS];
        for key in jobs.iter().filter_map(EtmJob::key) {
            counts[usize::from(key.group)] += 1;
        }
        Groups { counts }
    }

    /// Calls `each` with a group that has packets, one of their keys, and how
    /// many they are.
    fn for_each<'k, J: EtmJob<'k>>(
        &self,
        jobs: &mut [J],
        mut each: impl FnMut(&mut [J], &'k EtmKey<J::Direction>, usize),
    ) {
        for (group, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let mut keys = jobs.iter().filter_map(EtmJob::key);
            if let Some(key) = keys.find(|key| usize::from(key.group) == group) {
                each(jobs, key, count);
            }
        }
    }
}

/// What the tag of `job` covers, in bytes, if it is of that group.
#[inline]
fn bytes_in_group<'k, J: EtmJob<'k>>(job: &J, group: Group) -> Option<u64> {
    let is_ours = job.key().is_some_and(|key| key.group == group);
    is_ours.then(|| total_bytes(job.parts().map(<[u8]>::len)))
}

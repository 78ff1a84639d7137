//! Tags under nonces of the caller's choice.

use std::fmt;

use weir_simd::Tier;

use crate::fault::JobError;
use crate::keys::KeyError;
use crate::mac::{Algorithm, Authenticated, Kinds, MacKey, Material, check, process};

/// A key of a MAC without a counter.
pub struct RawMacKey {
    key: MacKey,
}

/// One message under a nonce of the caller's choice, laid out as in
/// [`crate::mac::TagJob`].
pub struct RawTagJob<'a> {
    /// The message's key.
    pub key: &'a RawMacKey,
    /// The nonce, eight bytes as a big-endian number.
    pub nonce: u64,
    /// As in [`crate::mac::TagJob::parts`].
    pub parts: [&'a [u8]; 4],
    /// As in [`crate::mac::TagJob::tag`].
    pub tag: &'a mut [u8],
}

impl RawMacKey {
    /// Expands `material` with the instructions of `tier`.
    ///
    /// # Errors
    /// [`KeyError::Refused`], which would be a defect of this crate.
    pub fn new(material: &Material, tier: Tier) -> Result<RawMacKey, KeyError> {
        MacKey::at_tier(material, tier).map(|key| RawMacKey { key })
    }

    /// Expands many keys at once, which takes less time for each.
    ///
    /// # Errors
    /// As [`RawMacKey::new`].
    #[cfg(feature = "hazmat")]
    pub fn new_batch(materials: &[Material], tier: Tier) -> Result<Vec<RawMacKey>, KeyError> {
        let keys = MacKey::new_batch_at_tier([], materials, |_| Some(tier))?.into_iter();
        Ok(keys.map(|key| RawMacKey { key }).collect())
    }

    /// The algorithm of this key.
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
    }
}

/// Tags a batch of messages with the kernels of `tier`.
///
/// # Errors
/// The first job with a length that its algorithm does not allow, found before
/// any tag is written.
pub fn tag(tier: Tier, jobs: &mut [RawTagJob<'_>]) -> Result<(), JobError> {
    let mut kinds = Kinds::default();
    for (index, job) in jobs.iter().enumerate() {
        check(&job.key.key, &job.parts, job.tag.len())
            .map_err(|fault| JobError { job: index, fault })?;
        kinds.add(&job.key.key);
    }
    process(|_| tier, kinds, jobs);
    Ok(())
}

impl<'a> Authenticated<'a> for RawTagJob<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        Some(&self.key.key)
    }

    #[inline]
    fn nonce(&self) -> u64 {
        self.nonce
    }

    #[inline]
    fn parts(&self) -> &[&[u8]; 4] {
        &self.parts
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
    }
}

impl fmt::Debug for RawMacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawMacKey")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

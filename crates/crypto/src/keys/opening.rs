//! Keys that verify and decrypt.

use std::fmt;

use weir_simd::Tier;

use crate::engine::{Family, trusted_tier};
use crate::frames;
use crate::job::Lengths;
use crate::kernel::{Kernel, OpenKernel};
use crate::keys::{KeyError, KeyMaterial, KeyPolicy};
use crate::suite::Suite;

/// A key for verification and decryption, expanded once. Wiped when dropped;
/// `Debug` shows no secret.
pub struct OpeningKey {
    suite: Suite,
    /// The suite's, kept at hand: every packet is held against them.
    lengths: Lengths,
    kernel: OpenKernel,
}

impl OpeningKey {
    /// Expands `material`: [`OpeningKey::with_policy`] with
    /// [`KeyPolicy::Precomputed`].
    ///
    /// # Errors
    /// As there.
    pub fn new(material: &KeyMaterial) -> Result<OpeningKey, KeyError> {
        OpeningKey::with_policy(material, KeyPolicy::Precomputed)
    }

    /// Expands `material` as far as `policy` says.
    ///
    /// # Errors
    /// [`KeyError::NoEngine`], or [`KeyError::Refused`], which would be a defect
    /// of this crate.
    pub fn with_policy(material: &KeyMaterial, policy: KeyPolicy) -> Result<OpeningKey, KeyError> {
        let tier = trusted_tier(Family::of(material.suite())).ok_or(KeyError::NoEngine)?;
        OpeningKey::at_tier(material, tier, policy)
    }

    /// As [`OpeningKey::with_policy`], with the instructions of `tier`.
    pub(crate) fn at_tier(
        material: &KeyMaterial,
        tier: Tier,
        policy: KeyPolicy,
    ) -> Result<OpeningKey, KeyError> {
        Ok(OpeningKey {
            suite: material.suite(),
            lengths: Lengths::of(material.suite()),
            kernel: frames::cleared(|| Kernel::new(material, tier, policy))?,
        })
    }

    /// The suite of this key.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    #[inline]
    pub(crate) fn lengths(&self) -> Lengths {
        self.lengths
    }

    #[inline]
    pub(crate) fn kernel(&self) -> &OpenKernel {
        &self.kernel
    }
}

impl fmt::Debug for OpeningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpeningKey")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

//! Keys that verify and decrypt.

use std::fmt;

use weir_simd::Tier;

use super::{KeyError, KeyMaterial, NonceRule};
use crate::engine::{Family, trusted_tier};
use crate::frames;
use crate::kernel::{Kernel, OpenKernel};
use crate::limits::Lengths;
use crate::suite::Suite;

/// A key for verification and decryption, expanded once. Wiped when dropped; `Debug` shows no
/// secret.
pub struct OpeningKey {
    pub(crate) kernel: OpenKernel,
    pub(crate) lengths: Lengths,
    pub(crate) salt: [u8; 4],
    pub(crate) rule: NonceRule,
    suite: Suite,
}

impl OpeningKey {
    /// Expands `material`.
    ///
    /// # Errors
    /// [`KeyError::NoEngine`], or [`KeyError::Refused`], which would be a defect of this crate.
    pub fn new(material: &KeyMaterial) -> Result<OpeningKey, KeyError> {
        let tier = trusted_tier(Family::of(material.suite())).ok_or(KeyError::NoEngine)?;
        OpeningKey::at_tier(material, tier)
    }

    /// The same with the instructions of `tier`.
    pub(crate) fn at_tier(material: &KeyMaterial, tier: Tier) -> Result<OpeningKey, KeyError> {
        Ok(OpeningKey {
            kernel: frames::cleared(|| Kernel::new(material, tier))?,
            lengths: Lengths::of(material.suite(), material.rule()),
            salt: material.salt(),
            rule: *material.rule(),
            suite: material.suite(),
        })
    }

    /// The suite of this key.
    #[inline]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Bytes of the IV that packets under this key carry.
    #[inline]
    pub fn iv_bytes(&self) -> usize {
        usize::from(self.lengths.iv_bytes)
    }
}

impl fmt::Debug for OpeningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpeningKey")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

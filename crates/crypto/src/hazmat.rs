//! Hazardous material: sealing with an IV of the caller's choice.
//!
//! Under one key, an IV used for two texts reveals their difference in a
//! counter mode and lets tags be forged in GCM and ChaCha20-Poly1305; a
//! predictable IV breaks CBC. Only known answers and measurements, whose keys
//! protect nothing, have business here. Packets are sealed by [`crate::seal`].

use std::fmt;

use crate::job::{JobFault, Shape};
use crate::kernel::{Kernel, SealKernel};
use crate::keys::{KeyError, KeyMaterial};
use crate::suite::Suite;

/// A sealing key without a counter.
pub struct RawSealingKey {
    suite: Suite,
    kernel: Box<SealKernel>,
}

impl RawSealingKey {
    /// Expands `material`.
    ///
    /// # Errors
    /// [`KeyError::Refused`], which would be a defect of this crate.
    pub fn new(material: &KeyMaterial) -> Result<RawSealingKey, KeyError> {
        Ok(RawSealingKey {
            suite: material.suite(),
            kernel: Kernel::new(material)?,
        })
    }

    /// Encrypts `text` in place under `iv` and writes `tag`; parts and lengths
    /// are those of [`crate::SealJob`].
    ///
    /// # Errors
    /// A length that is not the suite's, before any byte is written.
    pub fn seal(
        &self,
        prefix: &[u8],
        iv: &[u8],
        text: &mut [u8],
        suffix: &[u8],
        tag: &mut [u8],
    ) -> Result<(), JobFault> {
        let shape = Shape {
            iv_bytes: iv.len(),
            text_bytes: text.len(),
            suffix_bytes: suffix.len(),
            tag_bytes: tag.len(),
        };
        shape.check(self.suite)?;
        Ok(self.kernel.seal(prefix, iv, text, suffix, tag)?)
    }
}

impl fmt::Debug for RawSealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawSealingKey")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

//! Keys that verify and decrypt.

use std::fmt;

use weir_simd::Tier;

use super::{KeyError, KeyMaterial, NonceRule};
use crate::engine::{Family, trusted_tier};
use crate::frames;
use crate::kernel::{Kernel, OpenKernel};
use crate::limits::Lengths;
use crate::suite::{Aead, Suite};

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

    /// A key for packets of AES-GCM that carry the first `tag_bytes` of their tags, 4, 8 or 12: a
    /// packet whose sender has no key is good by chance, one in 2³² with 4 bytes. The protocol
    /// must count tags that were wrong, and take another key before there are many (NIST SP
    /// 800-38D, appendix C). Such packets are opened more slowly than those with whole tags.
    ///
    /// # Errors
    /// [`KeyError::CutTags`], or as [`OpeningKey::new`].
    pub fn with_cut_tags(material: &KeyMaterial, tag_bytes: usize) -> Result<OpeningKey, KeyError> {
        let suite = material.suite();
        let is_gcm = matches!(suite, Suite::Aead(Aead::AesGcm16(_)));
        let mut key = match (is_gcm, tag_bytes) {
            (true, 4 | 8 | 12) => OpeningKey::new(material)?,
            _ => return Err(KeyError::CutTags { suite, tag_bytes }),
        };
        // It is one of three small numbers.
        key.lengths.tag_bytes = tag_bytes as u8;
        Ok(key)
    }

    /// The same as [`OpeningKey::new`] with the instructions of `tier`.
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

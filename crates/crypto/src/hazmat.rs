//! Hazardous material: sealing with IVs of the caller's choice, and single
//! blocks.
//!
//! Under one key, an IV used for two texts reveals their difference in a
//! counter mode and lets tags be forged in GCM and ChaCha20-Poly1305; a
//! predictable IV breaks CBC. Only known answers and measurements, whose keys
//! protect nothing, have business here. Packets are sealed by [`crate::seal`].

#[cfg(feature = "hazmat")]
mod ecb;
pub mod mac;

use std::fmt;

use weir_simd::Tier;

use crate::aead::gcm::{self, GcmJob, Packet};
use crate::aead::{AeadJob, Parts, write_tag};
use crate::cipher::Block;
use crate::etm::{EtmJob, EtmKey, EtmSealJob};
use crate::fault::JobError;
#[cfg(feature = "hazmat")]
use crate::fault::JobFault;
use crate::frames;
use crate::job::{Lengths, Refusable, Shape, seal_together};
use crate::kernel::{Kernel, Kinds, SealKernel};
use crate::keys::{KeyError, KeyMaterial, KeyPolicy};
use crate::mode::CbcEncryptKey;
use crate::suite::Suite;

#[cfg(feature = "hazmat")]
pub use ecb::{EcbJob, EcbKey, ecb_decrypt, ecb_encrypt};

/// A sealing key without a counter.
pub struct RawSealingKey {
    suite: Suite,
    lengths: Lengths,
    kernel: SealKernel,
}

/// One packet under an IV of the caller's choice, laid out as in
/// [`crate::SealJob`].
pub struct RawSealJob<'a> {
    /// The packet's key.
    pub key: &'a RawSealingKey,
    /// As in [`crate::SealJob::prefix`].
    pub prefix: &'a [u8],
    /// Input, [`Suite::iv_bytes`] long.
    pub iv: &'a [u8],
    /// As in [`crate::SealJob::text`].
    pub text: &'a mut [u8],
    /// As in [`crate::SealJob::suffix`].
    pub suffix: &'a [u8],
    /// As in [`crate::SealJob::tag`].
    pub tag: &'a mut [u8],
    /// Output of [`seal`]: whether the packet is encrypted and has its tag. What it
    /// held before the call does not matter.
    pub sealed: bool,
}

/// Encrypts and tags a batch of packets with the kernels of `tier`.
///
/// # Errors
/// The first job with a length that is not its suite's, found before any byte
/// of any job is written. Or [`crate::JobFault::Refused`], as for [`crate::seal`].
pub fn seal(tier: Tier, jobs: &mut [RawSealJob<'_>]) -> Result<(), JobError> {
    let at = |index| move |fault| JobError { job: index, fault };
    for (index, job) in jobs.iter().enumerate() {
        let (lengths, suite) = (job.key.lengths, job.key.suite);
        lengths.check(job.shape(), suite).map_err(at(index))?;
    }
    let mut kinds = Kinds::default();
    for job in &mut *jobs {
        job.sealed = false;
        kinds.add(&job.key.kernel);
    }
    if kinds.prepared {
        frames::cleared(|| jobs.iter_mut().for_each(RawSealJob::begin));
    }
    seal_together(|_| tier, kinds, jobs)?;
    Ok(())
}

impl RawSealingKey {
    /// Expands `material` with the instructions of `tier`, as far as `policy`
    /// says.
    ///
    /// # Errors
    /// [`KeyError::Refused`], which would be a defect of this crate.
    pub fn with_policy(
        material: &KeyMaterial,
        tier: Tier,
        policy: KeyPolicy,
    ) -> Result<RawSealingKey, KeyError> {
        Ok(RawSealingKey {
            suite: material.suite(),
            lengths: Lengths::of(material.suite()),
            kernel: frames::cleared(|| Kernel::new(material, tier, policy))?,
        })
    }
}

#[cfg(feature = "hazmat")]
impl RawSealingKey {
    /// Expands `material`: [`RawSealingKey::with_policy`] with
    /// [`KeyPolicy::Precomputed`].
    ///
    /// # Errors
    /// As there.
    pub fn new(material: &KeyMaterial) -> Result<RawSealingKey, KeyError> {
        RawSealingKey::with_policy(material, weir_simd::tier(), KeyPolicy::Precomputed)
    }

    /// Encrypts `text` in place under `iv` and writes `tag`; parts and lengths
    /// are those of [`RawSealJob`].
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
        let job = RawSealJob {
            key: self,
            prefix,
            iv,
            text,
            suffix,
            tag,
            sealed: false,
        };
        seal(weir_simd::tier(), &mut [job]).map_err(|error| error.fault)
    }
}

impl RawSealJob<'_> {
    fn shape(&self) -> Shape {
        Shape {
            prefix_bytes: self.prefix.len(),
            iv_bytes: self.iv.len(),
            text_bytes: self.text.len(),
            suffix_bytes: self.suffix.len(),
            tag_bytes: self.tag.len(),
        }
    }

    /// Seals the packet unless it is of a kind that follows together.
    fn begin(&mut self) {
        let kernel = &self.key.kernel;
        self.sealed = kernel.seal_alone(self.prefix, self.iv, self.text, self.tag);
    }
}

impl Refusable for RawSealJob<'_> {
    fn is_sealed(&self) -> bool {
        self.sealed
    }

    fn clear(&mut self) {
        self.text.fill(0);
        self.tag.fill(0);
    }
}

impl GcmJob for RawSealJob<'_> {
    const OPEN: bool = false;

    #[inline]
    fn begin(&mut self) -> Option<Packet<'_>> {
        let Kernel::Gcm(key) = &self.key.kernel else {
            return None;
        };
        Some(Packet {
            key: key.view(),
            nonce: key.nonce(*self.iv.first_chunk()?),
            associated: self.prefix,
            text: gcm::cells(self.text),
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        if let Some(place) = self.tag.first_chunk_mut() {
            *place = *tag;
            self.sealed = true;
        }
    }
}

impl AeadJob for RawSealJob<'_> {
    const OPEN: bool = false;

    #[inline]
    fn packet(&mut self) -> Option<Parts<'_>> {
        Some(Parts {
            key: self.key.kernel.aead()?,
            iv: *self.iv.first_chunk()?,
            associated: self.prefix,
            text: self.text,
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        write_tag(self.tag, tag);
        self.sealed = true;
    }
}

impl<'a> EtmJob<'a> for RawSealJob<'a> {
    type Direction = CbcEncryptKey;

    #[inline]
    fn key(&self) -> Option<&'a EtmKey<CbcEncryptKey>> {
        match &self.key.kernel {
            Kernel::Etm(key) => Some(key),
            _ => None,
        }
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        match index {
            0 => self.prefix,
            1 => self.iv,
            2 => self.text,
            _ => self.suffix,
        }
    }

    #[inline]
    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]) {
        (self.iv, self.text)
    }
}

impl<'a> EtmSealJob<'a> for RawSealJob<'a> {
    #[inline]
    fn finish(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
        self.sealed = true;
    }
}

impl fmt::Debug for RawSealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawSealingKey")
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

//! Keys that encrypt and tag.

use std::fmt;
use std::ops::RangeBounds;

use weir_simd::Tier;

use super::{Contexts, KeyError, KeyMaterial, NonceRule, Numbers};
use crate::batch::Refusal;
use crate::engine::{Family, trusted_tier};
use crate::frames;
use crate::kernel::{Kernel, SealKernel};
use crate::limits::Lengths;
use crate::mode::CbcIvSource;
use crate::suite::Suite;

/// Where the unpredictable IVs of CBC come from. Other modes count and take nothing from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IvSource {
    /// A random key, drawn from the operating system, which the keys of a sealer share.
    Random,
    /// A key derived from the cipher's: the same numbers give the same IVs in every run, so
    /// that outputs can be compared in tests and examples. A run that repeats a number with
    /// another payload shows an observer where the two payloads begin alike.
    RepeatableInsecure,
}

/// A key for encryption, expanded once. It owns the numbers that its nonces are made from, is
/// neither `Clone` nor serializable, and is wiped when dropped; `Debug` shows no secret.
// What every packet needs lies in the first cache line.
#[repr(C, align(64))]
pub struct SealingKey {
    pub(crate) kernel: SealKernel,
    /// Numbers of keys that count in several contexts.
    contexts: Option<Box<Contexts>>,
    pub(crate) lengths: Lengths,
    pub(crate) salt: [u8; 4],
    numbers: Numbers,
    pub(crate) rule: NonceRule,
    /// Of CBC.
    pub(crate) ivs: Option<CbcIvSource>,
    suite: Suite,
}

impl SealingKey {
    /// Expands `material` for packets with `numbers`, none of which was ever used under this
    /// key: `0..` for a key that lives no longer than the process, a range that was written
    /// down before for one that is kept. A key's limit of packets ([`crate::Limits::packets`])
    /// is one on its numbers, wherever they start: those below are packets of the same key.
    ///
    /// # Errors
    /// [`KeyError::Entropy`] where CBC's IVs need a random key and the operating system gave no
    /// random bytes; [`KeyError::NoEngine`].
    pub fn new(
        material: KeyMaterial,
        numbers: impl RangeBounds<u64>,
    ) -> Result<SealingKey, KeyError> {
        SealingKey::with_ivs(material, numbers, IvSource::Random)
    }

    /// The same with a source of CBC's IVs.
    ///
    /// # Errors
    /// As there.
    pub fn with_ivs(
        material: KeyMaterial,
        numbers: impl RangeBounds<u64>,
        ivs: IvSource,
    ) -> Result<SealingKey, KeyError> {
        let tier = trusted_tier(Family::of(material.suite())).ok_or(KeyError::NoEngine)?;
        SealingKey::at_tier(&material, numbers, ivs, tier)
    }

    /// Expands many keys at once, each for packets with `numbers`; those of UMAC take less
    /// time so, in lanes.
    ///
    /// # Errors
    /// As [`SealingKey::new`].
    pub fn new_batch(
        materials: Vec<KeyMaterial>,
        numbers: impl RangeBounds<u64> + Clone,
    ) -> Result<Vec<SealingKey>, KeyError> {
        let mut keys = Vec::with_capacity(materials.len());
        for alike in materials.chunk_by(|a, b| a.suite() == b.suite()) {
            let suite = alike[0].suite();
            let tier = trusted_tier(Family::of(suite)).ok_or(KeyError::NoEngine)?;
            let kernels = frames::cleared(|| Kernel::new_batch(alike, tier))?;
            for (material, kernel) in alike.iter().zip(kernels) {
                let (numbers, ivs) = (numbers.clone(), IvSource::Random);
                keys.push(SealingKey::of(material, kernel, numbers, ivs, tier)?);
            }
        }
        Ok(keys)
    }

    /// Expands `material` with the instructions of `tier`.
    pub(crate) fn at_tier(
        material: &KeyMaterial,
        numbers: impl RangeBounds<u64>,
        ivs: IvSource,
        tier: Tier,
    ) -> Result<SealingKey, KeyError> {
        let kernel = frames::cleared(|| Kernel::new(material, tier))?;
        SealingKey::of(material, kernel, numbers, ivs, tier)
    }

    fn of(
        material: &KeyMaterial,
        kernel: SealKernel,
        numbers: impl RangeBounds<u64>,
        ivs: IvSource,
        tier: Tier,
    ) -> Result<SealingKey, KeyError> {
        let suite = material.suite();
        Ok(SealingKey {
            kernel,
            numbers: Numbers::new(numbers, max_packets(suite, material.rule())),
            lengths: Lengths::of(suite, material.rule()),
            salt: material.salt(),
            rule: *material.rule(),
            contexts: None,
            ivs: match suite.has_random_iv() {
                true => Some(CbcIvSource::new(ivs, material.cipher_key(), tier)?),
                false => None,
            },
            suite,
        })
    }

    /// Declares a context with numbers of its own, which were never used in it: in SRTP an
    /// SSRC, in multipath QUIC a path. From then on the key counts in declared contexts only,
    /// of which it has at most [`MAX_CONTEXTS`](crate::MAX_CONTEXTS). An opening key takes every
    /// context.
    ///
    /// # Errors
    /// [`KeyError::NoContexts`] where the key's nonces hold none,
    /// [`KeyError::TooManyContexts`], [`KeyError::ContextExists`].
    pub fn add_context(
        &mut self,
        context: u32,
        numbers: impl RangeBounds<u64>,
    ) -> Result<(), KeyError> {
        if !matches!(self.rule, NonceRule::Xor(_) | NonceRule::Srtp(_)) {
            return Err(KeyError::NoContexts);
        }
        let numbers = Numbers::new(numbers, max_packets(self.suite, &self.rule));
        let contexts = self.contexts.get_or_insert_default();
        contexts.add(context, numbers)
    }

    /// Lets numbers below `end` be used. The caller has made sure that they will never be used
    /// again, also after a crash: for a key that is kept, by writing `end` to a state file and
    /// syncing it. Numbers once reserved stay reserved.
    pub fn allow_until(&mut self, end: u64) {
        self.numbers.allow_until(end);
    }

    /// Takes IVs that are random from `shared` instead, whose key is at hand for other keys too.
    pub(crate) fn share_ivs(&mut self, shared: &mut Option<CbcIvSource>) {
        if let Some(ivs) = self.ivs.as_mut().filter(|ivs| ivs.is_random()) {
            *ivs = shared.get_or_insert_with(|| ivs.another()).another();
        }
    }

    /// The number that the next packet gets; of keys with contexts, this is not kept.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.numbers.next()
    }

    /// How many more packets the reservation holds; of keys with contexts, this is not kept.
    #[inline]
    pub fn reserved(&self) -> u64 {
        self.numbers.left()
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

    /// The numbers of `context`.
    #[inline]
    pub(crate) fn numbers_mut(&mut self, context: u32) -> Result<&mut Numbers, Refusal> {
        let numbers = match &mut self.contexts {
            None if context == 0 => Some(&mut self.numbers),
            None => None,
            Some(contexts) => contexts.get_mut(context),
        };
        numbers.ok_or(Refusal::NoContext { context })
    }
}

/// What one key may protect under a rule.
fn max_packets(suite: Suite, rule: &NonceRule) -> u64 {
    suite.limits().packets.most.min(rule.end())
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("suite", &self.suite)
            .field("numbers", &self.numbers)
            .finish_non_exhaustive()
    }
}

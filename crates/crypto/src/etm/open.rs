//! Tags compared, and what is authentic decrypted.

use subtle::ConstantTimeEq;
use weir_simd::Tier;
use zeroize::Zeroizing;

use super::{EtmCipher, EtmJob, EtmKey, Groups, InLanes, bytes_in_group};
use crate::digest::longest_first;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::Misshapen;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadStates, PadWord, Pads};
use crate::mode::CbcDecryptKey;
use crate::verdict::publish;

/// A packet to open.
pub(crate) trait EtmOpenJob<'k>: EtmJob<'k, Direction = CbcDecryptKey> {
    /// The tag as received.
    fn tag(&self) -> &[u8];

    /// Called once with whether the packet is authentic and its text decrypted. A
    /// packet for which this is not called is not authentic.
    fn conclude(&mut self, verified: bool);
}

type Key = EtmKey<CbcDecryptKey>;

/// Opens the encrypt-then-MAC packets among `jobs` with the kernels of `tier`.
pub(crate) fn open<'k, J: EtmOpenJob<'k>>(tier: Tier, jobs: &mut [J]) {
    Groups::of(jobs).for_each(jobs, |jobs, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.pads() {
            Pads::Narrow(pads) => open_group(tier, key, pads, jobs, count),
            Pads::Wide(pads) => open_group(tier, key, pads, jobs, count),
        }
    });
}

impl Key {
    /// Decrypts one packet.
    fn decrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen> {
        match &self.cipher {
            EtmCipher::Null => Ok(()),
            EtmCipher::Ctr(key) => key.apply(iv, text),
            EtmCipher::Cbc(key) => key.decrypt(iv, text),
        }
    }
}

/// Opens the packets of the same group as `like`, so many, whose MAC's states
/// are such as `pads`.
fn open_group<'k, W: PadWord, J: EtmOpenJob<'k>>(
    tier: Tier,
    like: &Key,
    pads: &PadStates<W>,
    jobs: &mut [J],
    count: usize,
) {
    let of = pads.of;
    let bytes = |job: &J| bytes_in_group(job, like.group);

    let mut room = HmacRoom::new(pads);
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut expected = Zeroizing::new([0; MOST_TAG_BYTES]);
    let mut tagged = |packet: InLanes<'_, J>, state| {
        let job = packet.0;
        let agrees = expected.get_mut(..job.tag().len()).is_some_and(|expected| {
            of.write(&state, expected);
            publish(expected.ct_eq(job.tag()).into())
        });
        let is_open = agrees && decrypt(job).is_ok();
        job.conclude(is_open);
    };
    frames::cleared(|| {
        longest_first(jobs, bytes, |_, job| {
            if let Some(pads) = job.key().and_then(|key| W::pads(&key.mac))
                && !happens(Impossible::NoPads)
            {
                hmac.submit(InLanes(job), pads, &mut tagged);
            }
        });
        hmac.finish(&mut tagged);
    });
}

/// Decrypts a packet by itself.
fn decrypt<'k, J: EtmOpenJob<'k>>(job: &mut J) -> Result<(), Misshapen> {
    let key = job.key().ok_or(Misshapen)?;
    if happens(Impossible::CipherRefuses) {
        return Err(Misshapen);
    }
    let (iv, text) = job.iv_and_text();
    key.decrypt(iv, text)
}

/// Bytes of the longest tag before it is cut.
const MOST_TAG_BYTES: usize = 64;

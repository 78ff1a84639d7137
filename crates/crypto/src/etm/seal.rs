//! Encryption, then a tag.

use weir_simd::Tier;

use super::{EtmCipher, EtmJob, EtmKey, Groups, InLanes, bytes_in_group};
use crate::digest::longest_first;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::Misshapen;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadStates, PadWord, Pads};
use crate::mode::{AesRoundKeys, CbcEncryptKey, CbcLanes, CbcRoom};

/// A packet to seal.
pub(crate) trait EtmSealJob<'k>: EtmJob<'k, Direction = CbcEncryptKey> {
    /// The packet is encrypted and takes its tag: `write` fills as many bytes as the
    /// suite sends.
    fn finish(&mut self, write: impl FnOnce(&mut [u8]));
}

type Key = EtmKey<CbcEncryptKey>;

/// Seals the encrypt-then-MAC packets among `jobs` with the kernels of `tier`. Packets
/// that their cipher refuses get no tag.
pub(crate) fn seal<'k, J: EtmSealJob<'k>>(tier: Tier, jobs: &mut [J]) {
    Groups::of(jobs).for_each(jobs, |jobs, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.pads() {
            Pads::Narrow(pads) => seal_group(tier, key, pads, jobs, count),
            Pads::Wide(pads) => seal_group(tier, key, pads, jobs, count),
        }
    });
}

impl Key {
    /// Encrypts one packet.
    fn encrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), Misshapen> {
        match &self.cipher {
            EtmCipher::Null => Ok(()),
            EtmCipher::Ctr(key) => key.apply(iv, text),
            EtmCipher::Cbc(key) => key.encrypt(iv, text),
        }
    }

    fn round_keys(&self) -> Option<&AesRoundKeys> {
        match &self.cipher {
            EtmCipher::Cbc(CbcEncryptKey::AesLanes(keys)) => Some(keys),
            EtmCipher::Null | EtmCipher::Ctr(_) | EtmCipher::Cbc(_) => None,
        }
    }
}

/// Seals the packets of the same group as `like`, so many, whose MAC's states
/// are such as `pads`.
fn seal_group<'j, 'k, W: PadWord, J: EtmSealJob<'k>>(
    tier: Tier,
    like: &Key,
    pads: &PadStates<W>,
    jobs: &'j mut [J],
    count: usize,
) {
    let of = pads.of;
    let bytes = |job: &J| bytes_in_group(job, like.group);

    let mut room = HmacRoom::new(pads);
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut cbc_room = like.round_keys().map(|like| (like, CbcRoom::new(like)));
    frames::cleared(|| {
        let mut tagged = |packet: InLanes<'_, J>, state| {
            packet.0.finish(|tag| of.write(&state, tag));
        };
        let mut encrypted = |packet: InLanes<'j, J>| {
            if let Some(pads) = packet.0.key().and_then(|key| W::pads(&key.mac))
                && !happens(Impossible::NoPads)
            {
                hmac.submit(packet, pads, &mut tagged);
            }
        };
        if let Some((like, room)) = &mut cbc_room {
            let mut cbc = CbcLanes::new(like, room);
            longest_first(jobs, bytes, |_, job| {
                let iv = job.parts()[1].try_into().ok();
                let keys = job.key().and_then(Key::round_keys);
                if let (Some(iv), Some(keys)) = (iv, keys)
                    && !happens(Impossible::NoKey)
                {
                    cbc.submit(InLanes(job), keys, &iv, &mut encrypted);
                }
            });
            cbc.finish(&mut encrypted);
        } else {
            longest_first(jobs, bytes, |_, job| {
                if encrypt(job).is_ok() {
                    encrypted(InLanes(job));
                }
            });
        }
        hmac.finish(&mut tagged);
    });
}

/// Encrypts a packet by itself.
fn encrypt<'k, J: EtmSealJob<'k>>(job: &mut J) -> Result<(), Misshapen> {
    let key = job.key().ok_or(Misshapen)?;
    if happens(Impossible::CipherRefuses) {
        return Err(Misshapen);
    }
    let (iv, text) = job.iv_and_text();
    key.encrypt(iv, text)
}

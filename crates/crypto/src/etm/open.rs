//! Tags compared, and what is authentic decrypted.

use subtle::ConstantTimeEq;
use weir_simd::Tier;
use zeroize::Zeroizing;

use super::{EtmCipher, EtmJob, EtmKey, InLanes, covered_bytes};
use crate::digest::{Digest, longest_first};
use crate::kernel::Misshapen;
use crate::mac::{HmacLanes, HmacRoom, PadStates, PadWord, Pads};
use crate::mode::CbcDecryptKey;

/// A packet to open.
pub(crate) trait EtmOpenJob<'k>: EtmJob<'k, Direction = CbcDecryptKey> {
    /// The tag as received.
    fn tag(&self) -> &[u8];

    /// Told once whether the packet is authentic, when its text is decrypted
    /// if it is; to clear the text if it is not.
    fn conclude(&mut self, verified: bool);
}

type Key = EtmKey<CbcDecryptKey>;

/// Opens the encrypt-then-MAC packets among `jobs` with the kernels of `tier`.
pub(crate) fn open<'k, J: EtmOpenJob<'k>>(tier: Tier, jobs: &mut [J]) {
    for digest in Digest::ALL {
        let keys = || jobs.iter().filter_map(EtmJob::key);
        match keys().find(|key| key.mac.digest() == digest) {
            None => {}
            Some(key) => match key.mac.pads() {
                Pads::Narrow(pads) => open_group(tier, digest, pads, jobs),
                Pads::Wide(pads) => open_group(tier, digest, pads, jobs),
            },
        }
    }
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

/// Opens the packets whose MAC is by `digest`, whose states are such as `like`.
fn open_group<'k, W: PadWord, J: EtmOpenJob<'k>>(
    tier: Tier,
    digest: Digest,
    like: &PadStates<W>,
    jobs: &mut [J],
) {
    let of = like.of;
    let is_ours = |job: &J| job.key().is_some_and(|key| key.mac.digest() == digest);
    let bytes = |job: &J| is_ours(job).then(|| covered_bytes(job));
    let count = jobs.iter().filter(|job| is_ours(job)).count();

    let mut room = HmacRoom::new(like);
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut expected = Zeroizing::new([0; MOST_TAG_BYTES]);
    let mut tagged = |packet: InLanes<'_, J>, state| {
        let job = packet.0;
        let agrees = expected.get_mut(..job.tag().len()).is_some_and(|expected| {
            of.write(&state, expected);
            expected.ct_eq(job.tag()).into()
        });
        let is_open = agrees && decrypt(job).is_ok();
        job.conclude(is_open);
    };
    longest_first(jobs, bytes, |_, job| {
        if let Some(pads) = job.key().and_then(|key| W::pads(&key.mac)) {
            hmac.submit(InLanes(job), pads, &mut tagged);
        }
    });
    hmac.finish(&mut tagged);
}

/// Decrypts a packet by itself.
fn decrypt<'k, J: EtmOpenJob<'k>>(job: &mut J) -> Result<(), Misshapen> {
    let key = job.key().ok_or(Misshapen)?;
    let (iv, text) = job.iv_and_text();
    key.decrypt(iv, text)
}

/// Bytes of the longest tag before it is cut.
const MOST_TAG_BYTES: usize = 64;

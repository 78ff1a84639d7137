//! Tags compared, and what is authentic decrypted.

use subtle::ConstantTimeEq;
use weir_simd::Tier;
use zeroize::Zeroizing;

use super::{EtmCipher, EtmKey, EtmPacket, Groups, bytes_in_group};
use crate::digest::longest_first;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::InvalidLength;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadStates, PadWord, Pads};
use crate::mode::CbcDecryptKey;
use crate::verdict::publish;

type Key = EtmKey<CbcDecryptKey>;
type Packet<'a> = EtmPacket<'a, CbcDecryptKey>;

/// Opens packets with the kernels of `tier`.
pub(crate) fn open(tier: Tier, packets: &mut [Packet<'_>]) {
    Groups::of(packets).for_each(packets, |packets, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.pads() {
            Pads::Narrow(pads) => open_group(tier, key, pads, packets, count),
            Pads::Wide(pads) => open_group(tier, key, pads, packets, count),
        }
    });
}

impl Key {
    /// Decrypts one packet.
    fn decrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        match &self.cipher {
            EtmCipher::Null => Ok(()),
            EtmCipher::Ctr(key) => key.apply(iv, text),
            EtmCipher::Cbc(key) => key.decrypt(iv, text),
        }
    }
}

/// Opens the packets of the same group as `like`, `count` of them, whose MAC's states
/// are such as `pads`.
fn open_group<W: PadWord>(
    tier: Tier,
    like: &Key,
    pads: &PadStates<W>,
    packets: &mut [Packet<'_>],
    count: usize,
) {
    let of = pads.of;
    let bytes = |packet: &Packet<'_>| bytes_in_group(packet, like.group);

    let mut room = HmacRoom::new(pads);
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut expected = Zeroizing::new([0; MOST_TAG_BYTES]);
    let mut tagged = |packet: &mut Packet<'_>, state| {
        let agrees = expected
            .get_mut(..packet.tag.len())
            .is_some_and(|expected| {
                of.write(&state, expected);
                publish(expected.ct_eq(packet.tag).into())
            });
        packet.is_good = agrees && decrypt(packet).is_ok();
    };
    frames::cleared(|| {
        longest_first(packets, bytes, |_, packet| {
            if let Some(pads) = W::pads(&packet.key.mac)
                && !happens(Impossible::NoPads)
            {
                hmac.submit(packet, pads, &mut tagged);
            }
        });
        hmac.finish(&mut tagged);
    });
}

/// Decrypts a packet by itself.
fn decrypt(packet: &mut Packet<'_>) -> Result<(), InvalidLength> {
    if happens(Impossible::CipherRefuses) {
        return Err(InvalidLength);
    }
    packet.key.decrypt(packet.iv, packet.payload)
}

/// Bytes of the longest tag before it is cut.
const MOST_TAG_BYTES: usize = 64;

//! Encryption, then a tag.

use weir_simd::Tier;

use super::{EtmCipher, EtmKey, EtmPacket, Groups, bytes_in_group};
use crate::digest::longest_first;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::InvalidLength;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadStates, PadWord, Pads};
use crate::mode::{AesRoundKeys, CbcEncryptKey, CbcLanes, CbcRoom};

type Key = EtmKey<CbcEncryptKey>;
type Packet<'a> = EtmPacket<'a, CbcEncryptKey>;

/// Seals packets with the kernels of `tier`. Packets that their cipher refuses get no tag.
pub(crate) fn seal(tier: Tier, packets: &mut [Packet<'_>]) {
    Groups::of(packets).for_each(packets, |packets, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.pads() {
            Pads::Narrow(pads) => seal_group(tier, key, pads, packets, count),
            Pads::Wide(pads) => seal_group(tier, key, pads, packets, count),
        }
    });
}

impl Key {
    /// Encrypts one packet.
    fn encrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
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

/// Seals the packets of the same group as `like`, `count` of them, whose MAC's states
/// are such as `pads`.
fn seal_group<'p, 'a, W: PadWord>(
    tier: Tier,
    like: &Key,
    pads: &PadStates<W>,
    packets: &'p mut [Packet<'a>],
    count: usize,
) {
    let of = pads.of;
    let bytes = |packet: &Packet<'_>| bytes_in_group(packet, like.group);

    let mut room = HmacRoom::new(pads);
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut cbc_room = like.round_keys().map(|like| (like, CbcRoom::new(like)));
    frames::cleared(|| {
        let mut tagged = |packet: &mut Packet<'_>, state| {
            of.write(&state, packet.tag);
            packet.is_good = true;
        };
        let mut encrypted = |packet: &'p mut Packet<'a>| {
            if let Some(pads) = W::pads(&packet.key.mac)
                && !happens(Impossible::NoPads)
            {
                hmac.submit(packet, pads, &mut tagged);
            }
        };
        if let Some((like, room)) = &mut cbc_room {
            let mut cbc = CbcLanes::new(like, room);
            longest_first(packets, bytes, |_, packet| {
                let iv = packet.iv.try_into().ok();
                if let (Some(iv), Some(keys)) = (iv, packet.key.round_keys())
                    && !happens(Impossible::NoKey)
                {
                    cbc.submit(packet, keys, &iv, &mut encrypted);
                }
            });
            cbc.finish(&mut encrypted);
        } else {
            longest_first(packets, bytes, |_, packet| {
                if encrypt(packet).is_ok() {
                    encrypted(packet);
                }
            });
        }
        hmac.finish(&mut tagged);
    });
}

/// Encrypts a packet by itself.
fn encrypt(packet: &mut Packet<'_>) -> Result<(), InvalidLength> {
    if happens(Impossible::CipherRefuses) {
        return Err(InvalidLength);
    }
    packet.key.encrypt(packet.iv, packet.payload)
}

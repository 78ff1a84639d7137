//! Encryption, then a tag.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::key::EtmCipher;
use super::{EtmKey, EtmPacket, Groups, in_order};
use crate::digest::{Compression, Initial};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::InvalidLength;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadWord};
use crate::mode::{self, CbcEncryptKey, CbcLanes, CbcRoom, CtrText};

type Key = EtmKey<CbcEncryptKey>;
type Packet<'a> = EtmPacket<'a, CbcEncryptKey>;

/// Packets that CTR encrypts before they are hashed: as many as the widest kernel hashes side by
/// side.
const TOGETHER: usize = 16;

/// Seals packets with the kernels of `tier`. Packets that their cipher refuses get no tag.
pub(crate) fn seal(tier: Tier, packets: &mut [Packet<'_>]) {
    let groups = Groups::of(packets);
    groups.for_each(packets, |packets, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.digest().initial() {
            Initial::Narrow(of, _) => seal_group(of, tier, key, packets, (groups.are_alike, count)),
            Initial::Wide(of, _) => seal_group(of, tier, key, packets, (groups.are_alike, count)),
        }
    });
}

/// Seals the packets of the same group as `like`, `count` of them, whose MAC is made of `of`.
fn seal_group<'p, 'a, W: PadWord>(
    of: &'static Compression<W>,
    tier: Tier,
    like: &'a Key,
    packets: &'p mut [Packet<'a>],
    (are_alike, count): (bool, usize),
) {
    let group = like.group;
    let mut room = HmacRoom::new(of, like.mac.digest().bytes());
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut cbc_room = like.cbc_keys().map(|like| (like, CbcRoom::new(like)));
    frames::cleared(|| {
        let mut tagged = |packet: &mut Packet<'_>, state| {
            of.write(&state, packet.tag_mut());
            packet.is_good = true;
        };
        let mut encrypted = |packet: &'p mut Packet<'a>| {
            if packet.key.is_there && !happens(Impossible::NoPads) {
                let pads = W::pads(&packet.key.mac);
                hmac.submit(packet, pads, &mut tagged);
            }
        };
        if let Some((like, room)) = &mut cbc_room {
            let mut cbc = CbcLanes::new(like, room);
            in_order(are_alike, group, packets, |packet| {
                let iv = packet.iv().try_into().ok();
                if let (Some(iv), Some(keys)) = (iv, packet.key.cbc_keys())
                    && !happens(Impossible::NoKey)
                {
                    cbc.submit(packet, keys, &iv, &mut encrypted);
                }
            });
            cbc.finish(&mut encrypted);
        } else if like.cipher == EtmCipher::Ctr {
            let mut together = ArrayVec::<&'p mut Packet<'a>, TOGETHER>::new();
            in_order(are_alike, group, packets, |packet| {
                together.push(packet);
                if together.is_full() {
                    encrypt_together(&mut together, &mut encrypted);
                }
            });
            encrypt_together(&mut together, &mut encrypted);
        } else {
            in_order(are_alike, group, packets, |packet| {
                if encrypt(packet).is_ok() {
                    encrypted(packet);
                }
            });
        }
        hmac.finish(&mut tagged);
    });
}

/// Encrypts packets by CTR and hands them on.
fn encrypt_together<'p, 'a>(
    packets: &mut ArrayVec<&'p mut Packet<'a>, TOGETHER>,
    encrypted: &mut impl FnMut(&'p mut Packet<'a>),
) {
    let mut are_encrypted = [false; TOGETHER];
    let mut texts = ArrayVec::<CtrText<'_>, TOGETHER>::new();
    for (packet, is_encrypted) in packets.iter_mut().zip(&mut are_encrypted) {
        let key = packet.key;
        let (iv, payload) = packet.iv_and_payload();
        if let Ok(text) = CtrText::new(&key.round_keys, key.salt, iv, payload) {
            texts.push(text);
            *is_encrypted = true;
        }
    }
    mode::apply_each(&mut texts);
    drop(texts);
    for (packet, is_encrypted) in packets.drain(..).zip(are_encrypted) {
        if is_encrypted {
            encrypted(packet);
        }
    }
}

/// Encrypts a packet by itself.
fn encrypt(packet: &mut Packet<'_>) -> Result<(), InvalidLength> {
    if happens(Impossible::CipherRefuses) {
        return Err(InvalidLength);
    }
    let key = packet.key;
    let (iv, payload) = packet.iv_and_payload();
    match (&key.cipher, &key.other) {
        (EtmCipher::Null, _) => Ok(()),
        (EtmCipher::Other, Some(key)) => key.encrypt(iv, payload),
        _ => Err(InvalidLength),
    }
}

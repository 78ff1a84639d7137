//! Tags compared, and what is authentic decrypted.

use weir_simd::Tier;
use zeroize::Zeroizing;

use super::key::EtmCipher;
use super::{EtmKey, EtmPacket, Groups, in_order};
use crate::digest::{Compression, Initial};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::InvalidLength;
use crate::mac::hmac::{HmacLanes, HmacRoom, PadWord};
use crate::mode::{self, CbcDecryptKey, CtrText};
use crate::verdict::tags_agree;

type Key = EtmKey<CbcDecryptKey>;
type Packet<'a> = EtmPacket<'a, CbcDecryptKey>;

/// Opens packets with the kernels of `tier`.
pub(crate) fn open(tier: Tier, packets: &mut [Packet<'_>]) {
    let groups = Groups::of(packets);
    groups.for_each(packets, |packets, key, count| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        match key.mac.digest().initial() {
            Initial::Narrow(of, _) => open_group(of, tier, key, packets, (groups.are_alike, count)),
            Initial::Wide(of, _) => open_group(of, tier, key, packets, (groups.are_alike, count)),
        }
    });
}

/// Opens the packets of the same group as `like`, `count` of them, whose MAC is made of `of`.
fn open_group<W: PadWord>(
    of: &'static Compression<W>,
    tier: Tier,
    like: &Key,
    packets: &mut [Packet<'_>],
    (are_alike, count): (bool, usize),
) {
    let mut room = HmacRoom::new(of, like.mac.digest().bytes());
    let mut hmac = HmacLanes::new(of, tier, count, &mut room);
    let mut expected = Zeroizing::new([0; MOST_TAG_BYTES]);
    let mut tagged = |packet: &mut Packet<'_>, state| {
        let agrees = expected
            .get_mut(..packet.tag().len())
            .is_some_and(|expected| {
                of.write(&state, expected);
                tags_agree(packet.tag(), expected)
            });
        packet.is_good = agrees && decrypt(packet).is_ok();
    };
    frames::cleared(|| {
        in_order(are_alike, like.group, packets, |packet| {
            if packet.key.is_there && !happens(Impossible::NoPads) {
                let pads = W::pads(&packet.key.mac);
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
    let key = packet.key;
    let (iv, payload) = packet.iv_and_payload();
    match (&key.cipher, &key.other) {
        (EtmCipher::Null, _) => Ok(()),
        (EtmCipher::Ctr, _) => {
            let text = CtrText::new(&key.round_keys, key.salt, iv, payload)?;
            mode::apply_each(&mut [text]);
            Ok(())
        }
        (EtmCipher::Cbc, _) => mode::decrypt_blocks(&key.round_keys, iv, payload),
        (EtmCipher::Other, Some(key)) => key.decrypt(iv, payload),
        (EtmCipher::Other, None) => Err(InvalidLength),
    }
}

/// Bytes of the longest tag before it is cut.
const MOST_TAG_BYTES: usize = 64;

//! A batch of messages, each with its own key, tagged or verified in one call; those of suites
//! with a cipher are encrypted before that or decrypted behind it.
//!
//! Messages are read where they lie. They are taken eight at a time: as many as are hashed side
//! by side, few enough that their bytes are in the nearest cache when a cipher has passed.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::keys::{Expanded, MacKey};
use super::message::{LANES, Message};
use super::{mmh, umac};
use crate::aead::gcm::gmac;
use crate::batch::{Place, Verdicts};
use crate::cipher::Block;
use crate::engine::Family;
use crate::impossible::{Impossible, happens};
use crate::mac::algorithm::{Algorithm, TagWords};
use crate::mode::{self, CtrKey, CtrText};
use crate::suite::AesKeySize;
use crate::tags::Tags;
use crate::verdict::tags_agree;

/// The packets of a batch, in columns; some may be of other kinds.
pub(crate) struct MacPackets<'a> {
    pub(crate) buffer: &'a mut [u8],
    /// The message is the AAD, the IV and the payload.
    pub(crate) places: &'a [Place],
    /// Of each, the last 8 of 12 bytes count: the number that is the MAC's nonce.
    pub(crate) nonces: &'a [Block],
    /// Packets with extended sequence numbers, and what is authenticated in place of their AAD.
    pub(crate) is_esn: &'a [bool],
    pub(crate) esn: &'a [[u8; 12]],
    /// Whether any key has a cipher.
    pub(crate) has_ciphers: bool,
    /// `None` for packets of other kinds.
    pub(crate) keys: &'a [Option<MacPacketKey<'a>>],
    /// Whether packets are opened, not sealed.
    pub(crate) open: bool,
}

/// The key of a packet.
#[derive(Clone, Copy)]
pub(crate) struct MacPacketKey<'a> {
    pub(crate) mac: &'a MacKey,
    /// Encrypts the payload.
    pub(crate) cipher: Option<&'a CtrKey>,
}

impl MacPackets<'_> {
    /// The bytes of the MAC's nonce.
    #[inline(always)]
    fn iv(&self, index: usize) -> [u8; 8] {
        std::array::from_fn(|at| self.nonces[index][4 + at])
    }

    /// The message, in one place or in two.
    #[inline(always)]
    fn message(&self, index: usize) -> [&[u8]; 2] {
        let place = self.places[index];
        let (aad, iv, end) = (place.aad(), place.iv(), place.payload().end);
        let at = |range| self.buffer.get(range).unwrap_or_default();
        if self.is_esn[index] {
            [&self.esn[index], at(iv.start..end)]
        } else if aad.end == iv.start {
            [&[], at(aad.start..end)]
        } else {
            [at(aad), at(iv.start..end)]
        }
    }

    /// Takes the tag of a packet, or compares it in constant time, and says whether it is there
    /// or right.
    #[inline(always)]
    fn finish(&mut self, index: usize, tag: &Block) -> bool {
        let place = self.buffer.get_mut(self.places[index].tag());
        let Some(place) = place.filter(|place| place.len() <= tag.len()) else {
            return false;
        };
        if !self.open {
            put(place, tag);
            return true;
        }
        let tag = tag.get(..place.len()).unwrap_or_default();
        tags_agree(place, tag)
    }

    /// Encrypts or decrypts, which is the same, the payloads of those of a group that are
    /// `used` and have a cipher. What the cipher refuses is used no more.
    #[inline(never)]
    fn apply_ciphers(&mut self, group: &[u8], used: &mut [bool; LANES]) {
        let ivs: [[u8; 8]; LANES] = std::array::from_fn(|lane| {
            let index = group.get(lane).copied().unwrap_or_default();
            self.iv(index.into())
        });
        let payloads: [_; LANES] = std::array::from_fn(|lane| match group.get(lane) {
            Some(index) => self.places[usize::from(*index)].payload(),
            None => 0..0,
        });
        let Ok(payloads) = self.buffer.get_disjoint_mut(payloads) else {
            *used = [false; LANES];
            return;
        };
        let mut texts = ArrayVec::<CtrText<'_>, LANES>::new();
        for (lane, (index, payload)) in group.iter().zip(payloads).enumerate() {
            if let Some(cipher) = self.keys[usize::from(*index)].and_then(|key| key.cipher)
                && used[lane]
            {
                match cipher.text(&ivs[lane], payload) {
                    Ok(text) => texts.push(text),
                    Err(_) => used[lane] = false,
                }
            }
        }
        mode::apply_each(&mut texts);
    }
}

/// What is processed together: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    const POLY1305: Kind = Kind(1 << 11);

    pub(super) const fn of(algorithm: Algorithm) -> Kind {
        match algorithm {
            Algorithm::Umac(words) => Kind(1 << words as u32),
            Algorithm::Mmh(words) => Kind(1 << (4 + words as u32)),
            Algorithm::Gmac(size) => Kind(1 << (8 + size as u32)),
            Algorithm::Poly1305 => Kind::POLY1305,
            // It is of another kind of packets.
            Algorithm::Hmac(_) => Kind(0),
        }
    }
}

/// Writes or verifies the tags of all packets with the kernels of the tiers that `tier` says.
pub(crate) fn process(
    tier: impl Fn(Family) -> Tier,
    packets: &mut MacPackets<'_>,
    verdicts: &mut Verdicts,
) {
    let keys = packets.keys.iter().flatten();
    let kinds = keys.fold(0, |kinds, key| kinds | key.mac.kind.0);
    let has = |kind: Kind| kinds & kind.0 != 0;
    for words in TagWords::ALL {
        let kind = Kind::of(Algorithm::Umac(words));
        if has(kind) {
            let tier = tier(Family::Umac);
            let key = |key| match key {
                &MacKey {
                    expanded: Expanded::Umac(ref expanded),
                    kind: its,
                    ..
                } if its == kind => expanded.as_deref(),
                _ => None,
            };
            in_lanes(packets, verdicts, key, |messages, most, tags| {
                umac::tag(tier, messages, most, tags)
            });
        }
        let kind = Kind::of(Algorithm::Mmh(words));
        if has(kind) {
            let tier = tier(Family::Mmh);
            let key = |key| match key {
                &MacKey {
                    expanded: Expanded::Mmh(ref expanded),
                    kind: its,
                    ..
                } if its == kind => Some(&**expanded),
                _ => None,
            };
            in_lanes(packets, verdicts, key, |messages, most, tags| {
                mmh::tag(tier, messages, most, tags)
            });
        }
    }
    for size in AesKeySize::ALL {
        let kind = Kind::of(Algorithm::Gmac(size));
        if has(kind) {
            let tier = tier(Family::Gmac);
            let key = |key| match key {
                &MacKey {
                    expanded: Expanded::Gmac(ref expanded),
                    kind: its,
                    ..
                } if its == kind => Some(expanded),
                _ => None,
            };
            in_lanes(packets, verdicts, key, |messages, _, tags| {
                gmac::tag(tier, messages, tags)
            });
        }
    }
    if has(Kind::POLY1305) {
        one_by_one(packets, verdicts);
    }
}

/// The packets that `key` finds a key of, eight at a time. `tag` is given the bytes of
/// the longest message.
fn in_lanes<'a, K: 'a>(
    packets: &mut MacPackets<'a>,
    verdicts: &mut Verdicts,
    key: impl Fn(&'a MacKey) -> Option<&'a K>,
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    // Filled in place: what is collected is moved, and waits for itself in the store
    // buffer.
    let mut keys = ArrayVec::<&K, LANES>::new();
    let mut group = ArrayVec::<u8, LANES>::new();
    let all = packets.keys;
    for (index, packet) in all.iter().enumerate() {
        if let Some(key) = packet.and_then(|packet| key(packet.mac)) {
            keys.push(key);
            group.push(index as u8);
            if group.is_full() {
                tag_group(packets, verdicts, &keys, &group, &tag);
                keys.clear();
                group.clear();
            }
        }
    }
    if !group.is_empty() {
        tag_group(packets, verdicts, &keys, &group, &tag);
    }
}

#[inline]
fn tag_group<K>(
    packets: &mut MacPackets<'_>,
    verdicts: &mut Verdicts,
    keys: &[&K],
    group: &[u8],
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    if happens(Impossible::KernelReturns) {
        return;
    }
    let mut used = [true; LANES];
    if packets.has_ciphers && !packets.open {
        packets.apply_ciphers(group, &mut used);
    }
    let mut messages = ArrayVec::<Message<'_, K>, LANES>::new();
    let mut most = 0;
    for (key, index) in keys.iter().zip(group) {
        let index = usize::from(*index);
        let nonce = u64::from_be_bytes(packets.iv(index));
        let message = Message::new(*key, nonce, packets.message(index));
        most = most.max(message.bytes);
        messages.push(message);
    }
    let mut tags = Tags::new();
    tag(&mut messages, most, &mut tags);
    drop(messages);
    for (lane, index) in group.iter().enumerate() {
        used[lane] &= match tags.get(lane) {
            Some(tag) => packets.finish((*index).into(), tag),
            None => false,
        };
    }
    if packets.has_ciphers && packets.open {
        packets.apply_ciphers(group, &mut used);
    }
    for (index, used) in group.iter().zip(used) {
        if used {
            verdicts.set_good((*index).into());
        }
    }
}

/// Writes the first bytes of a tag, in pieces of known lengths.
#[inline]
fn put(out: &mut [u8], tag: &Block) {
    if let Some(out) = out.as_mut_array() {
        *out = *tag;
    } else if let (Some(out), Some(tag)) = (out.as_mut_array::<8>(), tag.first_chunk()) {
        *out = *tag;
    } else {
        let (out, _) = out.as_chunks_mut::<4>();
        for (out, tag) in out.iter_mut().zip(tag.as_chunks().0) {
            *out = *tag;
        }
    }
}

/// The messages of Poly1305.
fn one_by_one(packets: &mut MacPackets<'_>, verdicts: &mut Verdicts) {
    for index in 0..packets.keys.len() {
        if let Some(key) = packets.keys[index]
            && let Expanded::Poly1305(key) = &key.mac.expanded
        {
            let nonce = u64::from_be_bytes(packets.iv(index));
            let tag = key.tag(nonce, packets.message(index));
            if packets.finish(index, &tag) {
                verdicts.set_good(index);
            }
        }
    }
}

/// The tags of messages in two parts, each with its key and nonce. A gap lies between the
/// parts of some.
#[cfg(test)]
pub(super) fn tags_of(tier: Tier, messages: &[(&MacKey, u64, [&[u8]; 2])]) -> Vec<Vec<u8>> {
    use crate::batch::Layout;

    let mut buffer = Vec::new();
    let mut places = Vec::new();
    for (key, _, [head, body]) in messages {
        let layout = Layout {
            payload_bytes: body.len() as u32,
            aad_bytes: head.len() as u16,
            gap_bytes: (head.len() % 3) as u8,
            esn: false,
        };
        let offset = buffer.len() as u32;
        let tag_bytes = key.algorithm.tag_bytes();
        places.push(Place::new(offset, layout, 0, tag_bytes as u8).0);
        let gap = &[0xee; 2][..head.len() % 3];
        buffer.extend([head, gap, body, &vec![0; tag_bytes]].concat());
    }
    let nonces: Vec<Block> = messages
        .iter()
        .map(|(_, nonce, _)| (u128::from(*nonce) << 32).to_be_bytes())
        .collect();
    let keys = messages
        .iter()
        .map(|(mac, ..)| MacPacketKey { mac, cipher: None });
    let keys: Vec<_> = keys.map(Some).collect();
    let mut packets = MacPackets {
        buffer: &mut buffer,
        places: &places,
        nonces: &nonces,
        is_esn: &vec![false; messages.len()],
        esn: &[],
        has_ciphers: false,
        keys: &keys,
        open: false,
    };
    let mut verdicts = Verdicts::none_of(messages.len());
    process(|_| tier, &mut packets, &mut verdicts);
    assert!(verdicts.all_good(), "{tier}");
    let tags = places.iter().map(|place| buffer[place.tag()].to_vec());
    tags.collect()
}

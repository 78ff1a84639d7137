//! A batch of messages, each with its own key, tagged or verified in one call.

use arrayvec::ArrayVec;
use subtle::ConstantTimeEq;
use weir_simd::Tier;

use super::hmac;
use super::keys::{Expanded, MacKey};
use super::message::{LANES, Message};
use super::{mmh, umac};
use crate::aead::gcm::gmac;
use crate::cipher::Block;
use crate::engine::Family;
use crate::impossible::{Impossible, happens};
use crate::mac::algorithm::{Algorithm, TagWords};
use crate::suite::AesKeySize;
use crate::tags::Tags;
use crate::verdict::publish;

/// One message.
pub(crate) struct MacPacket<'a> {
    /// In the batch.
    pub(crate) index: usize,
    pub(crate) key: &'a MacKey,
    pub(crate) nonce: u64,
    /// The message: parts that follow each other, wherever they lie.
    pub(crate) parts: [&'a [u8]; 4],
    /// At most as long as the algorithm's.
    pub(crate) tag: &'a mut [u8],
    /// Whether the tag is compared, not written.
    pub(crate) is_verified: bool,
    /// Whether the tag was written, or was right.
    pub(crate) is_good: bool,
}

impl MacPacket<'_> {
    /// Takes the tag, or compares it in constant time: `write` fills as many bytes as it is
    /// given with the first of the tag.
    #[inline]
    pub(super) fn finish(&mut self, write: impl FnOnce(&mut [u8])) {
        if !self.is_verified {
            write(self.tag);
            self.is_good = true;
            return;
        }
        let mut expected = [0; MAX_TAG_BYTES];
        self.is_good = expected.get_mut(..self.tag.len()).is_some_and(|expected| {
            write(expected);
            publish(expected.ct_eq(self.tag).into())
        });
    }
}

/// What is processed together: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    const POLY1305: Kind = Kind(1 << 11);
    const HMAC: Kind = Kind(1 << 12);

    pub(super) const fn of(algorithm: Algorithm) -> Kind {
        match algorithm {
            Algorithm::Umac(words) => Kind(1 << words as u32),
            Algorithm::Mmh(words) => Kind(1 << (4 + words as u32)),
            Algorithm::Gmac(size) => Kind(1 << (8 + size as u32)),
            Algorithm::Poly1305 => Kind::POLY1305,
            Algorithm::Hmac(_) => Kind::HMAC,
        }
    }
}

/// Writes or verifies the tags of all packets with the kernels of the tiers that `tier` says.
pub(crate) fn process(tier: impl Fn(Family) -> Tier, packets: &mut [MacPacket<'_>]) {
    let kinds = packets
        .iter()
        .fold(0, |kinds, packet| kinds | packet.key.kind.0);
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
                } if its == kind => Some(&**expanded),
                _ => None,
            };
            in_lanes(packets, key, |messages, most, tags| {
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
            in_lanes(packets, key, |messages, most, tags| {
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
            in_lanes(packets, key, |messages, _, tags| {
                gmac::tag(tier, messages, tags)
            });
        }
    }
    if has(Kind::POLY1305) {
        one_by_one(packets);
    }
    if has(Kind::HMAC) {
        hmac::process(tier(Family::EncryptThenMac), packets);
    }
}

/// The messages that `key` finds a key of, eight at a time. `tag` is given the bytes of
/// the longest of them.
fn in_lanes<'a, K: 'a>(
    packets: &mut [MacPacket<'a>],
    key: impl Fn(&'a MacKey) -> Option<&'a K>,
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    // Filled in place: what is collected is moved, and waits for itself in the store
    // buffer.
    let mut group = ArrayVec::<(&K, &mut MacPacket<'a>), LANES>::new();
    for packet in packets {
        if let Some(key) = key(packet.key) {
            group.push((key, packet));
            if group.is_full() {
                tag_group(&mut group, &tag);
                group.clear();
            }
        }
    }
    if !group.is_empty() {
        tag_group(&mut group, &tag);
    }
}

#[inline]
fn tag_group<K>(
    group: &mut [(&K, &mut MacPacket<'_>)],
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    if happens(Impossible::KernelReturns) {
        return;
    }
    let mut messages = ArrayVec::<Message<'_, K>, LANES>::new();
    let mut most = 0;
    for (key, packet) in &*group {
        let message = Message::new(*key, packet.nonce, &packet.parts);
        most = most.max(message.bytes);
        messages.push(message);
    }
    let mut tags = Tags::new();
    tag(&mut messages, most, &mut tags);
    drop(messages);
    for (lane, (_, packet)) in group.iter_mut().enumerate() {
        if let Some(tag) = tags.get(lane) {
            packet.finish(|out| put(out, tag));
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
fn one_by_one(packets: &mut [MacPacket<'_>]) {
    for packet in packets {
        if let Expanded::Poly1305(key) = &packet.key.expanded {
            let tag = key.tag(packet.nonce, &packet.parts);
            packet.finish(|out| put(out, &tag));
        }
    }
}

/// Bytes of the longest tag.
const MAX_TAG_BYTES: usize = 64;

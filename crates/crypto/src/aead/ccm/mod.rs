//! CCM as ESP uses it: SP 800-38C, RFC 4309, a tag of 8, 12 or 16 bytes.
//!
//! A chain of CBC authenticates the text, counter mode encrypts it. A chain
//! waits for its last block, so that the AES units are filled with other
//! packets, each in a lane of its own: [`chains`]. What is chained is
//!
//! ```text
//! flags, salt, IV, length of the text │ length, associated data, zeros │ text, zeros
//!               16                    │         whole blocks           │ whole blocks
//! ```
//!
//! with salt and IV in the places of a nonce of 11 bytes, and a length of 4.
//! Counter blocks are flags, salt, IV and a counter of 4 bytes, which is 0 for
//! the block that masks the tag.

mod chains;
mod message;
#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::packet::CcmPacket;
use crate::cipher::Block;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::InvalidLength;
use crate::mode::{CtrKey, CtrText, apply_each};
use crate::suite::AesKeySize;
use crate::tags::Tags;
use chains::Chains;
use message::Message;

/// One key of CCM, and its salt.
pub(crate) struct CcmKey {
    /// Its salt is a counter block's first four bytes: the flags and the salt.
    ctr: CtrKey,
    size: AesKeySize,
    salt: [u8; 3],
    tag_bytes: usize,
}

/// The flags of a counter block: a length of four bytes, less one.
const COUNTER_FLAGS: u8 = 3;

impl CcmKey {
    /// Expands `key`, which makes tags of `tag_bytes`: 8, 12 or 16 (RFC 4309 section 3.1).
    /// The fourth byte of `salt` does not count.
    pub(crate) fn new(
        tier: Tier,
        size: AesKeySize,
        key: &[u8],
        salt: [u8; 4],
        tag_bytes: usize,
    ) -> Result<CcmKey, InvalidLength> {
        if !matches!(tag_bytes, 8 | 12 | 16) {
            return Err(InvalidLength);
        }
        let [a, b, c, _] = salt;
        Ok(CcmKey {
            ctr: CtrKey::new(size, tier, key, [COUNTER_FLAGS, a, b, c])?,
            size,
            salt: [a, b, c],
            tag_bytes,
        })
    }
}

/// A packet with its key.
type Ccm<'p, 'a> = (&'a CcmKey, &'p mut CcmPacket<'a>);

/// Packets whose chains are planned at once.
const MOST_PACKETS: usize = 64;

/// Seals or opens `packets` with the kernels of `tier`.
pub(crate) fn process(tier: Tier, open: bool, packets: &mut [CcmPacket<'_>]) {
    for packets in packets.chunks_mut(MOST_PACKETS) {
        for size in AesKeySize::ALL {
            process_some(tier, size, open, packets);
        }
    }
}

/// Processes packets under keys of one size: decrypted before they are chained
/// if they are opened, encrypted after that if they are sealed.
fn process_some(tier: Tier, size: AesKeySize, open: bool, all: &mut [CcmPacket<'_>]) {
    let mut packets = [const { None }; MOST_PACKETS];
    let mut ends = Tags::<MOST_PACKETS>::new();
    // Blocks to chain, place: the longest first, so that lanes end together.
    let mut order = [(0, 0); MOST_PACKETS];
    let mut count = 0;
    for (place, (given, packet)) in all.iter_mut().zip(&mut packets).enumerate() {
        let key = given.key;
        if key.size == size {
            order[count] = (Message::bytes_of(given), place);
            count += 1;
            *packet = Some((key, given));
        }
    }
    let order = &mut order[..count];
    if order.is_empty() {
        return;
    }
    order.sort_unstable_by(|a, b| b.cmp(a));

    if happens(Impossible::KernelReturns) {
        return;
    }

    let mut tags = [None; MOST_PACKETS];
    if open {
        encipher(&mut packets, true, &mut tags);
    }
    chain(tier, size, &packets, order, &mut ends);
    for (place, tag) in tags.iter_mut().enumerate() {
        *tag = ends.get(place).copied();
    }
    encipher(&mut packets, !open, &mut tags);
    for (packet, tag) in packets.into_iter().zip(&mut tags) {
        if let (Some((key, packet)), Some(tag)) = (packet, tag) {
            tag[key.tag_bytes.min(16)..].fill(0);
            packet.finish(open, tag);
        }
    }
}

/// Chains the packets in this order, and puts the last block of each in its place.
fn chain(
    tier: Tier,
    size: AesKeySize,
    packets: &[Option<Ccm<'_, '_>>],
    order: &[(usize, usize)],
    ends: &mut Tags<MOST_PACKETS>,
) {
    let mut chains = Chains::new(tier, size);
    frames::cleared(|| {
        for (_, place) in order {
            if let Some((key, packet)) = &packets[*place] {
                let message = Message::new(key.salt, key.tag_bytes, packet);
                chains.submit(*place, &key.ctr.round_keys().keys, message, ends);
            }
        }
        chains.finish(ends);
    });
}

/// Encrypts or decrypts the tags of packets, and their texts if `with_texts`. A packet that the
/// cipher refuses has no tag any more.
fn encipher(
    packets: &mut [Option<Ccm<'_, '_>>; MOST_PACKETS],
    with_texts: bool,
    tags: &mut [Option<Block>; MOST_PACKETS],
) {
    let mut are_refused = [false; MOST_PACKETS];
    let mut texts = ArrayVec::<CtrText<'_>, { 2 * MOST_PACKETS }>::new();
    let packets = packets.iter_mut().zip(&mut *tags).zip(&mut are_refused);
    for ((packet, tag), is_refused) in packets {
        let Some((key, packet)) = packet else {
            continue;
        };
        let iv = packet.iv();
        let text = with_texts.then(|| key.ctr.text(&iv, packet.text));
        let pad = tag.as_mut().map(|tag| key.ctr.text(&iv, tag));
        for (text, first_counter) in [(text, 1), (pad, 0)] {
            match text {
                Some(Ok(text)) => texts.push(text.counting_from(first_counter)),
                Some(Err(InvalidLength)) => *is_refused = true,
                None => {}
            }
        }
    }
    frames::cleared(|| apply_each(&mut texts));
    drop(texts);
    for (tag, is_refused) in tags.iter_mut().zip(are_refused) {
        *tag = tag.filter(|_| !is_refused);
    }
}

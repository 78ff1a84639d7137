//! Parts of messages that are hashed side by side.

use super::super::packet::Packet;

/// A part of each message that is padded to whole blocks.
#[derive(Clone, Copy)]
pub(super) struct Parts<const MESSAGES: usize> {
    pub(super) at: [*const u8; MESSAGES],
    pub(super) bytes: [usize; MESSAGES],
}

impl<const MESSAGES: usize> Default for Parts<MESSAGES> {
    /// No bytes.
    #[inline(always)]
    fn default() -> Self {
        Parts {
            at: [std::ptr::null(); MESSAGES],
            bytes: [0; MESSAGES],
        }
    }
}

impl<const MESSAGES: usize> Parts<MESSAGES> {
    /// The bytes from `begin` to `end` of a part of each packet, as far as it has any.
    #[inline(always)]
    pub(super) fn of<'a>(
        packets: &[Packet<'a>],
        begin: usize,
        end: usize,
        part: impl Fn(&Packet<'a>) -> Part,
    ) -> Self {
        let mut parts = Parts::default();
        if let Some((at, _)) = packets.last().map(&part) {
            // Loads of no bytes take hundreds of cycles where nothing is mapped, and few in the
            // longest part.
            parts.at = [at.wrapping_add(begin); MESSAGES];
        }
        for (lane, packet) in packets.iter().enumerate() {
            let (at, bytes) = part(packet);
            parts.at[lane] = at.wrapping_add(begin);
            parts.bytes[lane] = bytes.min(end).saturating_sub(begin);
        }
        parts
    }
}

/// Where a part lies, and how long it is.
pub(super) type Part = (*const u8, usize);

/// The associated data of a packet.
#[inline(always)]
pub(super) fn associated(packet: &Packet<'_>) -> Part {
    (packet.associated.as_ptr().cast(), packet.associated.len())
}

/// The text of a packet.
#[inline(always)]
pub(super) fn text(packet: &Packet<'_>) -> Part {
    (packet.text.as_ptr().cast(), packet.text.len())
}

/// The words of each message's last block: the lengths of associated data and text.
#[inline(always)]
pub(super) fn lengths<const MESSAGES: usize>(packets: &[Packet<'_>]) -> [[u64; MESSAGES]; 2] {
    let mut lengths = [[0; MESSAGES]; 2];
    for (lane, packet) in packets.iter().enumerate() {
        lengths[0][lane] = packet.associated.len() as u64;
        lengths[1][lane] = packet.text.len() as u64;
    }
    lengths
}

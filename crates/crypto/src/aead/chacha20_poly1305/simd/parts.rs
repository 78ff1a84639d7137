//! Parts of messages that are hashed side by side.

use super::super::packet::Packet;

/// Messages of the widest vectors that are hashed side by side.
pub(super) const MOST_MESSAGES: usize = 8;

/// A part of each message that is padded to whole blocks.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) at: [*const u8; MOST_MESSAGES],
    pub(super) bytes: [usize; MOST_MESSAGES],
    /// Bytes of the shortest and of the longest.
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Default for Parts {
    /// No bytes.
    #[inline(always)]
    fn default() -> Self {
        Parts {
            at: [std::ptr::null(); MOST_MESSAGES],
            bytes: [0; MOST_MESSAGES],
            least: 0,
            most: 0,
        }
    }
}

impl Parts {
    /// The bytes from `begin` to `end` of a part of each packet, as far as it has any, in as many
    /// `lanes`.
    #[inline(always)]
    pub(super) fn of<'a>(
        packets: &[Packet<'a>],
        lanes: usize,
        begin: usize,
        end: usize,
        part: impl Fn(&Packet<'a>) -> Part,
    ) -> Self {
        let mut parts = Parts::default();
        if let Some((at, _)) = packets.last().map(&part) {
            // Loads of no bytes take hundreds of cycles where nothing is mapped, and few in the
            // longest part.
            parts.at = [at.wrapping_add(begin); MOST_MESSAGES];
        }
        parts.least = if packets.len() == lanes {
            usize::MAX
        } else {
            0
        };
        for (lane, packet) in packets.iter().enumerate() {
            let (at, bytes) = part(packet);
            let bytes = bytes.min(end).saturating_sub(begin);
            parts.at[lane] = at.wrapping_add(begin);
            parts.bytes[lane] = bytes;
            parts.least = parts.least.min(bytes);
            parts.most = parts.most.max(bytes);
        }
        parts
    }

    /// How many bytes each part has from `offset` on.
    #[inline(always)]
    pub(super) fn left(&self, offset: usize) -> [u64; MOST_MESSAGES] {
        self.bytes.map(|bytes| bytes.saturating_sub(offset) as u64)
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

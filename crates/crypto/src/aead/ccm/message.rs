//! What a packet's chain runs over: SP 800-38C appendix A.2.

use crate::aead::CcmPacket;

/// The bytes to chain, in whole blocks, one after the other.
pub(super) struct Message<'a> {
    /// The first block, and the encoded length of the associated data.
    front: [u8; FRONT_BYTES],
    /// What of `front` is left.
    front_left: std::ops::Range<usize>,
    /// Associated data, zeros, text, zeros: what is left of each.
    rest: [&'a [u8]; 4],
}

/// The first block, and at most ten bytes of length.
const FRONT_BYTES: usize = 16 + 10;

static ZEROS: [u8; 16] = [0; 16];

/// Flags of the first block: there is associated data; a length of 4 bytes.
const HAS_ASSOCIATED: u8 = 0x40;
const LENGTH_4: u8 = 4 - 1;

/// The flags that say how long the tag is.
const fn tag_flags(tag_bytes: usize) -> u8 {
    ((tag_bytes.saturating_sub(2) / 2) as u8) << 3
}

impl<'a> Message<'a> {
    pub(super) fn new(salt: [u8; 3], tag_bytes: usize, parts: &'a CcmPacket<'_>) -> Message<'a> {
        let (associated, text) = (parts.associated, &*parts.text);
        let length_bytes = length_bytes(associated.len());
        let mut front = [0; FRONT_BYTES];
        front[0] = tag_flags(tag_bytes) | LENGTH_4;
        if !associated.is_empty() {
            front[0] |= HAS_ASSOCIATED;
        }
        front[1..4].copy_from_slice(&salt);
        front[4..12].copy_from_slice(&parts.iv());
        // No longer text passes the batch's check.
        front[12..16].copy_from_slice(&(text.len() as u32).to_be_bytes());
        let length = (associated.len() as u64).to_be_bytes();
        let encoded = &mut front[16..16 + length_bytes];
        match length_bytes {
            0 => {}
            2 => encoded.copy_from_slice(&length[6..]),
            6 => {
                encoded[..2].copy_from_slice(&[0xff, 0xfe]);
                encoded[2..].copy_from_slice(&length[4..]);
            }
            _ => {
                encoded[..2].copy_from_slice(&[0xff, 0xff]);
                encoded[2..].copy_from_slice(&length);
            }
        }
        Message {
            front,
            front_left: 0..16 + length_bytes,
            rest: [
                associated,
                &ZEROS[..to_whole_blocks(length_bytes + associated.len())],
                text,
                &ZEROS[..to_whole_blocks(text.len())],
            ],
        }
    }

    /// How long the message of a packet is.
    pub(super) fn bytes_of(parts: &CcmPacket<'_>) -> usize {
        let associated = parts.associated.len();
        16 + (length_bytes(associated) + associated).next_multiple_of(16)
            + parts.text.len().next_multiple_of(16)
    }

    /// Bytes that are left, a multiple of 16.
    pub(super) fn bytes(&self) -> usize {
        self.front_left.len() + self.rest.iter().map(|rest| rest.len()).sum::<usize>()
    }

    /// Moves the next bytes into `scratch`, which is not longer than the message.
    pub(super) fn fill(&mut self, scratch: &mut [u8]) {
        let front = &self.front[self.front_left.clone()];
        let (head, mut scratch) = scratch.split_at_mut(front.len().min(scratch.len()));
        head.copy_from_slice(&front[..head.len()]);
        self.front_left.start += head.len();
        for rest in &mut self.rest {
            let part;
            (part, *rest) = rest.split_at(rest.len().min(scratch.len()));
            let (head, behind) = scratch.split_at_mut(part.len());
            head.copy_from_slice(part);
            scratch = behind;
        }
    }
}

/// Bytes that the length of associated data is encoded in.
fn length_bytes(associated_bytes: usize) -> usize {
    match associated_bytes as u64 {
        0 => 0,
        1..0xff00 => 2,
        0xff00..=0xffff_ffff => 6,
        _ => 10,
    }
}

fn to_whole_blocks(bytes: usize) -> usize {
    bytes.next_multiple_of(16) - bytes
}

//! The packets of a block of the kernel's ring (TPACKET_V3).
//!
//! ```text
//! block      descriptor │ packet │ packet │ … │ packet │ unused
//! packet     header │ space │ Ethernet header and payload │ padding
//! ```
//!
//! A packet's header has the offset of the next packet, and where its own bytes lie. All of it is
//! verified against the block's end, so that a block with wrong numbers loses packets and
//! nothing else.

use std::mem::offset_of;

use crate::port::{Arrival, ChecksumState, Offload, VLAN_TAG_BYTES};

/// How far a block has been read. Packets come in order of arrival.
pub(super) struct BlockWalk {
    /// Where the next packet's header is.
    next: usize,
    /// Where the used part of the block ends.
    end: usize,
    /// Packets that are still to come.
    remaining: u32,
}

/// A packet of a block. The kernel takes its VLAN tag out; it is back between the addresses and
/// the rest.
pub(super) struct Found<'a> {
    addresses: &'a [u8],
    tag: [u8; VLAN_TAG_BYTES],
    tag_bytes: usize,
    rest: &'a [u8],
    pub arrival: Arrival,
}

impl Found<'_> {
    /// The packet's bytes, one part behind the other.
    pub fn parts(&self) -> [&[u8]; 3] {
        [self.addresses, &self.tag[..self.tag_bytes], self.rest]
    }
}

impl BlockWalk {
    /// At the beginning of a block.
    pub fn begin(block: &[u8]) -> BlockWalk {
        let remaining = u32_at(block, NUMBER_OF_PACKETS).unwrap_or(0);
        let first = u32_at(block, FIRST_PACKET).map_or(0, |offset| offset as usize);
        let used = u32_at(block, USED_BYTES).map_or(0, |bytes| bytes as usize);
        let end = used.min(block.len());
        let is_whole = (BLOCK_HEADER_BYTES..=end).contains(&first);
        BlockWalk {
            next: if is_whole { first } else { end },
            end,
            remaining,
        }
    }

    pub fn is_finished(&self) -> bool {
        self.remaining == 0
    }

    /// The next packet of the block that the walk began with. Those whose description is wrong
    /// are left out and added to `malformed`.
    pub fn next<'a>(&mut self, block: &'a [u8], malformed: &mut u64) -> Option<Found<'a>> {
        while self.remaining > 0 {
            let Some(part) = self.take_part(block) else {
                *malformed += u64::from(self.remaining);
                self.remaining = 0;
                return None;
            };
            self.remaining -= 1;
            match found(part) {
                Some(found) => return Some(found),
                None => *malformed += 1,
            }
        }
        None
    }

    /// The next packet's part of the block, from its header to the next one's. Nothing where
    /// the offsets are wrong: no later packet can be found then.
    fn take_part<'a>(&mut self, block: &'a [u8]) -> Option<&'a [u8]> {
        let rest = block.get(self.next..self.end)?;
        let next = u32_at(rest, NEXT_OFFSET)? as usize;
        let bytes = match next {
            0 if self.remaining == 1 => rest.len(),
            _ if (PACKET_HEADER_BYTES..=rest.len()).contains(&next) => next,
            _ => return None,
        };
        self.next += bytes;
        Some(&rest[..bytes])
    }
}

/// The packet of a part of the block, which begins with its header.
fn found(part: &[u8]) -> Option<Found<'_>> {
    let seconds = u32_at(part, SECONDS)?;
    let nanoseconds = u32_at(part, NANOSECONDS)?;
    let status = u32_at(part, STATUS)?;
    let mut wire_bytes = u32_at(part, WIRE_BYTES)?;
    let start = usize::from(u16_at(part, PACKET_OFFSET)?);
    let captured_bytes = u32_at(part, CAPTURED_BYTES)? as usize;
    let end = start.checked_add(captured_bytes)?;
    if start < PACKET_HEADER_BYTES || end > part.len() {
        return None;
    }
    let bytes = &part[start..end];
    let mut tag = [0; VLAN_TAG_BYTES];
    let mut tag_bytes = 0;
    let mut addresses_bytes = 0;
    if status & libc::TP_STATUS_VLAN_VALID != 0 {
        if bytes.len() < ADDRESSES_BYTES {
            return None;
        }
        let id = u32_at(part, VLAN_TAG)? as u16;
        let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => VLAN_PROTOCOL,
            _ => u16_at(part, VLAN_PROTOCOL_OFFSET)?,
        };
        tag[..2].copy_from_slice(&protocol.to_be_bytes());
        tag[2..].copy_from_slice(&id.to_be_bytes());
        tag_bytes = VLAN_TAG_BYTES;
        addresses_bytes = ADDRESSES_BYTES;
        wire_bytes = wire_bytes.saturating_add(VLAN_TAG_BYTES as u32);
    }
    let (addresses, rest) = bytes.split_at(addresses_bytes);
    let checksum = match status {
        _ if status & libc::TP_STATUS_CSUMNOTREADY != 0 => ChecksumState::NotReady,
        _ if status & libc::TP_STATUS_CSUM_VALID != 0 => ChecksumState::Valid,
        _ => ChecksumState::Unknown,
    };
    Some(Found {
        addresses,
        tag,
        tag_bytes,
        rest,
        arrival: Arrival {
            arrival_ns: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
            wire_bytes: wire_bytes.max((bytes.len() + tag_bytes) as u32),
            offload: Offload {
                checksum,
                segments: None,
            },
        },
    })
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

const ADDRESSES_BYTES: usize = 12;
/// Protocol of a VLAN tag (802.1Q).
const VLAN_PROTOCOL: u16 = 0x8100;

const BLOCK_HEADER_BYTES: usize = size_of::<libc::tpacket_block_desc>();
const BLOCK_HEADER: usize = offset_of!(libc::tpacket_block_desc, hdr);
const NUMBER_OF_PACKETS: usize = BLOCK_HEADER + offset_of!(libc::tpacket_hdr_v1, num_pkts);
const FIRST_PACKET: usize = BLOCK_HEADER + offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt);
const USED_BYTES: usize = BLOCK_HEADER + offset_of!(libc::tpacket_hdr_v1, blk_len);

const PACKET_HEADER_BYTES: usize = size_of::<libc::tpacket3_hdr>();
const NEXT_OFFSET: usize = offset_of!(libc::tpacket3_hdr, tp_next_offset);
const SECONDS: usize = offset_of!(libc::tpacket3_hdr, tp_sec);
const NANOSECONDS: usize = offset_of!(libc::tpacket3_hdr, tp_nsec);
const CAPTURED_BYTES: usize = offset_of!(libc::tpacket3_hdr, tp_snaplen);
const WIRE_BYTES: usize = offset_of!(libc::tpacket3_hdr, tp_len);
const STATUS: usize = offset_of!(libc::tpacket3_hdr, tp_status);
const PACKET_OFFSET: usize = offset_of!(libc::tpacket3_hdr, tp_mac);
const VARIANT: usize = offset_of!(libc::tpacket3_hdr, hv1);
const VLAN_TAG: usize = VARIANT + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci);
const VLAN_PROTOCOL_OFFSET: usize = VARIANT + offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid);

#[cfg(test)]
mod tests;

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

use std::mem::{self, offset_of};

use crate::port::{ChecksumState, Packet, VLAN_TAG_BYTES};

/// Packets of one block, in order of arrival.
pub struct BlockPackets<'a> {
    /// The block from the next packet's header on.
    rest: &'a mut [u8],
    /// Packets that are still to come.
    remaining: u32,
    malformed: &'a mut u64,
}

impl<'a> BlockPackets<'a> {
    /// The packets of a whole block. Those whose description is wrong are left out and added to
    /// `malformed`.
    pub(super) fn new(block: &'a mut [u8], malformed: &'a mut u64) -> BlockPackets<'a> {
        let remaining = u32_at(block, NUMBER_OF_PACKETS).unwrap_or(0);
        let first = u32_at(block, FIRST_PACKET).map_or(0, |offset| offset as usize);
        let used = u32_at(block, USED_BYTES).map_or(0, |bytes| bytes as usize);
        let end = used.min(block.len());
        let is_whole = (BLOCK_HEADER_BYTES..=end).contains(&first);
        let rest = if is_whole {
            &mut block[first..end]
        } else {
            &mut []
        };
        BlockPackets {
            rest,
            remaining,
            malformed,
        }
    }

    /// No packets.
    pub(super) fn none(malformed: &'a mut u64) -> BlockPackets<'a> {
        BlockPackets {
            rest: &mut [],
            remaining: 0,
            malformed,
        }
    }

    /// Takes the next packet's part of the block, from its header to the next one's. Nothing
    /// where the offsets are wrong: no later packet can be found then.
    fn take_part(&mut self) -> Option<&'a mut [u8]> {
        let next = u32_at(self.rest, NEXT_OFFSET)? as usize;
        let bytes = match next {
            0 if self.remaining == 1 => self.rest.len(),
            _ if (PACKET_HEADER_BYTES..=self.rest.len()).contains(&next) => next,
            _ => return None,
        };
        let (part, rest) = mem::take(&mut self.rest).split_at_mut(bytes);
        self.rest = rest;
        Some(part)
    }
}

impl<'a> Iterator for BlockPackets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        while self.remaining > 0 {
            let Some(part) = self.take_part() else {
                *self.malformed += u64::from(self.remaining);
                self.remaining = 0;
                return None;
            };
            self.remaining -= 1;
            match packet(part) {
                Some(packet) => return Some(packet),
                None => *self.malformed += 1,
            }
        }
        None
    }
}

/// The packet of a part of the block, which begins with its header.
fn packet(part: &mut [u8]) -> Option<Packet<'_>> {
    let seconds = u32_at(part, SECONDS)?;
    let nanoseconds = u32_at(part, NANOSECONDS)?;
    let status = u32_at(part, STATUS)?;
    let mut wire_bytes = u32_at(part, WIRE_BYTES)?;
    let mut start = usize::from(u16_at(part, PACKET_OFFSET)?);
    let captured_bytes = u32_at(part, CAPTURED_BYTES)? as usize;
    let end = start.checked_add(captured_bytes)?;
    if start < PACKET_HEADER_BYTES || end > part.len() {
        return None;
    }
    if status & libc::TP_STATUS_VLAN_VALID != 0 {
        let id = u32_at(part, VLAN_TAG)? as u16;
        let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => VLAN_PROTOCOL,
            _ => u16_at(part, VLAN_PROTOCOL_OFFSET)?,
        };
        start = put_tag_back(part, start, end, protocol, id)?;
        wire_bytes = wire_bytes.saturating_add(VLAN_TAG_BYTES as u32);
    }
    let bytes = part.get(start..end)?;
    Some(Packet {
        bytes,
        wire_bytes: wire_bytes.max(bytes.len() as u32),
        arrival_ns: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
        checksum: match status {
            _ if status & libc::TP_STATUS_CSUMNOTREADY != 0 => ChecksumState::NotReady,
            _ if status & libc::TP_STATUS_CSUM_VALID != 0 => ChecksumState::Valid,
            _ => ChecksumState::Unknown,
        },
    })
}

/// Puts the VLAN tag that the kernel took out of a packet behind its addresses, which move to
/// the front, into space that is reserved there. Returns the packet's new start.
fn put_tag_back(
    part: &mut [u8],
    start: usize,
    end: usize,
    protocol: u16,
    id: u16,
) -> Option<usize> {
    let new_start = start.checked_sub(VLAN_TAG_BYTES)?;
    if new_start < PACKET_HEADER_BYTES || end - start < ADDRESSES_BYTES {
        return None;
    }
    part.copy_within(start..start + ADDRESSES_BYTES, new_start);
    let tag = part.get_mut(new_start + ADDRESSES_BYTES..start + ADDRESSES_BYTES)?;
    tag[..2].copy_from_slice(&protocol.to_be_bytes());
    tag[2..].copy_from_slice(&id.to_be_bytes());
    Some(new_start)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

/// Bytes that the kernel leaves free in front of a packet, as requested with the ring.
pub(super) const RESERVED_BYTES: u32 = VLAN_TAG_BYTES as u32;

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

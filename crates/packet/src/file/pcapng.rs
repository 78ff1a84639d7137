//! Framing of pcapng files (draft-ietf-opsawg-pcapng).
//!
//! ```text
//! block      type(4) length(4) body… length(4)
//! section    byte order(4) major(2) minor(2) section length(8) options…
//! interface  link(2) reserved(2) snap(4) options…
//! enhanced   interface(4) time high(4) low(4) captured(4) wire(4) bytes… pad options…
//! obsolete   interface(2) drops(2) time high(4) low(4) captured(4) wire(4) bytes… pad options…
//! simple     wire(4) bytes… pad
//! ```
//!
//! Interfaces are numbered anew in each section; a [`RecordEntry`] counts them
//! through the whole file. All other blocks are skipped and counted, however
//! long they are.

use super::framing::{Cursor, Endian, Quota, Stop};
use super::pcapng_time::TimeScale;
use super::{CaptureError, Format, Interface, MAX_RECORD_BYTES, RecordEntry};
use crate::wire::LinkType;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const ENHANCED_PACKET: u32 = 6;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;

pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

pub(super) const OPTION_END: u16 = 0;
pub(super) const OPTION_INTERFACE_NAME: u16 = 2;
pub(super) const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// Longest interface name that is kept.
pub(super) const MAX_NAME_BYTES: usize = 255;

/// Type and length in front of a block.
const LEADER_BYTES: usize = 8;
/// Length behind a block.
const TRAILER_BYTES: usize = 4;
/// Fixed part of an enhanced or obsolete packet block's body.
const PACKET_FIELDS_BYTES: usize = 20;

/// Longest block that is kept whole: a record of the greatest length with as
/// much again for options.
const MAX_BLOCK_BYTES: usize = 2 * MAX_RECORD_BYTES;

/// Most interfaces in a file, so that declarations cannot fill the memory.
const MAX_INTERFACES: usize = 65_536;

/// How far the walk through a pcapng file has come.
pub(super) struct PcapNgFraming {
    endian: Endian,
    sections: u64,
    /// Index into the file's interfaces of this section's first.
    first_interface: usize,
    /// Of this section's interfaces.
    clocks: Vec<Clock>,
    skipping: Option<Skipping>,
    skipped_blocks: u64,
}

/// What a record needs to know of its interface.
#[derive(Clone, Copy)]
struct Clock {
    time: TimeScale,
    snap_bytes: u32,
}

/// A block that is too long for the window is passed over piece by piece.
struct Skipping {
    block_offset: u64,
    block_bytes: u32,
    /// Bytes left in front of the trailing length.
    remaining_bytes: usize,
}

impl PcapNgFraming {
    pub fn new() -> Self {
        PcapNgFraming {
            endian: Endian::Little,
            sections: 0,
            first_interface: 0,
            clocks: Vec::new(),
            skipping: None,
            skipped_blocks: 0,
        }
    }

    /// Whether a section header was read.
    pub fn in_section(&self) -> bool {
        self.sections > 0
    }

    /// Blocks that hold neither records nor interfaces.
    pub fn skipped_blocks(&self) -> u64 {
        self.skipped_blocks
    }

    /// Start of the block that is being passed over.
    pub fn begun_block(&self) -> Option<u64> {
        self.skipping.as_ref().map(|skipping| skipping.block_offset)
    }

    /// Walks over blocks until the quota or the bytes are used up.
    pub fn frame(
        &mut self,
        cursor: &mut Cursor<'_>,
        interfaces: &mut Vec<Interface>,
        quota: &mut Quota<'_>,
    ) -> Result<Stop, CaptureError> {
        loop {
            if let Some(stop) = self.pass_over(cursor)? {
                return Ok(stop);
            }
            let unread = cursor.unread();
            let Some(leader) = unread.first_chunk::<{ LEADER_BYTES + 4 }>() else {
                return Ok(Stop::Need(LEADER_BYTES + 4));
            };
            let endian = self.endian_of_block(leader, cursor)?;
            let block_type = endian.u32([leader[0], leader[1], leader[2], leader[3]]);
            let block_bytes = endian.u32([leader[4], leader[5], leader[6], leader[7]]);
            check_length(block_bytes, cursor)?;
            let length = block_bytes as usize;
            let kept_whole = matches!(
                block_type,
                SECTION_HEADER
                    | INTERFACE_DESCRIPTION
                    | ENHANCED_PACKET
                    | OBSOLETE_PACKET
                    | SIMPLE_PACKET
            );
            if !kept_whole {
                self.skipping = Some(Skipping {
                    block_offset: cursor.offset(),
                    block_bytes,
                    remaining_bytes: length - TRAILER_BYTES,
                });
                self.skipped_blocks += 1;
                continue;
            }
            if length > MAX_BLOCK_BYTES {
                return Err(block_length(
                    block_bytes,
                    cursor,
                    "a block with a record or an interface is never that long",
                ));
            }
            let Some(block) = unread.get(..length) else {
                return Ok(Stop::Need(length));
            };
            let (block, trailer) = block.split_at(length - TRAILER_BYTES);
            check_trailer(endian, block_bytes, trailer, cursor.offset(), cursor)?;
            let body = Body {
                endian,
                bytes: &block[LEADER_BYTES..],
            };
            let admitted = match block_type {
                SECTION_HEADER => {
                    self.begin_section(body, cursor, interfaces)?;
                    true
                }
                INTERFACE_DESCRIPTION => {
                    self.declare(body, cursor, interfaces)?;
                    true
                }
                _ => {
                    let packet = match block_type {
                        ENHANCED_PACKET => body.enhanced_packet(),
                        OBSOLETE_PACKET => body.obsolete_packet(),
                        _ => body.simple_packet(),
                    };
                    let Some(packet) = packet else {
                        return Err(cursor.malformed("a packet block is shorter than its fields"));
                    };
                    self.take(packet, cursor, quota)?
                }
            };
            if !admitted {
                return Ok(Stop::Quota);
            }
            cursor.position += length;
        }
    }

    /// Only a section header carries its byte order.
    fn endian_of_block(
        &self,
        leader: &[u8; LEADER_BYTES + 4],
        cursor: &Cursor<'_>,
    ) -> Result<Endian, CaptureError> {
        // The section header's type reads the same in both orders.
        if leader[..4] != SECTION_HEADER.to_le_bytes() {
            return Ok(self.endian);
        }
        match u32::from_le_bytes([leader[8], leader[9], leader[10], leader[11]]) {
            BYTE_ORDER_MAGIC => Ok(Endian::Little),
            number if number.swap_bytes() == BYTE_ORDER_MAGIC => Ok(Endian::Big),
            _ => Err(cursor.malformed("a section header without a byte order")),
        }
    }

    /// Passes over the rest of a skipped block, as far as it is there.
    fn pass_over(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Stop>, CaptureError> {
        let Some(skipping) = &mut self.skipping else {
            return Ok(None);
        };
        let passed = skipping.remaining_bytes.min(cursor.unread().len());
        cursor.position += passed;
        skipping.remaining_bytes -= passed;
        if skipping.remaining_bytes > 0 {
            return Ok(Some(Stop::Need(1)));
        }
        let Some(trailer) = cursor.unread().get(..TRAILER_BYTES) else {
            return Ok(Some(Stop::Need(TRAILER_BYTES)));
        };
        let (block_bytes, block_offset) = (skipping.block_bytes, skipping.block_offset);
        check_trailer(self.endian, block_bytes, trailer, block_offset, cursor)?;
        cursor.position += TRAILER_BYTES;
        self.skipping = None;
        Ok(None)
    }

    fn begin_section(
        &mut self,
        body: Body<'_>,
        cursor: &Cursor<'_>,
        interfaces: &[Interface],
    ) -> Result<(), CaptureError> {
        let (Some(major), Some(minor)) = (body.u16(4), body.u16(6)) else {
            return Err(cursor.malformed("a section header without a version"));
        };
        // Minor versions 0 and 2 are the same format (draft, section 4.1).
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(CaptureError::UnsupportedVersion {
                file: cursor.file(),
                offset: cursor.offset(),
                format: Format::PcapNg,
                major,
                minor,
            });
        }
        self.endian = body.endian;
        self.sections += 1;
        self.first_interface = interfaces.len();
        self.clocks.clear();
        Ok(())
    }

    fn declare(
        &mut self,
        body: Body<'_>,
        cursor: &Cursor<'_>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<(), CaptureError> {
        let (Some(link), Some(snap_bytes)) = (body.u16(0), body.u32(4)) else {
            return Err(cursor.malformed("an interface without a link type or snap length"));
        };
        if interfaces.len() >= MAX_INTERFACES {
            return Err(CaptureError::TooManyInterfaces {
                file: cursor.file(),
                offset: cursor.offset(),
                limit: MAX_INTERFACES as u32,
            });
        }
        let mut name = None;
        let mut time = TimeScale::default();
        let mut options = body.bytes.get(8..).unwrap_or_default();
        while let Some(([code @ .., _, _], _)) = options.split_first_chunk::<4>() {
            let code = body.endian.u16(*code);
            let length = usize::from(body.endian.u16([options[2], options[3]]));
            let Some(value) = options.get(4..4 + length) else {
                return Err(cursor.malformed("an interface option is longer than its block"));
            };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_INTERFACE_NAME, _) => name = Some(cut_name(value)),
                (OPTION_TIME_RESOLUTION, [resolution]) => time.set_resolution(*resolution),
                (OPTION_TIME_OFFSET, _) => match value.first_chunk::<8>() {
                    Some(seconds) => time.set_offset_seconds(body.endian.i64(*seconds)),
                    None => return Err(cursor.malformed("a time offset of fewer than 8 bytes")),
                },
                (OPTION_TIME_RESOLUTION, _) => {
                    return Err(cursor.malformed("a time resolution that is not one byte"));
                }
                _ => {}
            }
            options = options
                .get(4 + length.next_multiple_of(4)..)
                .unwrap_or_default();
        }
        self.clocks.push(Clock { time, snap_bytes });
        interfaces.push(Interface {
            link: LinkType::from_dlt(u32::from(link)),
            snap_bytes,
            name,
        });
        Ok(())
    }

    /// Takes a packet block's record, if its claims hold and the quota allows.
    #[inline]
    fn take(
        &self,
        packet: Packet,
        cursor: &Cursor<'_>,
        quota: &mut Quota<'_>,
    ) -> Result<bool, CaptureError> {
        let Some(clock) = self.clocks.get(packet.interface as usize) else {
            return Err(CaptureError::UndeclaredInterface {
                file: cursor.file(),
                offset: cursor.offset(),
                interface: packet.interface,
                declared: self.clocks.len() as u32,
            });
        };
        let captured_bytes = match packet.captured_bytes {
            Some(captured_bytes) => captured_bytes,
            None if clock.snap_bytes == 0 => packet.wire_bytes,
            None => packet.wire_bytes.min(clock.snap_bytes),
        };
        if captured_bytes as usize > MAX_RECORD_BYTES {
            return Err(cursor.record_too_long(captured_bytes));
        }
        if captured_bytes as usize > packet.data_bytes {
            return Err(cursor.malformed("a record is longer than its block"));
        }
        Ok(quota.admit(RecordEntry {
            timestamp_ns: match packet.ticks {
                Some(ticks) => clock.time.nanoseconds(ticks),
                None => 0,
            },
            wire_bytes: packet.wire_bytes.max(captured_bytes),
            captured_bytes,
            offset: (cursor.position + packet.data_offset) as u32,
            interface: self.first_interface as u32 + packet.interface,
        }))
    }
}

/// What the three kinds of packet blocks say.
struct Packet {
    /// In its section.
    interface: u32,
    ticks: Option<u64>,
    /// Not said by simple packets, which are cut at the snap length.
    captured_bytes: Option<u32>,
    wire_bytes: u32,
    /// Of the record, from the start of the block.
    data_offset: usize,
    /// Bytes of the block that the record may occupy.
    data_bytes: usize,
}

/// A block without its leader and trailer.
#[derive(Clone, Copy)]
struct Body<'a> {
    endian: Endian,
    bytes: &'a [u8],
}

impl Body<'_> {
    #[inline]
    fn enhanced_packet(&self) -> Option<Packet> {
        self.packet(|fields| {
            self.endian
                .u32([fields[0], fields[1], fields[2], fields[3]])
        })
    }

    /// Like an enhanced one, but for a narrower interface number beside a drop count.
    fn obsolete_packet(&self) -> Option<Packet> {
        self.packet(|fields| u32::from(self.endian.u16([fields[0], fields[1]])))
    }

    #[inline]
    fn packet(&self, interface: impl Fn(&[u8; PACKET_FIELDS_BYTES]) -> u32) -> Option<Packet> {
        let fields = self.bytes.first_chunk::<PACKET_FIELDS_BYTES>()?;
        let field = |at: usize| {
            self.endian
                .u32([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]])
        };
        Some(Packet {
            interface: interface(fields),
            ticks: Some(u64::from(field(4)) << 32 | u64::from(field(8))),
            captured_bytes: Some(field(12)),
            wire_bytes: field(16),
            data_offset: LEADER_BYTES + PACKET_FIELDS_BYTES,
            data_bytes: self.bytes.len() - PACKET_FIELDS_BYTES,
        })
    }

    /// On the section's first interface, without a time.
    fn simple_packet(&self) -> Option<Packet> {
        Some(Packet {
            interface: 0,
            ticks: None,
            captured_bytes: None,
            wire_bytes: self.u32(0)?,
            data_offset: LEADER_BYTES + 4,
            data_bytes: self.bytes.len() - 4,
        })
    }

    fn u16(&self, at: usize) -> Option<u16> {
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some(self.endian.u16(*bytes))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some(self.endian.u32(*bytes))
    }
}

fn check_length(block_bytes: u32, cursor: &Cursor<'_>) -> Result<(), CaptureError> {
    if (block_bytes as usize) < LEADER_BYTES + TRAILER_BYTES {
        return Err(block_length(block_bytes, cursor, "the least is 12"));
    }
    if !block_bytes.is_multiple_of(4) {
        let reason = "lengths are multiples of 4";
        return Err(block_length(block_bytes, cursor, reason));
    }
    Ok(())
}

#[cold]
fn block_length(block_bytes: u32, cursor: &Cursor<'_>, reason: &'static str) -> CaptureError {
    CaptureError::BlockLength {
        file: cursor.file(),
        offset: cursor.offset(),
        block_bytes,
        reason,
    }
}

#[inline]
fn check_trailer(
    endian: Endian,
    leading_bytes: u32,
    trailer: &[u8],
    offset: u64,
    cursor: &Cursor<'_>,
) -> Result<(), CaptureError> {
    let trailing_bytes = trailer.first_chunk().map_or(0, |bytes| endian.u32(*bytes));
    if trailing_bytes == leading_bytes {
        return Ok(());
    }
    Err(CaptureError::BlockLengthsDisagree {
        file: cursor.file(),
        offset,
        leading_bytes,
        trailing_bytes,
    })
}

/// A name as text, without the padding some writers leave in, cut at [`MAX_NAME_BYTES`].
fn cut_name(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(MAX_NAME_BYTES)];
    String::from_utf8_lossy(bytes)
        .trim_end_matches(['\0', char::REPLACEMENT_CHARACTER])
        .to_owned()
}

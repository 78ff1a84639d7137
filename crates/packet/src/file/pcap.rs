//! Framing of classic pcap files (draft-ietf-opsawg-pcap).
//!
//! ```text
//! file   magic(4) major(2) minor(2) reserved(8) snap(4) link(4)
//! record seconds(4) fraction(4) captured(4) wire(4) bytes…
//! ```

use super::framing::{Cursor, Endian, Quota, Stop};
use super::{CaptureError, Format, Interface, MAX_RECORD_BYTES, RecordEntry};
use crate::wire::LinkType;

pub(super) const HEADER_BYTES: usize = 24;
pub(super) const RECORD_HEADER_BYTES: usize = 16;

/// Magic number of files whose fractions are microseconds.
pub(super) const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
/// Magic number of files whose fractions are nanoseconds.
pub(super) const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;

/// How the records of one file are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PcapFraming {
    endian: Endian,
    fraction_ns: u64,
    /// Before version 2.4 the two lengths were written in either order.
    lengths_in_any_order: bool,
}

impl PcapFraming {
    /// The layout that a file's first four bytes announce.
    pub fn detect(magic: [u8; 4]) -> Option<Self> {
        let (endian, fraction_ns) = match u32::from_le_bytes(magic) {
            MAGIC_MICROSECONDS => (Endian::Little, 1000),
            MAGIC_NANOSECONDS => (Endian::Little, 1),
            number if number.swap_bytes() == MAGIC_MICROSECONDS => (Endian::Big, 1000),
            number if number.swap_bytes() == MAGIC_NANOSECONDS => (Endian::Big, 1),
            _ => return None,
        };
        Some(PcapFraming {
            endian,
            fraction_ns,
            lengths_in_any_order: false,
        })
    }

    /// Reads the rest of the file header and moves the cursor behind it. The
    /// cursor must hold [`HEADER_BYTES`].
    pub fn read_header(&mut self, cursor: &mut Cursor<'_>) -> Result<Interface, CaptureError> {
        let Some(header) = cursor.unread().first_chunk::<HEADER_BYTES>() else {
            return Err(cursor.malformed("the file header is incomplete"));
        };
        let major = self.endian.u16([header[4], header[5]]);
        let minor = self.endian.u16([header[6], header[7]]);
        if major != 2 || minor > 4 {
            return Err(CaptureError::UnsupportedVersion {
                file: cursor.file(),
                offset: cursor.offset(),
                format: Format::Pcap,
                major,
                minor,
            });
        }
        self.lengths_in_any_order = minor < 4;
        let snap_bytes = self.endian.u32(word(header, 16));
        let link = LinkType::from_dlt(self.endian.u32(word(header, 20)));
        cursor.position += HEADER_BYTES;
        Ok(Interface {
            link,
            snap_bytes,
            name: None,
        })
    }

    /// Frames whole records until the quota or the block is used up.
    pub fn frame(
        &self,
        cursor: &mut Cursor<'_>,
        quota: &mut Quota<'_>,
    ) -> Result<Stop, CaptureError> {
        loop {
            let unread = cursor.unread();
            let Some(header) = unread.first_chunk::<RECORD_HEADER_BYTES>() else {
                return Ok(Stop::Need(RECORD_HEADER_BYTES));
            };
            let mut captured_bytes = self.endian.u32(word(header, 8));
            let mut wire_bytes = self.endian.u32(word(header, 12));
            if wire_bytes < captured_bytes {
                if self.lengths_in_any_order {
                    std::mem::swap(&mut captured_bytes, &mut wire_bytes);
                } else {
                    wire_bytes = captured_bytes;
                }
            }
            if captured_bytes as usize > MAX_RECORD_BYTES {
                return Err(cursor.record_too_long(captured_bytes));
            }
            let record_bytes = RECORD_HEADER_BYTES + captured_bytes as usize;
            if unread.len() < record_bytes {
                return Ok(Stop::Need(record_bytes));
            }
            let seconds = u64::from(self.endian.u32(word(header, 0)));
            let fraction = u64::from(self.endian.u32(word(header, 4)));
            let admitted = quota.admit(RecordEntry {
                // At most 2^32 · (10^9 + 10^3), which fits.
                timestamp_ns: seconds * 1_000_000_000 + fraction * self.fraction_ns,
                wire_bytes,
                captured_bytes,
                offset: (cursor.position + RECORD_HEADER_BYTES) as u32,
                interface: 0,
            });
            if !admitted {
                return Ok(Stop::Quota);
            }
            cursor.position += record_bytes;
        }
    }
}

/// Four header bytes from `at`, which the callers keep within `N`.
#[inline]
fn word<const N: usize>(header: &[u8; N], at: usize) -> [u8; 4] {
    [header[at], header[at + 1], header[at + 2], header[at + 3]]
}

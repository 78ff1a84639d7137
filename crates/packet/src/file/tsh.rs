//! Framing of NLANR TSH ("time sequenced headers") traces.
//!
//! ```text
//! record seconds(4) interface(1) microseconds(3) IPv4 header(20) start of TCP header(16)
//! ```
//!
//! All numbers are big-endian. The format has no magic number and no file
//! header; IP options were left out when such traces were made.

use super::framing::{Cursor, Quota, Stop};
use super::{CaptureError, Interface, RecordEntry};
use crate::wire::LinkType;

pub(super) const RECORD_BYTES: usize = 44;
const HEADER_BYTES: usize = 8;
const CAPTURED_BYTES: u32 = (RECORD_BYTES - HEADER_BYTES) as u32;
const IPV4_HEADER_BYTES: u32 = 20;

/// Checks that the first record can be one. The cursor must hold [`RECORD_BYTES`].
pub(super) fn check_first_record(cursor: &Cursor<'_>) -> Result<(), CaptureError> {
    let Some(record) = cursor.unread().first_chunk::<RECORD_BYTES>() else {
        return Err(cursor.malformed("the first TSH record is incomplete"));
    };
    if microseconds(record) >= 1_000_000 {
        return Err(cursor.malformed("a TSH record's microseconds exceed a second"));
    }
    if record[HEADER_BYTES] >> 4 != 4 {
        return Err(cursor.malformed("a TSH record does not hold an IPv4 header"));
    }
    Ok(())
}

/// Frames whole records until the quota or the block is used up. Interfaces
/// are declared by the first record that names them.
pub(super) fn frame(
    cursor: &mut Cursor<'_>,
    interfaces: &mut Vec<Interface>,
    quota: &mut Quota<'_>,
) -> Result<Stop, CaptureError> {
    loop {
        let Some(record) = cursor.unread().first_chunk::<RECORD_BYTES>() else {
            return Ok(Stop::Need(RECORD_BYTES));
        };
        let interface = record[4];
        declare(interfaces, interface);
        let seconds = u64::from(u32::from_be_bytes([
            record[0], record[1], record[2], record[3],
        ]));
        let total_length = u32::from(u16::from_be_bytes([record[10], record[11]]));
        // A length below that of the header is a lie; the header speaks for itself.
        let wire_bytes = if total_length < IPV4_HEADER_BYTES {
            CAPTURED_BYTES
        } else {
            total_length
        };
        let admitted = quota.admit(RecordEntry {
            timestamp_ns: seconds * 1_000_000_000 + u64::from(microseconds(record)) * 1000,
            wire_bytes,
            captured_bytes: wire_bytes.min(CAPTURED_BYTES),
            offset: (cursor.position + HEADER_BYTES) as u32,
            interface: u32::from(interface),
        });
        if !admitted {
            return Ok(Stop::Quota);
        }
        cursor.position += RECORD_BYTES;
    }
}

fn microseconds(record: &[u8; RECORD_BYTES]) -> u32 {
    u32::from_be_bytes([0, record[5], record[6], record[7]])
}

/// Makes sure that interfaces up to `number` exist: at most 256.
#[inline]
fn declare(interfaces: &mut Vec<Interface>, number: u8) {
    while interfaces.len() <= usize::from(number) {
        interfaces.push(Interface {
            link: LinkType::RawIp,
            snap_bytes: CAPTURED_BYTES,
            name: Some(format!("if{}", interfaces.len())),
        });
    }
}

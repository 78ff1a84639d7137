//! Records in ERF, the Extensible Record Format of Endace: a header in front of what was captured
//! (LINKTYPE_ERF).
//!
//! ```text
//! 0            8      9      10     12     14     16
//! | timestamp  | type | flags| rlen | lctr | wlen | extension headers of 8 bytes | packet …
//! ```
//!
//! The highest bit of the type says that an extension header follows; the highest bit of its first
//! byte, that another one does.

use super::{Fault, HeaderKind};

/// Type of records that hold an InfiniBand packet from LRH to VCRC.
const INFINIBAND: u8 = 21;

/// Bytes of an extension header.
const EXTENSION_BYTES: usize = 8;

/// More extension headers than any tool writes.
const MAX_EXTENSIONS: usize = 16;

/// Where a packet lies in a record: from its first byte on, and up to where the record's own
/// length ends it. `None` for packets of other networks.
pub(super) fn packet_of(record: &[u8]) -> Result<Option<(usize, usize)>, Fault> {
    let cut = Fault::HeaderCut(HeaderKind::Erf);
    let header: &[u8; 16] = record.first_chunk().ok_or(cut)?;
    if header[8] & 0x7f != INFINIBAND {
        return Ok(None);
    }
    let record_bytes = usize::from(u16::from_be_bytes([header[10], header[11]]));
    let end = record_bytes.min(record.len());
    let mut at = header.len();
    let mut follows = header[8] & 0x80 != 0;
    let mut extensions = 0;
    while follows {
        let first = record.get(at).ok_or(cut)?;
        follows = first & 0x80 != 0;
        at += EXTENSION_BYTES;
        extensions += 1;
        if extensions > MAX_EXTENSIONS {
            return Err(cut);
        }
    }
    if at > end {
        return Err(cut);
    }
    Ok(Some((at, end)))
}

/// Adds to the lengths of a record and of its packet, which grew or shrank; `None` where one does not
/// fit its field.
pub(crate) fn change_lengths(record: &mut [u8], by: isize) -> Option<()> {
    for at in [10, 14] {
        let field: &mut [u8; 2] = record.get_mut(at..)?.first_chunk_mut()?;
        let length = u16::from_be_bytes(*field).checked_add_signed(by as i16)?;
        *field = length.to_be_bytes();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, record_bytes: u16, rest: &[u8]) -> Vec<u8> {
        let mut record = vec![0; 8];
        record.extend([kind, 4]);
        record.extend(record_bytes.to_be_bytes());
        record.extend([0; 4]);
        record.extend(rest);
        record
    }

    #[test]
    fn packets_lie_behind_the_extension_headers() {
        assert_eq!(packet_of(&record(21, 20, &[0; 4])), Ok(Some((16, 20))));
        // The record's own length is the smaller one, or what was captured is.
        assert_eq!(packet_of(&record(21, 18, &[0; 4])), Ok(Some((16, 18))));
        assert_eq!(packet_of(&record(21, 64, &[0; 4])), Ok(Some((16, 20))));
        let mut two = [0; 20];
        two[0] = 0x80;
        assert_eq!(packet_of(&record(0x95, 36, &two)), Ok(Some((32, 36))));
        assert_eq!(packet_of(&record(2, 36, &two)), Ok(None));
    }

    #[test]
    fn headers_that_do_not_end_are_refused() {
        let cut = Err(Fault::HeaderCut(HeaderKind::Erf));
        assert_eq!(packet_of(&record(21, 20, &[])[..15]), cut);
        assert_eq!(packet_of(&record(0x95, 20, &[0x80; 4])), cut);
        assert_eq!(packet_of(&record(0x95, 20, &[0; 4])), cut);
        assert_eq!(packet_of(&record(0x95, 2000, &[0x80; 400])), cut);
        assert_eq!(packet_of(&record(21, 12, &[0; 4])), cut);
    }
}

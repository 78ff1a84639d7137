//! The packets of captures.

use weir_packet::file::{CaptureError, Reader};
use weir_packet::wire::LinkType;

/// Calls `each` with link, bytes and length on the wire of every packet, until that fails.
pub(super) fn for_each_packet<E: From<CaptureError>>(
    mut reader: Reader,
    mut each: impl FnMut(LinkType, &[u8], u32) -> Result<(), E>,
) -> Result<(), E> {
    const RECORDS: usize = 256;
    const BYTES: usize = 1 << 20;
    let mut entries = Vec::with_capacity(RECORDS);
    while let Some(block) = reader.fill(RECORDS, BYTES, &mut entries)? {
        for entry in entries.drain(..) {
            if let Some(interface) = reader.interfaces().get(entry.interface as usize) {
                each(interface.link, entry.bytes(&block), entry.wire_bytes)?;
            }
        }
    }
    Ok(())
}

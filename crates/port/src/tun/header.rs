//! The header in front of each packet of a TUN device (`struct virtio_net_hdr`, in the byte order
//! of the machine).

use std::num::NonZeroU16;

use crate::offload::{checksum_place, finish_at};
use crate::port::{ChecksumState, LinkLayer, Offload, Segments, Transport};

pub type Header = [u8; 10];

/// What the header says of a packet. A checksum that only the header describes is computed; what
/// contradicts itself is nothing.
pub fn read(header: &Header, packet: &mut [u8]) -> Option<Offload> {
    let word = |offset: usize| u16::from_ne_bytes([header[offset], header[offset + 1]]);
    let [flags, kind, ..] = *header;
    let (start, offset) = (
        usize::from(word(CHECKSUM_START)),
        usize::from(word(CHECKSUM_OFFSET)),
    );
    let transport = match kind & !WITH_ECN {
        NOT_SPLIT => None,
        TCP_V4 | TCP_V6 => Some(Transport::Tcp),
        UDP => Some(Transport::Udp),
        _ => return None,
    };
    let segments = match transport {
        None => None,
        Some(transport) => Some(Segments {
            transport,
            payload_bytes: NonZeroU16::new(word(SEGMENT_BYTES))?,
        }),
    };
    let is_missing = flags & NEEDS_CHECKSUM != 0;
    let is_known = is_missing && checksum_place(packet, LinkLayer::Ip) == Some((start, offset));
    let checksum = match (is_missing, is_known) {
        (false, _) if segments.is_some() => return None,
        (false, _) if flags & DATA_VALID != 0 => ChecksumState::Valid,
        (false, _) => ChecksumState::Unknown,
        (true, true) => ChecksumState::NotReady,
        // That of an inner header: no one else would find it.
        (true, false) if segments.is_none() && finish_at(packet, start, offset) => {
            ChecksumState::Unknown
        }
        (true, false) => return None,
    };
    Some(Offload { checksum, segments })
}

/// A header for a packet that begins with `packet`, its headers at least. `place` is that of its
/// checksum; nothing where there must be one and is none.
pub fn write(offload: Offload, packet: &[u8], place: Option<(usize, usize)>) -> Option<Header> {
    let mut header = Header::default();
    if offload.checksum == ChecksumState::Valid {
        header[0] = DATA_VALID;
    }
    if offload.checksum == ChecksumState::NotReady {
        let (start, offset) = place?;
        header[0] = NEEDS_CHECKSUM;
        header[CHECKSUM_START..][..2].copy_from_slice(&(start as u16).to_ne_bytes());
        header[CHECKSUM_OFFSET..][..2].copy_from_slice(&(offset as u16).to_ne_bytes());
        if let Some(segments) = offload.segments {
            let is_v6 = packet[0] >> 4 == 6;
            let (kind, header_bytes) = match segments.transport {
                Transport::Tcp => {
                    let flags = packet.get(start + 13)?;
                    let ecn = if flags & CWR != 0 { WITH_ECN } else { 0 };
                    let kind = if is_v6 { TCP_V6 } else { TCP_V4 };
                    (
                        kind | ecn,
                        start + usize::from(packet.get(start + 12)? >> 4) * 4,
                    )
                }
                Transport::Udp => (UDP, start + 8),
            };
            header[1] = kind;
            header[HEADER_BYTES..][..2].copy_from_slice(&(header_bytes as u16).to_ne_bytes());
            let segment_bytes = segments.payload_bytes.get().to_ne_bytes();
            header[SEGMENT_BYTES..][..2].copy_from_slice(&segment_bytes);
        }
    }
    Some(header)
}

const HEADER_BYTES: usize = 2;
const SEGMENT_BYTES: usize = 4;
const CHECKSUM_START: usize = 6;
const CHECKSUM_OFFSET: usize = 8;

// From linux/virtio_net.h.
const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const NOT_SPLIT: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const WITH_ECN: u8 = 0x80;

/// The flag of a TCP header.
const CWR: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of TCP, without checksums.
    fn packet(flags: u8) -> Vec<u8> {
        let mut packet = vec![
            0x45, 0, 0, 140, 0, 0, 0, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
        ];
        packet.resize(140, 0);
        packet[32] = 0x50;
        packet[33] = flags;
        packet
    }

    #[test]
    fn what_is_written_is_read() {
        let segments = Segments {
            transport: Transport::Tcp,
            payload_bytes: NonZeroU16::new(40).expect("not zero"),
        };
        for (checksum, segments) in [
            (ChecksumState::Unknown, None),
            (ChecksumState::Valid, None),
            (ChecksumState::NotReady, None),
            (ChecksumState::NotReady, Some(segments)),
        ] {
            let offload = Offload { checksum, segments };
            for flags in [0x10, 0x90] {
                let mut packet = packet(flags);
                let place = checksum_place(&packet, LinkLayer::Ip);
                let header = write(offload, &packet, place).expect("a header");
                assert_eq!(read(&header, &mut packet), Some(offload));
                let has_ecn = header[1] & WITH_ECN != 0;
                assert_eq!(has_ecn, segments.is_some() && flags == 0x90);
            }
        }
        let offload = Offload {
            checksum: ChecksumState::NotReady,
            segments: None,
        };
        assert_eq!(write(offload, &[0x45; 30], None), None);
    }

    #[test]
    fn a_checksum_elsewhere_is_computed() {
        let mut packet = packet(0x10);
        packet[9] = 47;
        let mut header = [NEEDS_CHECKSUM, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header[CHECKSUM_START..][..2].copy_from_slice(&60_u16.to_ne_bytes());
        header[CHECKSUM_OFFSET..][..2].copy_from_slice(&6_u16.to_ne_bytes());
        packet[70] = 7;
        assert_eq!(read(&header, &mut packet), Some(Offload::default()));
        assert_eq!(packet[66..68], [0xf8, 0xff]);
    }

    #[test]
    fn contradictions_are_nothing() {
        let header = |flags, kind, segment: u16, start: u16| {
            let mut header = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
            header[SEGMENT_BYTES..][..2].copy_from_slice(&segment.to_ne_bytes());
            header[CHECKSUM_START..][..2].copy_from_slice(&start.to_ne_bytes());
            header[CHECKSUM_OFFSET..][..2].copy_from_slice(&16_u16.to_ne_bytes());
            header
        };
        for header in [
            header(NEEDS_CHECKSUM, 2, 40, 20),
            header(NEEDS_CHECKSUM, TCP_V4, 0, 20),
            header(NEEDS_CHECKSUM, TCP_V4, 40, 21),
            header(0, TCP_V4, 40, 20),
            header(NEEDS_CHECKSUM, NOT_SPLIT, 0, 139),
        ] {
            assert_eq!(read(&header, &mut packet(0x10)), None, "{header:?}");
        }
        assert!(read(&header(NEEDS_CHECKSUM, TCP_V4, 40, 20), &mut packet(0x10)).is_some());
    }
}

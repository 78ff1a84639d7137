//! Captures as lists of packets, taken apart without Weir's own parsers.

use std::path::Path;

use weir_packet::file::{Format, Interface, Reader, Writer};
use weir_packet::wire::LinkType;

/// One packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    pub timestamp_ns: u64,
    pub interface: Option<String>,
    pub bytes: Vec<u8>,
}

/// All packets of a capture.
#[track_caller]
pub fn packets(path: impl AsRef<Path>) -> Vec<Packet> {
    let mut reader = Reader::open(path.as_ref()).expect("a capture");
    let mut packets = Vec::new();
    let mut entries = Vec::new();
    while let Some(block) = reader.fill(256, 1 << 20, &mut entries).expect("whole") {
        for entry in entries.drain(..) {
            let interface = &reader.interfaces()[entry.interface as usize];
            packets.push(Packet {
                timestamp_ns: entry.timestamp_ns,
                interface: interface.name.clone(),
                bytes: entry.bytes(&block).to_vec(),
            });
        }
    }
    packets
}

/// Writes Ethernet frames, a microsecond apart.
pub fn write_frames(path: impl AsRef<Path>, frames: &[Vec<u8>]) {
    let records = (0..).zip(frames).map(|(number, frame)| {
        let timestamp_ns = 1_700_000_000_000_000_000 + number * 1_000;
        (timestamp_ns, frame.len() as u32, frame.clone())
    });
    write_records(path, records);
}

/// Writes Ethernet frames: time, length on the wire, bytes.
pub fn write_records(
    path: impl AsRef<Path>,
    records: impl IntoIterator<Item = (u64, u32, Vec<u8>)>,
) {
    let mut writer = Writer::create(path.as_ref(), Format::PcapNg).expect("created");
    let interface = writer.add_interface(&Interface::new(LinkType::Ethernet));
    let interface = interface.expect("declared");
    for (timestamp_ns, wire_bytes, frame) in records {
        writer
            .write(interface, timestamp_ns, wire_bytes, &frame)
            .expect("written");
    }
    writer.finish().expect("finished");
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// Where the IP packet of an Ethernet frame begins and ends: by its own
/// length, so without what pads the frame. `None` for other frames.
pub fn ip_range(frame: &[u8]) -> Option<(usize, usize)> {
    let mut at = 12;
    while matches!(u16_at(frame, at), 0x8100 | 0x88a8) {
        at += 4;
    }
    let start = at + 2;
    let bytes = match u16_at(frame, at) {
        0x0800 => u16_at(frame, start + 2),
        0x86dd => 40 + u16_at(frame, start + 4),
        _ => return None,
    };
    Some((start, start + bytes))
}

impl Packet {
    /// Time, interface, link header and the IP packet for its total length;
    /// of frames that carry something else, everything.
    pub fn without_padding(&self) -> Packet {
        let end = ip_range(&self.bytes).map_or(self.bytes.len(), |(_, end)| end);
        Packet {
            bytes: self.bytes[..end].to_vec(),
            ..self.clone()
        }
    }

    /// Addresses of the IP packet, as 8 or 32 bytes.
    pub fn addresses(&self) -> Option<&[u8]> {
        let (start, _) = ip_range(&self.bytes)?;
        Some(match self.bytes[start] >> 4 {
            4 => &self.bytes[start + 12..start + 20],
            _ => &self.bytes[start + 8..start + 40],
        })
    }

    /// The ESP packet right behind the IP header, from its SPI on (RFC 4303).
    pub fn esp(&self) -> Option<&[u8]> {
        let (start, end) = ip_range(&self.bytes)?;
        let (header_bytes, protocol) = match self.bytes[start] >> 4 {
            4 => (
                usize::from(self.bytes[start] & 15) * 4,
                self.bytes[start + 9],
            ),
            _ => (40, self.bytes[start + 6]),
        };
        (protocol == 50).then(|| &self.bytes[start + header_bytes..end])
    }

    /// The SPI and the 8 octets of an IV that counts (RFC 3686, RFC 4106).
    pub fn spi_and_iv(&self) -> Option<(u32, u64)> {
        let esp = self.esp()?;
        let spi = u32::from_be_bytes(esp[..4].try_into().expect("4 bytes"));
        let iv = u64::from_be_bytes(esp[8..16].try_into().expect("8 bytes"));
        Some((spi, iv))
    }
}

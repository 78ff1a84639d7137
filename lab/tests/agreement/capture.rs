//! The packets of the example capture.

use std::path::Path;

use weir_packet::file::Reader;
use weir_packet::wire::{FlowKey, Headers};

/// A packet with an IP header.
pub struct Packet {
    pub timestamp_ns: u64,
    pub flow: FlowKey,
    pub wire_bytes: u32,
    pub captured_bytes: u32,
    /// What is behind the transport header.
    pub payload: Vec<u8>,
}

/// The IP packets of `examples/traffic.pcapng`.
pub fn packets() -> Vec<Packet> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/traffic.pcapng");
    let mut reader = Reader::open(&path).expect("the example capture");
    let mut entries = Vec::new();
    let mut packets = Vec::new();
    while let Some(block) = reader.fill(256, 1 << 20, &mut entries).expect("a capture") {
        for entry in entries.drain(..) {
            let interface = &reader.interfaces()[entry.interface as usize];
            let bytes = entry.bytes(&block);
            let headers = Headers::parse(interface.link, bytes);
            packets.extend(FlowKey::from_headers(&headers, bytes).map(|flow| Packet {
                timestamp_ns: entry.timestamp_ns,
                flow,
                wire_bytes: entry.wire_bytes,
                captured_bytes: bytes.len() as u32,
                payload: headers.payload(bytes).to_vec(),
            }));
        }
    }
    assert!(packets.len() > 1000, "{}", packets.len());
    packets
}

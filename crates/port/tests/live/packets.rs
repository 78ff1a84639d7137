//! Packets for tests, and short ways to send and receive them.

use std::time::Duration;

use weir_netlab::{Cable, Namespace, until};
use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, Tx};

/// Runs a test in a namespace with a cable of one queue between `a` and `b`.
pub fn inside(test: impl FnOnce(&Namespace) + Send) {
    weir_netlab::inside(Cable::default(), test);
}

/// A packet of an experimental protocol (IEEE 802, 0x88b5) with a number.
pub fn packet(number: u32, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0x5a; bytes];
    packet[..6].copy_from_slice(&[0x02, 0, 0, 0, 0, 2]);
    packet[6..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 1]);
    packet[12..14].copy_from_slice(&[0x88, 0xb5]);
    packet[14..18].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Frames for packets of any test.
pub fn pool() -> FramePool {
    FramePool::new(FrameLayout::default()).expect("memory")
}

/// Sends copies of packets and returns how many were accepted.
pub fn send(tx: &mut impl Tx, packets: &[impl AsRef<[u8]>]) -> usize {
    let packets = packets.iter().map(|packet| Outgoing::from(packet.as_ref()));
    tx.send(&mut Frames::default(), &packets.collect::<Vec<_>>())
}

/// What has arrived, without waiting: bytes, and arrival in nanoseconds.
pub fn take(rx: &mut impl Rx) -> Vec<(Vec<u8>, u64)> {
    let mut frames = Frames::default();
    rx.fill(&mut frames, 256);
    let packets = frames.packets();
    let packets = packets.map(|packet| (packet.bytes.to_vec(), packet.arrival.arrival_ns));
    packets.collect()
}

/// The first packets that a port receives, up to a number of them: bytes, and arrival in nanoseconds.
pub fn receive(rx: &mut impl Rx, count: usize) -> Vec<(Vec<u8>, u64)> {
    let mut received = Vec::new();
    until(|| {
        received.extend(take(rx));
        if received.len() < count {
            rx.wait(Duration::from_millis(100));
        }
        received.len() >= count
    });
    assert_eq!(received.len(), count, "{received:02x?}");
    received
}

/// The same, without the times.
pub fn receive_bytes(rx: &mut impl Rx, count: usize) -> Vec<Vec<u8>> {
    receive(rx, count)
        .into_iter()
        .map(|(bytes, _)| bytes)
        .collect()
}

/// A UDP packet with a source port and a number.
pub fn udp(flow: u16, number: u16) -> Vec<u8> {
    let mut packet = packet(u32::from(number), 60);
    packet[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = [
        0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
    ];
    packet[14..34].copy_from_slice(&ip);
    let sum: u32 = ip
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[24..26].copy_from_slice(&checksum.to_be_bytes());
    packet[34..36].copy_from_slice(&(1024 + flow).to_be_bytes());
    packet[36..38].copy_from_slice(&9_u16.to_be_bytes());
    packet[38..40].copy_from_slice(&26_u16.to_be_bytes());
    packet[40..42].fill(0);
    packet[42..44].copy_from_slice(&number.to_be_bytes());
    packet
}

//! Headers and flow keys of packets that lie in memory, one after the other.

use std::hint::black_box;

use anyhow::{Result, ensure};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use weir_packet::generate::{Generator, Plan, SizeModel};
use weir_packet::wire::{FlowKey, Headers, LinkType};

use crate::harness::{Comparison, Recorder, WEIR, timed};
use crate::machine::versioned;

const PACKET_BYTES: usize = 64;

/// Packets in memory: 256 KiB, which an L2 cache holds.
const PACKETS: usize = 4096;

/// Passes over them in a sample.
const PASSES: usize = 64;

/// The comparison over 64-byte packets.
pub fn measure(recorder: &mut Recorder) -> Result<()> {
    let frames = frames()?;
    let packets = (PACKETS * PASSES) as u64;
    let mut comparison = Comparison::new("headers and flow key", PACKET_BYTES, "none");
    comparison.add(
        WEIR,
        timed(packets, || Ok(Some(sum_of_keys(&frames, weir)))),
    );
    comparison.add(
        versioned("etherparse"),
        timed(packets, || Ok(Some(sum_of_keys(&frames, etherparse)))),
    );
    recorder.run(comparison)
}

/// Frames of 4,096 packets of 1,000 flows over TCP and UDP, end to end.
fn frames() -> Result<Vec<u8>> {
    let plan = Plan {
        packets: PACKETS as u64,
        flows: 1000,
        sizes: SizeModel::Frame(PACKET_BYTES as u16 + 4),
        ipv6_share: 0.0,
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan)?;
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    while generator.fill(&mut frame).is_some() {
        ensure!(
            frame.len() == PACKET_BYTES,
            "a frame of {} bytes",
            frame.len()
        );
        frames.extend_from_slice(&frame);
    }
    Ok(frames)
}

/// Adds up the keys that `key_of` finds, so that they are computed and can be
/// compared.
fn sum_of_keys(frames: &[u8], key_of: impl Fn(&[u8]) -> Option<FlowKey>) -> u64 {
    let mut sum = 0u64;
    for _ in 0..PASSES {
        for frame in black_box(frames).chunks_exact(PACKET_BYTES) {
            if let Some(key) = black_box(key_of(frame)) {
                let addresses = key.source as u64 ^ (key.destination as u64).rotate_left(32);
                let ports = u64::from(key.source_port) << 16 | u64::from(key.destination_port);
                sum = sum.wrapping_add(addresses ^ ports << 8 ^ u64::from(key.protocol));
            }
        }
    }
    sum
}

fn weir(frame: &[u8]) -> Option<FlowKey> {
    let headers = Headers::parse(LinkType::Ethernet, frame);
    FlowKey::from_headers(&headers, frame)
}

fn etherparse(frame: &[u8]) -> Option<FlowKey> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (source_port, destination_port) = match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
        Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
        _ => (0, 0),
    };
    match packet.net? {
        NetSlice::Ipv4(ip) => Some(FlowKey {
            source: u32::from_be_bytes(ip.header().source()).into(),
            destination: u32::from_be_bytes(ip.header().destination()).into(),
            source_port,
            destination_port,
            protocol: ip.payload_ip_number().0,
            ip_version: 4,
        }),
        NetSlice::Ipv6(ip) => Some(FlowKey {
            source: u128::from_be_bytes(ip.header().source()),
            destination: u128::from_be_bytes(ip.header().destination()),
            source_port,
            destination_port,
            protocol: ip.payload().ip_number.0,
            ip_version: 6,
        }),
        NetSlice::Arp(_) => None,
    }
}

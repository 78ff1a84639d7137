//! Packets for tests: IPv4 without a link header.

use weir_packet::wire::protocol::{ICMP, TCP, UDP};
use weir_packet::wire::{Headers, LinkType};

use crate::packet::Packet;

/// An IPv4 packet with `more_fragments` or a fragment offset in `fragment`.
pub(crate) fn ipv4(protocol: u8, ends: (u32, u32), fragment: u16, after: &[u8]) -> Vec<u8> {
    let total = (20 + after.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(ends.0.to_be_bytes());
    packet.extend(ends.1.to_be_bytes());
    packet.extend_from_slice(after);
    packet
}

/// A TCP header's fields that tests set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpFields {
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
}

pub(crate) fn tcp(
    ends: (u32, u32),
    ports: (u16, u16),
    fields: TcpFields,
    payload: &[u8],
) -> Vec<u8> {
    let mut segment = Vec::new();
    segment.extend(ports.0.to_be_bytes());
    segment.extend(ports.1.to_be_bytes());
    segment.extend(fields.sequence.to_be_bytes());
    segment.extend(fields.acknowledgement.to_be_bytes());
    segment.extend([0x50, fields.flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend_from_slice(payload);
    ipv4(TCP, ends, 0, &segment)
}

pub(crate) fn udp(ends: (u32, u32), ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(ports.0.to_be_bytes());
    datagram.extend(ports.1.to_be_bytes());
    datagram.extend(((8 + payload.len()) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend_from_slice(payload);
    ipv4(UDP, ends, 0, &datagram)
}

pub(crate) fn icmp(ends: (u32, u32), kind: u8, payload: &[u8]) -> Vec<u8> {
    let message = [&[kind, 0, 0, 0, 0, 1, 0, 1], payload].concat();
    ipv4(ICMP, ends, 0, &message)
}

pub(crate) fn as_packet(bytes: &[u8], timestamp_ns: u64) -> Packet<'_> {
    Packet {
        headers: Headers::parse(LinkType::RawIpv4, bytes),
        bytes,
        timestamp_ns,
        ..Packet::default()
    }
}

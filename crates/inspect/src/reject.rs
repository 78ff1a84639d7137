//! Packets that tell the ends of a rejected packet: a TCP RST, or an ICMP
//! error.
//!
//! They are what the other end would have sent, behind the link header of the
//! rejected packet: towards its sender with the MAC addresses exchanged, VLAN
//! tags and PPPoE session kept.

use weir_packet::wire::build::{self, IpHeader, TcpHeader, flags};
use weir_packet::wire::protocol::{ICMP, ICMPV6, TCP, UDP};
use weir_packet::wire::views::{Icmp, Tcp};
use weir_packet::wire::{FlowKey, Fragment, LinkType, Shim};

use crate::packet::Packet;
use crate::rule::RejectTo;

/// A packet for one end of a rejected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Which end.
    pub towards: Towards,
    /// The record, from its link header on.
    pub bytes: Vec<u8>,
}

/// The ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Its sender: the reply leaves by the port that the packet came in by.
    Sender,
    /// Its receiver: the reply leaves by the port that the packet would have
    /// left by.
    Receiver,
}

/// Longest ICMP error: RFC 1812, section 4.3.2.3, and RFC 4443, section 3.1.
const MAX_IPV4_ERROR_BYTES: usize = 576;
const MAX_IPV6_ERROR_BYTES: usize = 1280;
const ETHERNET_HEADER_BYTES: u16 = 14;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const ICMP_HEADER_BYTES: usize = 8;

/// Type and code of "port unreachable" (RFC 792; RFC 4443, section 3.1).
const PORT_UNREACHABLE_V4: (u8, u8) = (3, 3);
const PORT_UNREACHABLE_V6: (u8, u8) = (1, 4);

/// The replies to a rejected packet that arrived in `record` (its own, or that
/// of the fragment that completed it). `receiver_next` is the sequence number
/// that the receiver of a TCP segment expects, where that is known. There is
/// none to a packet that no host may answer: to ICMP errors and RSTs, and from
/// or to groups of hosts; nor to one inside a tunnel.
pub(crate) fn replies(
    record: &Packet<'_>,
    packet: &Packet<'_>,
    to: RejectTo,
    receiver_next: Option<u32>,
) -> Vec<Reply> {
    let mut replies = Vec::new();
    let Some(key) = FlowKey::from_headers(&packet.headers, packet.bytes) else {
        return replies;
    };
    if packet.tunnel != 0 || is_for_group(record) || !may_be_answered(packet, &key) {
        return replies;
    }
    let towards: &[Towards] = match to {
        RejectTo::Source => &[Towards::Sender],
        RejectTo::Destination => &[Towards::Receiver],
        RejectTo::Both => &[Towards::Sender, Towards::Receiver],
    };
    for towards in towards {
        let answer = match Tcp::new(packet.headers.transport(packet.bytes)) {
            Some(tcp) if key.protocol == TCP => reset(&key, &tcp, *towards, receiver_next),
            _ => error(&key, packet, *towards),
        };
        let framed = answer.and_then(|answer| framed(record, *towards, &answer));
        replies.extend(framed.map(|bytes| Reply {
            towards: *towards,
            bytes,
        }));
    }
    replies
}

/// Whether a frame is for more than one station.
fn is_for_group(record: &Packet<'_>) -> bool {
    has_mac_addresses(record) && record.bytes.first().is_some_and(|first| first & 1 != 0)
}

fn has_mac_addresses(record: &Packet<'_>) -> bool {
    record.link == LinkType::Ethernet && record.headers.network_offset >= ETHERNET_HEADER_BYTES
}

/// Whether a host may answer a packet with an error (RFC 1122, section 3.2.2;
/// RFC 4443, section 2.4).
fn may_be_answered(packet: &Packet<'_>, key: &FlowKey) -> bool {
    let is_host = |address: u128| match key.ip_version {
        4 => {
            let first = (address >> 24) as u8;
            first != 0 && first < 224
        }
        _ => address != 0 && address >> 120 != 0xff,
    };
    let message = Icmp::new(packet.headers.transport(packet.bytes));
    let is_error = match (key.protocol, message) {
        (ICMP, Some(message)) => matches!(message.icmp_type(), 3..=5 | 11 | 12),
        (ICMPV6, Some(message)) => message.icmp_type() < 128,
        (ICMP | ICMPV6, None) => true,
        (TCP, _) => packet.headers.tcp_flags & flags::RST != 0,
        _ => false,
    };
    is_host(key.source)
        && is_host(key.destination)
        && !is_error
        && packet.headers.fragment != Fragment::Later
}

/// The RST by which one end of a connection would refuse the segment (RFC 9293,
/// section 3.10.7), or would end the connection on its own.
fn reset(
    key: &FlowKey,
    segment: &Tcp<'_>,
    towards: Towards,
    receiver_next: Option<u32>,
) -> Option<Vec<u8>> {
    let has = |flag| segment.flags() & flag != 0;
    let header = match towards {
        Towards::Sender => {
            let length = segment.payload().len() as u32
                + u32::from(has(flags::SYN))
                + u32::from(has(flags::FIN));
            TcpHeader {
                sequence: if has(flags::ACK) {
                    segment.acknowledgment_number()
                } else {
                    0
                },
                acknowledgment: segment.sequence_number().wrapping_add(length),
                flags: flags::RST | flags::ACK,
                ..TcpHeader::default()
            }
        }
        // The receiver does not know of a connection whose SYN it never gets.
        Towards::Receiver if !has(flags::ACK) => return None,
        Towards::Receiver => TcpHeader {
            sequence: receiver_next.unwrap_or(segment.sequence_number()),
            acknowledgment: segment.acknowledgment_number(),
            flags: flags::RST | flags::ACK,
            ..TcpHeader::default()
        },
    };
    let key = match towards {
        Towards::Sender => key.reversed(),
        Towards::Receiver => *key,
    };
    Some(build::tcp_packet(&key, &header, b""))
}

/// "Port unreachable" from the other end. The receiver gets it about the
/// datagram by which it would have answered, which only UDP has.
fn error(key: &FlowKey, packet: &Packet<'_>, towards: Towards) -> Option<Vec<u8>> {
    let reversed_datagram;
    let (from, quoted) = match towards {
        Towards::Sender => (key.reversed(), packet.headers.ip_packet(packet.bytes)),
        Towards::Receiver if key.protocol == UDP => {
            reversed_datagram = build::udp_packet(&key.reversed(), b"");
            (*key, &reversed_datagram[..])
        }
        Towards::Receiver => return None,
    };
    let is_ipv4 = key.ip_version == 4;
    let (protocol, (icmp_type, code), most_bytes) = if is_ipv4 {
        let room = MAX_IPV4_ERROR_BYTES - IPV4_HEADER_BYTES - ICMP_HEADER_BYTES;
        (ICMP, PORT_UNREACHABLE_V4, room)
    } else {
        let room = MAX_IPV6_ERROR_BYTES - IPV6_HEADER_BYTES - ICMP_HEADER_BYTES;
        (ICMPV6, PORT_UNREACHABLE_V6, room)
    };
    let from = FlowKey {
        protocol,
        source_port: 0,
        destination_port: 0,
        ..from
    };
    let mut answer = Vec::new();
    build::ip(&mut answer, &from, &IpHeader::default(), |out| {
        build::icmp(out, &from, icmp_type, code, |body| {
            body.extend_from_slice(&[0; 4]);
            body.extend_from_slice(&quoted[..quoted.len().min(most_bytes)]);
        });
    });
    Some(answer)
}

/// An IP packet behind the link header of a record. `None` where that cannot be
/// used: labels of MPLS have a direction.
fn framed(record: &Packet<'_>, towards: Towards, ip_packet: &[u8]) -> Option<Vec<u8>> {
    let headers = &record.headers;
    let mut frame = record.bytes.get(..headers.network_offset.into())?.to_vec();
    let link_bytes = frame.len();
    if has_mac_addresses(record) {
        let ether_type_at = 12 + 4 * usize::from(headers.vlan_tags);
        match headers.shim() {
            Some(Shim::Mpls) => return None,
            Some(Shim::Pppoe) => {
                // Length and protocol of PPP end the header.
                let length = u16::try_from(2 + ip_packet.len()).ok()?;
                let field = frame.get_mut(ether_type_at + 6..ether_type_at + 8)?;
                field.copy_from_slice(&length.to_be_bytes());
            }
            Some(Shim::LlcSnap) => {
                let behind = link_bytes.checked_sub(ether_type_at + 2)?;
                let length = u16::try_from(behind + ip_packet.len()).ok()?;
                let field = frame.get_mut(ether_type_at..ether_type_at + 2)?;
                field.copy_from_slice(&length.to_be_bytes());
            }
            None => {}
        }
        if towards == Towards::Sender {
            let (destination, rest) = frame.split_at_mut(6);
            destination.swap_with_slice(&mut rest[..6]);
        }
    }
    frame.extend_from_slice(ip_packet);
    Some(frame)
}

#[cfg(test)]
mod tests;

//! Packets that tell the ends of a rejected packet: a TCP RST, or an ICMP
//! error.
//!
//! They are what the other end would have sent, behind the link header of the
//! rejected packet: towards its sender with the MAC addresses exchanged, VLAN
//! tags and PPPoE session kept.

use weir_packet::wire::FlowKey;
use weir_packet::wire::build::{self, TcpHeader, flags};
use weir_packet::wire::protocol::{TCP, UDP};
use weir_packet::wire::reply::{IcmpError, Towards, allows_icmp_error, framed, is_for_group};
use weir_packet::wire::views::Tcp;

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
    let is_reset = key.protocol == TCP && packet.headers.tcp_flags & flags::RST != 0;
    if packet.is_tunneled
        || is_reset
        || is_for_group(record.link, &record.headers, record.bytes)
        || !allows_icmp_error(&packet.headers, packet.bytes)
    {
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
        let framed = answer.and_then(|answer| {
            framed(
                record.link,
                &record.headers,
                record.bytes,
                *towards,
                &answer,
            )
        });
        replies.extend(framed.map(|bytes| Reply {
            towards: *towards,
            bytes,
        }));
    }
    replies
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
    Some(IcmpError::PortUnreachable.packet(&from, quoted))
}

#[cfg(test)]
mod tests;

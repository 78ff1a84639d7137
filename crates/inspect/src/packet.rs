//! Packets as the inspector sees them.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;
use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{Fault, FlowKey, Fragment, Headers, LinkType, Network};

/// Most tunnels in tunnels that a packet is followed through: each is one more
/// text to search, so a sender must not be free to choose how many.
pub const MAX_TUNNELS: usize = 4;

const UDP_HEADER_BYTES: usize = 8;

/// A packet as the inspector sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet<'a> {
    /// Where its headers lie.
    pub headers: Headers,
    /// The record, from its link header on.
    pub bytes: &'a [u8],
    /// Time of arrival, nanoseconds since 1970.
    pub timestamp_ns: u64,
    /// Interface on which it arrived.
    pub interface: u16,
    /// Its link header.
    pub link: LinkType,
    /// The record ends before the packet did on the wire.
    pub is_cut: bool,
    /// The port vouches for the checksum of its transport header.
    pub is_checksum_trusted: bool,
    /// The tunnel that it came through, by the addresses of its ends; 0 for
    /// none. Flows in different tunnels are different flows.
    pub tunnel: u64,
}

impl<'a> Packet<'a> {
    /// The packet, and those that it carries through tunnels, one in the
    /// other: at most [`MAX_TUNNELS`]; of all these, the IP packets.
    pub(crate) fn levels(self) -> impl Iterator<Item = Packet<'a>> {
        let inner = |packet: &Packet<'a>| {
            let headers = packet.headers.inner(packet.bytes)?;
            let tunnel = match packet.tunnel {
                0 if packet.headers.is_ip() => pair_number(&packet.flow()) | 1,
                known => known,
            };
            Some(Packet {
                headers,
                tunnel,
                is_checksum_trusted: false,
                ..*packet
            })
        };
        std::iter::successors(Some(self), inner)
            .take(1 + MAX_TUNNELS)
            .filter(|packet| packet.headers.is_ip())
    }

    /// The transport header can be read, and the packet is no fragment.
    pub(crate) fn is_whole(&self) -> bool {
        self.headers.fragment == Fragment::Whole
            && matches!(self.headers.fault, None | Some(Fault::PacketCut))
    }

    /// What contents are looked for in: the bytes after the header of TCP,
    /// UDP, SCTP or ICMP; otherwise those after the IP header.
    pub(crate) fn payload(&self) -> &'a [u8] {
        if self.is_whole() && self.headers.protocol == UDP {
            self.transport().get(UDP_HEADER_BYTES..).unwrap_or_default()
        } else if self.is_whole() && matches!(self.headers.protocol, TCP | SCTP | ICMP | ICMPV6) {
            self.headers.payload(self.bytes)
        } else if self.headers.is_ip() {
            self.headers.transport(self.bytes)
        } else {
            &[]
        }
    }

    /// The bytes from the transport header on: of UDP as many as its length says, where that
    /// can be.
    pub(crate) fn transport(&self) -> &'a [u8] {
        let transport = self.headers.transport(self.bytes);
        match self.headers.protocol {
            UDP => (self.udp_length())
                .and_then(|length| transport.get(..length))
                .unwrap_or(transport),
            _ => transport,
        }
    }

    /// Bytes of a whole datagram of UDP, its header included, as its length field says;
    /// `None` where that cannot be.
    pub(crate) fn udp_length(&self) -> Option<usize> {
        let transport = self.headers.transport(self.bytes);
        let [_, _, _, _, high, low, ..] = *transport else {
            return None;
        };
        match (u16::from_be_bytes([high, low]), self.headers.network) {
            // As long as the packet (RFC 2675, section 4).
            (0, Network::Ipv6) => Some(transport.len()),
            (length, _) => Some(usize::from(length))
                .filter(|length| (UDP_HEADER_BYTES..=transport.len()).contains(length)),
        }
    }

    /// Its bytes: of the record, or of the IP packet in a tunnel.
    pub(crate) fn captured_bytes(&self) -> u64 {
        match self.tunnel {
            0 => self.bytes.len() as u64,
            _ => self.headers.ip_packet(self.bytes).len() as u64,
        }
    }

    /// Its flow; all zero where it has none.
    pub(crate) fn flow(&self) -> FlowKey {
        FlowKey::from_headers(&self.headers, self.bytes).unwrap_or_default()
    }

    /// Type and code of an ICMP or ICMPv6 message.
    pub(crate) fn icmp(&self) -> Option<(u8, u8)> {
        match (self.headers.protocol, self.headers.transport(self.bytes)) {
            (ICMP | ICMPV6, [kind, code, ..]) => Some((*kind, *code)),
            _ => None,
        }
    }
}

/// A number for a flow's pair of addresses, whatever the direction. It is another one in every
/// process: senders choose neither the shard of their packets nor addresses that are one tunnel.
pub(crate) fn pair_number(flow: &FlowKey) -> u64 {
    static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    HASHER.hash_one((
        flow.source.min(flow.destination),
        flow.source.max(flow.destination),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_addresses_with_equal_exclusive_ors_are_different_tunnels() {
        let pair = |source, destination| FlowKey {
            source,
            destination,
            ..FlowKey::default()
        };
        let flow = pair(5 << 64 | 3, 1);
        assert_eq!(pair_number(&flow), pair_number(&flow.reversed()));
        assert_ne!(pair_number(&flow), pair_number(&pair(3 << 64 | 5, 1)));
    }
}

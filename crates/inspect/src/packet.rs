//! Packets as the inspector sees them.

use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{Fault, FlowKey, Fragment, Headers, LinkType, Network};

use crate::virtual_network::Vlans;

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
    /// It came through a tunnel: its headers are not the record's first.
    pub is_tunneled: bool,
    /// The network that its addresses are of, by VLAN tags and tunnels; 0 for none. Flows in different
    /// networks are different flows. [`Inspector`](crate::Inspector) finds it out by itself.
    pub network: u64,
}

impl<'a> Packet<'a> {
    /// The packet, and those that it carries through tunnels, one in the
    /// other: at most [`MAX_TUNNELS`]; of all these, the IP packets.
    pub(crate) fn levels(self, vlans: Vlans) -> impl Iterator<Item = Packet<'a>> {
        let inner = move |outer: &Packet<'a>| {
            let headers = outer.headers.inner(outer.bytes)?;
            let mut packet = Packet {
                headers,
                is_checksum_trusted: false,
                ..*outer
            };
            if outer.headers.is_ip() {
                packet.is_tunneled = true;
                packet.network = vlans.network_in(&outer.headers, outer.bytes, outer.network);
            }
            packet.network = vlans.network_of(&headers, packet.bytes, packet.network);
            Some(packet)
        };
        let outermost = Packet {
            network: vlans.network_of(&self.headers, self.bytes, self.network),
            ..self
        };
        std::iter::successors(Some(outermost), inner)
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
        match self.is_tunneled {
            false => self.bytes.len() as u64,
            true => self.headers.ip_packet(self.bytes).len() as u64,
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

//! One pass over a record's headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::link::{self, LinkHeader, LinkType, Shim};
use super::protocol::{
    ETHER_ARP, ETHER_IPV4, ETHER_IPV6, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, SCTP, TCP, UDP,
    extension_header_bytes,
};

/// What the network header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Network {
    /// Neither IP nor ARP, or not to be read (see [`Headers::fault`]).
    #[default]
    Other,
    /// IPv4 (RFC 791).
    Ipv4,
    /// IPv6 (RFC 8200).
    Ipv6,
    /// ARP (RFC 826).
    Arp,
}

/// Which part of a datagram a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Fragment {
    /// All of it.
    #[default]
    Whole,
    /// The first fragment, with the transport header or its beginning.
    First,
    /// A later fragment: no transport header, no ports.
    Later,
}

/// Defects of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Fault {
    /// The capture's link type is not one that is read.
    UnknownLinkType = 1,
    /// The record ends inside the link header.
    LinkHeaderCut,
    /// The link header makes no sense (more than eight VLAN tags).
    BadLinkHeader,
    /// The record ends inside the IP header or one of its extensions.
    NetworkHeaderCut,
    /// A wrong IP version, header length or total length.
    BadNetworkHeader,
    /// More than sixteen IPv6 extension headers.
    ExtensionChain,
    /// The record is cut, and its transport header cannot be read.
    TransportHeaderCut,
    /// The IP packet is whole, but too short for its transport header, or the
    /// transport header's own length makes no sense.
    BadTransportHeader,
    /// The headers are whole, but the IP packet is longer than the record.
    PacketCut,
}

impl Fault {
    /// A short name for reports, as in `network_header_cut`.
    pub fn name(self) -> &'static str {
        match self {
            Fault::UnknownLinkType => "unknown_link_type",
            Fault::LinkHeaderCut => "link_header_cut",
            Fault::BadLinkHeader => "bad_link_header",
            Fault::NetworkHeaderCut => "network_header_cut",
            Fault::BadNetworkHeader => "bad_network_header",
            Fault::ExtensionChain => "extension_chain",
            Fault::TransportHeaderCut => "transport_header_cut",
            Fault::BadTransportHeader => "bad_transport_header",
            Fault::PacketCut => "packet_cut",
        }
    }
}

/// Where a record's headers lie. All offsets count bytes from the start of
/// the record (its link header), and are ordered
/// `network <= transport <= payload <= end <= record length`.
///
/// Which fields hold depends on how far the headers could be read: see
/// [`fault`](Headers::fault). A packet whose network header could not be read
/// is [`Network::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Headers {
    /// Kind of the network header.
    pub network: Network,
    /// IP protocol after all IPv6 extension headers (AH included).
    pub protocol: u8,
    /// Part of a fragmented datagram.
    pub fragment: Fragment,
    /// The first defect found.
    pub fault: Option<Fault>,
    /// EtherType of the link header, behind its VLAN tags: that of the network
    /// header, or of a [`Shim`] in front of it, which in IEEE 802.3 is a length.
    /// 0 where the link has none.
    pub ether_type: u16,
    /// Start of the outermost VLAN tag's control information, with the next tag's four bytes
    /// behind it; 0 without tags.
    pub vlan_offset: u16,
    /// Number of VLAN tags.
    pub vlan_tags: u8,
    /// TCP flags, from FIN (1) to CWR (128); 0 for others.
    pub tcp_flags: u8,
    /// Start of the network header.
    pub network_offset: u16,
    /// Start of the transport header, after IPv6 extension headers.
    pub transport_offset: u16,
    /// Start of the bytes after the transport header. Protocols other than
    /// TCP, UDP, SCTP and ICMP count as having no transport header.
    pub payload_offset: u16,
    /// TCP, UDP or SCTP source port; 0 for others and for later fragments.
    pub source_port: u16,
    /// TCP, UDP or SCTP destination port; 0 for others and for later
    /// fragments.
    pub destination_port: u16,
    /// End of the IP packet by its own length, or of the record where that is
    /// shorter ([`Fault::PacketCut`]). Bytes after it are link padding.
    pub end_offset: u32,
}

const MAX_EXTENSION_HEADERS: usize = 16;
/// Longest IPv4 packet by its length field, and longest payload of an IPv6 packet by its own.
const MAX_LENGTH: usize = 0xffff;

impl Headers {
    /// Reads the headers of one record. Never fails: what could not be read
    /// is left at its default and noted in [`fault`](Headers::fault).
    #[inline]
    pub fn parse(link: LinkType, bytes: &[u8]) -> Headers {
        let mut headers = Headers::default();
        headers.parse_in_place(link, bytes);
        headers
    }

    /// [`parse`](Headers::parse) into a place that exists, such as a row of a
    /// column. A value built elsewhere, field by field, and then copied in
    /// words stalls the processor's store buffer on every packet.
    #[inline(always)]
    pub fn parse_in_place(&mut self, link: LinkType, bytes: &[u8]) {
        *self = Headers::default();
        self.fault = self.read(link, bytes).err();
    }

    /// Describes the record, of `record_bytes` now, after its IP packet was encapsulated:
    /// behind the link header an IP header of `network` and
    /// `header_bytes`, without extensions and no fragment, and behind that
    /// `protocol`, which has no ports, to the record's end. It is what
    /// [`parse`](Headers::parse) would read, for callers that wrote the header
    /// themselves.
    #[inline]
    pub fn encapsulate(
        &mut self,
        network: Network,
        protocol: u8,
        header_bytes: u16,
        record_bytes: u32,
    ) {
        self.network = network;
        self.protocol = protocol;
        self.fragment = Fragment::Whole;
        self.fault = None;
        self.ether_type = match network {
            Network::Ipv6 => ETHER_IPV6,
            _ => ETHER_IPV4,
        };
        self.tcp_flags = 0;
        self.transport_offset = self.network_offset.saturating_add(header_bytes);
        self.payload_offset = self.transport_offset;
        self.source_port = 0;
        self.destination_port = 0;
        self.end_offset = record_bytes;
    }

    #[inline(always)]
    fn read(&mut self, link: LinkType, bytes: &[u8]) -> Result<(), Fault> {
        if link == LinkType::Ethernet && bytes.get(12..14) == Some(&ETHER_IPV4.to_be_bytes()) {
            self.ether_type = ETHER_IPV4;
            return self.read_network(bytes, 14, ETHER_IPV4);
        }
        self.read_any_link(link, bytes)
    }

    #[inline(never)]
    fn read_any_link(&mut self, link: LinkType, bytes: &[u8]) -> Result<(), Fault> {
        let link = link::parse(link, bytes)?;
        self.read_behind(&link, bytes)
    }

    fn read_behind(&mut self, link: &LinkHeader, bytes: &[u8]) -> Result<(), Fault> {
        self.ether_type = link.ether_type;
        self.vlan_offset = u16::try_from(link.vlan_offset).map_err(|_| Fault::BadLinkHeader)?;
        self.vlan_tags = link.vlan_tags;
        let bytes = bytes.get(..link.end).unwrap_or(bytes);
        self.read_network(bytes, link.network_offset, link.network_type)
    }

    /// Reads the headers behind a link header that was found inside a tunnel.
    pub(super) fn parse_behind(link: &LinkHeader, bytes: &[u8]) -> Headers {
        let mut headers = Headers::default();
        headers.fault = headers.read_behind(link, bytes).err();
        headers
    }

    #[inline(always)]
    fn read_network(&mut self, bytes: &[u8], at: usize, ether_type: u16) -> Result<(), Fault> {
        self.network_offset = u16::try_from(at).map_err(|_| Fault::BadLinkHeader)?;
        self.transport_offset = self.network_offset;
        self.payload_offset = self.network_offset;
        self.end_offset = u32::try_from(bytes.len()).map_err(|_| Fault::BadLinkHeader)?;
        match ether_type {
            ETHER_IPV4 => self.read_ipv4(bytes),
            ETHER_IPV6 => self.read_ipv6(bytes),
            ETHER_ARP => {
                self.network = Network::Arp;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn read_ipv4(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let start = usize::from(self.network_offset);
        let header: &[u8; 20] = bytes
            .get(start..start + 20)
            .and_then(|header| header.try_into().ok())
            .ok_or(Fault::NetworkHeaderCut)?;
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        let mut total_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if total_bytes == 0 {
            total_bytes = unstated_length(bytes.len() - start);
        }
        if header[0] >> 4 != 4 || header_bytes < 20 || total_bytes < header_bytes {
            return Err(Fault::BadNetworkHeader);
        }
        if start + header_bytes > bytes.len() {
            return Err(Fault::NetworkHeaderCut);
        }
        self.network = Network::Ipv4;
        self.protocol = header[9];
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        self.fragment = match (fragment & 0x1fff, fragment & 0x2000) {
            (0, 0) => Fragment::Whole,
            (0, _) => Fragment::First,
            _ => Fragment::Later,
        };
        let whole = self.set_end(bytes, start + total_bytes);
        let transport = self.read_transport(bytes, start + header_bytes);
        judge(whole, transport)
    }

    fn read_ipv6(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let start = usize::from(self.network_offset);
        let header: &[u8; 40] = bytes
            .get(start..start + 40)
            .and_then(|header| header.try_into().ok())
            .ok_or(Fault::NetworkHeaderCut)?;
        if header[0] >> 4 != 6 {
            return Err(Fault::BadNetworkHeader);
        }
        let mut payload_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
        if payload_bytes == 0 {
            payload_bytes = unstated_payload_length(header[6], &bytes[start + 40..])?;
        }
        self.network = Network::Ipv6;
        self.protocol = header[6];
        let whole = self.set_end(bytes, start + 40 + payload_bytes);
        let transport_offset = self.skip_extensions(bytes, start + 40)?;
        let transport = self.read_transport(bytes, transport_offset);
        judge(whole, transport)
    }

    /// Sets the end of the packet, cut to the record.
    #[inline(always)]
    fn set_end(&mut self, bytes: &[u8], end: usize) -> Result<(), Fault> {
        self.end_offset = end.min(bytes.len()) as u32;
        if end > bytes.len() {
            Err(Fault::PacketCut)
        } else {
            Ok(())
        }
    }

    /// Walks the IPv6 extension headers (RFC 8200, section 4) and returns the
    /// offset of what follows them. A later fragment ends the walk, since
    /// what follows its header is not a header.
    fn skip_extensions(&mut self, bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
        let end = self.end_offset as usize;
        for _ in 0..MAX_EXTENSION_HEADERS {
            if !is_extension(self.protocol) {
                return Ok(at);
            }
            let header = bytes.get(at..end).unwrap_or_default();
            let [next, length, field_high, field_low, ..] = *header else {
                self.transport_offset = at.min(end) as u16;
                self.payload_offset = self.transport_offset;
                return Err(Fault::NetworkHeaderCut);
            };
            let header_bytes = extension_header_bytes(self.protocol, length)
                .filter(|bytes| *bytes <= header.len())
                .ok_or(Fault::NetworkHeaderCut)?;
            if self.protocol == FRAGMENT {
                // A fragment has a length that it can say (RFC 2675, section 3).
                let length_at = usize::from(self.network_offset) + 4;
                if bytes.get(length_at..length_at + 2) == Some(&[0, 0]) {
                    return Err(Fault::BadNetworkHeader);
                }
                let field = u16::from_be_bytes([field_high, field_low]);
                self.fragment = match (field & 0xfff8, field & 1) {
                    // An "atomic" fragment (RFC 6946) is the whole datagram.
                    (0, 0) => Fragment::Whole,
                    (0, _) => Fragment::First,
                    _ => Fragment::Later,
                };
            }
            self.protocol = next;
            at += header_bytes;
            if self.fragment == Fragment::Later {
                return Ok(at);
            }
        }
        if is_extension(self.protocol) {
            Err(Fault::ExtensionChain)
        } else {
            Ok(at)
        }
    }

    #[inline(always)]
    fn read_transport(&mut self, bytes: &[u8], at: usize) -> Result<(), Fault> {
        let transport_offset = u16::try_from(at).map_err(|_| Fault::BadNetworkHeader)?;
        self.transport_offset = transport_offset;
        self.payload_offset = transport_offset;
        if self.fragment == Fragment::Later {
            return Ok(());
        }
        let transport = bytes.get(at..self.end_offset as usize).unwrap_or_default();
        let header_bytes = match self.protocol {
            TCP => {
                let header: &[u8; 20] = first(transport)?;
                self.tcp_flags = header[13];
                self.set_ports(header);
                let header_bytes = usize::from(header[12] >> 4) * 4;
                if header_bytes < 20 {
                    return Err(Fault::BadTransportHeader);
                }
                header_bytes
            }
            UDP => {
                let header: &[u8; 8] = first(transport)?;
                self.set_ports(header);
                8
            }
            SCTP => {
                let header: &[u8; 12] = first(transport)?;
                self.set_ports(header);
                12
            }
            ICMP | ICMPV6 => {
                let _: &[u8; 8] = first(transport)?;
                8
            }
            _ => 0,
        };
        if header_bytes > transport.len() {
            return Err(Fault::TransportHeaderCut);
        }
        self.payload_offset = transport_offset
            .checked_add(header_bytes as u16)
            .ok_or(Fault::BadTransportHeader)?;
        Ok(())
    }

    #[inline(always)]
    fn set_ports(&mut self, header: &[u8]) {
        if let [a, b, c, d, ..] = *header {
            self.source_port = u16::from_be_bytes([a, b]);
            self.destination_port = u16::from_be_bytes([c, d]);
        }
    }

    /// Whether the network header is a readable IPv4 or IPv6 header.
    #[inline]
    pub fn is_ip(&self) -> bool {
        matches!(self.network, Network::Ipv4 | Network::Ipv6)
    }

    /// Tag control information of the VLAN tags, the outermost first.
    #[inline]
    pub fn vlan_tcis(&self, bytes: &[u8]) -> impl Iterator<Item = u16> {
        let tags = bytes.get(usize::from(self.vlan_offset)..);
        let (tags, _) = tags.unwrap_or_default().as_chunks::<4>();
        let tags = tags.iter().take(self.vlan_tags.into());
        tags.map(|[high, low, ..]| u16::from_be_bytes([*high, *low]))
    }

    /// What stands between the link header and the IP header, if anything.
    #[inline]
    pub fn shim(&self) -> Option<Shim> {
        match self.ether_type {
            ETHER_IPV4 | ETHER_IPV6 => None,
            ether_type if self.is_ip() => Shim::of(ether_type),
            _ => None,
        }
    }

    /// The identification that the fragments of a datagram share; `None` for
    /// packets that are no fragments.
    pub fn fragment_identification(&self, bytes: &[u8]) -> Option<u32> {
        if self.fragment == Fragment::Whole {
            return None;
        }
        let packet = self.ip_packet(bytes);
        if self.network == Network::Ipv4 {
            let field: &[u8; 2] = packet.get(4..6)?.first_chunk()?;
            return Some(u16::from_be_bytes(*field).into());
        }
        // The fragment header stands behind those that routers read.
        let (mut protocol, mut at) = (*packet.get(6)?, 40);
        for _ in 0..MAX_EXTENSION_HEADERS {
            let header: &[u8; 8] = packet.get(at..)?.first_chunk()?;
            if protocol == FRAGMENT {
                let [_, _, _, _, a, b, c, d] = *header;
                return Some(u32::from_be_bytes([a, b, c, d]));
            }
            at += extension_header_bytes(protocol, header[1])?;
            protocol = header[0];
        }
        None
    }

    /// Whether an IPv6 fragment's own header does not say which transport
    /// protocol its datagram has: another extension header comes first, and only
    /// the first fragment has it whole.
    #[inline]
    pub fn is_protocol_unknown(&self) -> bool {
        self.fragment == Fragment::Later
            && self.network == Network::Ipv6
            && is_extension(self.protocol)
    }

    /// Whether the record holds a readable IP packet to its last byte.
    #[inline]
    pub fn is_whole_ip(&self) -> bool {
        self.is_ip() && matches!(self.fault, None | Some(Fault::BadTransportHeader))
    }

    /// The IP packet, headers included, without link header and padding.
    /// Empty where the network header is not IP.
    #[inline]
    pub fn ip_packet<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.is_ip() {
            self.slice(bytes, self.network_offset, self.end_offset)
        } else {
            &[]
        }
    }

    /// The bytes from the transport header to the end of the IP packet.
    #[inline]
    pub fn transport<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        self.slice(bytes, self.transport_offset, self.end_offset)
    }

    /// The bytes after the transport header to the end of the IP packet.
    #[inline]
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        self.slice(bytes, self.payload_offset, self.end_offset)
    }

    #[inline]
    fn slice<'a>(&self, bytes: &'a [u8], from: u16, to: u32) -> &'a [u8] {
        bytes
            .get(usize::from(from)..to as usize)
            .unwrap_or_default()
    }

    /// Source and destination address of an IP packet.
    pub fn addresses(&self, bytes: &[u8]) -> Option<(IpAddr, IpAddr)> {
        let (source, destination) = self.address_numbers(bytes)?;
        Some(match self.network {
            Network::Ipv4 => (
                Ipv4Addr::from_bits(source as u32).into(),
                Ipv4Addr::from_bits(destination as u32).into(),
            ),
            _ => (
                Ipv6Addr::from_bits(source).into(),
                Ipv6Addr::from_bits(destination).into(),
            ),
        })
    }

    /// Both addresses of an IPv4 packet, the source in the upper half; `None` for
    /// others.
    #[inline(always)]
    pub(super) fn ipv4_addresses(&self, bytes: &[u8]) -> Option<u64> {
        if self.network != Network::Ipv4 {
            return None;
        }
        let header = bytes.get(usize::from(self.network_offset)..)?;
        let field: &[u8; 8] = header.get(12..20)?.try_into().ok()?;
        Some(u64::from_be_bytes(*field))
    }

    /// The addresses as numbers; an IPv4 address takes the low 32 bits.
    #[inline(always)]
    pub(super) fn address_numbers(&self, bytes: &[u8]) -> Option<(u128, u128)> {
        let header = bytes.get(usize::from(self.network_offset)..)?;
        match self.network {
            Network::Ipv4 => {
                let both = self.ipv4_addresses(bytes)?;
                Some(((both >> 32).into(), (both as u32).into()))
            }
            Network::Ipv6 => {
                let source: &[u8; 16] = header.get(8..24)?.try_into().ok()?;
                let destination: &[u8; 16] = header.get(24..40)?.try_into().ok()?;
                Some((
                    u128::from_be_bytes(*source),
                    u128::from_be_bytes(*destination),
                ))
            }
            Network::Other | Network::Arp => None,
        }
    }
}

/// Bytes behind an IPv6 header that says 0, of which `behind` are there: as many as the jumbo payload
/// option says, the first of the hop-by-hop options (RFC 2675). Behind other hop-by-hop options
/// Linux takes all that is there.
#[cold]
fn unstated_payload_length(next: u8, behind: &[u8]) -> Result<usize, Fault> {
    const JUMBO_PAYLOAD: u8 = 194;
    match (next, behind) {
        (HOP_BY_HOP, [_, _, JUMBO_PAYLOAD, 4, a, b, c, d, ..]) => {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            (length > MAX_LENGTH)
                .then_some(length)
                .ok_or(Fault::BadNetworkHeader)
        }
        (HOP_BY_HOP, _) => Ok(behind.len()),
        _ => Ok(unstated_length(behind.len())),
    }
}

/// Length of a packet that says 0, where `there_bytes` are there: nothing so long crosses a wire, but
/// Linux hands segments of more than 65,535 bytes to network cards and to captures (BIG TCP).
fn unstated_length(there_bytes: usize) -> usize {
    if there_bytes > MAX_LENGTH {
        there_bytes
    } else {
        0
    }
}

/// Joins what was found of the packet's length and of its transport header.
#[inline(always)]
fn judge(whole: Result<(), Fault>, transport: Result<(), Fault>) -> Result<(), Fault> {
    match (whole, transport) {
        (Ok(()), Ok(())) => Ok(()),
        (Ok(()), Err(_)) => Err(Fault::BadTransportHeader),
        (Err(cut), Ok(())) => Err(cut),
        (Err(_), Err(_)) => Err(Fault::TransportHeaderCut),
    }
}

#[inline(always)]
fn first<const N: usize>(transport: &[u8]) -> Result<&[u8; N], Fault> {
    transport.first_chunk().ok_or(Fault::TransportHeaderCut)
}

fn is_extension(protocol: u8) -> bool {
    extension_header_bytes(protocol, 0).is_some()
}

#[cfg(test)]
mod tests;

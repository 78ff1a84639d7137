//! Where the headers of a TCP or UDP packet are.

use super::checksum::{Sum, not_zero};
use crate::port::{LinkLayer, Transport, VLAN_TAG_BYTES};

/// A packet of TCP or UDP over IPv4 or IPv6 that is no fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    pub is_v6: bool,
    /// Where the IP header begins.
    pub network: usize,
    pub transport: Transport,
    /// Where the TCP or UDP header begins.
    pub transport_start: usize,
    /// Where it ends.
    pub payload_start: usize,
    /// Where the IP packet ends. Padding may follow.
    pub end: usize,
}

impl Headers {
    /// Nothing where the packet is another one, or contradicts itself. An IPv6 packet has no
    /// extension headers.
    pub fn parse(packet: &[u8], link: LinkLayer) -> Option<Headers> {
        let (network, is_v6) = network(packet, link)?;
        let ip = &packet[network..];
        let (protocol, header_bytes, ip_bytes) = if is_v6 {
            let header = ip.first_chunk::<40>()?;
            (header[6], 40, 40 + usize::from(u16_at(header, 4)?))
        } else {
            let header = ip.first_chunk::<20>()?;
            let header_bytes = usize::from(header[0] & 0xf) * 4;
            // Neither more fragments nor an offset.
            if header_bytes < 20 || u16_at(header, 6)? & 0x3fff != 0 {
                return None;
            }
            (header[9], header_bytes, usize::from(u16_at(header, 2)?))
        };
        let end = network + ip_bytes;
        let transport_start = network + header_bytes;
        let segment = packet.get(transport_start..end)?;
        let (transport, transport_bytes) = match protocol {
            TCP => {
                let bytes = usize::from(segment.get(12)? >> 4) * 4;
                (Transport::Tcp, bytes.max(20))
            }
            UDP => (Transport::Udp, 8),
            _ => return None,
        };
        if segment.len() < transport_bytes {
            return None;
        }
        Some(Headers {
            is_v6,
            network,
            transport,
            transport_start,
            payload_start: transport_start + transport_bytes,
            end,
        })
    }

    /// Both addresses.
    pub fn addresses(self, packet: &[u8]) -> &[u8] {
        let start = self.network + if self.is_v6 { 8 } else { 12 };
        let bytes = if self.is_v6 { 32 } else { 8 };
        &packet[start..start + bytes]
    }

    /// Where the checksum is, behind the beginning of the transport header.
    pub fn checksum_offset(self) -> usize {
        match self.transport {
            Transport::Tcp => 16,
            Transport::Udp => 6,
        }
    }

    pub fn has_checksum(self, packet: &[u8]) -> bool {
        let field = self.transport_start + self.checksum_offset();
        self.transport == Transport::Tcp || packet[field..field + 2] != [0, 0]
    }

    /// Whether the checksum is there and right.
    pub fn has_valid_checksum(self, packet: &[u8]) -> bool {
        let bytes = self.end - self.transport_start;
        let sum = self.pseudo_header(packet, bytes);
        let sum = sum.add(&packet[self.transport_start..self.end]);
        self.has_checksum(packet) && sum.checksum() == [0, 0]
    }

    pub fn write_checksum(self, packet: &mut [u8]) {
        let field = self.transport_start + self.checksum_offset();
        packet[field..field + 2].fill(0);
        let bytes = self.end - self.transport_start;
        let sum = self.pseudo_header(packet, bytes);
        let sum = sum.add(&packet[self.transport_start..self.end]);
        let checksum = match self.transport {
            Transport::Tcp => sum.checksum(),
            Transport::Udp => not_zero(sum.checksum()),
        };
        packet[field..field + 2].copy_from_slice(&checksum);
    }

    /// The sum of the pseudo header (RFC 9293, section 3.1; RFC 8200, section 8.1), of a segment
    /// of so many bytes.
    pub fn pseudo_header(self, packet: &[u8], bytes: usize) -> Sum {
        let protocol = match self.transport {
            Transport::Tcp => TCP,
            Transport::Udp => UDP,
        };
        // The length has 32 bits in IPv6, of which the upper ones are zero here.
        let [high, low] = (bytes as u16).to_be_bytes();
        Sum::default()
            .add(self.addresses(packet))
            .add(&[high, low, 0, protocol])
    }

    /// Writes the length of an IP packet of `ip_bytes`, and the checksum of an IPv4 header;
    /// `packet` has at least the IP header.
    pub fn write_ip_length(self, packet: &mut [u8], ip_bytes: usize) {
        let ip = &mut packet[self.network..self.transport_start];
        if self.is_v6 {
            ip[4..6].copy_from_slice(&((ip_bytes - 40) as u16).to_be_bytes());
        } else {
            ip[2..4].copy_from_slice(&(ip_bytes as u16).to_be_bytes());
            ip[10..12].fill(0);
            let checksum = Sum::default().add(ip).checksum();
            ip[10..12].copy_from_slice(&checksum);
        }
    }
}

/// Where the checksum of a TCP or UDP packet is: the beginning of the transport header, and how
/// far behind it.
#[cfg(target_os = "linux")]
pub fn checksum_place(packet: &[u8], link: LinkLayer) -> Option<(usize, usize)> {
    let headers = Headers::parse(packet, link)?;
    Some((headers.transport_start, headers.checksum_offset()))
}

/// Where the IP header begins, and whether it is one of version 6.
fn network(packet: &[u8], link: LinkLayer) -> Option<(usize, bool)> {
    let network = match link {
        LinkLayer::Ip => 0,
        LinkLayer::Ethernet => {
            let mut ethertype = 12;
            // One tag within another at most.
            for _ in 0..2 {
                if matches!(u16_at(packet, ethertype)?, 0x8100 | 0x88a8) {
                    ethertype += VLAN_TAG_BYTES;
                }
            }
            if !matches!(u16_at(packet, ethertype)?, 0x0800 | 0x86dd) {
                return None;
            }
            ethertype + 2
        }
    };
    match packet.get(network)? >> 4 {
        4 => Some((network, false)),
        6 => Some((network, true)),
        _ => None,
    }
}

pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(offset..)?.first_chunk()?))
}

const TCP: u8 = 6;
const UDP: u8 = 17;

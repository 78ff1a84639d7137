//! The headers of datagrams.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub const UDP_HEADER_BYTES: usize = 8;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const UDP: u8 = 17;
/// Hop limit of received datagrams, which a socket does not report.
const HOP_LIMIT: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// The headers of datagrams from one address to another.
#[derive(Clone, Copy)]
pub struct Headers {
    bytes: [u8; IPV6_HEADER_BYTES + UDP_HEADER_BYTES],
    ip_bytes: usize,
}

impl Headers {
    /// `None` where the addresses are of two families. `traffic_class` has DSCP and ECN.
    pub fn new(source: SocketAddr, destination: SocketAddr, traffic_class: u8) -> Option<Headers> {
        let mut bytes = [0; IPV6_HEADER_BYTES + UDP_HEADER_BYTES];
        let ip_bytes = match (source.ip(), destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes[0] = 0x45;
                bytes[1] = traffic_class;
                bytes[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
                bytes[8] = HOP_LIMIT;
                bytes[9] = UDP;
                bytes[12..16].copy_from_slice(&source.octets());
                bytes[16..20].copy_from_slice(&destination.octets());
                IPV4_HEADER_BYTES
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                bytes[0] = 0x60 | traffic_class >> 4;
                bytes[1] = traffic_class << 4;
                bytes[6] = UDP;
                bytes[7] = HOP_LIMIT;
                bytes[8..24].copy_from_slice(&source.octets());
                bytes[24..40].copy_from_slice(&destination.octets());
                IPV6_HEADER_BYTES
            }
            _ => return None,
        };
        bytes[ip_bytes..ip_bytes + 2].copy_from_slice(&source.port().to_be_bytes());
        bytes[ip_bytes + 2..ip_bytes + 4].copy_from_slice(&destination.port().to_be_bytes());
        Some(Headers { bytes, ip_bytes })
    }

    /// The headers of a datagram of so many bytes. Its UDP checksum is zero, which says that
    /// there is none (RFC 768, RFC 6935): the operating system has verified the one that came.
    pub fn of(&mut self, payload_bytes: usize) -> &[u8] {
        // Sockets give no longer ones.
        let udp_bytes = (UDP_HEADER_BYTES + payload_bytes).min(usize::from(u16::MAX)) as u16;
        match self.ip_bytes {
            IPV4_HEADER_BYTES => {
                let total = udp_bytes.saturating_add(IPV4_HEADER_BYTES as u16);
                self.bytes[2..4].copy_from_slice(&total.to_be_bytes());
                self.bytes[10..12].fill(0);
                let checksum = checksum(&self.bytes[..IPV4_HEADER_BYTES]);
                self.bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            _ => self.bytes[4..6].copy_from_slice(&udp_bytes.to_be_bytes()),
        }
        let at = self.ip_bytes + 4;
        self.bytes[at..at + 2].copy_from_slice(&udp_bytes.to_be_bytes());
        &self.bytes[..self.ip_bytes + UDP_HEADER_BYTES]
    }
}

/// The internet checksum of an even number of bytes (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A datagram, as the headers of a packet describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// DSCP and ECN.
    pub traffic_class: u8,
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// `None` where the packet is no whole UDP datagram without IP options and extension
    /// headers, or its lengths contradict each other.
    pub fn parse(packet: &'a [u8]) -> Option<Datagram<'a>> {
        let (source, destination, traffic_class, udp): (IpAddr, IpAddr, u8, &[u8]) =
            match *packet.first()? {
                0x45 => {
                    let header = packet.first_chunk::<IPV4_HEADER_BYTES>()?;
                    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
                    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
                    if header[9] != UDP || is_fragment {
                        return None;
                    }
                    let (_, [a, b, c, d, e, f, g, h]) = header.split_last_chunk::<8>()?;
                    (
                        Ipv4Addr::new(*a, *b, *c, *d).into(),
                        Ipv4Addr::new(*e, *f, *g, *h).into(),
                        header[1],
                        packet.get(IPV4_HEADER_BYTES..total)?,
                    )
                }
                first if first >> 4 == 6 => {
                    let header = packet.first_chunk::<IPV6_HEADER_BYTES>()?;
                    let bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
                    if header[6] != UDP {
                        return None;
                    }
                    let address = |at: usize| {
                        let octets: [u8; 16] = *header.get(at..)?.first_chunk()?;
                        Some(IpAddr::from(Ipv6Addr::from(octets)))
                    };
                    (
                        address(8)?,
                        address(24)?,
                        first << 4 | header[1] >> 4,
                        packet.get(IPV6_HEADER_BYTES..IPV6_HEADER_BYTES + bytes)?,
                    )
                }
                _ => return None,
            };
        let [a, b, c, d, e, f, _, _] = *udp.first_chunk::<UDP_HEADER_BYTES>()?;
        let udp_bytes = usize::from(u16::from_be_bytes([e, f]));
        Some(Datagram {
            source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
            destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
            traffic_class,
            payload: udp.get(UDP_HEADER_BYTES..udp_bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn what_is_written_is_parsed() {
        for (source, destination) in [
            ("192.0.2.1:4500", "198.51.100.7:61000"),
            ("[2001:db8::1]:4500", "[2001:db8:7::2]:61000"),
        ] {
            let (source, destination) = (address(source), address(destination));
            let mut headers = Headers::new(source, destination, 0xb9).expect("one family");
            for payload in [&[][..], &[1], &[2; 1400]] {
                let packet = [headers.of(payload.len()), payload].concat();
                let datagram = Datagram {
                    source,
                    destination,
                    traffic_class: 0xb9,
                    payload,
                };
                assert_eq!(Datagram::parse(&packet), Some(datagram));
                // What follows the datagram is padding.
                let padded = [&packet[..], &[0; 5]].concat();
                assert_eq!(Datagram::parse(&padded), Some(datagram));
                for length in 0..packet.len() {
                    assert_eq!(Datagram::parse(&packet[..length]), None, "{length}");
                }
            }
        }
        let (one, other) = (address("192.0.2.1:1"), address("[2001:db8::1]:1"));
        assert!(Headers::new(one, other, 0).is_none());
    }

    #[test]
    fn checksum_of_rfc_1071() {
        assert_eq!(checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        let mut headers = Headers::new(address("10.0.0.1:1"), address("10.0.0.2:2"), 0);
        let packet = headers.as_mut().expect("one family").of(8);
        assert_eq!(checksum(&packet[..20]), 0);
    }

    #[test]
    fn others_are_no_datagrams() {
        let mut headers = Headers::new(address("10.0.0.1:1"), address("10.0.0.2:2"), 0);
        let packet = [headers.as_mut().expect("one family").of(8), &[0; 8]].concat();
        for (at, value) in [
            (0, 0x46),
            (0, 0x55),
            (9, 6),
            (6, 0x20),
            (7, 1),
            (3, 27),
            (25, 7),
        ] {
            let mut changed = packet.clone();
            changed[at] = value;
            assert_eq!(Datagram::parse(&changed), None, "byte {at} is {value}");
        }
    }
}

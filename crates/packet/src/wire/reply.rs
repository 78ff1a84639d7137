//! Replies to packets: which packets a router may answer with an ICMP error, the error, and the
//! link header that brings a reply to one end of the packet.

use super::build::{self, IpHeader};
use super::protocol::{ICMP, ICMPV6};
use super::views::Icmp;
use super::{FlowKey, Fragment, Headers, LinkType, Shim};

/// The longest ICMP errors: RFC 1812, section 4.3.2.3, and RFC 4443, section 3.1.
const MAX_IPV4_ERROR_BYTES: usize = 576;
const MAX_IPV6_ERROR_BYTES: usize = 1280;
const ETHERNET_HEADER_BYTES: u16 = 14;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const ICMP_HEADER_BYTES: usize = 8;

/// Why a packet does not arrive, as ICMP says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// "Port unreachable" (RFC 792; RFC 4443, section 3.1).
    PortUnreachable,
    /// The packet is longer than the path's MTU in bytes: "fragmentation needed and DF set"
    /// (RFC 1191, section 4) or "packet too big" (RFC 4443, section 3.2).
    TooBig {
        /// The longest IP packet that fits. IPv4 has 16 bits for it.
        mtu_bytes: u32,
    },
}

impl IcmpError {
    /// The IP packet that brings the error about the IP packet `about` from one end of `from` to
    /// the other, whatever protocol and ports that key has. Only the part of `about` that the
    /// error may contain is in it.
    pub fn packet(self, from: &FlowKey, about: &[u8]) -> Vec<u8> {
        let is_ipv4 = from.ip_version == 4;
        let (protocol, most_bytes) = match is_ipv4 {
            true => (ICMP, MAX_IPV4_ERROR_BYTES - IPV4_HEADER_BYTES),
            false => (ICMPV6, MAX_IPV6_ERROR_BYTES - IPV6_HEADER_BYTES),
        };
        let (icmp_type, code, rest) = match (self, is_ipv4) {
            (IcmpError::PortUnreachable, true) => (3, 3, 0),
            (IcmpError::PortUnreachable, false) => (1, 4, 0),
            (IcmpError::TooBig { mtu_bytes }, true) => (3, 4, mtu_bytes.min(u16::MAX.into())),
            (IcmpError::TooBig { mtu_bytes }, false) => (2, 0, mtu_bytes),
        };
        let quoted_bytes = about.len().min(most_bytes - ICMP_HEADER_BYTES);
        let key = FlowKey {
            protocol,
            source_port: 0,
            destination_port: 0,
            ..*from
        };
        let mut packet = Vec::new();
        build::ip(&mut packet, &key, &IpHeader::default(), |out| {
            build::icmp(out, &key, icmp_type, code, |body| {
                body.extend_from_slice(&rest.to_be_bytes());
                body.extend_from_slice(&about[..quoted_bytes]);
            });
        });
        packet
    }
}

/// Whether a packet may be answered with an ICMP error (RFC 1122, section 3.2.2; RFC 4443, section
/// 2.4): it is no ICMP error itself, no later fragment, and its addresses are those of one host
/// each. Its frame must be for one station, too ([`is_for_group`]).
pub fn allows_icmp_error(headers: &Headers, record: &[u8]) -> bool {
    let Some(key) = FlowKey::from_headers(headers, record) else {
        return false;
    };
    let is_host = |address: u128| match key.ip_version {
        4 => {
            let first = (address >> 24) as u8;
            first != 0 && first < 224
        }
        _ => address != 0 && address >> 120 != 0xff,
    };
    let is_error = match (key.protocol, Icmp::new(headers.transport(record))) {
        (ICMP, Some(message)) => matches!(message.icmp_type(), 3..=5 | 11 | 12),
        (ICMPV6, Some(message)) => message.icmp_type() < 128,
        (ICMP | ICMPV6, None) => true,
        _ => false,
    };
    is_host(key.source)
        && is_host(key.destination)
        && !is_error
        && headers.fragment != Fragment::Later
}

/// Whether a frame is for more than one station.
pub fn is_for_group(link: LinkType, headers: &Headers, record: &[u8]) -> bool {
    has_mac_addresses(link, headers) && record.first().is_some_and(|first| first & 1 != 0)
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

/// An IP packet behind the link header of a record: towards its sender with the MAC addresses
/// exchanged, VLAN tags and PPPoE session kept. `None` where that header cannot be used: labels of
/// MPLS have a direction.
pub fn framed(
    link: LinkType,
    headers: &Headers,
    record: &[u8],
    towards: Towards,
    ip_packet: &[u8],
) -> Option<Vec<u8>> {
    let mut frame = record.get(..headers.network_offset.into())?.to_vec();
    let link_bytes = frame.len();
    if has_mac_addresses(link, headers) {
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

fn has_mac_addresses(link: LinkType, headers: &Headers) -> bool {
    link == LinkType::Ethernet && headers.network_offset >= ETHERNET_HEADER_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::internet_checksum;
    use super::*;

    #[test]
    fn packets_that_are_too_big_are_quoted_behind_the_mtu() {
        let (v4, v6) = ((3, 4), (2, 0));
        for (ip_version, type_and_code, longest) in [(4, v4, 576), (6, v6, 1280)] {
            let key = FlowKey {
                source: 0x0a00_0001,
                destination: 0x0a00_0002,
                source_port: 1000,
                destination_port: 2000,
                protocol: super::super::protocol::UDP,
                ip_version,
            };
            let about = build::udp_packet(&key, &[7; 1400]);
            let error = IcmpError::TooBig { mtu_bytes: 1300 }.packet(&key.reversed(), &about);
            let headers = Headers::parse(LinkType::RawIp, &error);
            assert_eq!((headers.fault, error.len()), (None, longest));
            let from = FlowKey::from_headers(&headers, &error).expect("a flow");
            assert_eq!(
                (from.source, from.destination),
                (key.destination, key.source)
            );
            let message = headers.transport(&error);
            match ip_version {
                4 => assert_eq!(internet_checksum(message), 0),
                _ => assert_eq!(build::transport_checksum(message, &from), 0),
            }
            assert_eq!((message[0], message[1]), type_and_code);
            assert_eq!(message[4..8], 1300u32.to_be_bytes());
            assert_eq!(message[8..], about[..message.len() - 8]);
            assert!(allows_icmp_error(
                &Headers::parse(LinkType::RawIp, &about),
                &about
            ));
            assert!(!allows_icmp_error(&headers, &error));
        }
    }
}

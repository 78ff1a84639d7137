//! Link types and the way from a link header to the network header.

use super::headers::Fault;
use super::protocol::{ETHER_IPV4, ETHER_IPV6, ETHER_QINQ, ETHER_QINQ_OLD, ETHER_VLAN};

/// The header in front of the network packet, by the registry of
/// `LINKTYPE_…` numbers that capture files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LinkType {
    /// Ethernet II with any number of 802.1Q and QinQ tags (1).
    #[default]
    Ethernet,
    /// A bare IPv4 or IPv6 packet (101, and 12 or 14 in old files).
    RawIp,
    /// A bare IPv4 packet (228).
    RawIpv4,
    /// A bare IPv6 packet (229).
    RawIpv6,
    /// Cisco HDLC: address, control, EtherType (104).
    CiscoHdlc,
    /// Linux cooked capture v1 (113).
    LinuxSll,
    /// Linux cooked capture v2 (276).
    LinuxSll2,
    /// BSD loopback: an address family in the byte order of its host (0).
    Null,
    /// OpenBSD loopback: an address family in network byte order (108).
    Loop,
    /// Any other: carried, but its packets have no known headers.
    Other(u16),
}

impl LinkType {
    /// The link type of a capture file's number.
    pub fn from_dlt(number: u32) -> LinkType {
        // The upper half carries frame check sequence information.
        match (number & 0xffff) as u16 {
            0 => LinkType::Null,
            1 => LinkType::Ethernet,
            12 | 14 | 101 => LinkType::RawIp,
            104 => LinkType::CiscoHdlc,
            108 => LinkType::Loop,
            113 => LinkType::LinuxSll,
            228 => LinkType::RawIpv4,
            229 => LinkType::RawIpv6,
            276 => LinkType::LinuxSll2,
            other => LinkType::Other(other),
        }
    }

    /// The number that capture files write.
    pub fn dlt(self) -> u32 {
        match self {
            LinkType::Null => 0,
            LinkType::Ethernet => 1,
            LinkType::RawIp => 101,
            LinkType::CiscoHdlc => 104,
            LinkType::Loop => 108,
            LinkType::LinuxSll => 113,
            LinkType::RawIpv4 => 228,
            LinkType::RawIpv6 => 229,
            LinkType::LinuxSll2 => 276,
            LinkType::Other(number) => u32::from(number),
        }
    }
}

/// Where the link header ends and what follows it.
#[derive(Clone, Copy)]
pub(super) struct LinkHeader {
    pub network_offset: usize,
    /// EtherType of the network header; for link types without one, that of
    /// the IP version found.
    pub ether_type: u16,
    /// Tag control information of the outermost tag.
    pub vlan_tci: u16,
    pub vlan_tags: u8,
}

/// More tags than this are nobody's network.
const MAX_VLAN_TAGS: u8 = 8;

pub(super) fn parse(link: LinkType, bytes: &[u8]) -> Result<LinkHeader, Fault> {
    match link {
        LinkType::Ethernet => ether_type_at(bytes, 12),
        LinkType::RawIp => raw_ip(bytes),
        LinkType::RawIpv4 => Ok(untagged(0, ETHER_IPV4)),
        LinkType::RawIpv6 => Ok(untagged(0, ETHER_IPV6)),
        LinkType::CiscoHdlc => ether_type_at(bytes, 2),
        LinkType::LinuxSll => ether_type_at(bytes, 14),
        LinkType::LinuxSll2 => {
            let header: &[u8; 20] = bytes.first_chunk().ok_or(Fault::LinkHeaderCut)?;
            skip_tags(bytes, 20, be16(header, 0)?)
        }
        LinkType::Null | LinkType::Loop => address_family(link, bytes),
        LinkType::Other(_) => Err(Fault::UnknownLinkType),
    }
}

fn untagged(network_offset: usize, ether_type: u16) -> LinkHeader {
    LinkHeader {
        network_offset,
        ether_type,
        vlan_tci: 0,
        vlan_tags: 0,
    }
}

fn be16(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    match bytes.get(at..at + 2) {
        Some(field) => Ok(u16::from_be_bytes([field[0], field[1]])),
        None => Err(Fault::LinkHeaderCut),
    }
}

fn ether_type_at(bytes: &[u8], at: usize) -> Result<LinkHeader, Fault> {
    let ether_type = be16(bytes, at)?;
    if ether_type == ETHER_IPV4 || ether_type == ETHER_IPV6 {
        return Ok(untagged(at + 2, ether_type));
    }
    skip_tags(bytes, at + 2, ether_type)
}

fn skip_tags(bytes: &[u8], after_type: usize, ether_type: u16) -> Result<LinkHeader, Fault> {
    let mut header = untagged(after_type, ether_type);
    while matches!(header.ether_type, ETHER_VLAN | ETHER_QINQ | ETHER_QINQ_OLD) {
        if header.vlan_tags == MAX_VLAN_TAGS {
            return Err(Fault::BadLinkHeader);
        }
        let tci = be16(bytes, header.network_offset)?;
        if header.vlan_tags == 0 {
            header.vlan_tci = tci;
        }
        header.ether_type = be16(bytes, header.network_offset + 2)?;
        header.network_offset += 4;
        header.vlan_tags += 1;
    }
    Ok(header)
}

fn raw_ip(bytes: &[u8]) -> Result<LinkHeader, Fault> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => Ok(untagged(0, ETHER_IPV4)),
        Some(6) => Ok(untagged(0, ETHER_IPV6)),
        Some(_) => Err(Fault::BadNetworkHeader),
        None => Err(Fault::NetworkHeaderCut),
    }
}

fn address_family(link: LinkType, bytes: &[u8]) -> Result<LinkHeader, Fault> {
    let field: [u8; 4] = match bytes.get(..4) {
        Some(field) => [field[0], field[1], field[2], field[3]],
        None => return Err(Fault::LinkHeaderCut),
    };
    let mut family = u32::from_be_bytes(field);
    if link == LinkType::Null && family > 0xffff {
        // Written by a host of the other byte order; families are small.
        family = family.swap_bytes();
    }
    match family {
        2 => Ok(untagged(4, ETHER_IPV4)),
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
        10 | 24 | 28 | 30 => Ok(untagged(4, ETHER_IPV6)),
        _ => Ok(untagged(4, 0)),
    }
}

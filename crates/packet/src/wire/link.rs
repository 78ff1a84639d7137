//! Link types and the way from a link header to the network header.

use super::headers::Fault;
use super::protocol::{
    ETHER_ARP, ETHER_IPV4, ETHER_IPV6, ETHER_LONGEST_LLC, ETHER_MPLS, ETHER_MPLS_UPSTREAM,
    ETHER_PPPOE_SESSION, ETHER_QINQ, ETHER_QINQ_OLD, ETHER_VLAN, PPP_IPV4, PPP_IPV6,
};
use super::views::Pppoe;

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
    /// Native InfiniBand from its local route header on (247): no IP packets, so
    /// that [`Headers`](super::Headers) finds none.
    InfiniBand,
    /// Records in Endace's Extensible Record Format (197), of InfiniBand among
    /// others: what is in them is not looked for here.
    Erf,
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
            197 => LinkType::Erf,
            228 => LinkType::RawIpv4,
            229 => LinkType::RawIpv6,
            247 => LinkType::InfiniBand,
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
            LinkType::Erf => 197,
            LinkType::RawIpv4 => 228,
            LinkType::RawIpv6 => 229,
            LinkType::InfiniBand => 247,
            LinkType::LinuxSll2 => 276,
            LinkType::Other(number) => u32::from(number),
        }
    }
}

/// A header between the link header (with its VLAN tags) and the network
/// header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shim {
    /// A stack of MPLS labels (RFC 3032).
    Mpls,
    /// A PPPoE session (RFC 2516) and the PPP protocol number.
    Pppoe,
    /// LLC and SNAP, with the EtherType at their end (RFC 1042). The Ethernet
    /// header gives a length in place of an EtherType.
    LlcSnap,
}

impl Shim {
    /// The shim that an EtherType, or a length in its place, announces.
    pub(super) fn of(ether_type: u16) -> Option<Shim> {
        match ether_type {
            ETHER_MPLS | ETHER_MPLS_UPSTREAM => Some(Shim::Mpls),
            ETHER_PPPOE_SESSION => Some(Shim::Pppoe),
            1..=ETHER_LONGEST_LLC => Some(Shim::LlcSnap),
            _ => None,
        }
    }
}

/// Where the link header ends, with the shim behind it, and what follows.
#[derive(Clone, Copy)]
pub(super) struct LinkHeader {
    pub network_offset: usize,
    /// EtherType of the link header or of its last tag; for link types without
    /// one, that of the IP version found.
    pub ether_type: u16,
    /// EtherType of what stands at `network_offset`: behind a shim not that of
    /// the link header, and 0 where the shim does not say what it carries.
    pub network_type: u16,
    /// Where the network packet ends at the latest, by what the shim says.
    pub end: usize,
    /// Start of the outermost tag's control information.
    pub vlan_offset: usize,
    pub vlan_tags: u8,
}

impl LinkHeader {
    /// That of something that cannot be read, at `network_offset`.
    pub fn of_nothing(network_offset: usize) -> LinkHeader {
        untagged(network_offset, 0)
    }
}

/// More tags than any network uses.
const MAX_VLAN_TAGS: u8 = 8;

/// More labels than any network uses.
const MAX_MPLS_LABELS: usize = 16;

/// Bytes of an MPLS label stack entry.
const MPLS_LABEL_BYTES: usize = 4;

/// LLC's service access points and control field, and SNAP's organisation code,
/// in front of an EtherType (RFC 1042).
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

pub(super) fn parse(link: LinkType, bytes: &[u8]) -> Result<LinkHeader, Fault> {
    match link {
        LinkType::Ethernet => ethernet(bytes),
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
        LinkType::InfiniBand | LinkType::Erf | LinkType::Other(_) => Err(Fault::UnknownLinkType),
    }
}

fn untagged(network_offset: usize, ether_type: u16) -> LinkHeader {
    LinkHeader {
        network_offset,
        ether_type,
        network_type: ether_type,
        end: usize::MAX,
        vlan_offset: 0,
        vlan_tags: 0,
    }
}

fn be16(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    match bytes.get(at..at + 2) {
        Some(field) => Ok(u16::from_be_bytes([field[0], field[1]])),
        None => Err(Fault::LinkHeaderCut),
    }
}

/// A frame, of Ethernet II or of IEEE 802.3.
fn ethernet(bytes: &[u8]) -> Result<LinkHeader, Fault> {
    let header = ether_type_at(bytes, 12)?;
    if Shim::of(header.ether_type) == Some(Shim::LlcSnap) {
        return llc_snap(bytes, header);
    }
    Ok(header)
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
        if header.vlan_tags == 0 {
            header.vlan_offset = header.network_offset;
        }
        header.ether_type = be16(bytes, header.network_offset + 2)?;
        header.network_offset += 4;
        header.vlan_tags += 1;
    }
    header.network_type = header.ether_type;
    skip_shim(bytes, header)
}

/// Skips MPLS labels or a PPPoE header that a header's EtherType announces.
pub(super) fn skip_shim(bytes: &[u8], header: LinkHeader) -> Result<LinkHeader, Fault> {
    match Shim::of(header.ether_type) {
        Some(Shim::Mpls) => mpls(bytes, header),
        Some(Shim::Pppoe) => pppoe(bytes, header),
        Some(Shim::LlcSnap) | None => Ok(header),
    }
}

/// The header of a packet that stands at `network_offset`, behind something
/// that names it by an EtherType.
pub(super) fn network_at(
    bytes: &[u8],
    network_offset: usize,
    ether_type: u16,
) -> Result<LinkHeader, Fault> {
    skip_shim(bytes, untagged(network_offset, ether_type))
}

/// Skips a stack of labels (RFC 3032). Only the explicit null labels name what
/// follows; otherwise the IP version in the first bits does, by which the
/// senders of all else avoid to begin with 4 or 6 (RFC 4928, section 3).
fn mpls(bytes: &[u8], header: LinkHeader) -> Result<LinkHeader, Fault> {
    const IPV4_EXPLICIT_NULL: u32 = 0;
    const IPV6_EXPLICIT_NULL: u32 = 2;
    let mut at = header.network_offset;
    for _ in 0..MAX_MPLS_LABELS {
        let entry = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let entry = u32::from_be_bytes(*entry.ok_or(Fault::LinkHeaderCut)?);
        at += MPLS_LABEL_BYTES;
        let is_bottom = entry & 0x100 != 0;
        if !is_bottom {
            continue;
        }
        let first = bytes.get(at).ok_or(Fault::LinkHeaderCut)?;
        let network_type = match (entry >> 12, first >> 4) {
            (IPV4_EXPLICIT_NULL, _) => ETHER_IPV4,
            (IPV6_EXPLICIT_NULL, _) => ETHER_IPV6,
            (_, 4) => ETHER_IPV4,
            (_, 6) => ETHER_IPV6,
            _ => 0,
        };
        return Ok(LinkHeader {
            network_offset: at,
            network_type,
            ..header
        });
    }
    Err(Fault::BadLinkHeader)
}

/// Skips the header of a PPPoE session. What it carries ends where the header
/// says, whatever IP claims.
fn pppoe(bytes: &[u8], header: LinkHeader) -> Result<LinkHeader, Fault> {
    let bytes = bytes.get(header.network_offset..).unwrap_or_default();
    if bytes.len() < Pppoe::BYTES {
        return Err(Fault::LinkHeaderCut);
    }
    let pppoe = Pppoe::new(bytes).ok_or(Fault::BadLinkHeader)?;
    let network_offset = header.network_offset + Pppoe::BYTES;
    Ok(LinkHeader {
        network_offset,
        network_type: match pppoe.protocol() {
            PPP_IPV4 => ETHER_IPV4,
            PPP_IPV6 => ETHER_IPV6,
            _ => 0,
        },
        end: network_offset + pppoe.payload().len(),
        ..header
    })
}

/// Skips LLC and SNAP. What follows ends where the Ethernet header says.
fn llc_snap(bytes: &[u8], header: LinkHeader) -> Result<LinkHeader, Fault> {
    let start = header.network_offset;
    let end = start + usize::from(header.ether_type);
    let rest = bytes.get(start..end.min(bytes.len())).unwrap_or_default();
    let unread = LinkHeader {
        network_type: 0,
        end,
        ..header
    };
    let Some(behind) = rest.strip_prefix(&LLC_SNAP) else {
        return Ok(unread);
    };
    let ether_type = be16(behind, 0)?;
    if !matches!(ether_type, ETHER_IPV4 | ETHER_IPV6 | ETHER_ARP) {
        return Ok(unread);
    }
    Ok(LinkHeader {
        network_offset: start + LLC_SNAP.len() + 2,
        network_type: ether_type,
        ..unread
    })
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

#[cfg(test)]
mod tests;

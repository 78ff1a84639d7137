//! Writing packets: headers with right lengths and checksums.
//!
//! Functions append to a buffer, outermost header first. Headers that count
//! or sum what follows them take a function that writes it, so that a packet
//! reads as it lies on the wire:
//!
//! ```
//! use weir_packet::wire::{FlowKey, Headers, LinkType, build, protocol};
//! let key = FlowKey {
//!     source: 0xc612_0001,
//!     destination: 0xc612_0002,
//!     source_port: 4711,
//!     destination_port: 53,
//!     protocol: protocol::UDP,
//!     ip_version: 4,
//! };
//! let mut frame = Vec::new();
//! build::ethernet(&mut frame, [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], protocol::ETHER_VLAN);
//! build::vlan_tag(&mut frame, 42, protocol::ETHER_IPV4);
//! build::ip(&mut frame, &key, &build::IpHeader::default(), |packet| {
//!     build::udp(packet, &key, |datagram| datagram.extend_from_slice(b"query"));
//! });
//! let headers = Headers::parse(LinkType::Ethernet, &frame);
//! assert_eq!(headers.payload(&frame), b"query");
//! assert_eq!(FlowKey::from_headers(&headers, &frame), Some(key));
//! ```
//!
//! A payload that does not fit the 16-bit length fields is written all the
//! same, with the largest length that they can state.

use super::protocol::{ETHER_IPV4, ETHER_IPV6, FRAGMENT, ICMPV6};
use super::{Checksum, FlowKey, internet_checksum};

/// What an IP header says beside addresses, protocol and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// DSCP and ECN: type of service of IPv4, traffic class of IPv6.
    pub traffic_class: u8,
    /// Time to live, hop limit.
    pub hop_limit: u8,
    /// Identification of the datagram. IPv6 has it in fragments only, IPv4
    /// takes the low 16 bits.
    pub identification: u32,
    /// Flow label of IPv6, 20 bits.
    pub flow_label: u32,
    /// "Don't fragment" of IPv4.
    pub dont_fragment: bool,
    /// More fragments follow. IPv6 gets a fragment header for it.
    pub more_fragments: bool,
    /// Place of the payload in the datagram in units of 8 bytes, 13 bits.
    /// IPv6 gets a fragment header for it.
    pub fragment_offset: u16,
}

impl Default for IpHeader {
    /// Hop limit 64, "don't fragment", all else zero.
    fn default() -> IpHeader {
        IpHeader {
            traffic_class: 0,
            hop_limit: 64,
            identification: 0,
            flow_label: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
        }
    }
}

/// What a TCP header says beside ports and checksum (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpHeader<'a> {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Flags, from FIN (1) to CWR (128).
    pub flags: u8,
    /// Window.
    pub window: u16,
    /// Options of up to 40 bytes, more are cut; padded with "end of list".
    pub options: &'a [u8],
}

/// FIN, SYN, RST, PSH and ACK in [`TcpHeader::flags`].
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 2;
    /// Reset the connection.
    pub const RST: u8 = 4;
    /// Push.
    pub const PSH: u8 = 8;
    /// The acknowledgment number counts.
    pub const ACK: u8 = 16;
}

/// Appends an Ethernet header of 14 bytes.
pub fn ethernet(out: &mut Vec<u8>, destination: [u8; 6], source: [u8; 6], ether_type: u16) {
    out.extend_from_slice(&destination);
    out.extend_from_slice(&source);
    out.extend_from_slice(&ether_type.to_be_bytes());
}

/// Appends the 4 bytes of an 802.1Q tag that follow its own EtherType: the
/// tag control information and the EtherType of what comes next.
pub fn vlan_tag(out: &mut Vec<u8>, tci: u16, ether_type: u16) {
    out.extend_from_slice(&tci.to_be_bytes());
    out.extend_from_slice(&ether_type.to_be_bytes());
}

/// The EtherType of the packets of a flow.
pub fn ether_type(key: &FlowKey) -> u16 {
    match key.ip_version {
        4 => ETHER_IPV4,
        _ => ETHER_IPV6,
    }
}

/// Appends an IP packet of `key`'s version (6 unless it is 4), addresses and
/// protocol around what `payload` writes.
#[inline]
pub fn ip(out: &mut Vec<u8>, key: &FlowKey, header: &IpHeader, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    if key.ip_version == 4 {
        ipv4_header(out, key, header);
        payload(out);
        let total_bytes = length(out.len() - start);
        out[start + 2..start + 4].copy_from_slice(&total_bytes);
        let checksum = internet_checksum(&out[start..start + 20]);
        out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        ipv6_header(out, key, header);
        payload(out);
        let payload_bytes = length(out.len() - start - 40);
        out[start + 4..start + 6].copy_from_slice(&payload_bytes);
    }
}

fn ipv4_header(out: &mut Vec<u8>, key: &FlowKey, header: &IpHeader) {
    let fragment = header.fragment_offset & 0x1fff
        | u16::from(header.more_fragments) << 13
        | u16::from(header.dont_fragment) << 14;
    out.extend_from_slice(&[0x45, header.traffic_class, 0, 0]);
    out.extend_from_slice(&(header.identification as u16).to_be_bytes());
    out.extend_from_slice(&fragment.to_be_bytes());
    out.extend_from_slice(&[header.hop_limit, key.protocol, 0, 0]);
    out.extend_from_slice(&(key.source as u32).to_be_bytes());
    out.extend_from_slice(&(key.destination as u32).to_be_bytes());
}

fn ipv6_header(out: &mut Vec<u8>, key: &FlowKey, header: &IpHeader) {
    let is_fragment = header.more_fragments || header.fragment_offset > 0;
    let first = 6 << 28 | u32::from(header.traffic_class) << 20 | header.flow_label & 0xf_ffff;
    let next_header = if is_fragment { FRAGMENT } else { key.protocol };
    out.extend_from_slice(&first.to_be_bytes());
    out.extend_from_slice(&[0, 0, next_header, header.hop_limit]);
    out.extend_from_slice(&key.source.to_be_bytes());
    out.extend_from_slice(&key.destination.to_be_bytes());
    if is_fragment {
        let field = header.fragment_offset << 3 | u16::from(header.more_fragments);
        out.extend_from_slice(&[key.protocol, 0]);
        out.extend_from_slice(&field.to_be_bytes());
        out.extend_from_slice(&header.identification.to_be_bytes());
    }
}

/// Appends a TCP segment with `key`'s ports around what `payload` writes.
#[inline]
pub fn tcp(
    out: &mut Vec<u8>,
    key: &FlowKey,
    header: &TcpHeader<'_>,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let options = &header.options[..header.options.len().min(40)];
    let option_words = options.len().div_ceil(4);
    out.extend_from_slice(&key.source_port.to_be_bytes());
    out.extend_from_slice(&key.destination_port.to_be_bytes());
    out.extend_from_slice(&header.sequence.to_be_bytes());
    out.extend_from_slice(&header.acknowledgment.to_be_bytes());
    out.extend_from_slice(&[(5 + option_words as u8) << 4, header.flags]);
    out.extend_from_slice(&header.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(options);
    out.resize(start + 20 + option_words * 4, 0);
    payload(out);
    let checksum = transport_checksum(&out[start..], key);
    out[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// Appends a UDP datagram with `key`'s ports around what `payload` writes.
#[inline]
pub fn udp(out: &mut Vec<u8>, key: &FlowKey, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&key.source_port.to_be_bytes());
    out.extend_from_slice(&key.destination_port.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    payload(out);
    let udp_bytes = length(out.len() - start);
    out[start + 4..start + 6].copy_from_slice(&udp_bytes);
    let checksum = match transport_checksum(&out[start..], key) {
        // Zero says that there is no checksum (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// Appends an ICMP or ICMPv6 message (`key.protocol` says which) around what
/// `body` writes after type, code and checksum.
pub fn icmp(
    out: &mut Vec<u8>,
    key: &FlowKey,
    icmp_type: u8,
    code: u8,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[icmp_type, code, 0, 0]);
    body(out);
    let checksum = if key.protocol == ICMPV6 {
        transport_checksum(&out[start..], key)
    } else {
        internet_checksum(&out[start..])
    };
    out[start + 2..start + 4].copy_from_slice(&checksum.to_be_bytes());
}

/// A bare IP packet with a TCP segment.
pub fn tcp_packet(key: &FlowKey, header: &TcpHeader<'_>, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    ip(&mut packet, key, &IpHeader::default(), |out| {
        tcp(out, key, header, |out| out.extend_from_slice(payload));
    });
    packet
}

/// A bare IP packet with a UDP datagram.
pub fn udp_packet(key: &FlowKey, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    ip(&mut packet, key, &IpHeader::default(), |out| {
        udp(out, key, |out| out.extend_from_slice(payload));
    });
    packet
}

/// An Ethernet frame, without its check sequence, around an IP packet.
pub fn ethernet_frame(ip_packet: &[u8]) -> Vec<u8> {
    let ether_type = match ip_packet.first() {
        Some(first) if first >> 4 == 6 => ETHER_IPV6,
        _ => ETHER_IPV4,
    };
    let mut frame = Vec::with_capacity(14 + ip_packet.len());
    ethernet(
        &mut frame,
        [2, 0, 0, 0, 0, 2],
        [2, 0, 0, 0, 0, 1],
        ether_type,
    );
    frame.extend_from_slice(ip_packet);
    frame
}

/// The checksum of a transport header and its payload as they stand, with
/// the pseudo-header of `key`; 0 where a right checksum is part of them.
pub fn transport_checksum(transport: &[u8], key: &FlowKey) -> u16 {
    let mut addresses = [0; 32];
    let address_bytes = if key.ip_version == 4 {
        addresses[..4].copy_from_slice(&(key.source as u32).to_be_bytes());
        addresses[4..8].copy_from_slice(&(key.destination as u32).to_be_bytes());
        8
    } else {
        addresses[..16].copy_from_slice(&key.source.to_be_bytes());
        addresses[16..].copy_from_slice(&key.destination.to_be_bytes());
        32
    };
    Checksum::new()
        .add_pseudo_header(
            &addresses[..address_bytes],
            key.protocol,
            transport.len() as u32,
        )
        .add(transport)
        .finish()
}

fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

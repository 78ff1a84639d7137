//! Numbers from the registries of EtherTypes and IP protocols.

/// EtherType of IPv4.
pub const ETHER_IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ETHER_ARP: u16 = 0x0806;
/// EtherType of an IEEE 802.1Q tag.
pub const ETHER_VLAN: u16 = 0x8100;
/// EtherType of IPv6.
pub const ETHER_IPV6: u16 = 0x86dd;
/// EtherType of an IEEE 802.1ad service tag (QinQ).
pub const ETHER_QINQ: u16 = 0x88a8;
/// EtherType that older switches use for the outer tag of QinQ.
pub const ETHER_QINQ_OLD: u16 = 0x9100;
/// EtherType of MPLS with unicast labels (RFC 5332, section 2).
pub const ETHER_MPLS: u16 = 0x8847;
/// EtherType of MPLS with upstream-assigned labels (RFC 5332, section 2).
pub const ETHER_MPLS_UPSTREAM: u16 = 0x8848;
/// The lowest EtherType: lower numbers in its place are lengths (IEEE 802.3,
/// section 3.2.6).
pub const ETHER_LOWEST: u16 = 0x0600;
/// The longest payload whose length stands in place of an EtherType.
pub const ETHER_LONGEST_LLC: u16 = 1500;
/// EtherType of PPPoE sessions (RFC 2516, section 6).
pub const ETHER_PPPOE_SESSION: u16 = 0x8864;
/// EtherType of a network service header (RFC 8300, section 8).
pub const ETHER_NSH: u16 = 0x894f;
/// EtherType of PPP inside the GRE of PPTP (RFC 2637, section 4.1).
pub const ETHER_PPP: u16 = 0x880b;
/// EtherType of ERSPAN types I and II inside GRE.
pub const ETHER_ERSPAN: u16 = 0x88be;
/// EtherType of an Ethernet frame bridged inside GRE.
pub const ETHER_BRIDGED: u16 = 0x6558;

/// PPP protocol number of IPv4 (RFC 1332, section 3).
pub const PPP_IPV4: u16 = 0x0021;
/// PPP protocol number of IPv6 (RFC 5072, section 4).
pub const PPP_IPV6: u16 = 0x0057;

/// IPv6 hop-by-hop options (RFC 8200, section 4.3).
pub const HOP_BY_HOP: u8 = 0;
/// ICMP for IPv4.
pub const ICMP: u8 = 1;
/// IPv4 in IP (RFC 2003).
pub const IPV4: u8 = 4;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// IPv6 in IP (RFC 2473).
pub const IPV6: u8 = 41;
/// IPv6 routing header (RFC 8200, section 4.4).
pub const ROUTING: u8 = 43;
/// IPv6 fragment header (RFC 8200, section 4.5).
pub const FRAGMENT: u8 = 44;
/// GRE (RFC 2784).
pub const GRE: u8 = 47;
/// Encapsulating Security Payload (RFC 4303).
pub const ESP: u8 = 50;
/// Authentication Header (RFC 4302).
pub const AH: u8 = 51;
/// ICMP for IPv6.
pub const ICMPV6: u8 = 58;
/// IPv6 "no next header".
pub const NO_NEXT_HEADER: u8 = 59;
/// IPv6 destination options (RFC 8200, section 4.6).
pub const DESTINATION_OPTIONS: u8 = 60;
/// SCTP.
pub const SCTP: u8 = 132;
/// Mobility header (RFC 6275).
pub const MOBILITY: u8 = 135;
/// Host Identity Protocol (RFC 7401).
pub const HIP: u8 = 139;
/// Shim6 (RFC 5533).
pub const SHIM6: u8 = 140;

/// UDP port of ESP behind a NAT (RFC 3948).
pub const PORT_NAT_T: u16 = 4500;
/// UDP port of Geneve (RFC 8926).
pub const PORT_GENEVE: u16 = 6081;
/// UDP port of Teredo servers (RFC 4380, section 2.7).
pub const PORT_TEREDO: u16 = 3544;
/// UDP port of VXLAN (RFC 7348).
pub const PORT_VXLAN: u16 = 4789;

/// Bytes of an IPv6 extension header (RFC 8200, section 4), whose second byte is `length`; `None`
/// where the protocol is no extension header.
#[inline]
pub fn extension_header_bytes(protocol: u8, length: u8) -> Option<usize> {
    let length = usize::from(length);
    match protocol {
        FRAGMENT => Some(8),
        AH => Some((length + 2) * 4),
        HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HIP | SHIM6 => {
            Some((length + 1) * 8)
        }
        _ => None,
    }
}

/// The usual name of an IP protocol number, as in `tcp`.
pub fn name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        ICMP => "icmp",
        TCP => "tcp",
        UDP => "udp",
        GRE => "gre",
        ESP => "esp",
        AH => "ah",
        ICMPV6 => "icmpv6",
        SCTP => "sctp",
        _ => return None,
    })
}

/// The IP protocol number of a name or of a decimal number, as in `tcp` or
/// `6`.
pub fn parse(name_or_number: &str) -> Option<u8> {
    let known = [ICMP, TCP, UDP, GRE, ESP, AH, ICMPV6, SCTP];
    known
        .into_iter()
        .find(|number| name(*number).is_some_and(|n| n.eq_ignore_ascii_case(name_or_number)))
        .or_else(|| name_or_number.parse().ok())
}

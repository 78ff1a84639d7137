//! The outer IP header of tunnel mode (RFC 4301, section 5.1.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_packet::wire::internet_checksum;

use crate::ecn::ECN_MASK;
use crate::header::{IPV4_BYTES, IPV6_BYTES, Inherited};

/// The two ends of a tunnel, which are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TunnelEnds {
    /// An IPv4 outer header.
    V4 {
        /// The encapsulating end.
        source: Ipv4Addr,
        /// The decapsulating end.
        destination: Ipv4Addr,
    },
    /// An IPv6 outer header.
    V6 {
        /// The encapsulating end.
        source: Ipv6Addr,
        /// The decapsulating end.
        destination: Ipv6Addr,
    },
}

impl TunnelEnds {
    /// The ends with these addresses; `None` where they are of two families.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<TunnelEnds> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(TunnelEnds::V4 {
                source,
                destination,
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(TunnelEnds::V6 {
                source,
                destination,
            }),
            _ => None,
        }
    }

    /// The encapsulating end.
    pub fn source(&self) -> IpAddr {
        match *self {
            TunnelEnds::V4 { source, .. } => source.into(),
            TunnelEnds::V6 { source, .. } => source.into(),
        }
    }

    /// The decapsulating end.
    pub fn destination(&self) -> IpAddr {
        match *self {
            TunnelEnds::V4 { destination, .. } => destination.into(),
            TunnelEnds::V6 { destination, .. } => destination.into(),
        }
    }

    /// 4 or 6.
    pub fn version(&self) -> u8 {
        match self {
            TunnelEnds::V4 { .. } => 4,
            TunnelEnds::V6 { .. } => 6,
        }
    }

    /// Bytes of the outer IP header.
    pub fn header_bytes(&self) -> usize {
        match self {
            TunnelEnds::V4 { .. } => IPV4_BYTES,
            TunnelEnds::V6 { .. } => IPV6_BYTES,
        }
    }
}

/// The DSCP of the outer header (RFC 4301, section 5.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dscp {
    /// The inner packet's.
    Copy,
    /// Always this one, `0..=63`.
    Fixed(u8),
}

/// The DF bit of an outer IPv4 header (RFC 4301, section 8.1). An inner IPv6
/// packet counts as one whose DF is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DontFragment {
    /// The inner packet's.
    Copy,
    /// Always set.
    Set,
    /// Never set.
    Clear,
}

/// The flow label of an outer IPv6 header (RFC 4301, section 5.1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowLabel {
    /// The inner packet's; 0 where that is IPv4.
    Copy,
    /// Always this one, 20 bits.
    Fixed(u32),
}

/// How a tunnel's outer header is made. ECN is always copied (RFC 6040,
/// section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// Outer addresses.
    pub ends: TunnelEnds,
    /// Outer TTL or hop limit.
    pub ttl: u8,
    /// Outer DSCP.
    pub dscp: Dscp,
    /// Outer DF, where the outer header is IPv4.
    pub dont_fragment: DontFragment,
    /// Outer flow label, where the outer header is IPv6.
    pub flow_label: FlowLabel,
}

impl Tunnel {
    /// Outer TTL where none is given.
    pub const DEFAULT_TTL: u8 = 64;

    /// A tunnel between `ends` that copies what may be copied, with the default TTL.
    pub fn between(ends: TunnelEnds) -> Tunnel {
        Tunnel {
            ends,
            ttl: Tunnel::DEFAULT_TTL,
            dscp: Dscp::Copy,
            dont_fragment: DontFragment::Copy,
            flow_label: FlowLabel::Copy,
        }
    }

    /// Writes the outer header into the first
    /// [`header_bytes`](TunnelEnds::header_bytes) of `packet`, whose length is that
    /// of the whole outer packet and fits its length field. `protocol` is that
    /// of ESP or UDP; `identification` is IPv4's, which distinguishes fragments of
    /// different packets (RFC 6864).
    pub fn write_header(
        &self,
        packet: &mut [u8],
        inner: Inherited,
        protocol: u8,
        identification: u16,
    ) {
        let packet_bytes = packet.len();
        let traffic_class = match self.dscp {
            Dscp::Copy => inner.traffic_class,
            Dscp::Fixed(dscp) => dscp << 2 | inner.traffic_class & ECN_MASK,
        };
        match self.ends {
            TunnelEnds::V4 {
                source,
                destination,
            } => {
                let Some(header) = packet.first_chunk_mut::<IPV4_BYTES>() else {
                    return;
                };
                let dont_fragment = match self.dont_fragment {
                    DontFragment::Copy => inner.dont_fragment,
                    DontFragment::Set => true,
                    DontFragment::Clear => false,
                };
                header[0] = 0x45;
                header[1] = traffic_class;
                header[2..4].copy_from_slice(&(packet_bytes as u16).to_be_bytes());
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                header[6..8].copy_from_slice(&[u8::from(dont_fragment) << 6, 0]);
                header[8] = self.ttl;
                header[9] = protocol;
                header[10..12].fill(0);
                header[12..16].copy_from_slice(&source.octets());
                header[16..20].copy_from_slice(&destination.octets());
                let checksum = internet_checksum(header);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            TunnelEnds::V6 {
                source,
                destination,
            } => {
                let Some(header) = packet.first_chunk_mut::<IPV6_BYTES>() else {
                    return;
                };
                let flow_label = match self.flow_label {
                    FlowLabel::Copy => inner.flow_label,
                    FlowLabel::Fixed(label) => label,
                };
                let first = 6 << 28 | u32::from(traffic_class) << 20 | flow_label & 0x000f_ffff;
                let payload_bytes = packet_bytes.saturating_sub(IPV6_BYTES) as u16;
                header[..4].copy_from_slice(&first.to_be_bytes());
                header[4..6].copy_from_slice(&payload_bytes.to_be_bytes());
                header[6] = protocol;
                header[7] = self.ttl;
                header[8..24].copy_from_slice(&source.octets());
                header[24..40].copy_from_slice(&destination.octets());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::inherited;

    fn ipv4_tunnel() -> Tunnel {
        Tunnel::between(TunnelEnds::V4 {
            source: Ipv4Addr::new(198, 18, 0, 1),
            destination: Ipv4Addr::new(198, 18, 0, 2),
        })
    }

    fn ipv6_tunnel() -> Tunnel {
        Tunnel::between(TunnelEnds::V6 {
            source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
            destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
        })
    }

    const INNER: Inherited = Inherited {
        traffic_class: 0xb9,
        dont_fragment: true,
        flow_label: 0xabcde,
    };

    #[test]
    fn ipv4_header_with_copied_fields() {
        let mut packet = [0xee; 120];
        ipv4_tunnel().write_header(&mut packet, INNER, 50, 0x1234);
        assert_eq!(
            packet[..20],
            [
                0x45, 0xb9, 0, 120, 0x12, 0x34, 0x40, 0, 64, 50, 0x9b, 0x3f, 198, 18, 0, 1, 198,
                18, 0, 2
            ]
        );
        assert_eq!(internet_checksum(&packet[..20]), 0);
        assert_eq!(packet[20], 0xee);
    }

    #[test]
    fn dscp_and_df_follow_their_policies() {
        let mut packet = [0; 20];
        for (dont_fragment, inner_bit, outer_bit) in [
            (DontFragment::Copy, false, false),
            (DontFragment::Copy, true, true),
            (DontFragment::Set, false, true),
            (DontFragment::Clear, true, false),
        ] {
            let tunnel = Tunnel {
                dscp: Dscp::Fixed(10),
                dont_fragment,
                ..ipv4_tunnel()
            };
            let inner = Inherited {
                dont_fragment: inner_bit,
                ..INNER
            };
            tunnel.write_header(&mut packet, inner, 50, 0);
            let outer = inherited(&packet);
            assert_eq!(outer.dont_fragment, outer_bit);
            assert_eq!(outer.traffic_class, 10 << 2 | 1, "ECN is always copied");
        }
    }

    #[test]
    fn ipv6_header_with_copied_and_fixed_flow_label() {
        let mut packet = [0; 140];
        ipv6_tunnel().write_header(&mut packet, INNER, 17, 0);
        assert_eq!(packet[..8], [0x6b, 0x9a, 0xbc, 0xde, 0, 100, 17, 64]);
        assert_eq!(packet[23], 1);
        assert_eq!(packet[39], 2);
        let tunnel = Tunnel {
            flow_label: FlowLabel::Fixed(7),
            ..ipv6_tunnel()
        };
        tunnel.write_header(&mut packet, INNER, 17, 0);
        assert_eq!(inherited(&packet).flow_label, 7);
    }

    #[test]
    fn ends_are_of_one_family() {
        let v4 = IpAddr::from([198, 18, 0, 1]);
        let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
        assert_eq!(TunnelEnds::new(v4, v6), None);
        let ends = TunnelEnds::new(v6, v6).expect("one family");
        assert_eq!((ends.version(), ends.header_bytes()), (6, 40));
    }
}

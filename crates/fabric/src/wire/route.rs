//! The route headers: LRH (section 7.7) and GRH (section 8.3).

/// What follows a local route header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum LinkNextHeader {
    /// A packet of another transport, behind an EtherType.
    Raw = 0,
    /// A packet of another transport, behind an IPv6 header.
    Ip = 1,
    /// A base transport header.
    #[default]
    Bth = 2,
    /// A global route header.
    Grh = 3,
}

/// Local route header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lrh {
    /// VL: virtual lane, 4 bits. Switches change it; lane 15 is that of subnet management.
    pub virtual_lane: u8,
    /// LVer: version of the link, 4 bits.
    pub link_version: u8,
    /// SL: service level, 4 bits.
    pub service_level: u8,
    /// Reserved, 2 bits.
    pub reserved_2: u8,
    /// LNH: what follows.
    pub next_header: LinkNextHeader,
    /// DLID: destination on this subnet.
    pub destination_lid: u16,
    /// Reserved, 5 bits.
    pub reserved_5: u8,
    /// PktLen: words of 4 bytes from the LRH to the byte before the VCRC, 11 bits.
    pub packet_words: u16,
    /// SLID: source on this subnet.
    pub source_lid: u16,
}

impl Lrh {
    /// Length.
    pub const BYTES: usize = 8;

    /// The header that the bytes hold.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Lrh {
        let word = u64::from_be_bytes(*bytes);
        Lrh {
            virtual_lane: (word >> 60) as u8,
            link_version: (word >> 56) as u8 & 0xf,
            service_level: (word >> 52) as u8 & 0xf,
            reserved_2: (word >> 50) as u8 & 3,
            next_header: match (word >> 48) & 3 {
                0 => LinkNextHeader::Raw,
                1 => LinkNextHeader::Ip,
                2 => LinkNextHeader::Bth,
                _ => LinkNextHeader::Grh,
            },
            destination_lid: (word >> 32) as u16,
            reserved_5: (word >> 27) as u8 & 0x1f,
            packet_words: (word >> 16) as u16 & 0x7ff,
            source_lid: word as u16,
        }
    }

    /// The bytes of the header. Of values too large for their field, the low bits are written.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let word = u64::from(self.virtual_lane & 0xf) << 60
            | u64::from(self.link_version & 0xf) << 56
            | u64::from(self.service_level & 0xf) << 52
            | u64::from(self.reserved_2 & 3) << 50
            | (self.next_header as u64) << 48
            | u64::from(self.destination_lid) << 32
            | u64::from(self.reserved_5 & 0x1f) << 27
            | u64::from(self.packet_words & 0x7ff) << 16
            | u64::from(self.source_lid);
        word.to_be_bytes()
    }
}

/// Global route header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grh {
    /// IPVer: 6, 4 bits.
    pub ip_version: u8,
    /// TClass: traffic class. Routers change it.
    pub traffic_class: u8,
    /// FlowLabel, 20 bits. Routers change it.
    pub flow_label: u32,
    /// PayLen: bytes from the end of this header to the byte before the VCRC.
    pub payload_bytes: u16,
    /// NxtHdr: 0x1b where a base transport header follows.
    pub next_header: u8,
    /// HopLmt: hop limit. Routers count it down.
    pub hop_limit: u8,
    /// SGID: source.
    pub source_gid: u128,
    /// DGID: destination.
    pub destination_gid: u128,
}

impl Grh {
    /// Length.
    pub const BYTES: usize = 40;

    /// The version that every header has.
    pub const IP_VERSION: u8 = 6;

    /// Next header of InfiniBand's transport.
    pub const NEXT_HEADER_BTH: u8 = 0x1b;

    /// The header that the bytes hold.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Grh {
        let whole = |part: &[u8]| {
            part.iter()
                .fold(0u128, |sum, byte| sum << 8 | *byte as u128)
        };
        let (fields, gids) = bytes.split_at(8);
        let (source_gid, destination_gid) = gids.split_at(16);
        let word = whole(fields) as u64;
        Grh {
            ip_version: (word >> 60) as u8,
            traffic_class: (word >> 52) as u8,
            flow_label: (word >> 32) as u32 & 0xf_ffff,
            payload_bytes: (word >> 16) as u16,
            next_header: (word >> 8) as u8,
            hop_limit: word as u8,
            source_gid: whole(source_gid),
            destination_gid: whole(destination_gid),
        }
    }

    /// The bytes of the header. Of values too large for their field, the low bits are written.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let word = u64::from(self.ip_version & 0xf) << 60
            | u64::from(self.traffic_class) << 52
            | u64::from(self.flow_label & 0xf_ffff) << 32
            | u64::from(self.payload_bytes) << 16
            | u64::from(self.next_header) << 8
            | u64::from(self.hop_limit);
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&word.to_be_bytes());
        bytes[8..24].copy_from_slice(&self.source_gid.to_be_bytes());
        bytes[24..].copy_from_slice(&self.destination_gid.to_be_bytes());
        bytes
    }
}

impl Default for Grh {
    /// Version, next header and a hop limit of 64; all else zero.
    fn default() -> Grh {
        Grh {
            ip_version: Self::IP_VERSION,
            traffic_class: 0,
            flow_label: 0,
            payload_bytes: 0,
            next_header: Self::NEXT_HEADER_BTH,
            hop_limit: 64,
            source_gid: 0,
            destination_gid: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_where_the_specification_puts_them() {
        // Frame 3 of a recorded exchange: an IPoIB ARP request to a multicast group.
        let lrh = Lrh::from_bytes(&[0x00, 0x03, 0xc0, 0x00, 0x00, 0x2b, 0x00, 0x05]);
        let expected = Lrh {
            next_header: LinkNextHeader::Grh,
            destination_lid: 0xc000,
            packet_words: 43,
            source_lid: 5,
            ..Lrh::default()
        };
        assert_eq!(lrh, expected);
        let lrh = Lrh::from_bytes(&[0xf1, 0x2a, 0, 0, 0x87, 0xff, 0, 0]);
        assert_eq!((lrh.virtual_lane, lrh.link_version), (15, 1));
        assert_eq!((lrh.service_level, lrh.reserved_2), (2, 2));
        assert_eq!(lrh.next_header, LinkNextHeader::Bth);
        assert_eq!((lrh.reserved_5, lrh.packet_words), (0x10, 0x7ff));

        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&[0x6a, 0xb1, 0x23, 0x45, 0x01, 0x02, 0x1b, 0x40]);
        (bytes[8], bytes[23], bytes[24], bytes[39]) = (0xfe, 1, 0xff, 2);
        let grh = Grh::from_bytes(&bytes);
        assert_eq!((grh.ip_version, grh.traffic_class), (6, 0xab));
        assert_eq!((grh.flow_label, grh.payload_bytes), (0x1_2345, 0x0102));
        assert_eq!((grh.next_header, grh.hop_limit), (0x1b, 64));
        assert_eq!(grh.source_gid, 0xfe << 120 | 1);
        assert_eq!(grh.destination_gid, 0xff << 120 | 2);
    }

    proptest! {
        #[test]
        fn headers_keep_every_bit(lrh: [u8; 8], gids: [u8; 32]) {
            prop_assert_eq!(Lrh::from_bytes(&lrh).to_bytes(), lrh);
            let mut grh = [0; 40];
            grh[..8].copy_from_slice(&lrh);
            grh[8..].copy_from_slice(&gids);
            prop_assert_eq!(Grh::from_bytes(&grh).to_bytes(), grh);
        }
    }
}

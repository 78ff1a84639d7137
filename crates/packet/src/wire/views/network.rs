//! IPv4 and IPv6.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{be16, be32};

/// An IPv4 header (RFC 791, section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    fixed: &'a [u8; 20],
    bytes: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// `None` where the version is not 4, or the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Ipv4<'a>> {
        let fixed: &[u8; 20] = bytes.first_chunk()?;
        let view = Ipv4 { fixed, bytes };
        let header_bytes = view.header_bytes();
        (fixed[0] >> 4 == 4 && header_bytes >= 20 && header_bytes <= bytes.len()).then_some(view)
    }

    /// Internet header length, in bytes: 20 to 60.
    pub fn header_bytes(&self) -> usize {
        usize::from(self.fixed[0] & 0x0f) * 4
    }

    /// Differentiated services code point (RFC 2474), 6 bits.
    pub fn dscp(&self) -> u8 {
        self.fixed[1] >> 2
    }

    /// Explicit congestion notification (RFC 3168), 2 bits.
    pub fn ecn(&self) -> u8 {
        self.fixed[1] & 3
    }

    /// Total length in bytes, header included, as stated.
    pub fn total_length(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Identification.
    pub fn identification(&self) -> u16 {
        be16(self.fixed, 4)
    }

    /// The flag "don't fragment".
    pub fn dont_fragment(&self) -> bool {
        self.fixed[6] & 0x40 != 0
    }

    /// The flag "more fragments".
    pub fn more_fragments(&self) -> bool {
        self.fixed[6] & 0x20 != 0
    }

    /// Fragment offset in units of 8 bytes, 13 bits.
    pub fn fragment_offset(&self) -> u16 {
        be16(self.fixed, 6) & 0x1fff
    }

    /// Time to live.
    pub fn time_to_live(&self) -> u8 {
        self.fixed[8]
    }

    /// Protocol.
    pub fn protocol(&self) -> u8 {
        self.fixed[9]
    }

    /// Header checksum, as stated.
    pub fn header_checksum(&self) -> u16 {
        be16(self.fixed, 10)
    }

    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(be32(self.fixed, 12))
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(be32(self.fixed, 16))
    }

    /// The header with its options.
    pub fn header(&self) -> &'a [u8] {
        &self.bytes[..self.header_bytes()]
    }

    /// Options and padding.
    pub fn options(&self) -> &'a [u8] {
        &self.header()[20..]
    }
}

/// An IPv6 header without its extensions (RFC 8200, section 3).
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    fixed: &'a [u8; 40],
}

impl<'a> Ipv6<'a> {
    /// `None` where the version is not 6, or the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Ipv6<'a>> {
        let fixed: &[u8; 40] = bytes.first_chunk()?;
        (fixed[0] >> 4 == 6).then_some(Ipv6 { fixed })
    }

    /// Traffic class: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (be16(self.fixed, 0) >> 4) as u8
    }

    /// Differentiated services code point (RFC 2474), 6 bits.
    pub fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Explicit congestion notification (RFC 3168), 2 bits.
    pub fn ecn(&self) -> u8 {
        self.traffic_class() & 3
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        be32(self.fixed, 0) & 0xf_ffff
    }

    /// Length in bytes of what follows this header, as stated.
    pub fn payload_length(&self) -> u16 {
        be16(self.fixed, 4)
    }

    /// Next header: an extension or the upper-layer protocol.
    pub fn next_header(&self) -> u8 {
        self.fixed[6]
    }

    /// Hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.fixed[7]
    }

    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        let [_, _, _, _, _, _, _, _, address @ ..] = self.fixed;
        Ipv6Addr::from(*address.first_chunk::<16>().unwrap_or(&[0; 16]))
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from(*self.fixed.last_chunk::<16>().unwrap_or(&[0; 16]))
    }
}

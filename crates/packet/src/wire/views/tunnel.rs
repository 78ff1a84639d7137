//! GRE, ERSPAN, VXLAN, Geneve and PPPoE.

use super::{be16, be32};

/// A GRE header of version 0 (RFC 2784) with key and sequence number
/// (RFC 2890).
#[derive(Clone, Copy, Debug)]
pub struct Gre<'a> {
    fixed: &'a [u8; 4],
    bytes: &'a [u8],
}

const CHECKSUM_PRESENT: u8 = 0x80;
const ROUTING_PRESENT: u8 = 0x40;
const KEY_PRESENT: u8 = 0x20;
const SEQUENCE_PRESENT: u8 = 0x10;

impl<'a> Gre<'a> {
    /// `None` where the header is not whole, its version is not 0, or it has
    /// the source routes of RFC 1701, which RFC 2784 (section 2.3) has
    /// receivers discard.
    pub fn new(bytes: &'a [u8]) -> Option<Gre<'a>> {
        let fixed: &[u8; 4] = bytes.first_chunk()?;
        let view = Gre { fixed, bytes };
        let is_readable = fixed[0] & ROUTING_PRESENT == 0 && fixed[1] & 7 == 0;
        (is_readable && view.header_bytes() <= bytes.len()).then_some(view)
    }

    /// Length in bytes with the optional fields: 4 to 16.
    pub fn header_bytes(&self) -> usize {
        4 * (1 + (self.fixed[0] & (CHECKSUM_PRESENT | KEY_PRESENT | SEQUENCE_PRESENT)).count_ones())
            as usize
    }

    /// EtherType of the payload.
    pub fn protocol_type(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Checksum over header and payload, as stated.
    pub fn checksum(&self) -> Option<u16> {
        Some((self.optional(CHECKSUM_PRESENT)? >> 16) as u16)
    }

    /// Key.
    pub fn key(&self) -> Option<u32> {
        self.optional(KEY_PRESENT)
    }

    /// Sequence number.
    pub fn sequence_number(&self) -> Option<u32> {
        self.optional(SEQUENCE_PRESENT)
    }

    /// The word of one present bit: words follow in the order of their bits.
    fn optional(&self, present: u8) -> Option<u32> {
        let flags = self.fixed[0];
        let before = flags & !ROUTING_PRESENT & !(present | (present - 1));
        let at = 4 + 4 * before.count_ones() as usize;
        match self.bytes.get(at..)?.first_chunk::<4>() {
            Some(word) if flags & present != 0 => Some(be32(word, 0)),
            _ => None,
        }
    }

    /// What follows the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}

/// An ERSPAN header of type II (draft-foschiano-erspan-03, section 4.2), which
/// follows a GRE header with a sequence number.
#[derive(Clone, Copy, Debug)]
pub struct Erspan<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Erspan<'a> {
    /// Length in bytes.
    pub const BYTES: usize = 8;

    /// `None` where the header is not whole or of another version than 1.
    pub fn new(bytes: &'a [u8]) -> Option<Erspan<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        (fixed[0] >> 4 == 1).then_some(Erspan { fixed, bytes })
    }

    /// Number of the mirroring session, 10 bits.
    pub fn session_id(&self) -> u16 {
        be16(self.fixed, 2) & 0x03ff
    }

    /// The mirrored Ethernet frame.
    pub fn frame(&self) -> &'a [u8] {
        &self.bytes[Self::BYTES..]
    }
}

/// A Geneve header (RFC 8926, section 3.4).
#[derive(Clone, Copy, Debug)]
pub struct Geneve<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Geneve<'a> {
    /// `None` where the header with its options is not whole, or its version
    /// is not 0.
    pub fn new(bytes: &'a [u8]) -> Option<Geneve<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        let view = Geneve { fixed, bytes };
        (fixed[0] >> 6 == 0 && view.header_bytes() <= bytes.len()).then_some(view)
    }

    /// Length in bytes with its options: 8 to 260.
    pub fn header_bytes(&self) -> usize {
        8 + 4 * usize::from(self.fixed[0] & 0x3f)
    }

    /// EtherType of the payload.
    pub fn protocol_type(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Virtual network identifier, 24 bits.
    pub fn virtual_network_identifier(&self) -> u32 {
        be32(self.fixed, 4) >> 8
    }

    /// What follows the options.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}

/// The header of a PPPoE session packet (RFC 2516, section 4), and the PPP
/// protocol number behind it.
#[derive(Clone, Copy, Debug)]
pub struct Pppoe<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Pppoe<'a> {
    /// Length in bytes, with the protocol number.
    pub const BYTES: usize = 8;

    /// `None` where the header is not whole, its version or type is not 1, it
    /// is not of a session (code 0), or its length is too short for a protocol.
    pub fn new(bytes: &'a [u8]) -> Option<Pppoe<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        let view = Pppoe { fixed, bytes };
        (fixed[0] == 0x11 && fixed[1] == 0 && view.length() >= 2).then_some(view)
    }

    /// Session identifier.
    pub fn session_id(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Bytes of the PPP frame, its protocol number included, as stated.
    pub fn length(&self) -> u16 {
        be16(self.fixed, 4)
    }

    /// PPP protocol number: 0x0021 for IPv4, 0x0057 for IPv6.
    pub fn protocol(&self) -> u16 {
        be16(self.fixed, 6)
    }

    /// What follows the protocol number, without padding.
    pub fn payload(&self) -> &'a [u8] {
        let payload = &self.bytes[Self::BYTES..];
        &payload[..payload.len().min(usize::from(self.length()) - 2)]
    }
}

/// A VXLAN header (RFC 7348, section 5).
#[derive(Clone, Copy, Debug)]
pub struct Vxlan<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Vxlan<'a> {
    /// `None` where the header is not whole or its I flag is not set.
    pub fn new(bytes: &'a [u8]) -> Option<Vxlan<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        (fixed[0] & 0x08 != 0).then_some(Vxlan { fixed, bytes })
    }

    /// VXLAN network identifier, 24 bits.
    pub fn vxlan_network_identifier(&self) -> u32 {
        be32(self.fixed, 4) >> 8
    }

    /// The inner Ethernet frame.
    pub fn frame(&self) -> &'a [u8] {
        &self.bytes[8..]
    }
}

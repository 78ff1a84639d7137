//! GRE, ERSPAN, VXLAN, Geneve, network service headers and PPPoE.

use super::{be16, be32};
use crate::wire::protocol::{
    ETHER_BRIDGED, ETHER_IPV4, ETHER_IPV6, ETHER_MPLS, ETHER_NSH, ETHER_PPP,
};

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

/// The GRE header of PPTP, of version 1 (RFC 2637, section 4.1), with PPP behind it.
#[derive(Clone, Copy, Debug)]
pub struct EnhancedGre<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

const ACKNOWLEDGEMENT_PRESENT: u8 = 0x80;

impl<'a> EnhancedGre<'a> {
    /// `None` where the header is not whole, its version is not 1, or its flags and
    /// its protocol are not those that RFC 2637 fixes.
    pub fn new(bytes: &'a [u8]) -> Option<EnhancedGre<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        let view = EnhancedGre { fixed, bytes };
        let is_readable = fixed[0] & !SEQUENCE_PRESENT == KEY_PRESENT
            && fixed[1] & !ACKNOWLEDGEMENT_PRESENT == 1
            && be16(fixed, 2) == ETHER_PPP;
        (is_readable && view.header_bytes() <= bytes.len()).then_some(view)
    }

    /// Length in bytes with sequence and acknowledgement number: 8 to 16.
    pub fn header_bytes(&self) -> usize {
        let has_sequence = self.fixed[0] & SEQUENCE_PRESENT != 0;
        let has_acknowledgement = self.fixed[1] & ACKNOWLEDGEMENT_PRESENT != 0;
        8 + 4 * (usize::from(has_sequence) + usize::from(has_acknowledgement))
    }

    /// Bytes behind the header, as stated.
    pub fn payload_length(&self) -> u16 {
        be16(self.fixed, 4)
    }

    /// The receiver's number for the call.
    pub fn call_id(&self) -> u16 {
        be16(self.fixed, 6)
    }

    /// What follows the header: a PPP frame, or nothing.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}

/// A network service header (RFC 8300, section 2).
#[derive(Clone, Copy, Debug)]
pub struct Nsh<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Nsh<'a> {
    /// `None` where the header with its metadata is not whole, its length is too
    /// short for itself, or its version is not 0.
    pub fn new(bytes: &'a [u8]) -> Option<Nsh<'a>> {
        let fixed: &[u8; 8] = bytes.first_chunk()?;
        let view = Nsh { fixed, bytes };
        let is_readable = fixed[0] >> 6 == 0 && view.header_bytes() >= 8;
        (is_readable && view.header_bytes() <= bytes.len()).then_some(view)
    }

    /// Length in bytes with its metadata: 8 to 252.
    pub fn header_bytes(&self) -> usize {
        4 * usize::from(self.fixed[1] & 0x3f)
    }

    /// EtherType of the payload; `None` where its protocol has none.
    pub fn protocol_type(&self) -> Option<u16> {
        match self.fixed[3] {
            1 => Some(ETHER_IPV4),
            2 => Some(ETHER_IPV6),
            3 => Some(ETHER_BRIDGED),
            4 => Some(ETHER_NSH),
            5 => Some(ETHER_MPLS),
            _ => None,
        }
    }

    /// Service path identifier, 24 bits.
    pub fn service_path_identifier(&self) -> u32 {
        be32(self.fixed, 4) >> 8
    }

    /// What follows the metadata.
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

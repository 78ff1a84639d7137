//! Fragments as they are on the wire.

use weir_packet::wire::Network;

use crate::packet::Packet;

pub(super) const IPV6_HEADER_BYTES: usize = 40;
pub(super) const FRAGMENT_HEADER: u8 = 44;
const FRAGMENT_HEADER_BYTES: usize = 8;

/// What fragments of one datagram have in common (RFC 791, section 3.2; RFC 8200, section 4.5:
/// without the protocol, since only the first fragment's counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) network: u64,
    pub(super) is_ipv6: bool,
    pub(super) source: u128,
    pub(super) destination: u128,
    pub(super) identification: u32,
    /// Of IPv4.
    protocol: u8,
}

/// A fragment's place, and its bytes.
pub(super) struct Piece<'a> {
    pub(super) key: Key,
    pub(super) offset: usize,
    pub(super) has_successor: bool,
    /// The header that the whole datagram begins with.
    pub(super) header: &'a [u8],
    /// Protocol behind that header, as this fragment has it.
    pub(super) protocol: u8,
    pub(super) bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    pub(super) fn of(packet: &Packet<'a>) -> Option<Piece<'a>> {
        let bytes = packet.headers.ip_packet(packet.bytes);
        let piece = match packet.headers.network {
            Network::Ipv4 => ipv4_piece(bytes),
            _ => ipv6_piece(bytes),
        };
        let mut piece = piece?;
        piece.key.network = packet.network;
        Some(piece)
    }
}

fn ipv4_piece(packet: &[u8]) -> Option<Piece<'_>> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    let address = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    Some(Piece {
        key: Key {
            network: 0,
            is_ipv6: false,
            source: u128::from(address(12)),
            destination: u128::from(address(16)),
            identification: u32::from(u16::from_be_bytes([header[4], header[5]])),
            protocol: header[9],
        },
        offset: usize::from(fragment & 0x1fff) * 8,
        has_successor: fragment & 0x2000 != 0,
        header: packet.get(..header_bytes)?,
        protocol: header[9],
        bytes: packet.get(header_bytes..)?,
    })
}

/// The fragment header is found behind headers that every fragment repeats;
/// these are left out of the datagram.
fn ipv6_piece(packet: &[u8]) -> Option<Piece<'_>> {
    let header: &[u8; IPV6_HEADER_BYTES] = packet.first_chunk()?;
    let (mut next, mut at) = (header[6], IPV6_HEADER_BYTES);
    while next != FRAGMENT_HEADER {
        let (following, words) = (*packet.get(at)?, *packet.get(at + 1)?);
        next = following;
        at += (usize::from(words) + 1) * 8;
    }
    let fragment: &[u8; FRAGMENT_HEADER_BYTES] = packet.get(at..)?.first_chunk()?;
    let place = u16::from_be_bytes([fragment[2], fragment[3]]);
    let address = |at: usize| {
        let bytes = header[at..at + 16].iter();
        bytes.fold(0, |address, byte| address << 8 | u128::from(*byte))
    };
    Some(Piece {
        key: Key {
            network: 0,
            is_ipv6: true,
            source: address(8),
            destination: address(24),
            identification: u32::from_be_bytes([
                fragment[4],
                fragment[5],
                fragment[6],
                fragment[7],
            ]),
            protocol: 0,
        },
        offset: usize::from(place & !7),
        has_successor: place & 1 != 0,
        header,
        protocol: fragment[0],
        bytes: packet.get(at + FRAGMENT_HEADER_BYTES..)?,
    })
}

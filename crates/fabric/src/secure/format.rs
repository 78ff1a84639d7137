//! Where the fields of a secure packet lie, and what is authenticated of its headers.

use crate::marks::MarkingField;
use crate::wire::{Carrier, Direction, Grh, Lrh, Opcode, Transport};

/// What protects a packet: the identifier in the BTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Algorithm {
    /// Nothing but the ICRC.
    None = 0,
    /// Encryption, and 32 bits of the tag of AES-128-GCM in place of the ICRC.
    Gcm32 = 1,
    /// Extended mode: encryption, and a number and 128 bits of tag behind the payload.
    Gcm128 = 2,
    /// 32 bits of AES-128-CMAC in place of the ICRC; nothing is encrypted.
    Cmac32 = 3,
}

/// Bytes of a tag that stands in place of the ICRC.
pub(super) const CUT_TAG_BYTES: usize = 4;
/// Bytes of a whole tag.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of the number of extended mode.
pub(super) const NUMBER_BYTES: usize = 8;
/// Bytes by which a packet of extended mode is longer.
pub(super) const EXTENDED_BYTES: usize = NUMBER_BYTES + TAG_BYTES - CUT_TAG_BYTES;

/// Offset in the BTH of the byte with FECN, BECN and the identifier.
const RESV8A: usize = 4;
/// The identifier, in the lowest bits of resv8a. The others are the packet's own.
const IDENTIFIER_BITS: u8 = 0x03;
/// FECN and BECN, which switches set.
const CONGESTION_BITS: u8 = 0xc0;
/// Offset in the BTH of the byte with the acknowledge request and the epoch.
const RESV7: usize = 8;
/// The bits of the epoch that a packet carries.
pub(super) const EPOCH_BITS: u8 = 0x7f;

impl Algorithm {
    /// Of the identifier in resv8a.
    pub fn of(reserved_8a: u8) -> Algorithm {
        match reserved_8a & IDENTIFIER_BITS {
            0 => Algorithm::None,
            1 => Algorithm::Gcm32,
            2 => Algorithm::Gcm128,
            _ => Algorithm::Cmac32,
        }
    }

    /// What protects a known operation in 32-bit mode.
    pub fn for_opcode(opcode: Opcode) -> Option<Algorithm> {
        let is_notification = opcode == Opcode::CONGESTION_NOTIFICATION;
        match opcode.is_known() {
            false => None,
            true if opcode.may_have_payload() && !is_notification => Some(Algorithm::Gcm32),
            true => Some(Algorithm::Cmac32),
        }
    }
}

/// Who sends a packet, as nonces have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Role {
    Request = 0,
    Response = 1,
}

impl Role {
    pub(super) fn of(opcode: Opcode) -> Role {
        match opcode.direction() {
            Some(Direction::Request) => Role::Request,
            Some(Direction::Response) | None => Role::Response,
        }
    }
}

/// Whether a transport sends packets again.
pub(crate) fn is_reliable(transport: Transport) -> bool {
    matches!(transport, Transport::Rc | Transport::Rd)
}

/// Writes identifier and low bits of the epoch into a BTH.
pub(super) fn set_fields(bth: &mut [u8], algorithm: Algorithm, epoch: u64) {
    bth[RESV8A] = bth[RESV8A] & !IDENTIFIER_BITS | algorithm as u8;
    bth[RESV7] = bth[RESV7] & !EPOCH_BITS | epoch as u8 & EPOCH_BITS;
}

/// What headers have where the associated data have zeros: with what may change on the way, the bytes
/// around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changeable {
    front: [u8; 12],
    /// Of a packet with a GRH.
    destination_gid: [u8; 16],
    /// Of RoCEv2.
    udp_checksum: [u8; 2],
    resv8a: u8,
}

impl Changeable {
    pub(super) const NONE: Changeable = Changeable {
        front: [0; 12],
        destination_gid: [0; 16],
        udp_checksum: [0; 2],
        resv8a: 0,
    };
}

/// Makes headers the associated data: clears what may change on the way, of the marking field all but its
/// upper `timestamp_bits`, and returns what was there. The headers begin with the IP header or the GRH, or
/// with the LRH where there is no GRH; `bth` is the offset of the BTH.
#[inline]
pub(super) fn mask(
    carrier: Carrier,
    headers: &mut [u8],
    bth: usize,
    timestamp_bits: u32,
) -> Changeable {
    let mut kept = Changeable {
        front: headers.first_chunk().copied().unwrap_or_default(),
        resv8a: headers[bth + RESV8A],
        ..Changeable::NONE
    };
    match carrier {
        Carrier::Local => headers[0] &= 0x0f,
        Carrier::Global => {
            clear_ipv6(headers);
            if let Some(gid) = headers[DESTINATION_GID..].first_chunk_mut() {
                kept.destination_gid = *gid;
                clear_marks(gid, timestamp_bits);
            }
        }
        Carrier::Ipv4 => {
            headers[1] = 0;
            headers[4..6].fill(0);
            headers[8] = 0;
            headers[10..12].fill(0);
            kept.udp_checksum = clear_udp_checksum(headers, bth);
        }
        Carrier::Ipv6 => {
            clear_ipv6(headers);
            kept.udp_checksum = clear_udp_checksum(headers, bth);
        }
    }
    headers[bth + RESV8A] &= !CONGESTION_BITS;
    kept
}

/// A UDP header ends with its checksum.
#[inline]
fn clear_udp_checksum(headers: &mut [u8], udp_end: usize) -> [u8; 2] {
    let checksum = headers[..udp_end].last_chunk_mut();
    checksum.map(std::mem::take).unwrap_or_default()
}

impl Changeable {
    /// Makes associated data the headers that they were, the arguments of [`mask`].
    #[inline]
    pub(super) fn put_back(&self, carrier: Carrier, headers: &mut [u8], bth: usize) {
        if let Some(front) = headers.first_chunk_mut() {
            *front = self.front;
        }
        match carrier {
            Carrier::Local => {}
            Carrier::Global => {
                if let Some(gid) = headers[DESTINATION_GID..].first_chunk_mut() {
                    *gid = self.destination_gid;
                }
            }
            Carrier::Ipv4 | Carrier::Ipv6 => {
                if let Some(checksum) = headers[..bth].last_chunk_mut() {
                    *checksum = self.udp_checksum;
                }
            }
        }
        headers[bth + RESV8A] = self.resv8a;
    }
}

/// Offset of the DGID in a GRH.
const DESTINATION_GID: usize = 24;

/// Traffic class, flow label and hop limit.
fn clear_ipv6(header: &mut [u8]) {
    header[0] &= 0xf0;
    header[1..4].fill(0);
    header[7] = 0;
}

/// Clears the marking field but for its upper bits.
fn clear_marks(gid: &mut [u8; 16], kept_bits: u32) {
    // An address outside the site has no marking field, and stays.
    let _ = MarkingField::of_gid(gid).map(|field| field.upper(kept_bits).store_in(gid));
}

/// The timestamp in the upper bits of the marking field of a DGID, if it has one.
pub(super) fn timestamp(gid: &[u8; 16], bits: u32) -> Option<u64> {
    let field = MarkingField::of_gid(gid).ok()?;
    Some(field.upper(bits).bits() >> (MarkingField::BITS - bits))
}

/// Writes a timestamp; switches' marks stay.
pub(super) fn set_timestamp(gid: &mut [u8; 16], bits: u32, stamp: u64) {
    if let Ok(field) = MarkingField::of_gid(gid) {
        let _ = field.with_upper(bits, stamp).store_in(gid);
    }
}

/// A DGID without marks.
pub(super) fn unmarked(gid: u128) -> u128 {
    let mut bytes = gid.to_be_bytes();
    clear_marks(&mut bytes, 0);
    u128::from_be_bytes(bytes)
}

/// Adds `by` to the packet lengths in the headers from LRH or IP header to BTH; `None` where a sum does
/// not fit its field.
pub(super) fn change_lengths(carrier: Carrier, headers: &mut [u8], by: isize) -> Option<()> {
    if !carrier.is_rocev2() {
        let lrh: &mut [u8; Lrh::BYTES] = headers.first_chunk_mut()?;
        let mut fields = Lrh::from_bytes(lrh);
        let words = fields.packet_words.checked_add_signed(by as i16 / 4)?;
        fields.packet_words = (words <= 0x7ff).then_some(words)?;
        *lrh = fields.to_bytes();
    }
    match carrier {
        Carrier::Local => Some(()),
        Carrier::Global => change_length(headers, Lrh::BYTES + 4, by),
        Carrier::Ipv4 => {
            change_length(headers, 2, by)?;
            change_length(headers, 24, by)
        }
        Carrier::Ipv6 => {
            change_length(headers, 4, by)?;
            change_length(headers, Grh::BYTES + 4, by)
        }
    }
}

fn change_length(headers: &mut [u8], at: usize, by: isize) -> Option<()> {
    let field: &mut [u8; 2] = headers.get_mut(at..)?.first_chunk_mut()?;
    let length = u16::from_be_bytes(*field).checked_add_signed(by as i16)?;
    *field = length.to_be_bytes();
    Some(())
}

/// The number of a packet with this PSN: the nearest to the highest one of its role.
pub(super) fn nearest_number(highest: u64, psn: u32) -> Option<u64> {
    // A difference of 24 bits with its sign.
    let ahead = (psn.wrapping_sub(highest as u32) << 8) as i32 >> 8;
    highest.checked_add_signed(i64::from(ahead))
}

/// The lowest epoch from `lowest` on that ends with these 7 bits.
pub(super) fn extend_epoch(lowest: u64, low_bits: u8) -> u64 {
    let ahead = low_bits.wrapping_sub(lowest as u8) & EPOCH_BITS;
    lowest + u64::from(ahead)
}

/// Bits of the PSN, above which the epoch stands in a number.
pub(super) const PSN_BITS: u32 = 24;

pub(super) const PSN_MASK: u64 = (1 << PSN_BITS) - 1;

/// Epochs have 40 bits.
pub const EPOCH_END: u64 = (1 << 40) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Operation;

    #[test]
    fn operations_have_their_algorithms() {
        let of = |transport, operation| {
            let opcode = Opcode::of(transport, operation).expect("an operation");
            Algorithm::for_opcode(opcode)
        };
        let (gcm, cmac) = (Some(Algorithm::Gcm32), Some(Algorithm::Cmac32));
        assert_eq!(of(Transport::Rc, Operation::SendOnly), gcm);
        assert_eq!(of(Transport::Rc, Operation::RdmaReadResponseOnly), gcm);
        for operation in [
            Operation::RdmaReadRequest,
            Operation::Acknowledge,
            Operation::AtomicAcknowledge,
            Operation::CompareSwap,
            Operation::FetchAdd,
        ] {
            assert_eq!(of(Transport::Rc, operation), cmac);
        }
        assert_eq!(Algorithm::for_opcode(Opcode(0x81)), cmac);
        assert_eq!(Algorithm::for_opcode(Opcode(0xa4)), None);
        assert_eq!(Algorithm::of(3), Algorithm::Cmac32);
        assert_eq!(Algorithm::of(0x10), Algorithm::None);
        assert_eq!(Algorithm::of(0x3d), Algorithm::Gcm32);
    }

    #[test]
    fn numbers_go_on_where_the_psn_wraps() {
        assert_eq!(nearest_number(0x05ff_fffe, 0xff_ffff), Some(0x05ff_ffff));
        assert_eq!(nearest_number(0x05ff_fffe, 2), Some(0x0600_0002));
        assert_eq!(nearest_number(0x0600_0002, 0xff_fffe), Some(0x05ff_fffe));
        assert_eq!(nearest_number(2, 0xff_fffe), None);
        assert_eq!(nearest_number(u64::MAX, 3), None);
    }

    #[test]
    fn epochs_never_go_back_by_their_low_bits() {
        assert_eq!(extend_epoch(0x80, 0), 0x80);
        assert_eq!(extend_epoch(0x81, 0), 0x100);
        assert_eq!(extend_epoch(0x81, 1), 0x81);
        assert_eq!(extend_epoch(0xff, 0x7e), 0x17e);
    }

    #[test]
    fn only_addresses_within_a_site_are_marked() {
        let gid = |high: u64| u128::from(high) << 64 | 7;
        assert_eq!(unmarked(gid(0xfe80_0000_0001_0000)), gid(0xfe80 << 48));
        assert_eq!(
            unmarked(gid(0xfebf_ffff_ffff_ffff)),
            gid(0xfe80_0000_0000_ffff)
        );
        assert_eq!(
            unmarked(gid(0xfeff_ffff_ffff_ffff)),
            gid(0xfec0_0000_0000_ffff)
        );
        assert_eq!(unmarked(gid(u64::MAX)), gid(u64::MAX));
        assert_eq!(
            unmarked(gid(0x2001_0db8_0000_0001)),
            gid(0x2001_0db8_0000_0001)
        );
    }
}

//! The marking field, and its place in a GID.

/// The 38 bits that switches write marks in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkingField(u64);

/// A GID that has no marking field: its prefix is neither that of link-local nor that of site-local
/// addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the GID is neither link-local (fe80::/10) nor site-local (fec0::/10), so it has no marking field"
)]
pub struct UnmarkedGid;

impl MarkingField {
    /// Bits of the field.
    pub const BITS: u32 = 38;

    /// The field of a packet that no switch has marked.
    pub const ZERO: MarkingField = MarkingField(0);

    /// A field with these bits; none if there are more than 38.
    #[must_use]
    pub const fn new(bits: u64) -> Option<MarkingField> {
        if bits >> Self::BITS == 0 {
            Some(MarkingField(bits))
        } else {
            None
        }
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The field of a packet with the destination GID `gid`, in wire order.
    ///
    /// Link-local GIDs have 54 zero bits behind their prefix of 10 bits, site-local ones 38 and then
    /// the subnet's 16: the field is the 38 bits that are zero in both.
    ///
    /// # Errors
    ///
    /// The GID has another prefix: the packet leaves the site.
    pub fn of_gid(gid: &[u8; 16]) -> Result<MarkingField, UnmarkedGid> {
        let head = head_of(gid);
        match (head >> Self::BITS) & 0x3ff {
            LINK_LOCAL | SITE_LOCAL => Ok(MarkingField(head & MASK)),
            _ => Err(UnmarkedGid),
        }
    }

    /// Writes the field into the destination GID `gid`.
    ///
    /// # Errors
    ///
    /// The GID has no field. It stays as it is.
    pub fn store_in(self, gid: &mut [u8; 16]) -> Result<(), UnmarkedGid> {
        Self::of_gid(gid)?;
        let head = head_of(gid) & !MASK | self.0;
        gid[..HEAD_BYTES].copy_from_slice(&head.to_be_bytes()[8 - HEAD_BYTES..]);
        Ok(())
    }

    /// The field with nothing in it but its upper `bits` bits.
    pub(crate) fn upper(self, bits: u32) -> MarkingField {
        MarkingField(self.0 & !mask(Self::BITS - bits))
    }

    /// The field with `value` in its upper `bits` bits.
    pub(crate) fn with_upper(self, bits: u32, value: u64) -> MarkingField {
        self.with_part(Self::BITS - bits, bits, value)
    }

    /// `value` in the bits from `shift` on, `bits` wide, in place of what they were. Bits of `value`
    /// above those are left out.
    pub(super) fn with_part(self, shift: u32, bits: u32, value: u64) -> MarkingField {
        let mask = mask(bits) << shift & MASK;
        MarkingField(self.0 & !mask | value << shift & mask)
    }

    /// The `bits` bits from `shift` on.
    pub(super) fn part(self, shift: u32, bits: u32) -> u64 {
        self.0 >> shift & mask(bits)
    }
}

const LINK_LOCAL: u64 = 0b11_1111_1010;
const SITE_LOCAL: u64 = 0b11_1111_1011;
const MASK: u64 = mask(MarkingField::BITS);
/// Prefix and field.
const HEAD_BYTES: usize = 6;

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

fn head_of(gid: &[u8; 16]) -> u64 {
    gid[..HEAD_BYTES]
        .iter()
        .fold(0, |head, &byte| head << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_the_38_bits_behind_the_prefix() {
        for prefix in [[0xfe, 0x80], [0xfe, 0xc0]] {
            let mut gid = [0; 16];
            gid[..2].copy_from_slice(&prefix);
            // The subnet and the port's GUID.
            gid[6..].copy_from_slice(&[0xab; 10]);
            assert_eq!(MarkingField::of_gid(&gid), Ok(MarkingField::ZERO));
            let all = MarkingField::new((1 << 38) - 1).expect("38 bits");
            assert_eq!(all.store_in(&mut gid), Ok(()));
            assert_eq!(gid[..6], [0xfe, prefix[1] | 0x3f, 0xff, 0xff, 0xff, 0xff]);
            assert_eq!(gid[6..], [0xab; 10]);
            assert_eq!(MarkingField::of_gid(&gid), Ok(all));
            assert_eq!(MarkingField::ZERO.store_in(&mut gid), Ok(()));
            assert_eq!(gid[..6], [0xfe, prefix[1], 0, 0, 0, 0]);
        }
    }

    #[test]
    fn other_gids_are_not_marked() {
        for prefix in [[0x20, 0x01], [0xff, 0x12], [0xfe, 0x40], [0, 0]] {
            let mut gid = [7; 16];
            gid[..2].copy_from_slice(&prefix);
            let before = gid;
            assert_eq!(MarkingField::of_gid(&gid), Err(UnmarkedGid));
            assert_eq!(MarkingField::ZERO.store_in(&mut gid), Err(UnmarkedGid));
            assert_eq!(gid, before);
        }
    }

    #[test]
    fn a_field_has_38_bits() {
        assert_eq!(MarkingField::new(1 << 38), None);
        assert!(MarkingField::new((1 << 38) - 1).is_some());
    }
}

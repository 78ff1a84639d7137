//! The base transport header (section 9.2).

use super::Opcode;

/// Base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// OpCode: what the packet is.
    pub opcode: Opcode,
    /// SE: solicited event.
    pub solicited_event: bool,
    /// M: the path migration state is "migrated".
    pub migration_request: bool,
    /// PadCnt: bytes behind the payload that fill it up to a multiple of 4, 2 bits.
    pub pad_bytes: u8,
    /// TVer: version of the transport, 4 bits.
    pub transport_version: u8,
    /// P_Key: the partition. The highest bit says that the sender is a full member.
    pub partition_key: u16,
    /// F: forward explicit congestion notification. Switches change it.
    pub fecn: bool,
    /// B: backward explicit congestion notification.
    pub becn: bool,
    /// resv8a without F and B: reserved, 6 bits. Outside the ICRC, as F and B are.
    pub reserved_6: u8,
    /// DestQP: destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// A: an acknowledgement is requested.
    pub acknowledge_request: bool,
    /// resv7: reserved, 7 bits. Covered by the ICRC.
    pub reserved_7: u8,
    /// PSN: packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Length.
    pub const BYTES: usize = 12;

    /// The offset of resv8a, the byte that the ICRC takes as ones.
    pub(super) const RESV8A: usize = 4;

    /// The header that the bytes hold.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Bth {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        Bth {
            opcode: Opcode(a),
            solicited_event: b & 0x80 != 0,
            migration_request: b & 0x40 != 0,
            pad_bytes: b >> 4 & 3,
            transport_version: b & 0xf,
            partition_key: u16::from_be_bytes([c, d]),
            fecn: e & 0x80 != 0,
            becn: e & 0x40 != 0,
            reserved_6: e & 0x3f,
            destination_qp: u32::from_be_bytes([0, f, g, h]),
            acknowledge_request: i & 0x80 != 0,
            reserved_7: i & 0x7f,
            psn: u32::from_be_bytes([0, j, k, l]),
        }
    }

    /// The bytes of the header. Of values too large for their field, the low bits are written.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let flags = u8::from(self.solicited_event) << 7
            | u8::from(self.migration_request) << 6
            | (self.pad_bytes & 3) << 4
            | self.transport_version & 0xf;
        let resv8a = u8::from(self.fecn) << 7 | u8::from(self.becn) << 6 | self.reserved_6 & 0x3f;
        let request = u8::from(self.acknowledge_request) << 7 | self.reserved_7 & 0x7f;
        let [c, d] = self.partition_key.to_be_bytes();
        let [_, f, g, h] = self.destination_qp.to_be_bytes();
        let [_, j, k, l] = self.psn.to_be_bytes();
        [
            self.opcode.0,
            flags,
            c,
            d,
            resv8a,
            f,
            g,
            h,
            request,
            j,
            k,
            l,
        ]
    }

    /// Whether the sender is a full member of its partition.
    pub fn is_full_member(&self) -> bool {
        self.partition_key & 0x8000 != 0
    }
}

impl Default for Bth {
    /// RC SEND First in the default partition, all else zero.
    fn default() -> Bth {
        Bth {
            partition_key: 0xffff,
            ..Bth::from_bytes(&[0; Bth::BYTES])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_where_the_specification_puts_them() {
        let bytes = [
            0x64, 0xb1, 0x80, 0x01, 0xd5, 0x12, 0x34, 0x56, 0x83, 0xab, 0xcd, 0xef,
        ];
        let expected = Bth {
            opcode: Opcode(0x64),
            solicited_event: true,
            migration_request: false,
            pad_bytes: 3,
            transport_version: 1,
            partition_key: 0x8001,
            fecn: true,
            becn: true,
            reserved_6: 0x15,
            destination_qp: 0x12_3456,
            acknowledge_request: true,
            reserved_7: 3,
            psn: 0xab_cdef,
        };
        assert_eq!(Bth::from_bytes(&bytes), expected);
        assert!(expected.is_full_member());
    }

    proptest! {
        #[test]
        fn headers_keep_every_bit(bytes: [u8; 12]) {
            prop_assert_eq!(Bth::from_bytes(&bytes).to_bytes(), bytes);
        }
    }
}

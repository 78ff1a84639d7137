//! The extended transport headers (section 9.3 and following).

/// Reliable datagram extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rdeth {
    /// Reserved.
    pub reserved: u8,
    /// EE-Context: end-to-end context at the destination, 24 bits.
    pub ee_context: u32,
}

/// Datagram extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Deth {
    /// Q_Key: what the destination queue pair wants to see.
    pub queue_key: u32,
    /// Reserved.
    pub reserved: u8,
    /// SrcQP: source queue pair, 24 bits.
    pub source_qp: u32,
}

/// RDMA extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reth {
    /// VA: virtual address of the buffer.
    pub virtual_address: u64,
    /// R_Key: what allows access to it.
    pub remote_key: u32,
    /// DMALen: length of the whole operation.
    pub dma_bytes: u32,
}

/// Atomic extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AtomicEth {
    /// VA: virtual address of the 64-bit word.
    pub virtual_address: u64,
    /// R_Key: what allows access to it.
    pub remote_key: u32,
    /// SwapDt: the value to write, or to add.
    pub swap_or_add: u64,
    /// CmpDt: the value to compare with.
    pub compare: u64,
}

/// Atomic acknowledge extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AtomicAckEth {
    /// OrigRemDt: what the word was before.
    pub original: u64,
}

/// Acknowledge extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Aeth {
    /// Syndrome: acknowledgement with credits, RNR NAK with a time, or NAK with a code.
    pub syndrome: u8,
    /// MSN: message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Whether the responder refuses: the upper bits of the syndrome are 001 (RNR NAK) or 011.
    pub fn is_negative(&self) -> bool {
        matches!(self.syndrome >> 5 & 3, 1 | 3)
    }
}

/// Immediate data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ImmDt {
    /// Handed to the receiver with the completion.
    pub data: u32,
}

/// Invalidate extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ieth {
    /// R_Key: the key that ends.
    pub remote_key: u32,
}

/// A byte and a number of 24 bits, which share a word.
#[inline]
fn split([high, a, b, c]: [u8; 4]) -> (u8, u32) {
    (high, u32::from_be_bytes([0, a, b, c]))
}

/// The opposite of [`split`]; of a larger number, the low bits.
fn join(high: u8, low: u32) -> [u8; 4] {
    let [_, a, b, c] = low.to_be_bytes();
    [high, a, b, c]
}

/// Bytes of a header from `at`, which its callers keep within the header.
#[inline]
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

macro_rules! header {
    ($name:ident, $bytes:literal, $read:expr, $write:expr) => {
        impl $name {
            /// Length.
            pub const BYTES: usize = $bytes;

            /// The header that the bytes hold.
            #[inline]
            pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> $name {
                let read: fn(&[u8; Self::BYTES]) -> $name = $read;
                read(bytes)
            }

            /// The bytes of the header. Of values too large for their field, the low bits are
            /// written.
            pub fn to_bytes(self) -> [u8; Self::BYTES] {
                let mut bytes = [0; Self::BYTES];
                let write: fn($name, &mut [u8; Self::BYTES]) = $write;
                write(self, &mut bytes);
                bytes
            }
        }
    };
}

header!(
    Rdeth,
    4,
    |bytes| {
        let (reserved, ee_context) = split(*bytes);
        Rdeth {
            reserved,
            ee_context,
        }
    },
    |header, bytes| *bytes = join(header.reserved, header.ee_context)
);

header!(
    Deth,
    8,
    |bytes| {
        let (reserved, source_qp) = split(part(bytes, 4));
        Deth {
            queue_key: u32::from_be_bytes(part(bytes, 0)),
            reserved,
            source_qp,
        }
    },
    |header, bytes| {
        bytes[..4].copy_from_slice(&header.queue_key.to_be_bytes());
        bytes[4..].copy_from_slice(&join(header.reserved, header.source_qp));
    }
);

header!(
    Reth,
    16,
    |bytes| Reth {
        virtual_address: u64::from_be_bytes(part(bytes, 0)),
        remote_key: u32::from_be_bytes(part(bytes, 8)),
        dma_bytes: u32::from_be_bytes(part(bytes, 12)),
    },
    |header, bytes| {
        bytes[..8].copy_from_slice(&header.virtual_address.to_be_bytes());
        bytes[8..12].copy_from_slice(&header.remote_key.to_be_bytes());
        bytes[12..].copy_from_slice(&header.dma_bytes.to_be_bytes());
    }
);

header!(
    AtomicEth,
    28,
    |bytes| AtomicEth {
        virtual_address: u64::from_be_bytes(part(bytes, 0)),
        remote_key: u32::from_be_bytes(part(bytes, 8)),
        swap_or_add: u64::from_be_bytes(part(bytes, 12)),
        compare: u64::from_be_bytes(part(bytes, 20)),
    },
    |header, bytes| {
        bytes[..8].copy_from_slice(&header.virtual_address.to_be_bytes());
        bytes[8..12].copy_from_slice(&header.remote_key.to_be_bytes());
        bytes[12..20].copy_from_slice(&header.swap_or_add.to_be_bytes());
        bytes[20..].copy_from_slice(&header.compare.to_be_bytes());
    }
);

header!(
    AtomicAckEth,
    8,
    |bytes| AtomicAckEth {
        original: u64::from_be_bytes(*bytes)
    },
    |header, bytes| *bytes = header.original.to_be_bytes()
);

header!(
    Aeth,
    4,
    |bytes| {
        let (syndrome, msn) = split(*bytes);
        Aeth { syndrome, msn }
    },
    |header, bytes| *bytes = join(header.syndrome, header.msn)
);

header!(
    ImmDt,
    4,
    |bytes| ImmDt {
        data: u32::from_be_bytes(*bytes)
    },
    |header, bytes| *bytes = header.data.to_be_bytes()
);

header!(
    Ieth,
    4,
    |bytes| Ieth {
        remote_key: u32::from_be_bytes(*bytes)
    },
    |header, bytes| *bytes = header.remote_key.to_be_bytes()
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_where_the_specification_puts_them() {
        let bytes: [u8; 28] = std::array::from_fn(|at| at as u8 + 1);
        let rdeth = Rdeth::from_bytes(&part(&bytes, 0));
        assert_eq!((rdeth.reserved, rdeth.ee_context), (1, 0x02_0304));
        let deth = Deth::from_bytes(&part(&bytes, 0));
        assert_eq!((deth.queue_key, deth.reserved), (0x0102_0304, 5));
        assert_eq!(deth.source_qp, 0x06_0708);
        let reth = Reth::from_bytes(&part(&bytes, 0));
        assert_eq!(reth.virtual_address, 0x0102_0304_0506_0708);
        assert_eq!(
            (reth.remote_key, reth.dma_bytes),
            (0x090a_0b0c, 0x0d0e_0f10)
        );
        let atomic = AtomicEth::from_bytes(&bytes);
        assert_eq!(atomic.virtual_address, 0x0102_0304_0506_0708);
        assert_eq!(atomic.remote_key, 0x090a_0b0c);
        assert_eq!(atomic.swap_or_add, 0x0d0e_0f10_1112_1314);
        assert_eq!(atomic.compare, 0x1516_1718_191a_1b1c);
        let acknowledged = AtomicAckEth::from_bytes(&part(&bytes, 0));
        assert_eq!(acknowledged.original, 0x0102_0304_0506_0708);
        let aeth = Aeth::from_bytes(&part(&bytes, 0));
        assert_eq!((aeth.syndrome, aeth.msn), (1, 0x02_0304));
        assert_eq!(ImmDt::from_bytes(&part(&bytes, 0)).data, 0x0102_0304);
        assert_eq!(Ieth::from_bytes(&part(&bytes, 0)).remote_key, 0x0102_0304);
    }

    #[test]
    fn syndromes_say_whether_the_responder_refuses() {
        let is_negative = |syndrome| Aeth { syndrome, msn: 0 }.is_negative();
        assert!(!is_negative(0x1f), "an acknowledgement without credits");
        assert!(is_negative(0x2e), "RNR NAK");
        assert!(is_negative(0x60), "NAK: PSN sequence error");
    }

    proptest! {
        #[test]
        fn headers_keep_every_bit(long: [u8; 28]) {
            prop_assert_eq!(Rdeth::from_bytes(&part(&long, 0)).to_bytes(), part::<4>(&long, 0));
            prop_assert_eq!(Deth::from_bytes(&part(&long, 0)).to_bytes(), part::<8>(&long, 0));
            prop_assert_eq!(Reth::from_bytes(&part(&long, 0)).to_bytes(), part::<16>(&long, 0));
            prop_assert_eq!(AtomicEth::from_bytes(&long).to_bytes(), long);
            prop_assert_eq!(AtomicAckEth::from_bytes(&part(&long, 0)).to_bytes(), part::<8>(&long, 0));
            prop_assert_eq!(Aeth::from_bytes(&part(&long, 0)).to_bytes(), part::<4>(&long, 0));
            prop_assert_eq!(ImmDt::from_bytes(&part(&long, 0)).to_bytes(), part::<4>(&long, 0));
            prop_assert_eq!(Ieth::from_bytes(&part(&long, 0)).to_bytes(), part::<4>(&long, 0));
        }
    }
}

//! The two check values of a packet (section 7.8; annex A17.3.3 for RoCEv2).
//!
//! The ICRC covers what no switch or router may change. It is the CRC-32 of Ethernet over the packet
//! up to itself, in which these fields count as ones:
//!
//! | packet | as ones |
//! | --- | --- |
//! | LRH, no GRH | VL of the LRH; resv8a of the BTH |
//! | LRH and GRH | the whole LRH; TClass, FlowLabel and HopLmt of the GRH; resv8a |
//! | RoCEv2 over IPv4 | 8 bytes in front of the IP header; type of service, TTL, checksum; UDP's checksum; resv8a |
//! | RoCEv2 over IPv6 | 8 bytes in front; traffic class, flow label, hop limit; UDP's checksum; resv8a |
//!
//! The VCRC covers a native packet from LRH to ICRC as it is, and every switch computes it anew. It
//! has the polynomial 0x100B. Its initial value (ones), its bit order (the lowest first), its
//! final complement and its byte order (the low one first) were determined from 43 recorded packets,
//! which carry the VCRCs of real adapters: no other choice of the four fits all of them, or more
//! than one.

mod fold;
mod head;
mod simd;

use crc32fast::Hasher;
use weir_simd::Tier;

use super::packet::Carrier;
use fold::Polynomial;
use head::Head;

/// What comparing a check value with the packet brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is the packet's.
    Good,
    /// It is that of another packet, or something else than a CRC.
    Wrong,
    /// The packet has none, or was not captured to the end.
    Absent,
}

impl Verdict {
    #[inline]
    pub(super) fn of<T: PartialEq>(carried: Option<T>, computed: Option<T>) -> Verdict {
        match (carried, computed) {
            (Some(carried), Some(computed)) if carried == computed => Verdict::Good,
            (Some(_), Some(_)) => Verdict::Wrong,
            _ => Verdict::Absent,
        }
    }
}

/// Bytes of an IPv4 header without options.
pub(super) const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header.
pub(super) const IPV6_BYTES: usize = 40;
/// Bytes of a UDP header.
pub(super) const UDP_BYTES: usize = 8;

static ICRC_POLYNOMIAL: Polynomial = Polynomial::new(0xedb8_8320);

/// Sixteen bits in the upper half of thirty-two: so one kernel has both.
static VCRC_POLYNOMIAL: Polynomial = Polynomial::new(VCRC_POLYNOMIAL_BITS as u32);

/// The ICRC of a packet, whose `bytes` are all from its LRH or IP header to the ICRC. `None` where they are
/// shorter than the headers of the carrier.
pub(crate) fn icrc(carrier: Carrier, bytes: &[u8]) -> Option<u32> {
    icrc_by(weir_simd::tier(), carrier, bytes)
}

#[inline]
fn icrc_by(tier: Tier, carrier: Carrier, bytes: &[u8]) -> Option<u32> {
    let head = Head::of(carrier);
    if bytes.len() < head.header_bytes {
        return None;
    }
    let by_kernel = simd::remainder(tier, &ICRC_POLYNOMIAL, head, bytes);
    Some(by_kernel.map_or_else(|| icrc_by_library(head, bytes), |remainder| !remainder))
}

fn icrc_by_library(head: &Head, bytes: &[u8]) -> u32 {
    let (covered, rest) = bytes.split_at(head.header_bytes);
    let mut masked = [0; Head::BYTES];
    for ((masked, byte), ones) in masked.iter_mut().zip(covered).zip(&head.ones) {
        *masked = byte | ones;
    }
    // It takes the complement of what the register begins with.
    let mut hasher = Hasher::new_with_initial(!head.initial());
    hasher.update(&masked[..covered.len()]);
    hasher.update(rest);
    hasher.finalize()
}

/// The VCRC of a native packet from its LRH to its ICRC.
pub fn vcrc(bytes: &[u8]) -> u16 {
    vcrc_by(weir_simd::tier(), bytes)
}

#[inline]
fn vcrc_by(tier: Tier, bytes: &[u8]) -> u16 {
    match simd::remainder(tier, &VCRC_POLYNOMIAL, Head::of_vcrc(), bytes) {
        Some(remainder) => !remainder as u16,
        None => vcrc_by_tables(bytes),
    }
}

fn vcrc_by_tables(bytes: &[u8]) -> u16 {
    let mut crc = 0xffff;
    // Four parts side by side, as none of their lookups waits for another part's.
    let (blocks, rest) = bytes.as_chunks::<{ 4 * PART_BYTES }>();
    for block in blocks {
        let (rows, _) = block.as_chunks::<STRIDE>();
        let mut parts = [crc, 0, 0, 0];
        for at in 0..PART_BYTES / STRIDE {
            for (part, crc) in parts.iter_mut().enumerate() {
                *crc = over_row(*crc, &rows[part * (PART_BYTES / STRIDE) + at]);
            }
        }
        crc = parts.iter().fold(0, |front, part| over_zeros(front) ^ part);
    }
    let (rows, rest) = rest.as_chunks::<STRIDE>();
    for row in rows {
        crc = over_row(crc, row);
    }
    for byte in rest {
        crc = over_byte(crc, *byte);
    }
    !crc
}

#[inline(always)]
fn over_row(crc: u16, row: &[u8; STRIDE]) -> u16 {
    let mut next = 0;
    for (at, byte) in row.iter().enumerate() {
        let byte = match at {
            0 => byte ^ crc as u8,
            1 => byte ^ (crc >> 8) as u8,
            _ => *byte,
        };
        next ^= VCRC_TABLES[STRIDE - 1 - at][usize::from(byte)];
    }
    next
}

const fn over_byte(crc: u16, byte: u8) -> u16 {
    crc >> 8 ^ VCRC_TABLES[0][(byte ^ crc as u8) as usize]
}

/// A CRC over as many zeros as a part has bytes.
fn over_zeros(crc: u16) -> u16 {
    OVER_ZEROS[0][usize::from(crc as u8)] ^ OVER_ZEROS[1][usize::from(crc >> 8)]
}

/// Bytes of a part.
const PART_BYTES: usize = 64;

/// Of each byte of a CRC what it becomes over the zeros.
static OVER_ZEROS: [[u16; 256]; 2] = {
    let mut tables = [[0; 256]; 2];
    let mut byte = 0;
    while byte < 256 {
        let mut crcs = [byte as u16, (byte as u16) << 8];
        let mut zeros = 0;
        while zeros < PART_BYTES {
            crcs = [over_byte(crcs[0], 0), over_byte(crcs[1], 0)];
            zeros += 1;
        }
        tables[0][byte] = crcs[0];
        tables[1][byte] = crcs[1];
        byte += 1;
    }
    tables
};

/// Bytes that are looked up at once: the lookups of one row do not wait for each other.
const STRIDE: usize = 16;

/// 0x100B with its bits in reverse.
const VCRC_POLYNOMIAL_BITS: u16 = 0xd008;

/// `VCRC_TABLES[n][byte]` is the CRC of the byte and `n` zero bytes behind it.
static VCRC_TABLES: [[u16; 256]; STRIDE] = {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ VCRC_POLYNOMIAL_BITS
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < STRIDE {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[zeros - 1][byte];
            tables[zeros][byte] = crc >> 8 ^ tables[0][(crc & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_simd::for_each_tier;

    /// Section 7.8.2, bit by bit: a register of 16 bits, into which each byte goes from its lowest
    /// bit on, begins with ones and is complemented at the end.
    fn vcrc_by_bits(bytes: &[u8]) -> u16 {
        let mut register: u16 = 0xffff;
        for byte in bytes {
            for bit in 0..8 {
                let feedback = (register >> 15 & 1) ^ u16::from(byte >> bit & 1);
                register <<= 1;
                if feedback == 1 {
                    register ^= 0x100b;
                }
            }
        }
        // The bit that entered first leaves first.
        !register.reverse_bits()
    }

    const CARRIERS: [Carrier; 4] = [
        Carrier::Local,
        Carrier::Global,
        Carrier::Ipv4,
        Carrier::Ipv6,
    ];

    fn expect_same_under_every_tier(bytes: &[u8]) {
        let expected = vcrc_by_bits(bytes);
        assert_eq!(vcrc_by_tables(bytes), expected);
        for_each_tier(|tier| {
            assert_eq!(
                vcrc_by(tier, bytes),
                expected,
                "{tier}, {} bytes",
                bytes.len()
            );
            for carrier in CARRIERS {
                let head = Head::of(carrier);
                let is_whole = bytes.len() >= head.header_bytes;
                let expected = is_whole.then(|| icrc_by_library(head, bytes));
                let found = icrc_by(tier, carrier, bytes);
                assert_eq!(
                    found,
                    expected,
                    "{tier}, {carrier:?}, {} bytes",
                    bytes.len()
                );
            }
        });
    }

    /// Where one vector, one block or the head ends.
    #[test]
    fn every_length_gives_the_same_under_every_tier() {
        let bytes: Vec<u8> = (0..1300u32).map(|at| ((at * at) >> 3) as u8).collect();
        for end in 0..bytes.len() {
            // At every alignment.
            expect_same_under_every_tier(&bytes[end.min(end % 67)..end]);
        }
    }

    proptest! {
        #[test]
        fn kernels_give_what_bits_give(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            expect_same_under_every_tier(&bytes);
        }
    }
}

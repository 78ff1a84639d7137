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

use crc32fast::Hasher;

use super::packet::Carrier;
use super::{Bth, Grh, Lrh};

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

/// CRC-32 of eight bytes of ones.
const AFTER_EIGHT_ONES: u32 = 0x2144_df1c;

/// The ICRC of a packet: its headers from `start` to the end of the BTH, and what lies between these
/// and the ICRC. `None` where the headers are shorter than those of the carrier.
pub(crate) fn icrc(carrier: Carrier, headers: &[u8], rest: &[u8]) -> Option<u32> {
    let mut hasher = match carrier {
        Carrier::Local => {
            let mut masked: [u8; Lrh::BYTES + Bth::BYTES] = copy(headers)?;
            masked[0] |= 0xf0;
            masked[Lrh::BYTES + Bth::RESV8A] = 0xff;
            begin(0, &masked)
        }
        Carrier::Global => {
            let mut masked: [u8; Grh::BYTES + Bth::BYTES] = copy(headers.get(Lrh::BYTES..)?)?;
            mask_ipv6(&mut masked);
            masked[Grh::BYTES + Bth::RESV8A] = 0xff;
            begin(AFTER_EIGHT_ONES, &masked)
        }
        Carrier::Ipv4 => {
            let mut masked: [u8; IPV4_BYTES + UDP_BYTES + Bth::BYTES] = copy(headers)?;
            masked[1] = 0xff;
            masked[8] = 0xff;
            masked[10..12].fill(0xff);
            mask_udp_and_bth(&mut masked[IPV4_BYTES..]);
            begin(AFTER_EIGHT_ONES, &masked)
        }
        Carrier::Ipv6 => {
            let mut masked: [u8; IPV6_BYTES + UDP_BYTES + Bth::BYTES] = copy(headers)?;
            mask_ipv6(&mut masked);
            mask_udp_and_bth(&mut masked[IPV6_BYTES..]);
            begin(AFTER_EIGHT_ONES, &masked)
        }
    };
    hasher.update(rest);
    Some(hasher.finalize())
}

fn begin(initial: u32, masked: &[u8]) -> Hasher {
    let mut hasher = Hasher::new_with_initial(initial);
    hasher.update(masked);
    hasher
}

fn copy<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

/// Traffic class, flow label and hop limit, which IPv6 header and GRH have at the same places.
fn mask_ipv6(header: &mut [u8]) {
    header[0] |= 0x0f;
    header[1..4].fill(0xff);
    header[7] = 0xff;
}

fn mask_udp_and_bth(headers: &mut [u8]) {
    headers[6..8].fill(0xff);
    headers[UDP_BYTES + Bth::RESV8A] = 0xff;
}

/// The VCRC of a native packet from its LRH to its ICRC.
pub fn vcrc(bytes: &[u8]) -> u16 {
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
const VCRC_POLYNOMIAL: u16 = 0xd008;

/// `VCRC_TABLES[n][byte]` is the CRC of the byte and `n` zero bytes behind it.
static VCRC_TABLES: [[u16; 256]; STRIDE] = {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ VCRC_POLYNOMIAL
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

    #[test]
    fn eight_ones_are_begun_with_their_crc() {
        assert_eq!(crc32fast::hash(&[0xff; 8]), AFTER_EIGHT_ONES);
        // The state of the register that the kernel's driver begins with.
        assert_eq!(!AFTER_EIGHT_ONES, 0xdebb_20e3);
    }

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

    proptest! {
        #[test]
        fn rows_of_bytes_give_what_bits_give(bytes in proptest::collection::vec(any::<u8>(), 0..1100)) {
            prop_assert_eq!(vcrc(&bytes), vcrc_by_bits(&bytes));
        }
    }
}

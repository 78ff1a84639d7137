//! What the first bytes of a packet count as.

use super::{IPV4_BYTES, IPV6_BYTES, UDP_BYTES};
use crate::wire::{Bth, Carrier, Grh, Lrh};

/// What is done to the first bytes of a packet before they go into a CRC.
///
/// Both tables are longer than any headers, so that kernels may begin anywhere in them.
pub(super) struct Head {
    /// Bits that count as ones.
    pub ones: [u8; 2 * Head::BYTES],
    /// Added: what the register begins with, in its first bytes.
    pub begin: [u8; 2 * Head::BYTES],
    /// Bytes to the end of the BTH.
    pub header_bytes: usize,
}

/// Ones, the usual beginning.
const ONES: u32 = !0;

/// What the register of the CRC-32 holds after eight bytes of ones.
const AFTER_EIGHT_ONES: u32 = 0xdebb_20e3;

static LOCAL: Head = Head::new(ONES, Lrh::BYTES, 0).with(0, 0xf0);

/// Eight bytes of ones are the LRH.
static GLOBAL: Head = Head::new(ONES, Lrh::BYTES + Grh::BYTES, 0)
    .with_all(0, Lrh::BYTES)
    .with_ipv6(Lrh::BYTES);

static IPV4: Head = Head::new(AFTER_EIGHT_ONES, IPV4_BYTES, UDP_BYTES)
    .with(1, 0xff)
    .with(8, 0xff)
    .with_all(10, 12);

static IPV6: Head = Head::new(AFTER_EIGHT_ONES, IPV6_BYTES, UDP_BYTES).with_ipv6(0);

/// The register has sixteen bits.
static VCRC: Head = Head::starting(0xffff, 0);

impl Head {
    /// No headers are longer.
    pub const BYTES: usize = 64;

    pub fn of(carrier: Carrier) -> &'static Head {
        match carrier {
            Carrier::Local => &LOCAL,
            Carrier::Global => &GLOBAL,
            Carrier::Ipv4 => &IPV4,
            Carrier::Ipv6 => &IPV6,
        }
    }

    pub fn of_vcrc() -> &'static Head {
        &VCRC
    }

    /// What the register begins with.
    pub fn initial(&self) -> u32 {
        let [a, b, c, d, ..] = self.begin;
        u32::from_le_bytes([a, b, c, d])
    }

    const fn starting(initial: u32, header_bytes: usize) -> Head {
        let mut begin = [0; 2 * Head::BYTES];
        [begin[0], begin[1], begin[2], begin[3]] = initial.to_le_bytes();
        Head {
            ones: [0; 2 * Head::BYTES],
            begin,
            header_bytes,
        }
    }

    /// `outer_bytes`, a UDP header of `udp_bytes` or none, and a BTH.
    const fn new(initial: u32, outer_bytes: usize, udp_bytes: usize) -> Head {
        let bth_start = outer_bytes + udp_bytes;
        let head = Head::starting(initial, bth_start + Bth::BYTES);
        let head = head.with(bth_start + Bth::RESV8A, 0xff);
        match udp_bytes {
            0 => head,
            _ => head.with_all(outer_bytes + 6, outer_bytes + 8),
        }
    }

    const fn with(mut self, at: usize, bits: u8) -> Head {
        self.ones[at] |= bits;
        self
    }

    const fn with_all(self, start: usize, end: usize) -> Head {
        match start < end {
            true => self.with(start, 0xff).with_all(start + 1, end),
            false => self,
        }
    }

    /// Traffic class, flow label and hop limit, which IPv6 header and GRH have at the same places.
    const fn with_ipv6(self, start: usize) -> Head {
        let head = self.with(start, 0x0f).with_all(start + 1, start + 4);
        head.with(start + 7, 0xff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_ones_are_begun_with_their_register() {
        assert_eq!(!crc32fast::hash(&[0xff; 8]), AFTER_EIGHT_ONES);
    }
}

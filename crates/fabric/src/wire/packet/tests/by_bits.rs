//! The ICRC once more, from the text of section 7.8.1 and annex A17.3.3, bit by bit.

use super::super::Carrier;

/// The ICRC of a packet that begins at its LRH or IP header, with `after` bytes behind the ICRC.
pub fn icrc(carrier: Carrier, packet: &[u8], after: usize) -> u32 {
    let mut bits = Register::new();
    let covered = &packet[..packet.len() - 4 - after];
    let bth = match carrier {
        Carrier::Local => 8,
        Carrier::Global => 48,
        Carrier::Ipv4 => 28,
        Carrier::Ipv6 => 48,
    };
    if carrier.is_rocev2() {
        // In place of an LRH.
        (0..8).for_each(|_| bits.byte(0xff));
    }
    for (at, byte) in covered.iter().enumerate() {
        let ones = match (carrier, at) {
            // resv8a of the BTH.
            (_, at) if at == bth + 4 => 0xff,
            // VL.
            (Carrier::Local, 0) => 0xf0,
            // The LRH.
            (Carrier::Global, 0..=7) => 0xff,
            // TClass and FlowLabel behind IPVer, and HopLmt.
            (Carrier::Global, 8) | (Carrier::Ipv6, 0) => 0x0f,
            (Carrier::Global, 9..=11 | 15) | (Carrier::Ipv6, 1..=3 | 7) => 0xff,
            // Type of service, time to live, header checksum.
            (Carrier::Ipv4, 1 | 8 | 10 | 11) => 0xff,
            // UDP checksum.
            (Carrier::Ipv4, 26 | 27) | (Carrier::Ipv6, 46 | 47) => 0xff,
            _ => 0,
        };
        bits.byte(byte | ones);
    }
    bits.value()
}

/// The register of the CRC-32 of IEEE 802.3: x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 +
/// x^8 + x^7 + x^5 + x^4 + x^2 + x + 1, the highest power on the left.
struct Register(u32);

impl Register {
    fn new() -> Register {
        Register(u32::MAX)
    }

    /// A byte, its lowest bit first.
    fn byte(&mut self, byte: u8) {
        for bit in 0..8 {
            let feedback = (self.0 >> 31) ^ u32::from(byte >> bit & 1);
            self.0 <<= 1;
            if feedback == 1 {
                self.0 ^= [26, 23, 22, 16, 12, 11, 10, 8, 7, 5, 4, 2, 1, 0]
                    .into_iter()
                    .fold(0, |sum, power| sum | 1 << power);
            }
        }
    }

    /// The complement, with the coefficient of x^31 as the lowest bit, since that one is sent
    /// first.
    fn value(&self) -> u32 {
        !self.0.reverse_bits()
    }
}

//! ESP packets (RFC 4303), without queues and without ciphers: where the parts
//! lie, what is written in front of them, and what is checked behind them.
//!
//! ```text
//!   transport   link │ IP header, extensions │      ESP, IV │ payload    │ padding, trailer │ ICV
//!   tunnel      link │ outer IP              │(UDP) ESP, IV │ IP packet  │ padding, trailer │ ICV
//!                                             ──── prefix ── ─────────── text ───────────── ─ tag
//! ```

mod decapsulate;
mod encapsulate;
#[cfg(test)]
mod gcm_vectors;
mod trailer;

use weir_crypto::Suite;

pub use decapsulate::{Arrival, Decapsulation};
pub use encapsulate::Encapsulation;
pub use trailer::{Trailer, padding_bytes};

use crate::sequence::{high_half, low_half};

/// Bytes of SPI and sequence number.
pub const ESP_HEADER_BYTES: usize = 8;

/// Bytes of pad length and next header.
pub const TRAILER_BYTES: usize = 2;

/// ESP's text ends on a multiple of 4 bytes (RFC 4303, section 2.4).
const ALIGNMENT_BYTES: usize = 4;

/// What is authenticated beside the packet's own bytes. With extended sequence
/// numbers, the high half comes into it: for an AEAD between SPI and low half,
/// in place of the ESP header (RFC 4106, section 5; RFC 7634, section 2.1),
/// for a MAC behind everything else (RFC 4303, section 2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Associated {
    /// SPI, high half, low half.
    spi_high_low: [u8; 12],
    esn: bool,
    is_aead: bool,
}

impl Associated {
    /// Of the packet with this number.
    #[inline]
    pub fn new(suite: Suite, esn: bool, spi: u32, sequence: u64) -> Associated {
        let mut spi_high_low = [0; 12];
        spi_high_low[..4].copy_from_slice(&spi.to_be_bytes());
        spi_high_low[4..8].copy_from_slice(&high_half(sequence).to_be_bytes());
        spi_high_low[8..].copy_from_slice(&low_half(sequence).to_be_bytes());
        Associated {
            spi_high_low,
            esn,
            is_aead: matches!(suite, Suite::Aead(_)),
        }
    }

    /// What comes in front of the IV, given the ESP header as it is sent.
    #[inline]
    pub fn prefix<'a>(&'a self, esp_header: &'a [u8]) -> &'a [u8] {
        if self.esn && self.is_aead {
            &self.spi_high_low
        } else {
            esp_header
        }
    }

    /// What comes behind the text.
    #[inline]
    pub fn suffix(&self) -> &[u8] {
        if self.esn && !self.is_aead {
            &self.spi_high_low[4..8]
        } else {
            &[]
        }
    }
}

/// The parts of a packet that a job for the cipher consists of.
pub struct Parts<'a> {
    /// SPI and sequence number, 8 bytes.
    pub esp_header: &'a [u8],
    /// The IV.
    pub iv: &'a mut [u8],
    /// Payload, padding, pad length, next header.
    pub text: &'a mut [u8],
    /// The ICV.
    pub tag: &'a mut [u8],
}

/// Where the parts of an ESP packet lie in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Start of the ESP header, from the start of the record.
    pub esp_offset: usize,
    /// Bytes of the IV.
    pub iv_bytes: usize,
    /// Bytes of payload, padding and trailer.
    pub text_bytes: usize,
    /// Bytes of the ICV.
    pub tag_bytes: usize,
}

impl Layout {
    /// The layout of `esp_bytes` of ESP at `esp_offset`; `None` where the
    /// suite cannot have made a packet of that length.
    pub fn of_packet(suite: Suite, esp_offset: usize, esp_bytes: usize) -> Option<Layout> {
        let layout = Layout {
            esp_offset,
            iv_bytes: suite.iv_bytes(),
            tag_bytes: suite.tag_bytes(),
            text_bytes: esp_bytes
                .checked_sub(ESP_HEADER_BYTES + suite.iv_bytes() + suite.tag_bytes())?,
        };
        let unit = suite.block_bytes().max(ALIGNMENT_BYTES);
        let is_possible = layout.text_bytes > 0 && layout.text_bytes.is_multiple_of(unit);
        is_possible.then_some(layout)
    }

    /// Start of the text, from the start of the record.
    #[inline]
    pub fn text_offset(&self) -> usize {
        self.esp_offset + ESP_HEADER_BYTES + self.iv_bytes
    }

    /// End of the ICV, from the start of the record.
    #[inline]
    pub fn end(&self) -> usize {
        self.text_offset() + self.text_bytes + self.tag_bytes
    }

    /// The parts; `None` where the record ends before them.
    #[inline]
    pub fn parts<'a>(&self, record: &'a mut [u8]) -> Option<Parts<'a>> {
        let packet = record.get_mut(self.esp_offset..self.end())?;
        let (esp_header, rest) = packet.split_at_mut_checked(ESP_HEADER_BYTES)?;
        let (iv, rest) = rest.split_at_mut_checked(self.iv_bytes)?;
        let (text, tag) = rest.split_at_mut_checked(self.text_bytes)?;
        Some(Parts {
            esp_header,
            iv,
            text,
            tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_half_is_authenticated_where_the_rfcs_say() {
        let header = [0, 0, 0x10, 1, 0, 0, 0, 5];
        let sequence = 9 << 32 | 5;
        let of = |suite: &str, esn| {
            let suite = Suite::parse(suite).expect("a suite");
            Associated::new(suite, esn, 0x1001, sequence)
        };
        let aead = of("aes-128-gcm-16", true);
        assert_eq!(
            aead.prefix(&header),
            [0, 0, 0x10, 1, 0, 0, 0, 9, 0, 0, 0, 5]
        );
        assert_eq!(aead.suffix(), []);
        let mac = of("aes-128-cbc+hmac-sha1-96", true);
        assert_eq!(mac.prefix(&header), header);
        assert_eq!(mac.suffix(), [0, 0, 0, 9]);
        for suite in ["aes-128-gcm-16", "aes-128-cbc+hmac-sha1-96"] {
            let plain = of(suite, false);
            assert_eq!(
                (plain.prefix(&header), plain.suffix()),
                (&header[..], &[][..])
            );
        }
    }

    #[test]
    fn lengths_that_a_suite_cannot_have() {
        let layout = |suite: &str, bytes| {
            let suite = Suite::parse(suite).expect("a suite");
            Layout::of_packet(suite, 0, bytes).map(|layout| layout.text_bytes)
        };
        // Header 8, IV 8, tag 16.
        assert_eq!(layout("aes-128-gcm-16", 32), None);
        assert_eq!(layout("aes-128-gcm-16", 35), None);
        assert_eq!(layout("aes-128-gcm-16", 36), Some(4));
        // Header 8, IV 16, tag 12.
        assert_eq!(layout("aes-128-cbc+hmac-sha1-96", 36 + 12), None);
        assert_eq!(layout("aes-128-cbc+hmac-sha1-96", 36 + 16), Some(16));
        for bytes in 0..20 {
            assert_eq!(layout("null+hmac-sha1-96", bytes), None);
        }
        assert_eq!(layout("null+hmac-sha1-96", 24), Some(4));
    }
}

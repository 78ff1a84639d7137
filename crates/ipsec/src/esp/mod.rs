//! ESP packets (RFC 4303), without queues and without ciphers: where the parts
//! lie, what is written in front of them, and what is checked behind them.
//!
//! ```text
//!   transport   link │ IP header, extensions │      ESP, IV │ payload    │ padding, trailer │ ICV
//!   tunnel      link │ outer IP              │(UDP) ESP, IV │ IP packet  │ padding, trailer │ ICV
//!                                             ───── AAD ──── ──────── plaintext ─────────── ─ tag
//! ```

mod decapsulate;
mod encapsulate;
mod fast_decapsulate;
mod fast_encapsulate;
#[cfg(test)]
mod gcm_vectors;
mod template;
mod trailer;

pub use decapsulate::{Arrival, Decapsulation};
pub use encapsulate::{Encapsulation, LateChecksum};
pub use fast_decapsulate::{FastDecapsulation, Sealed};
pub use fast_encapsulate::FastEncapsulation;
pub use template::{Format, Template};
pub use trailer::Trailer;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Associated {
    /// SPI, high half, low half.
    spi_high_low: [u8; 12],
    esn: bool,
    is_aead: bool,
}

impl Associated {
    /// Of the packet with this number.
    #[inline]
    pub fn new(format: &Format, sequence: u64) -> Associated {
        let mut spi_high_low = [0; 12];
        spi_high_low[..4].copy_from_slice(&format.spi.to_be_bytes());
        spi_high_low[4..].copy_from_slice(&sequence.to_be_bytes());
        Associated {
            spi_high_low,
            esn: format.esn,
            is_aead: format.is_aead,
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
    pub esp_offset: u32,
    /// Bytes of payload, padding and trailer.
    pub text_bytes: u32,
    /// Bytes of the IV.
    pub iv_bytes: u8,
    /// Bytes of the ICV.
    pub tag_bytes: u8,
}

impl Layout {
    /// The layout of `esp_bytes` of ESP at `esp_offset`; `None` where the
    /// association's suite cannot have made a packet of that length.
    #[inline]
    pub fn of_packet(format: &Format, esp_offset: u32, esp_bytes: u32) -> Option<Layout> {
        let Format {
            iv_bytes,
            tag_bytes,
            unit_bytes,
            ..
        } = *format;
        let beside_text = ESP_HEADER_BYTES as u32 + u32::from(iv_bytes) + u32::from(tag_bytes);
        let text_bytes = esp_bytes.checked_sub(beside_text)?;
        let is_possible = text_bytes > 0 && text_bytes & (u32::from(unit_bytes) - 1) == 0;
        is_possible.then_some(Layout {
            esp_offset,
            text_bytes,
            iv_bytes,
            tag_bytes,
        })
    }

    /// Bytes of payload, padding and trailer.
    #[inline]
    pub fn text_bytes(&self) -> usize {
        self.text_bytes as usize
    }

    /// Bytes of the ICV.
    #[inline]
    pub fn tag_bytes(&self) -> usize {
        usize::from(self.tag_bytes)
    }

    /// Start of the text, from the start of the record.
    #[inline]
    pub fn text_offset(&self) -> usize {
        self.esp_offset as usize + ESP_HEADER_BYTES + usize::from(self.iv_bytes)
    }

    /// End of the ICV, from the start of the record.
    #[inline]
    pub fn end(&self) -> usize {
        self.text_offset() + self.text_bytes() + self.tag_bytes()
    }

    /// The parts; `None` where the record ends before them.
    #[inline]
    pub fn parts<'a>(&self, record: &'a mut [u8]) -> Option<Parts<'a>> {
        let packet = record.get_mut(self.esp_offset as usize..self.end())?;
        let (esp_header, rest) = packet.split_at_mut_checked(ESP_HEADER_BYTES)?;
        let (iv, rest) = rest.split_at_mut_checked(usize::from(self.iv_bytes))?;
        let (text, tag) = rest.split_at_mut_checked(self.text_bytes())?;
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
    use weir_crypto::Suite;

    use super::*;

    #[test]
    fn high_half_is_authenticated_where_the_rfcs_say() {
        let header = [0, 0, 0x10, 1, 0, 0, 0, 5];
        let sequence = 9 << 32 | 5;
        let of = |suite: &str, esn| {
            let suite = Suite::parse(suite).expect("a suite");
            Associated::new(&Template::of_suite(suite, 0x1001, esn).format, sequence)
        };
        let aead = of("aes-128-gcm-16", true);
        assert_eq!(
            aead.prefix(&header),
            [0, 0, 0x10, 1, 0, 0, 0, 9, 0, 0, 0, 5]
        );
        assert!(aead.suffix().is_empty());
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
            let template = Template::of_suite(suite, 0x1001, false);
            Layout::of_packet(&template.format, 0, bytes).map(|layout| layout.text_bytes)
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

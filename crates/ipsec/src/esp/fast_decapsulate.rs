//! Fast path of decapsulation: ESP directly over IP, of an association whose
//! [`Format::is_ordinary`]. The ciphertext is copied behind a copy of the link header and
//! decrypted there. [`Decapsulation`](super::Decapsulation) is the reference implementation,
//! which handles every other packet and reports why one is refused.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, NO_NEXT_HEADER};
use weir_packet::wire::{Fragment, Headers, LinkType, Network};
use weir_stream::DropReason;

use super::fast_encapsulate::{ICV_BYTES, IV_BYTES, MOST_LINK_BYTES};
use super::{ALIGNMENT_BYTES, ESP_HEADER_BYTES, Format, Trailer};
use crate::ecn::{self, ECN_MASK, MustDrop};
use crate::header;
use crate::link;

/// What is known of an outer packet after its text was opened elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct FastDecapsulation {
    text_bytes: u32,
    network: Network,
    traffic_class: u8,
}

/// A record as it arrived, in parts.
#[derive(Clone, Copy)]
pub struct Sealed<'a> {
    /// In front of the outer packet.
    pub link_header: &'a [u8],
    /// SPI and sequence number.
    pub esp_header: &'a [u8; ESP_HEADER_BYTES],
    /// The IV.
    pub iv: &'a [u8; IV_BYTES],
    /// Packet, padding and trailer.
    pub text: &'a [u8],
    /// The ICV.
    pub tag: &'a [u8; ICV_BYTES],
}

impl Sealed<'_> {
    /// The sequence number's low half.
    #[inline]
    pub fn sequence_low(&self) -> u32 {
        u64::from_be_bytes(*self.esp_header) as u32
    }
}

impl FastDecapsulation {
    /// Takes a record apart. `None` where the reference implementation must decide.
    #[inline(always)]
    pub fn plan<'a>(
        format: &Format,
        link: LinkType,
        headers: &Headers,
        record: &'a [u8],
    ) -> Option<(FastDecapsulation, Sealed<'a>)> {
        let is_ordinary = format.is_ordinary
            && headers.protocol == ESP
            && headers.is_ip()
            && headers.fragment == Fragment::Whole
            && headers.fault.is_none()
            && headers.shim().is_none()
            && usize::from(headers.network_offset) <= MOST_LINK_BYTES
            && link::carries_both_versions(link);
        if !is_ordinary {
            return None;
        }
        let (link_header, outer) = record.split_at_checked(usize::from(headers.network_offset))?;
        let (esp_header, behind) = headers.payload(record).split_first_chunk()?;
        let (iv, behind) = behind.split_first_chunk()?;
        let (text, tag) = behind.split_last_chunk()?;
        if text.is_empty() || !text.len().is_multiple_of(ALIGNMENT_BYTES) {
            return None;
        }
        let packet = FastDecapsulation {
            text_bytes: text.len() as u32,
            network: headers.network,
            traffic_class: header::inherited(outer).traffic_class,
        };
        let sealed = Sealed {
            link_header,
            esp_header,
            iv,
            text,
            tag,
        };
        Some((packet, sealed))
    }

    /// Bytes of packet, padding and trailer.
    #[inline]
    pub fn text_bytes(&self) -> u64 {
        u64::from(self.text_bytes)
    }

    /// Reads the verified text behind a copy of the link header, and makes that say
    /// what follows now. Returns the bytes of the IP packet and of what follows it as
    /// padding against traffic analysis (RFC 4303, section 2.7).
    ///
    /// # Errors
    /// What is wrong with the text's end, although its sender had the key.
    #[inline]
    pub fn open(
        &self,
        link: LinkType,
        link_header: &mut [u8],
        text: &[u8],
    ) -> Result<usize, DropReason> {
        let trailer = Trailer::read(text).map_err(|_| DropReason::BadPadding)?;
        let (network, version) = match trailer.next_header {
            IPV4 => (Network::Ipv4, 4),
            IPV6 => (Network::Ipv6, 6),
            NO_NEXT_HEADER => return Err(DropReason::DummyPacket),
            _ => return Err(DropReason::BadInnerPacket),
        };
        if header::version(&text[..trailer.payload_bytes]) != version {
            return Err(DropReason::BadInnerPacket);
        }
        if network != self.network {
            link::set_ip_version(link, None, link_header, version);
        }
        Ok(trailer.payload_bytes)
    }

    /// Corrects the packet inside, which is a record by now, by the outer header.
    ///
    /// # Errors
    /// It is no whole IP packet, or cannot show that congestion was experienced.
    #[inline]
    pub fn correct(&self, headers: &Headers, record: &mut [u8]) -> Result<(), DropReason> {
        if !headers.is_whole_ip() {
            return Err(DropReason::BadInnerPacket);
        }
        let packet = record
            .get_mut(usize::from(headers.network_offset)..)
            .ok_or(DropReason::BadInnerPacket)?;
        let traffic_class = header::inherited(packet).traffic_class;
        let ecn = ecn::decapsulated(traffic_class, self.traffic_class)
            .map_err(|MustDrop| DropReason::CongestionUnmarkable)?;
        if ecn != traffic_class & ECN_MASK {
            header::set_ecn(packet, ecn);
        }
        Ok(())
    }
}

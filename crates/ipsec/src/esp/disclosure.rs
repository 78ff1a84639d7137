//! The ordinary case of decapsulation, in as few steps as it takes: ESP in IP, of an
//! association whose [`Format::is_ordinary`]. What was encrypted is copied behind a
//! copy of the link header and decrypted there, so that it need not move again.
//! [`Decapsulation`](super::Decapsulation) is the twin, which takes every other
//! packet and says why one is refused.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, NO_NEXT_HEADER};
use weir_packet::wire::{Fragment, Headers, LinkType, Network};
use weir_stream::DropReason;

use super::enclosure::{ICV_BYTES, IV_BYTES, MOST_LINK_BYTES};
use super::{ALIGNMENT_BYTES, ESP_HEADER_BYTES, Format, Trailer};
use crate::ecn::{self, ECN_MASK, MustDrop};
use crate::header;
use crate::link;

/// Bytes in front of a text.
const FRONT_BYTES: usize = ESP_HEADER_BYTES + IV_BYTES;

/// How one record becomes the packet inside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disclosure {
    /// From the start of the record.
    text_offset: u32,
    text_bytes: u32,
    /// The outer packet's, as are those below.
    sequence_low: u32,
    network: Network,
    traffic_class: u8,
}

/// What the cipher takes of a record as it arrived.
pub struct Sealed<'a> {
    /// SPI and sequence number.
    pub esp_header: &'a [u8; ESP_HEADER_BYTES],
    /// The IV.
    pub iv: &'a [u8; IV_BYTES],
    /// The ICV.
    pub tag: &'a [u8; ICV_BYTES],
}

impl Disclosure {
    /// Decides how a record is unwrapped. `None` where the twin must decide.
    #[inline]
    pub fn plan(
        format: &Format,
        link: LinkType,
        headers: &Headers,
        record: &[u8],
    ) -> Option<Disclosure> {
        let esp_offset = usize::from(headers.payload_offset);
        let beside_text = esp_offset + FRONT_BYTES + ICV_BYTES;
        let text_bytes = (headers.end_offset as usize).checked_sub(beside_text)?;
        let is_ordinary = format.is_ordinary
            && headers.protocol == ESP
            && headers.is_ip()
            && headers.fragment == Fragment::Whole
            && headers.fault.is_none()
            && usize::from(headers.network_offset) <= MOST_LINK_BYTES
            && link::carries_both_versions(link)
            && text_bytes > 0
            && text_bytes & (ALIGNMENT_BYTES - 1) == 0;
        if !is_ordinary {
            return None;
        }
        let &[_, _, _, _, n0, n1, n2, n3] = record.get(esp_offset..)?.first_chunk()?;
        let outer = record.get(usize::from(headers.network_offset)..)?;
        Some(Disclosure {
            text_offset: (esp_offset + FRONT_BYTES) as u32,
            text_bytes: text_bytes as u32,
            sequence_low: u32::from_be_bytes([n0, n1, n2, n3]),
            network: headers.network,
            traffic_class: header::inherited(outer).traffic_class,
        })
    }

    /// The sequence number's low half.
    #[inline]
    pub fn sequence_low(&self) -> u32 {
        self.sequence_low
    }

    /// Start of the text, from the start of the record.
    #[inline]
    pub fn text_offset(&self) -> usize {
        self.text_offset as usize
    }

    /// Bytes of packet, padding and trailer.
    #[inline]
    pub fn text_bytes(&self) -> usize {
        self.text_bytes as usize
    }

    /// What stands around the text; `None` where the record is not the one that
    /// this was planned for.
    #[inline]
    pub fn sealed<'a>(&self, record: &'a [u8]) -> Option<Sealed<'a>> {
        let (before, from_text) = record.split_at_checked(self.text_offset())?;
        let (esp_header, iv) = before.last_chunk::<FRONT_BYTES>()?.split_first_chunk()?;
        Some(Sealed {
            esp_header,
            iv: iv.first_chunk()?,
            tag: from_text.get(self.text_bytes()..)?.first_chunk()?,
        })
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
            link::set_ip_version(link, link_header, version);
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

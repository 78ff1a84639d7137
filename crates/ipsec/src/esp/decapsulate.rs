//! From a received packet to its ESP parts, and from a verified text to the
//! packet inside.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, NO_NEXT_HEADER, UDP};
use weir_packet::wire::{Fault, Fragment, Headers, LinkType, Shim};
use weir_stream::DropReason;

use super::{ESP_HEADER_BYTES, Format, Layout, Trailer};
use crate::ecn::{self, ECN_MASK};
use crate::header;
use crate::nat_t::Datagram;
use crate::{chain, link};

/// An ESP packet as it arrives: what can be read before it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Security parameters index.
    pub spi: u32,
    /// The sequence number's low half.
    pub sequence_low: u32,
    /// Whether it came in UDP.
    pub in_udp: bool,
    /// Start of the ESP header, from the start of the record.
    pub esp_offset: u32,
    /// Bytes from there to the end of the IP packet.
    pub esp_bytes: u32,
}

impl Arrival {
    /// Finds the ESP header of a record, bare or in UDP to one of
    /// `nat_t_ports`. `None` where the record is something else; IKE and
    /// keepalives on those ports are something else.
    ///
    /// # Errors
    /// It is an ESP packet, but a fragment of one (RFC 4303, section 3.4.1),
    /// cut, or too short for its header.
    pub fn find(
        headers: &Headers,
        record: &[u8],
        nat_t_ports: &[u16],
    ) -> Result<Option<Arrival>, DropReason> {
        let is_nat_t = headers.protocol == UDP && nat_t_ports.contains(&headers.destination_port);
        if !headers.is_ip() || !(is_nat_t || headers.protocol == ESP) {
            return Ok(None);
        }
        let esp = headers.payload(record);
        if is_nat_t && Datagram::of(esp) != Datagram::Esp {
            return Ok(None);
        }
        if headers.fragment != Fragment::Whole {
            return Err(DropReason::EspFragment);
        }
        match headers.fault {
            None => {}
            Some(Fault::PacketCut | Fault::TransportHeaderCut) => {
                return Err(DropReason::PacketCut);
            }
            Some(_) => return Err(DropReason::MalformedHeaders),
        }
        let &[s0, s1, s2, s3, n0, n1, n2, n3] = esp
            .first_chunk::<ESP_HEADER_BYTES>()
            .ok_or(DropReason::EspLength)?;
        Ok(Some(Arrival {
            spi: u32::from_be_bytes([s0, s1, s2, s3]),
            sequence_low: u32::from_be_bytes([n0, n1, n2, n3]),
            in_udp: is_nat_t,
            esp_offset: u32::from(headers.payload_offset),
            esp_bytes: esp.len() as u32,
        }))
    }
}

/// What is inside a verified text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// Tunnel mode: an IP packet, at the start of the text.
    Packet {
        /// Its length by its own header; what follows in the text is padding
        /// against traffic analysis (RFC 4303, section 2.7).
        packet_bytes: usize,
    },
    /// Transport mode: what follows the IP header.
    Payload {
        /// Its protocol.
        next_header: u8,
        /// Its length.
        payload_bytes: usize,
    },
}

impl Inner {
    /// Reads a verified text: the padding must count 1, 2, 3, …, and what is
    /// in front of it must be of the association's mode, tunnel or transport.
    ///
    /// # Errors
    /// [`DropReason::BadPadding`], [`DropReason::DummyPacket`] or
    /// [`DropReason::BadInnerPacket`].
    pub fn read(is_tunnel: bool, text: &[u8]) -> Result<Inner, DropReason> {
        let trailer = Trailer::read(text).map_err(|_| DropReason::BadPadding)?;
        let payload = &text[..trailer.payload_bytes];
        match (trailer.next_header, is_tunnel) {
            (NO_NEXT_HEADER, _) => Err(DropReason::DummyPacket),
            (next_header, false) => Ok(Inner::Payload {
                next_header,
                payload_bytes: payload.len(),
            }),
            (IPV4 | IPV6, true) => {
                let announced = if trailer.next_header == IPV6 { 6 } else { 4 };
                let headers = Headers::parse(LinkType::RawIp, payload);
                if header::version(payload) != announced || !headers.is_whole_ip() {
                    return Err(DropReason::BadInnerPacket);
                }
                Ok(Inner::Packet {
                    packet_bytes: headers.end_offset as usize,
                })
            }
            (_, true) => Err(DropReason::BadInnerPacket),
        }
    }
}

/// A received packet on its way through the cipher, and how it is unwrapped
/// afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decapsulation {
    link: LinkType,
    shim: Option<Shim>,
    link_bytes: usize,
    layout: Layout,
}

/// How much of a record's front and back goes when it is unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes in front.
    pub front_bytes: usize,
    /// Bytes at the end.
    pub back_bytes: usize,
}

impl Decapsulation {
    /// Lays out what arrived.
    ///
    /// # Errors
    /// [`DropReason::EspLength`]: the suite makes no packet of this length.
    pub fn plan(
        format: &Format,
        link: LinkType,
        headers: &Headers,
        arrival: &Arrival,
    ) -> Result<Decapsulation, DropReason> {
        let layout = Layout::of_packet(format, arrival.esp_offset, arrival.esp_bytes)
            .ok_or(DropReason::EspLength)?;
        Ok(Decapsulation {
            link,
            shim: headers.shim(),
            link_bytes: usize::from(headers.network_offset),
            layout,
        })
    }

    /// Where the parts for the cipher lie in the record.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Unwraps a record whose text was verified and decrypted in place: moves
    /// the headers that stay up to the packet inside, corrects them, and says
    /// what to cut off the record.
    ///
    /// # Errors
    /// What is wrong with the packet inside, although its sender had the key.
    pub fn unwrap_packet(&self, format: &Format, record: &mut [u8]) -> Result<Cut, DropReason> {
        let text_offset = self.layout.text_offset();
        let record_bytes = record.len();
        let text = record
            .get_mut(text_offset..text_offset + self.layout.text_bytes())
            .ok_or(DropReason::EspLength)?;
        match Inner::read(format.is_tunnel, text)? {
            Inner::Packet { packet_bytes } => {
                self.unwrap_tunnel(format, record)?;
                self.set_length(record, packet_bytes);
                let front_bytes = text_offset - self.link_bytes;
                record.copy_within(..self.link_bytes, front_bytes);
                Ok(Cut {
                    front_bytes,
                    back_bytes: record_bytes - text_offset - packet_bytes,
                })
            }
            Inner::Payload {
                next_header,
                payload_bytes,
            } => {
                let kept_bytes = self.unwrap_transport(record, next_header, payload_bytes)?;
                self.set_length(record, kept_bytes - self.link_bytes + payload_bytes);
                let front_bytes = text_offset - kept_bytes;
                record.copy_within(..kept_bytes, front_bytes);
                Ok(Cut {
                    front_bytes,
                    back_bytes: record_bytes - text_offset - payload_bytes,
                })
            }
        }
    }

    /// Corrects what the link header says of the packet's length.
    fn set_length(&self, record: &mut [u8], packet_bytes: usize) {
        if let Some(link_header) = record.get_mut(..self.link_bytes) {
            link::set_length(self.shim, link_header, packet_bytes);
        }
    }

    /// Corrects the inner header by the outer one, and the link header.
    fn unwrap_tunnel(&self, format: &Format, record: &mut [u8]) -> Result<(), DropReason> {
        let (outside, inner) = record.split_at_mut(self.layout.text_offset());
        let (link_header, outer) = outside.split_at_mut(self.link_bytes);
        let inner_class = header::inherited(inner).traffic_class;
        let outer_class = header::inherited(outer).traffic_class;
        let ecn = ecn::decapsulated(inner_class, outer_class)
            .map_err(|_| DropReason::CongestionUnmarkable)?;
        if ecn != inner_class & ECN_MASK {
            header::set_ecn(inner, ecn);
        }
        if format.decrement_ttl {
            header::decrement_ttl(inner).map_err(|_| DropReason::TtlExceeded)?;
        }
        let version = header::version(inner);
        if version != header::version(outer) {
            if !link::carries_both_versions(self.link) {
                return Err(DropReason::BadInnerPacket);
            }
            link::set_ip_version(self.link, self.shim, link_header, version);
        }
        Ok(())
    }

    /// Corrects the IP header that stays, and returns how many bytes stay with
    /// it in front of the payload.
    fn unwrap_transport(
        &self,
        record: &mut [u8],
        next_header: u8,
        payload_bytes: usize,
    ) -> Result<usize, DropReason> {
        let packet = &mut record[self.link_bytes..];
        let joint = chain::before_protocol(packet).ok_or(DropReason::MalformedHeaders)?;
        header::set_next_protocol(packet, joint.next_field, next_header);
        header::set_length(packet, joint.offset + payload_bytes);
        Ok(self.link_bytes + joint.offset)
    }
}

//! From a received packet to its ESP parts, and from a verified plaintext to the
//! packet inside.

use std::ops::Range;

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, NO_NEXT_HEADER, UDP};
use weir_packet::wire::{Fault, Fragment, Headers, LinkType, Network, Shim};
use weir_stream::CopyShape;

use super::{ESP_HEADER_BYTES, Format, Trailer};
use crate::ecn::{self, ECN_MASK, MustDrop};
use crate::nat_t::{self, Datagram};
use crate::reason::DropReason;
use crate::{chain, header, link};

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

/// How a received packet is decrypted, in a copy of its ESP part, and how what is inside takes
/// its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decapsulation {
    /// Bytes of the record's front that go in front of what is inside: the link header, and in
    /// transport mode the IP header.
    kept_bytes: u32,
    esp_offset: u32,
    plaintext_bytes: u32,
    link_bytes: u16,
    /// Bytes of ESP header and IV.
    header_bytes: u8,
    tag_bytes: u8,
    shim: Option<Shim>,
    /// Of the outer packet.
    network: Network,
    traffic_class: u8,
    /// Where the kept IP header says what follows, from its own start.
    next_field: u32,
}

impl Decapsulation {
    /// Decides how an association takes a record apart.
    ///
    /// # Errors
    /// The suite makes no packet of this length, or in transport mode, there is something wrong
    /// with the IP header.
    #[inline]
    pub fn plan(
        format: &Format,
        headers: &Headers,
        record: &[u8],
        arrival: &Arrival,
    ) -> Result<Decapsulation, DropReason> {
        let plaintext_bytes = format
            .plaintext_bytes_of(arrival.esp_bytes as usize)
            .ok_or(DropReason::EspLength)?;
        let packet = headers.ip_packet(record);
        let (kept_ip_bytes, next_field) = match format.is_tunnel {
            true => (0, 0),
            false => {
                let joint = chain::before_protocol(packet).ok_or(DropReason::MalformedHeaders)?;
                (joint.offset, joint.next_field)
            }
        };
        Ok(Decapsulation {
            kept_bytes: u32::from(headers.network_offset) + kept_ip_bytes as u32,
            esp_offset: arrival.esp_offset,
            plaintext_bytes: plaintext_bytes as u32,
            link_bytes: headers.network_offset,
            header_bytes: format.header_bytes() as u8,
            tag_bytes: format.tag_bytes,
            shim: headers.shim(),
            network: headers.network,
            traffic_class: header::inherited(packet).traffic_class,
            next_field: next_field as u32,
        })
    }

    /// How the ESP packet is copied, with space in front for what is kept.
    #[inline]
    pub fn shape(&self) -> CopyShape {
        let esp_offset = self.esp_offset as usize;
        let header_bytes = usize::from(self.header_bytes);
        CopyShape {
            kept_bytes: 0,
            gap_bytes: self.kept_bytes as usize,
            from: esp_offset,
            to: esp_offset + header_bytes + self.plaintext_bytes() + usize::from(self.tag_bytes),
            back_bytes: 0,
            aligned_at: header_bytes,
        }
    }

    /// Start of the ESP header, from the start of the copy.
    #[inline]
    pub fn esp_offset_in_copy(&self) -> usize {
        self.kept_bytes as usize
    }

    /// Bytes of payload, padding and trailer.
    #[inline]
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintext_bytes as usize
    }

    /// Bytes of the record's front that go in front of what is inside.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes as usize
    }

    /// Where the plaintext lies in the copy.
    #[inline]
    pub fn plaintext(&self) -> Range<usize> {
        let start = self.esp_offset_in_copy() + usize::from(self.header_bytes);
        start..start + self.plaintext_bytes()
    }

    /// Reads a verified plaintext, behind a copy of what is kept, and makes the latter say what
    /// follows now. Returns the bytes of payload; in tunnel mode, what follows the IP packet in
    /// it is padding against traffic analysis (RFC 4303, section 2.7).
    ///
    /// # Errors
    /// What is wrong with the packet inside, although its sender had the key:
    /// [`DropReason::BadPadding`], [`DropReason::DummyPacket`] or
    /// [`DropReason::BadInnerPacket`].
    #[inline]
    pub fn unwrap_payload(
        &self,
        format: &Format,
        link: LinkType,
        kept: &mut [u8],
        plaintext: &[u8],
    ) -> Result<usize, DropReason> {
        let trailer = Trailer::read(plaintext).map_err(|_| DropReason::BadPadding)?;
        let payload = &plaintext[..trailer.payload_bytes];
        if trailer.next_header == NO_NEXT_HEADER {
            return Err(DropReason::DummyPacket);
        }
        match format.is_tunnel {
            true => self.unwrap_tunnel(link, kept, payload, trailer.next_header)?,
            false => self.unwrap_transport(kept, payload, trailer.next_header),
        }
        Ok(trailer.payload_bytes)
    }

    #[inline]
    fn unwrap_tunnel(
        &self,
        link: LinkType,
        link_header: &mut [u8],
        payload: &[u8],
        next_header: u8,
    ) -> Result<(), DropReason> {
        let (network, version) = match next_header {
            IPV4 => (Network::Ipv4, 4),
            IPV6 => (Network::Ipv6, 6),
            _ => return Err(DropReason::BadInnerPacket),
        };
        if header::version(payload) != version {
            return Err(DropReason::BadInnerPacket);
        }
        if network != self.network {
            if !link::carries_both_versions(link) {
                return Err(DropReason::BadInnerPacket);
            }
            link::set_ip_version(link, self.shim, link_header, version);
        }
        if self.shim.is_some() {
            let packet_bytes = Headers::parse(LinkType::RawIp, payload).end_offset as usize;
            link::set_length(self.shim, link_header, packet_bytes);
        }
        Ok(())
    }

    fn unwrap_transport(&self, kept: &mut [u8], payload: &[u8], next_header: u8) {
        let Some((link_header, packet)) = kept.split_at_mut_checked(self.link_bytes.into()) else {
            return;
        };
        let packet_bytes = packet.len() + payload.len();
        header::set_next_protocol(packet, self.next_field as usize, next_header);
        header::set_length(packet, packet_bytes);
        link::set_length(self.shim, link_header, packet_bytes);
    }

    /// Corrects the packet inside, which is a record by now, by the outer header.
    ///
    /// # Errors
    /// It is no whole IP packet, cannot show that congestion was experienced, or has come to
    /// the end of its time.
    #[inline]
    pub fn correct(
        &self,
        format: &Format,
        headers: &Headers,
        record: &mut [u8],
    ) -> Result<(), DropReason> {
        if !headers.is_whole_ip() {
            return Err(DropReason::BadInnerPacket);
        }
        if !format.is_tunnel {
            if format.is_in_udp {
                nat_t::renew_checksum(headers, record);
            }
            return Ok(());
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
        if format.decrement_ttl {
            header::decrement_ttl(packet).map_err(|_| DropReason::TtlExceeded)?;
        }
        Ok(())
    }
}

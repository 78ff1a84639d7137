//! From a packet to an ESP packet, up to encryption.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, UDP};
use weir_packet::wire::{Fault, Fragment, Headers, LinkType, Shim};
use weir_stream::DropReason;

use super::template::OuterTemplate;
use super::{ESP_HEADER_BYTES, Layout, Template, Trailer};
use crate::header::{self, IPV6_BYTES, Inherited};
use crate::nat_t::{UDP_BYTES, set_checksum, udp_header};
use crate::sequence::low_half;
use crate::{chain, link};

/// How one record becomes an ESP packet: decided before anything is written,
/// so that a record is refused whole or changed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation {
    link: LinkType,
    shim: Option<Shim>,
    link_bytes: u32,
    /// Bytes in front of ESP that stay: the link header with its shim, and in transport mode
    /// the IP header.
    kept_bytes: u32,
    payload_bytes: u32,
    next_header: u8,
    inner_version: u8,
    layout: Layout,
    inherited: Inherited,
    /// Where the kept IP header says what follows, from its own start.
    next_field: u32,
}

impl Encapsulation {
    /// Decides how an association protects a record.
    ///
    /// # Errors
    /// The reason why it cannot.
    #[inline]
    pub fn plan(
        template: &Template,
        link: LinkType,
        headers: &Headers,
        record: &[u8],
    ) -> Result<Encapsulation, DropReason> {
        if !headers.is_whole_ip() {
            return Err(match headers.fault {
                Some(Fault::PacketCut | Fault::TransportHeaderCut) => DropReason::PacketCut,
                _ => DropReason::MalformedHeaders,
            });
        }
        let packet = headers.ip_packet(record);
        let version = header::version(packet);
        let (kept_ip_bytes, outer_bytes, outer_version, next_field, next_header) = match &template
            .outer
        {
            Some(outer) => {
                if outer.version() != version && !link::carries_both_versions(link) {
                    return Err(DropReason::NoSecurityAssociation);
                }
                if template.format.decrement_ttl {
                    header::check_ttl(packet).map_err(|_| DropReason::TtlExceeded)?;
                }
                let next_header = if version == 6 { IPV6 } else { IPV4 };
                (0, outer.header_bytes(), outer.version(), 0, next_header)
            }
            None if headers.fragment != Fragment::Whole => {
                return Err(DropReason::FragmentUnprotectable);
            }
            None => {
                let joint = chain::before_payload(packet).ok_or(DropReason::MalformedHeaders)?;
                (
                    joint.offset,
                    0,
                    version,
                    joint.next_field,
                    joint.next_protocol,
                )
            }
        };

        let link_bytes = usize::from(headers.network_offset);
        let kept_bytes = link_bytes + kept_ip_bytes;
        let payload_bytes = packet.len() - kept_ip_bytes;
        let udp_bytes = template.nat_t.map_or(0, |_| UDP_BYTES);
        let layout = Layout {
            esp_offset: (kept_bytes + outer_bytes + udp_bytes) as u32,
            text_bytes: template.text_bytes(payload_bytes) as u32,
            iv_bytes: template.format.iv_bytes,
            tag_bytes: template.format.tag_bytes,
        };
        let packet_bytes = layout.end() - link_bytes;
        let shim = headers.shim();
        let longest = longest_packet(outer_version).min(link::longest_packet(shim));
        if packet_bytes > longest.min(template.mtu_bytes as usize) {
            return Err(DropReason::TooLong);
        }
        Ok(Encapsulation {
            link,
            shim,
            link_bytes: link_bytes as u32,
            kept_bytes: kept_bytes as u32,
            payload_bytes: payload_bytes as u32,
            next_header,
            inner_version: version,
            layout,
            inherited: header::inherited(packet),
            next_field: next_field as u32,
        })
    }

    /// Bytes at the record's front that stay there.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes as usize
    }

    /// Bytes that the record grows behind them.
    #[inline]
    pub fn front_bytes(&self) -> usize {
        self.layout.text_offset() - self.kept_bytes()
    }

    /// Bytes that the record grows behind the IP packet; link padding is gone
    /// by then.
    #[inline]
    pub fn back_bytes(&self) -> usize {
        self.layout.text_bytes() - self.payload_bytes as usize + self.layout.tag_bytes()
    }

    /// Where the parts for the cipher lie in the grown record.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes that the association's lifetime is charged with.
    #[inline]
    pub fn text_bytes(&self) -> u64 {
        u64::from(self.layout.text_bytes)
    }

    /// Writes all headers, the padding and the trailer into a record that has
    /// grown by [`front_bytes`](Encapsulation::front_bytes) behind its
    /// [`kept_bytes`](Encapsulation::kept_bytes) and by
    /// [`back_bytes`](Encapsulation::back_bytes) at its end. What is left to do
    /// is to seal its [`layout`](Encapsulation::layout), then the
    /// [`late_checksum`](Encapsulation::late_checksum).
    #[inline]
    pub fn compose(&self, template: &Template, record: &mut [u8], sequence: u64) {
        let esp_offset = self.layout.esp_offset as usize;
        if let Some(text) = record
            .get_mut(self.layout.text_offset()..)
            .and_then(|rest| rest.get_mut(..self.layout.text_bytes()))
        {
            let trailer = Trailer {
                payload_bytes: self.payload_bytes as usize,
                next_header: self.next_header,
            };
            trailer.write(text);
            // What the planner saw is here, behind the headers to come.
            if template.format.decrement_ttl && template.outer.is_some() {
                let _ = header::decrement_ttl(text);
            }
        }
        if let Some(esp) = record
            .get_mut(esp_offset..)
            .and_then(|rest| rest.first_chunk_mut::<ESP_HEADER_BYTES>())
        {
            let spi_and_number =
                u64::from(template.format.spi) << 32 | u64::from(low_half(sequence));
            *esp = spi_and_number.to_be_bytes();
        }
        if let Some(ports) = template.nat_t {
            let start = esp_offset - UDP_BYTES;
            let esp_bytes = self.layout.end() - esp_offset;
            record[start..esp_offset].copy_from_slice(&udp_header(ports, esp_bytes as u16));
        }
        let Some((link_header, packet)) = record.split_at_mut_checked(self.link_bytes as usize)
        else {
            return;
        };
        link::set_length(self.shim, link_header, packet.len());
        match &template.outer {
            Some(outer) => {
                // Successive packets get successive numbers, and associations
                // between the same ends start apart.
                let identification = low_half(sequence).wrapping_add(template.format.spi) as u16;
                let packet_bytes = packet.len();
                outer.write(packet, packet_bytes, self.inherited, identification);
                if outer.version() != self.inner_version {
                    link::set_ip_version(self.link, self.shim, link_header, outer.version());
                }
            }
            None => {
                let protocol = if template.nat_t.is_some() { UDP } else { ESP };
                let packet_bytes = packet.len();
                header::set_next_protocol(packet, self.next_field as usize, protocol);
                header::set_length(packet, packet_bytes);
            }
        }
    }

    /// What is left to do when the record is sealed, if anything.
    #[inline]
    pub fn late_checksum(&self, template: &Template) -> Option<LateChecksum> {
        let outer_version = template.outer.as_ref().map(OuterTemplate::version);
        let is_udp_over_ipv6 =
            template.nat_t.is_some() && outer_version.unwrap_or(self.inner_version) == 6;
        is_udp_over_ipv6.then_some(LateChecksum {
            ip_offset: self.link_bytes,
            udp_offset: self.layout.esp_offset - UDP_BYTES as u32,
        })
    }
}

/// The checksum of UDP over IPv6, which depends on the ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateChecksum {
    ip_offset: u32,
    udp_offset: u32,
}

impl LateChecksum {
    /// Sets it in a sealed record.
    pub fn set(&self, record: &mut [u8]) {
        let Some((headers, datagram)) = record.split_at_mut_checked(self.udp_offset as usize)
        else {
            return;
        };
        if let Some(addresses) = headers
            .get(self.ip_offset as usize..)
            .and_then(|ip| ip.get(8..IPV6_BYTES))
        {
            set_checksum(addresses, datagram);
        }
    }
}

/// The longest packet whose length field can say so.
#[inline]
pub(super) fn longest_packet(version: u8) -> usize {
    let field = usize::from(u16::MAX);
    if version == 6 {
        field + IPV6_BYTES
    } else {
        field
    }
}

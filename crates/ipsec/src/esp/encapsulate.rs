//! From a packet to an ESP packet, up to encryption.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, UDP};
use weir_packet::wire::{Fault, Fragment, Headers, LinkType};
use weir_stream::DropReason;

use super::{ESP_HEADER_BYTES, Layout, TRAILER_BYTES, Trailer, padding_bytes};
use crate::header::{self, IPV6_BYTES};
use crate::nat_t::{UDP_BYTES, set_checksum, udp_header};
use crate::outer::Tunnel;
use crate::sa::{Mode, Parameters};
use crate::sequence::low_half;
use crate::{chain, link};

/// How one record becomes an ESP packet: decided before anything is written,
/// so that a record is refused whole or changed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation {
    link: LinkType,
    link_bytes: usize,
    /// Bytes in front of ESP that stay: the link header, and in transport mode
    /// the IP header.
    kept_bytes: usize,
    outer_bytes: usize,
    udp_bytes: usize,
    trailer: Trailer,
    layout: Layout,
    /// Where the kept IP header says what follows, from its own start.
    next_field: usize,
}

impl Encapsulation {
    /// Decides how an association protects a record.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn plan(
        parameters: &Parameters,
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
        let link_bytes = usize::from(headers.network_offset);
        let version = header::version(packet);
        let (kept_ip_bytes, outer_bytes, next_field, next_header) = match parameters.mode {
            Mode::Tunnel(tunnel) => {
                if tunnel.ends.version() != version && !link::carries_both_versions(link) {
                    return Err(DropReason::NoSecurityAssociation);
                }
                let next_header = if version == 6 { IPV6 } else { IPV4 };
                (0, tunnel.ends.header_bytes(), 0, next_header)
            }
            Mode::Transport if headers.fragment != Fragment::Whole => {
                return Err(DropReason::FragmentUnprotectable);
            }
            Mode::Transport => {
                let joint = chain::before_payload(packet).ok_or(DropReason::MalformedHeaders)?;
                (joint.offset, 0, joint.next_field, joint.next_protocol)
            }
        };

        let suite = parameters.suite;
        let payload_bytes = packet.len() - kept_ip_bytes;
        let udp_bytes = parameters.nat_t.map_or(0, |_| UDP_BYTES);
        let kept_bytes = link_bytes + kept_ip_bytes;
        let encapsulation = Encapsulation {
            link,
            link_bytes,
            kept_bytes,
            outer_bytes,
            udp_bytes,
            trailer: Trailer {
                payload_bytes,
                next_header,
            },
            layout: Layout {
                esp_offset: kept_bytes + outer_bytes + udp_bytes,
                iv_bytes: suite.iv_bytes(),
                text_bytes: payload_bytes + padding_bytes(suite, payload_bytes) + TRAILER_BYTES,
                tag_bytes: suite.tag_bytes(),
            },
            next_field,
        };

        let packet_bytes = encapsulation.layout.end() - link_bytes;
        let outer_version = match parameters.mode {
            Mode::Tunnel(tunnel) => tunnel.ends.version(),
            Mode::Transport => version,
        };
        if packet_bytes > longest_packet(outer_version).min(parameters.mtu_bytes as usize) {
            return Err(DropReason::TooLong);
        }
        Ok(encapsulation)
    }

    /// Bytes that the record grows in front.
    pub fn front_bytes(&self) -> usize {
        self.layout.text_offset() - self.kept_bytes
    }

    /// Bytes that the record grows behind the IP packet; link padding is gone
    /// by then.
    pub fn back_bytes(&self) -> usize {
        self.layout.text_bytes - self.trailer.payload_bytes + self.layout.tag_bytes
    }

    /// Where the parts for the cipher lie in the grown record.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes that the association's lifetime is charged with.
    pub fn text_bytes(&self) -> u64 {
        self.layout.text_bytes as u64
    }

    /// Writes all headers, the padding and the trailer into a record that has
    /// grown by [`front_bytes`](Encapsulation::front_bytes) and
    /// [`back_bytes`](Encapsulation::back_bytes). What is left to do is to
    /// seal its [`layout`](Encapsulation::layout), then
    /// [`finish`](Encapsulation::finish).
    ///
    /// # Errors
    /// The inner TTL is used up, where the association decrements it.
    pub fn compose(
        &self,
        parameters: &Parameters,
        record: &mut [u8],
        sequence: u64,
    ) -> Result<(), DropReason> {
        let front_bytes = self.front_bytes();
        record.copy_within(front_bytes..front_bytes + self.kept_bytes, 0);
        if let Some(text) = record
            .get_mut(self.layout.text_offset()..)
            .and_then(|rest| rest.get_mut(..self.layout.text_bytes))
        {
            self.trailer.write(text);
        }
        if let Some(esp) = record
            .get_mut(self.layout.esp_offset..)
            .and_then(|rest| rest.first_chunk_mut::<ESP_HEADER_BYTES>())
        {
            esp[..4].copy_from_slice(&parameters.spi.to_be_bytes());
            esp[4..].copy_from_slice(&low_half(sequence).to_be_bytes());
        }
        if let Some(ports) = parameters.nat_t {
            let start = self.layout.esp_offset - UDP_BYTES;
            let esp_bytes = self.layout.end() - self.layout.esp_offset;
            record[start..self.layout.esp_offset]
                .copy_from_slice(&udp_header(ports, esp_bytes as u16));
        }
        let protocol = if self.udp_bytes > 0 { UDP } else { ESP };
        match parameters.mode {
            Mode::Transport => {
                let packet = &mut record[self.link_bytes..];
                let packet_bytes = packet.len();
                header::set_next_protocol(packet, self.next_field, protocol);
                header::set_length(packet, packet_bytes);
                Ok(())
            }
            Mode::Tunnel(tunnel) => self.wrap(&tunnel, parameters, record, protocol, sequence),
        }
    }

    fn wrap(
        &self,
        tunnel: &Tunnel,
        parameters: &Parameters,
        record: &mut [u8],
        protocol: u8,
        sequence: u64,
    ) -> Result<(), DropReason> {
        let inner = &mut record[self.layout.text_offset()..];
        if parameters.decrement_ttl {
            header::decrement_ttl(inner).map_err(|_| DropReason::TtlExceeded)?;
        }
        let inherited = header::inherited(inner);
        let inner_version = header::version(inner);
        let (link_header, packet) = record.split_at_mut(self.link_bytes);
        // Successive packets get successive numbers, and associations between
        // the same ends start apart.
        let identification = low_half(sequence).wrapping_add(parameters.spi) as u16;
        tunnel.write_header(packet, inherited, protocol, identification);
        if tunnel.ends.version() != inner_version {
            link::set_ip_version(self.link, link_header, tunnel.ends.version());
        }
        Ok(())
    }

    /// Writes what depends on the ciphertext: the checksum of UDP over IPv6.
    pub fn finish(&self, record: &mut [u8]) {
        let Some(packet) = record.get_mut(self.link_bytes..) else {
            return;
        };
        if self.udp_bytes == 0 || header::version(packet) != 6 {
            return;
        }
        let udp_offset = self.layout.esp_offset - UDP_BYTES - self.link_bytes;
        let Some((headers, datagram)) = packet.split_at_mut_checked(udp_offset) else {
            return;
        };
        if let Some(addresses) = headers.get(8..IPV6_BYTES) {
            set_checksum(addresses, datagram);
        }
    }
}

/// The longest packet whose length field can say so.
fn longest_packet(version: u8) -> usize {
    let field = usize::from(u16::MAX);
    if version == 6 {
        field + IPV6_BYTES
    } else {
        field
    }
}

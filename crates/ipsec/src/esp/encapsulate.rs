//! From a packet to an ESP packet, up to encryption.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6, UDP};
use weir_packet::wire::{Fault, Fragment, Headers, LinkType, Network, Shim};
use weir_stream::{CopyShape, OuterHeader};

use super::template::OuterTemplate;
use super::{ESP_HEADER_BYTES, TRAILER_BYTES, Template, Trailer};
use crate::header::{self, IPV6_BYTES};
use crate::nat_t::{UDP_BYTES, set_checksum, udp_header};
use crate::reason::DropReason;
use crate::sequence::low_half;
use crate::{chain, link};

/// How one record becomes an ESP packet: decided before anything is written,
/// so that a record is refused whole or changed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation {
    /// Bytes in front of ESP that stay: the link header with its shim, and in transport mode
    /// the IP header.
    kept_bytes: u32,
    payload_bytes: u32,
    plaintext_bytes: u32,
    link_bytes: u16,
    shim: Option<Shim>,
    next_header: u8,
    /// Of the packet to protect.
    network: Network,
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
        let format = &template.format;
        let shim = headers.shim();
        let (kept_ip_bytes, next_field, next_header) = match &template.outer {
            Some(outer) => {
                if outer.network() != headers.network && !link::carries_both_versions(link) {
                    return Err(DropReason::NoSecurityAssociation);
                }
                if format.decrement_ttl {
                    header::check_ttl(headers.ip_packet(record))
                        .map_err(|_| DropReason::TtlExceeded)?;
                }
                let next_header = match headers.network {
                    Network::Ipv6 => IPV6,
                    _ => IPV4,
                };
                (0, 0, next_header)
            }
            None if headers.fragment != Fragment::Whole => {
                return Err(DropReason::FragmentUnprotectable);
            }
            None => {
                let packet = headers.ip_packet(record);
                let joint = chain::before_payload(packet).ok_or(DropReason::MalformedHeaders)?;
                (joint.offset, joint.next_field, joint.next_protocol)
            }
        };
        let link_bytes = usize::from(headers.network_offset);
        let kept_bytes = link_bytes + kept_ip_bytes;
        let payload_bytes = (headers.end_offset as usize).saturating_sub(kept_bytes);
        let plaintext_bytes = format.plaintext_bytes(payload_bytes);
        let packet_bytes = kept_ip_bytes
            + usize::from(template.front_bytes)
            + plaintext_bytes
            + usize::from(format.tag_bytes);
        if packet_bytes > max_packet_bytes(template, headers.network, shim) {
            return Err(DropReason::TooLong);
        }
        Ok(Encapsulation {
            kept_bytes: kept_bytes as u32,
            payload_bytes: payload_bytes as u32,
            plaintext_bytes: plaintext_bytes as u32,
            link_bytes: headers.network_offset,
            shim,
            next_header,
            network: headers.network,
            next_field: next_field as u32,
        })
    }

    /// The longest IP packet with the headers of a record that the association can protect where
    /// the record that comes of it may have `longest_record_bytes`: the MTU of the path inside
    /// (RFC 4301, section 8.2.1). `None` where none fits.
    #[cold]
    pub fn inner_mtu_bytes(
        template: &Template,
        headers: &Headers,
        record: &[u8],
        longest_record_bytes: usize,
    ) -> Option<usize> {
        let kept_ip_bytes = match &template.outer {
            Some(_) => 0,
            None => chain::before_payload(headers.ip_packet(record))?.offset,
        };
        let format = &template.format;
        let packet_bytes = longest_record_bytes
            .checked_sub(headers.network_offset.into())?
            .min(max_packet_bytes(template, headers.network, headers.shim()));
        let around_bytes =
            kept_ip_bytes + usize::from(template.front_bytes) + usize::from(format.tag_bytes);
        let unit_bytes = usize::from(format.unit_bytes);
        let plaintext_bytes = packet_bytes.checked_sub(around_bytes)? / unit_bytes * unit_bytes;
        Some(kept_ip_bytes + plaintext_bytes.checked_sub(TRAILER_BYTES)?)
    }

    /// Bytes of payload, padding and trailer.
    #[inline]
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintext_bytes as usize
    }

    /// How the record is copied, with space for what goes around its payload.
    #[inline]
    pub fn shape(&self, template: &Template) -> CopyShape {
        let kept_bytes = self.kept_bytes as usize;
        let payload_bytes = self.payload_bytes as usize;
        CopyShape {
            kept_bytes,
            gap_bytes: template.front_bytes.into(),
            from: kept_bytes,
            to: kept_bytes + payload_bytes,
            back_bytes: self.plaintext_bytes() - payload_bytes
                + usize::from(template.format.tag_bytes),
            aligned_at: 0,
        }
    }

    /// Start of the ESP header, from the start of the copy.
    #[inline]
    pub fn esp_offset(&self, template: &Template) -> usize {
        self.kept_bytes as usize + usize::from(template.front_bytes)
            - template.format.header_bytes()
    }

    /// Writes all headers, the padding and the trailer into a copy of the record that has this
    /// [`shape`](Encapsulation::shape). What is left to do is to seal it, then the
    /// [`late_checksum`](Encapsulation::late_checksum). `None` where the copy has another shape.
    #[inline]
    pub fn compose(
        &self,
        template: &Template,
        link: LinkType,
        copy: &mut [u8],
        sequence: u64,
    ) -> Option<()> {
        let format = &template.format;
        let packet_bytes = copy.len().checked_sub(self.link_bytes.into())?;
        let front_bytes = self.kept_bytes as usize + usize::from(template.front_bytes);
        let (front, rest) = copy.split_at_mut_checked(front_bytes)?;
        let pad_bytes = (self.plaintext_bytes - self.payload_bytes) as usize - TRAILER_BYTES;
        let behind = rest.get_mut(self.payload_bytes as usize..)?;
        Trailer::write(self.next_header, pad_bytes, behind);
        let (before, esp) = front.split_at_mut_checked(front_bytes - format.header_bytes())?;
        let spi_and_number = u64::from(format.spi) << 32 | u64::from(low_half(sequence));
        *esp.first_chunk_mut::<ESP_HEADER_BYTES>()? = spi_and_number.to_be_bytes();
        let before = match template.nat_t {
            None => before,
            Some(ports) => {
                let (before, udp) = before.split_last_chunk_mut::<UDP_BYTES>()?;
                let esp_bytes = format.header_bytes() + rest.len();
                *udp = udp_header(ports, esp_bytes as u16);
                before
            }
        };
        match &template.outer {
            Some(outer) => {
                // Successive packets get successive numbers, and associations
                // between the same ends start apart.
                let identification = low_half(sequence).wrapping_add(format.spi) as u16;
                let inherited = header::inherited(rest);
                outer.write_behind(before, packet_bytes, inherited, identification);
                if format.decrement_ttl {
                    // It was checked when the record was planned.
                    header::decrement_ttl(rest).ok()?;
                }
                if outer.network() != self.network {
                    let link_header = before.get_mut(..self.link_bytes.into())?;
                    link::set_ip_version(link, self.shim, link_header, outer.version());
                }
            }
            None => {
                let packet = before.get_mut(self.link_bytes.into()..)?;
                let protocol = if format.is_in_udp { UDP } else { ESP };
                header::set_next_protocol(packet, self.next_field as usize, protocol);
                header::set_length(packet, packet_bytes);
            }
        }
        if self.shim.is_some() {
            let link_header = before.get_mut(..self.link_bytes.into())?;
            link::set_length(self.shim, link_header, packet_bytes);
        }
        Some(())
    }

    /// The outermost IP header of the copy, where that says all about the packet's headers;
    /// others must be parsed.
    #[inline]
    pub fn outer_header(&self, template: &Template) -> Option<OuterHeader> {
        let outer = template.outer.as_ref()?;
        if template.format.is_in_udp || self.shim.is_some() {
            return None;
        }
        Some(OuterHeader {
            network: outer.network(),
            protocol: ESP,
            header_bytes: outer.header_bytes() as u16,
            flow_hash: outer.flow_hash(),
        })
    }

    /// What is left to do when the record is sealed, if anything.
    #[inline]
    pub fn late_checksum(&self, template: &Template) -> Option<LateChecksum> {
        if !template.format.is_in_udp {
            return None;
        }
        let network = template.outer.as_ref().map(OuterTemplate::network);
        (network.unwrap_or(self.network) == Network::Ipv6).then_some(LateChecksum {
            ip_offset: self.link_bytes.into(),
            udp_offset: (self.esp_offset(template) - UDP_BYTES) as u32,
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

/// The longest packet that an association makes of one of this IP version, behind this shim.
#[inline]
fn max_packet_bytes(template: &Template, network: Network, shim: Option<Shim>) -> usize {
    let of_association = template.max_packet_bytes as usize;
    let of_version = match (&template.outer, network) {
        (Some(_), _) => usize::MAX,
        (None, Network::Ipv6) => longest_packet(6),
        (None, _) => longest_packet(4),
    };
    let of_shim = link::longest_packet(shim);
    of_association.min(of_version).min(of_shim)
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::Arc;

    use proptest::prelude::*;
    use weir_crypto::Suite;
    use weir_packet::file::Block;
    use weir_packet::wire::internet_checksum;
    use weir_stream::{Arrival, Batch, BatchLimits};

    use super::*;
    use crate::lifetime::Lifetime;
    use crate::nat_t::UdpPorts;
    use crate::outer::{Tunnel, TunnelEnds};
    use crate::sa::{Mode, Parameters};

    fn mode() -> impl Strategy<Value = Mode> {
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let tunnel = |ends| Just(Mode::Tunnel(Tunnel::between(ends)));
        prop_oneof![
            tunnel(TunnelEnds::V4 {
                source: v4,
                destination: v4
            }),
            tunnel(TunnelEnds::V6 {
                source: v6,
                destination: v6
            }),
            Just(Mode::Transport),
        ]
    }

    fn parameters() -> impl Strategy<Value = Parameters> {
        let suites: Vec<Suite> = Suite::all().filter(|suite| suite.is_esp()).collect();
        let mtu_bytes = prop_oneof![Just(u32::MAX), 0u32..300];
        (
            prop::sample::select(suites),
            mode(),
            any::<(bool, bool)>(),
            mtu_bytes,
        )
            .prop_map(
                |(suite, mode, (nat_t, decrement_ttl), mtu_bytes)| Parameters {
                    name: String::new(),
                    spi: 0x1234_5678,
                    direction: None,
                    suite,
                    mode,
                    esn: false,
                    replay_window: 64,
                    expected_sequence: None,
                    keeps_replay_state: None,
                    nat_t: nat_t.then(UdpPorts::default),
                    decrement_ttl,
                    mtu_bytes,
                    lifetime: Lifetime::UNLIMITED,
                },
            )
    }

    fn link_header(link: LinkType, version: u8) -> Vec<u8> {
        match (link, version) {
            (LinkType::Ethernet, 6) => [vec![0xaa; 12], vec![0x86, 0xdd]].concat(),
            (LinkType::Ethernet, _) => [vec![0xaa; 12], vec![0x08, 0x00]].concat(),
            _ => Vec::new(),
        }
    }

    /// An IP header with a payload behind it, and its length and protocol.
    fn ip_packet(version: u8, protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = if version == 6 {
            let mut header = vec![0x6a, 0xbc, 0xde, 0xf1];
            header.extend((payload.len() as u16).to_be_bytes());
            header.extend([protocol, ttl]);
            header.extend([0x11; 32]);
            header
        } else {
            let mut header = vec![0x45, 0xb9];
            header.extend((payload.len() as u16 + 20).to_be_bytes());
            header.extend([0, 7, 0x40, 0, ttl, protocol, 0, 0]);
            header.extend([0x11; 8]);
            let checksum = internet_checksum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            header
        };
        packet.extend(payload);
        packet
    }

    /// The ESP packet, put together field by field; zeros for IV and ICV.
    fn expected(
        parameters: &Parameters,
        link: LinkType,
        version: u8,
        contents: &[u8],
        sequence: u64,
    ) -> Vec<u8> {
        let Parameters { suite, spi, .. } = *parameters;
        let is_tunnel = parameters.mode != Mode::Transport;
        let ttl = 9 - u8::from(is_tunnel && parameters.decrement_ttl);
        let (payload, next_header) = match is_tunnel {
            true => (
                ip_packet(version, 59, ttl, contents),
                if version == 6 { 41 } else { 4 },
            ),
            false => (contents.to_vec(), 59),
        };
        let unit = suite.block_bytes().max(4);
        let pad_bytes = (payload.len() + 2).next_multiple_of(unit) - payload.len() - 2;
        let padding: Vec<u8> = (1..=pad_bytes as u8).collect();
        let esp = [
            &spi.to_be_bytes()[..],
            &(sequence as u32).to_be_bytes(),
            &vec![0; suite.iv_bytes()],
            &payload,
            &padding,
            &[pad_bytes as u8, next_header],
            &vec![0; suite.tag_bytes()],
        ]
        .concat();
        let (protocol, outer_payload) = match parameters.nat_t {
            None => (50, esp),
            Some(ports) => {
                let [source, destination] = [ports.source, ports.destination].map(u16::to_be_bytes);
                let bytes = (esp.len() as u16 + 8).to_be_bytes();
                (
                    17,
                    [&source[..], &destination, &bytes, &[0, 0], &esp].concat(),
                )
            }
        };
        let (outer_version, packet) = match &parameters.mode {
            Mode::Transport => (version, ip_packet(version, protocol, 9, &outer_payload)),
            Mode::Tunnel(tunnel) => {
                let mut packet = vec![0; tunnel.ends.header_bytes()];
                packet.extend(outer_payload);
                let inherited = header::inherited(&payload);
                let identification = (sequence as u32).wrapping_add(spi) as u16;
                tunnel.write_header(&mut packet, inherited, protocol, identification);
                (tunnel.ends.version(), packet)
            }
        };
        [link_header(link, outer_version), packet].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn packets_are_composed_field_by_field(
            parameters in parameters(),
            link in prop_oneof![Just(LinkType::Ethernet), Just(LinkType::RawIp)],
            version in prop_oneof![Just(4u8), Just(6)],
            contents in proptest::collection::vec(any::<u8>(), 0..200),
            sequence: u64,
        ) {
            let template = Template::new(&parameters);
            let mut record = link_header(link, version);
            record.extend(ip_packet(version, 59, 9, &contents));
            // What a link puts behind short packets.
            record.extend(if link == LinkType::Ethernet { &[0; 3][..] } else { &[] });
            let expected = expected(&parameters, link, version, &contents, sequence);

            let mut batch = Batch::new(BatchLimits::default());
            let arrival = Arrival { link, ..Arrival::default() };
            let block = Arc::new(Block::from(record.clone()));
            batch.receive(&block, 0, [(0, record.len() as u32, arrival)]).expect("room");
            let plan = Encapsulation::plan(&template, link, batch.headers(0), &record);
            let packet_bytes = expected.len() - link_header(link, version).len();
            if packet_bytes > parameters.mtu_bytes as usize {
                prop_assert_eq!(plan, Err(DropReason::TooLong));
                return Ok(());
            }
            let plan = plan.expect("a packet that fits");
            let shape = plan.shape(&template);
            let (mut copies, memory) = batch.copies(1, shape.bytes());
            let copy = copies.copy(memory, 0, &shape).expect("memory");
            let bytes = &mut memory[copy.range()];
            plan.compose(&template, link, bytes, sequence).expect("a copy of its shape");
            let format = &template.format;
            let iv = plan.esp_offset(&template) + ESP_HEADER_BYTES;
            bytes[iv..iv + usize::from(format.iv_bytes)].fill(0);
            let icv = bytes.len() - usize::from(format.tag_bytes);
            prop_assert_eq!(icv, iv + usize::from(format.iv_bytes) + plan.plaintext_bytes());
            bytes[icv..].fill(0);
            match plan.outer_header(&template) {
                Some(outer) => copies.adopt(0, &copy, &outer),
                None => {
                    copies.adopt_unparsed(0, &copy);
                    batch.reparse(0);
                }
            }
            prop_assert_eq!(batch.record(0), expected);
            prop_assert!(batch.is_as_parsed(0));
        }
    }

    #[test]
    fn what_cannot_be_protected_is_refused() {
        let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
        let transport = Template::of_suite(suite, 1, false);
        let frame = [
            link_header(LinkType::Ethernet, 4),
            ip_packet(4, 59, 9, &[0; 50]),
        ]
        .concat();
        let plan = |record: &[u8]| {
            let headers = Headers::parse(LinkType::Ethernet, record);
            Encapsulation::plan(&transport, LinkType::Ethernet, &headers, record)
        };
        assert!(plan(&frame).is_ok());
        assert_eq!(plan(&frame[..60]), Err(DropReason::PacketCut));
        assert_eq!(plan(&[0; 60]), Err(DropReason::MalformedHeaders), "no IP");
        let mut fragment = frame.clone();
        fragment[20] = 0x20;
        assert_eq!(plan(&fragment), Err(DropReason::FragmentUnprotectable));
    }
}

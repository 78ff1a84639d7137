//! Headers, views and builders against the `etherparse` library: packets
//! that one writes the other must read, field by field.

use etherparse::err::packet::SliceError;
use etherparse::{
    IpFragOffset, IpNumber, Ipv4Options, NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement,
    TransportSlice, VlanId,
};
use proptest::prelude::*;
use weir_packet::wire::views::{Ipv4, Ipv6, Tcp, Udp};
use weir_packet::wire::{FlowKey, Fragment, Headers, LinkType, Network, build, protocol};

/// What a packet is made of.
#[derive(Clone, Debug)]
struct Packet {
    key: FlowKey,
    ip: build::IpHeader,
    sequence: u32,
    acknowledgment: u32,
    flags: u8,
    window: u16,
    options: Vec<u8>,
    vlan_tags: Vec<u16>,
    payload: Vec<u8>,
}

fn key() -> impl Strategy<Value = FlowKey> {
    let protocols = prop_oneof![Just(protocol::TCP), Just(protocol::UDP)];
    (
        any::<[u128; 2]>(),
        any::<[u16; 2]>(),
        protocols,
        any::<bool>(),
    )
        .prop_map(|(addresses, ports, protocol, is_four)| {
            let address = |number: u128| if is_four { number >> 96 } else { number };
            FlowKey {
                source: address(addresses[0]),
                destination: address(addresses[1]),
                source_port: ports[0],
                destination_port: ports[1],
                protocol,
                ip_version: if is_four { 4 } else { 6 },
            }
        })
}

fn ip_header() -> impl Strategy<Value = build::IpHeader> {
    (
        any::<u8>(),
        any::<u8>(),
        any::<u16>(),
        0u32..1 << 20,
        any::<bool>(),
    )
        .prop_map(
            |(traffic_class, hop_limit, identification, flow_label, dont_fragment)| {
                build::IpHeader {
                    traffic_class,
                    hop_limit,
                    identification: identification.into(),
                    flow_label,
                    dont_fragment,
                    ..build::IpHeader::default()
                }
            },
        )
}

fn packet() -> impl Strategy<Value = Packet> {
    (
        key(),
        ip_header(),
        any::<(u32, u32, u8, u16)>(),
        prop_oneof![
            Just(vec![]),
            Just(vec![2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7]),
            proptest::collection::vec(Just(1u8), 0..40),
        ],
        proptest::collection::vec(0u16..4095, 0..3),
        proptest::collection::vec(any::<u8>(), 0..300),
    )
        .prop_map(|(key, ip, numbers, options, vlan_tags, payload)| Packet {
            key,
            ip,
            sequence: numbers.0,
            acknowledgment: numbers.1,
            flags: numbers.2,
            window: numbers.3,
            options,
            vlan_tags,
            payload,
        })
}

impl Packet {
    /// The Ethernet frame as our builders write it.
    fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        let ether_type = build::ether_type(&self.key);
        let types = |tag: usize| match tag < self.vlan_tags.len() {
            true => protocol::ETHER_VLAN,
            false => ether_type,
        };
        build::ethernet(&mut frame, [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1], types(0));
        for (tag, tci) in self.vlan_tags.iter().enumerate() {
            build::vlan_tag(&mut frame, *tci, types(tag + 1));
        }
        build::ip(&mut frame, &self.key, &self.ip, |out| {
            let payload = |out: &mut Vec<u8>| out.extend_from_slice(&self.payload);
            match self.key.protocol {
                protocol::UDP => build::udp(out, &self.key, payload),
                _ => build::tcp(out, &self.key, &self.tcp(), payload),
            }
        });
        frame
    }

    fn tcp(&self) -> build::TcpHeader<'_> {
        build::TcpHeader {
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            options: &self.options,
        }
    }
}

proptest! {
    /// Our builders write what etherparse reads, checksums included.
    #[test]
    fn etherparse_reads_what_we_build(packet in packet()) {
        let frame = packet.frame();
        let sliced = SlicedPacket::from_ethernet(&frame).expect("a packet");
        let tags: Vec<u16> = sliced.vlan_ids().iter().map(|id| id.value()).collect();
        prop_assert_eq!(&tags, &packet.vlan_tags);
        let checksum = match &sliced.net {
            Some(NetSlice::Ipv4(ip)) => {
                let header = ip.header().to_header();
                prop_assert_eq!(u128::from(u32::from_be_bytes(header.source)), packet.key.source);
                prop_assert_eq!(
                    u128::from(u32::from_be_bytes(header.destination)),
                    packet.key.destination
                );
                prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                prop_assert_eq!(header.time_to_live, packet.ip.hop_limit);
                prop_assert_eq!(u32::from(header.identification), packet.ip.identification);
                prop_assert_eq!(header.dont_fragment, packet.ip.dont_fragment);
                prop_assert_eq!(header.dscp.value() << 2 | header.ecn.value(), packet.ip.traffic_class);
                match &sliced.transport {
                    Some(TransportSlice::Tcp(tcp)) => {
                        tcp.to_header().calc_checksum_ipv4(&header, tcp.payload()).ok()
                    }
                    Some(TransportSlice::Udp(udp)) => {
                        udp.to_header().calc_checksum_ipv4(&header, udp.payload()).ok()
                    }
                    _ => None,
                }
            }
            Some(NetSlice::Ipv6(ip)) => {
                let header = ip.header().to_header();
                prop_assert_eq!(u128::from_be_bytes(header.source), packet.key.source);
                prop_assert_eq!(u128::from_be_bytes(header.destination), packet.key.destination);
                prop_assert_eq!(header.hop_limit, packet.ip.hop_limit);
                prop_assert_eq!(header.traffic_class, packet.ip.traffic_class);
                prop_assert_eq!(header.flow_label.value(), packet.ip.flow_label);
                match &sliced.transport {
                    Some(TransportSlice::Tcp(tcp)) => {
                        tcp.to_header().calc_checksum_ipv6(&header, tcp.payload()).ok()
                    }
                    Some(TransportSlice::Udp(udp)) => {
                        udp.to_header().calc_checksum_ipv6(&header, udp.payload()).ok()
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                prop_assert_eq!(Some(tcp.checksum()), checksum);
                prop_assert_eq!(tcp.payload(), &packet.payload[..]);
                prop_assert_eq!(tcp.sequence_number(), packet.sequence);
                prop_assert_eq!(tcp.window_size(), packet.window);
                prop_assert_eq!(&tcp.options()[..packet.options.len()], &packet.options[..]);
            }
            Some(TransportSlice::Udp(udp)) => {
                prop_assert_eq!(Some(udp.checksum()), checksum);
                prop_assert_eq!(udp.payload(), &packet.payload[..]);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// We read what etherparse writes: headers, views and flow key.
    #[test]
    fn we_read_what_etherparse_builds(packet in packet(), ip_options in 0usize..11) {
        let key = packet.key;
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let id = |number: u16| VlanId::try_new(number).expect("12 bits");
        let ip = if key.ip_version == 4 {
            let mut header = etherparse::Ipv4Header::new(
                0,
                packet.ip.hop_limit,
                IpNumber::UDP,
                (key.source as u32).to_be_bytes(),
                (key.destination as u32).to_be_bytes(),
            ).expect("a header");
            header.identification = packet.ip.identification as u16;
            header.dont_fragment = packet.ip.dont_fragment;
            header.options = Ipv4Options::try_from(&[1; 40][..ip_options * 4]).expect("options");
            etherparse::IpHeaders::Ipv4(header, Default::default())
        } else {
            let header = etherparse::Ipv6Header {
                traffic_class: packet.ip.traffic_class,
                flow_label: packet.ip.flow_label.try_into().expect("20 bits"),
                hop_limit: packet.ip.hop_limit,
                source: key.source.to_be_bytes(),
                destination: key.destination.to_be_bytes(),
                ..Default::default()
            };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        };
        let ip = match *packet.vlan_tags {
            [] => link.ip(ip),
            [tag] => link.single_vlan(id(tag)).ip(ip),
            [outer, inner, ..] => link.double_vlan(id(outer), id(inner)).ip(ip),
        };
        let mut frame = Vec::new();
        let maximum_segment = [TcpOptionElement::MaximumSegmentSize(1460)];
        if key.protocol == protocol::TCP {
            ip.tcp(key.source_port, key.destination_port, packet.sequence, packet.window)
                .ack(packet.acknowledgment)
                .options(&maximum_segment)
                .expect("options")
                .write(&mut frame, &packet.payload)
                .expect("memory");
        } else {
            ip.udp(key.source_port, key.destination_port)
                .write(&mut frame, &packet.payload)
                .expect("memory");
        }

        let headers = Headers::parse(LinkType::Ethernet, &frame);
        prop_assert_eq!(headers.fault, None);
        prop_assert_eq!(FlowKey::from_headers(&headers, &frame), Some(key));
        prop_assert_eq!(headers.payload(&frame), &packet.payload[..]);
        let vlan_ids = headers.vlan_tcis(&frame).map(|tci| tci & 0x0fff);
        prop_assert!(vlan_ids.eq(packet.vlan_tags.iter().map(|tag| tag & 0x0fff)));
        prop_assert_eq!(headers.end_offset as usize, frame.len());
        prop_assert_eq!(build::transport_checksum(headers.transport(&frame), &key), 0);
        if key.ip_version == 4 {
            let view = Ipv4::new(headers.ip_packet(&frame)).expect("a view");
            prop_assert_eq!(u128::from(view.source().to_bits()), key.source);
            prop_assert_eq!(u128::from(view.destination().to_bits()), key.destination);
            prop_assert_eq!(view.time_to_live(), packet.ip.hop_limit);
            prop_assert_eq!(u32::from(view.identification()), packet.ip.identification);
            prop_assert_eq!(view.dont_fragment(), packet.ip.dont_fragment);
            prop_assert_eq!((view.more_fragments(), view.fragment_offset()), (false, 0));
            prop_assert_eq!(view.protocol(), key.protocol);
            prop_assert_eq!(view.options(), &[1; 40][..ip_options * 4]);
            prop_assert_eq!(usize::from(view.total_length()), headers.ip_packet(&frame).len());
            prop_assert_eq!(weir_packet::wire::internet_checksum(view.header()), 0);
        } else {
            let view = Ipv6::new(headers.ip_packet(&frame)).expect("a view");
            prop_assert_eq!(view.source().to_bits(), key.source);
            prop_assert_eq!(view.destination().to_bits(), key.destination);
            prop_assert_eq!(view.traffic_class(), packet.ip.traffic_class);
            prop_assert_eq!(view.dscp() << 2 | view.ecn(), packet.ip.traffic_class);
            prop_assert_eq!(view.flow_label(), packet.ip.flow_label);
            prop_assert_eq!(view.hop_limit(), packet.ip.hop_limit);
            prop_assert_eq!(view.next_header(), key.protocol);
            prop_assert_eq!(usize::from(view.payload_length()), headers.transport(&frame).len());
        }
        if key.protocol == protocol::TCP {
            let view = Tcp::new(headers.transport(&frame)).expect("a view");
            prop_assert_eq!((view.source_port(), view.destination_port()), (key.source_port, key.destination_port));
            prop_assert_eq!(view.sequence_number(), packet.sequence);
            prop_assert_eq!(view.acknowledgment_number(), packet.acknowledgment);
            prop_assert_eq!(view.window(), packet.window);
            prop_assert_eq!((view.flags(), headers.tcp_flags), (build::flags::ACK, build::flags::ACK));
            prop_assert_eq!(view.urgent_pointer(), 0);
            let option = view.options().next().expect("an option");
            prop_assert_eq!((option.kind, option.data), (2, &[5, 0xb4][..]));
            prop_assert_eq!(view.payload(), &packet.payload[..]);
        } else {
            let view = Udp::new(headers.transport(&frame)).expect("a view");
            prop_assert_eq!((view.source_port(), view.destination_port()), (key.source_port, key.destination_port));
            prop_assert_eq!(usize::from(view.length()), 8 + packet.payload.len());
            prop_assert_eq!(view.payload(), &packet.payload[..]);
        }
    }

    /// Fragments, and IPv6 extension headers in the order of RFC 8200.
    #[test]
    fn extensions_and_fragments_agree(
        key in key(),
        hop_by_hop in proptest::option::of(0usize..4),
        routing in proptest::option::of(0usize..4),
        fragment_offset in prop_oneof![Just(0u16), 1u16..8191],
        more_fragments in any::<bool>(),
        payload in proptest::collection::vec(any::<u8>(), 64..100),
    ) {
        let udp = FlowKey { protocol: protocol::UDP, ..key };
        let offset = IpFragOffset::try_new(fragment_offset).expect("13 bits");
        let mut bytes = Vec::new();
        let mut datagram = Vec::new();
        build::udp(&mut datagram, &udp, |out| out.extend_from_slice(&payload));
        if key.ip_version == 4 {
            let mut header = etherparse::Ipv4Header::new(
                datagram.len() as u16,
                9,
                IpNumber::UDP,
                (key.source as u32).to_be_bytes(),
                (key.destination as u32).to_be_bytes(),
            ).expect("a header");
            header.dont_fragment = false;
            header.more_fragments = more_fragments;
            header.fragment_offset = offset;
            header.header_checksum = header.calc_header_checksum();
            header.write(&mut bytes).expect("memory");
        } else {
            let raw = |words: usize| etherparse::Ipv6RawExtHeader::new_raw(
                IpNumber::UDP,
                &[0; 30][..6 + 8 * words],
            ).expect("a header");
            let mut extensions = etherparse::Ipv6Extensions {
                hop_by_hop_options: hop_by_hop.map(raw),
                routing: routing.map(|words| etherparse::Ipv6RoutingExtensions {
                    routing: raw(words),
                    final_destination_options: None,
                }),
                fragment: Some(etherparse::Ipv6FragmentHeader::new(
                    IpNumber::UDP,
                    offset,
                    more_fragments,
                    7,
                )),
                ..Default::default()
            };
            let first = extensions.set_next_headers(IpNumber::UDP);
            let header = etherparse::Ipv6Header {
                payload_length: (extensions.header_len() + datagram.len()) as u16,
                next_header: first,
                hop_limit: 9,
                source: key.source.to_be_bytes(),
                destination: key.destination.to_be_bytes(),
                ..Default::default()
            };
            header.write(&mut bytes).expect("memory");
            extensions.write(&mut bytes, first).expect("memory");
        }
        let transport_offset = bytes.len();
        bytes.extend_from_slice(&datagram);

        let headers = Headers::parse(LinkType::RawIp, &bytes);
        prop_assert_eq!(headers.fault, None);
        prop_assert_eq!(headers.is_ip().then_some(headers.network), Some(match key.ip_version {
            4 => Network::Ipv4,
            _ => Network::Ipv6,
        }));
        prop_assert_eq!(usize::from(headers.transport_offset), transport_offset);
        prop_assert_eq!(headers.protocol, protocol::UDP);
        let expected = match (fragment_offset, more_fragments) {
            (0, false) => Fragment::Whole,
            (0, true) => Fragment::First,
            _ => Fragment::Later,
        };
        prop_assert_eq!(headers.fragment, expected);
        let has_port = headers.destination_port == key.destination_port;
        prop_assert!(has_port || expected == Fragment::Later);

        // Our builder writes the same fragment, without other extensions.
        if key.ip_version == 4 || (hop_by_hop, routing) == (None, None) {
            let header = build::IpHeader {
                hop_limit: 9,
                identification: if key.ip_version == 4 { 0 } else { 7 },
                dont_fragment: false,
                more_fragments,
                fragment_offset,
                ..build::IpHeader::default()
            };
            let mut ours = Vec::new();
            build::ip(&mut ours, &udp, &header, |out| out.extend_from_slice(&datagram));
            let same = key.ip_version == 4 || more_fragments || fragment_offset > 0;
            prop_assert_eq!(same, ours == bytes);
        }
    }

    /// Damaged bytes: ports that etherparse finds, we find, and in a TCP
    /// segment without fault etherparse finds none either.
    #[test]
    fn verdicts_on_damaged_packets_agree(
        packet in packet(),
        damage in proptest::collection::vec((0usize..60, any::<u8>()), 0..3),
        cut in proptest::option::of(0usize..60),
    ) {
        let mut bytes = packet.frame();
        for (at, value) in damage {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut.unwrap_or(bytes.len()));
        let headers = Headers::parse(LinkType::Ethernet, &bytes);
        // ARP, MACsec and the rest are beyond one of the two, and etherparse
        // takes a payload length of 0 in IPv6 for "to the end".
        let is_common = matches!(headers.ether_type, 0 | protocol::ETHER_IPV4 | protocol::ETHER_IPV6);
        let is_empty_ipv6 = headers.ip_packet(&bytes).len() == 40 && headers.network == Network::Ipv6;
        // In IPv4, AH is a protocol to us, an extension header to etherparse.
        let is_ah = headers.protocol == protocol::AH;
        if !is_common || is_empty_ipv6 || is_ah {
            return Ok(());
        }
        match SlicedPacket::from_ethernet(&bytes) {
            Ok(sliced) => match sliced.transport {
                Some(TransportSlice::Tcp(tcp)) => {
                    prop_assert_eq!(headers.protocol, protocol::TCP);
                    prop_assert_eq!(headers.source_port, tcp.source_port());
                    prop_assert_eq!(headers.tcp_flags, bytes[usize::from(headers.transport_offset) + 13]);
                }
                Some(TransportSlice::Udp(udp)) => {
                    prop_assert_eq!(headers.protocol, protocol::UDP);
                    prop_assert_eq!(headers.destination_port, udp.destination_port());
                }
                _ => {}
            },
            // It also judges lengths inside UDP, IGMP and others, and what
            // stands in extensions.
            Err(error) => prop_assert!(
                headers.fault.is_some()
                    || headers.protocol != protocol::TCP
                    || matches!(error, SliceError::Ipv6Exts(_)),
                "{:?} but {:?}", error, headers
            ),
        }
    }
}

//! Splitting and merging beside plain implementations of both, over packets of any kind.

use std::num::NonZeroU16;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::port::{Arrival, ChecksumState, Offload, Packet, Segments, Transport};

/// The parts of a packet that tests choose.
#[derive(Clone, Debug)]
struct Parts {
    link: Vec<u8>,
    is_v6: bool,
    transport: Transport,
    ip_options: Vec<u8>,
    flow: u8,
    identification: u16,
    may_be_fragmented: bool,
    sequence: u32,
    flags: u8,
    tcp_options: Vec<u8>,
    payload: Vec<u8>,
}

impl Parts {
    fn link_layer(&self) -> LinkLayer {
        match self.link.is_empty() {
            true => LinkLayer::Ip,
            false => LinkLayer::Ethernet,
        }
    }

    /// The whole packet with right checksums, built from RFC 791, 8200, 9293 and 768.
    fn packet(&self) -> Vec<u8> {
        let mut segment = match self.transport {
            Transport::Tcp => {
                let offset = (20 + self.tcp_options.len()) as u8 / 4;
                let mut tcp = vec![4, self.flow, 0, 80];
                tcp.extend(self.sequence.to_be_bytes());
                tcp.extend([0, 0, 0, 9, offset << 4, self.flags, 1, 0, 0, 0, 0, 0]);
                tcp.extend(&self.tcp_options);
                tcp
            }
            Transport::Udp => vec![4, self.flow, 0, 53, 0, 0, 0, 0],
        };
        segment.extend(&self.payload);
        if self.transport == Transport::Udp {
            let bytes = segment.len() as u16;
            segment[4..6].copy_from_slice(&bytes.to_be_bytes());
        }
        let (protocol, field) = match self.transport {
            Transport::Tcp => (6, 16),
            Transport::Udp => (17, 6),
        };
        let mut ip = if self.is_v6 {
            let mut ip = vec![0x60, 0, 0, self.flow, 0, 0, protocol, 64];
            ip[4..6].copy_from_slice(&(segment.len() as u16).to_be_bytes());
            ip.extend([0xfd; 16]);
            ip.extend([0xfe; 16]);
            ip
        } else {
            let header = 20 + self.ip_options.len();
            let mut ip = vec![0x40 | (header / 4) as u8, 0];
            ip.extend(((header + segment.len()) as u16).to_be_bytes());
            ip.extend(self.identification.to_be_bytes());
            let fragment = if self.may_be_fragmented { 0 } else { 0x40 };
            ip.extend([fragment, 0, 64, protocol, 0, 0]);
            ip.extend([198, 18, 0, self.flow, 198, 18, 0, 2]);
            ip.extend(&self.ip_options);
            let checksum = checksum(&ip);
            ip[10..12].copy_from_slice(&checksum);
            ip
        };
        let addresses = if self.is_v6 { &ip[8..40] } else { &ip[12..20] };
        let mut summed = addresses.to_vec();
        summed.extend((segment.len() as u32).to_be_bytes());
        summed.extend([0, 0, 0, protocol]);
        summed.extend(&segment);
        let mut sum = checksum(&summed);
        if self.transport == Transport::Udp && sum == [0, 0] {
            sum = [0xff, 0xff];
        }
        segment[field..field + 2].copy_from_slice(&sum);
        ip.extend(segment);
        [self.link.clone(), ip].concat()
    }

    /// The segments by definition: each is a packet of its own parts.
    fn segments(&self, payload_bytes: usize) -> Vec<Vec<u8>> {
        let chunks: Vec<&[u8]> = match self.payload.is_empty() {
            true => vec![&[]],
            false => self.payload.chunks(payload_bytes).collect(),
        };
        let last = chunks.len() - 1;
        let segments = chunks.iter().enumerate().map(|(number, payload)| {
            let mut parts = self.clone();
            parts.payload = payload.to_vec();
            parts.identification = self.identification.wrapping_add(number as u16);
            parts.sequence = self.sequence.wrapping_add((number * payload_bytes) as u32);
            if number < last {
                parts.flags &= !0x09;
            }
            if number > 0 {
                parts.flags &= !0x80;
            }
            parts.packet()
        });
        segments.collect()
    }
}

/// RFC 1071, word by word.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u32::from(*byte));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

fn any_parts(payload: std::ops::Range<usize>) -> impl Strategy<Value = Parts> {
    let link = prop_oneof![Just(0), Just(14), Just(18)];
    let transport = prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)];
    let bits = (
        any::<bool>(),
        any::<bool>(),
        0..4_u8,
        0..3_usize,
        0..3_usize,
    );
    let numbers = (
        any::<u16>(),
        any::<u32>(),
        prop::sample::select(vec![0x10, 0x18, 0x11, 0x90]),
    );
    (link, transport, bits, numbers, vec(any::<u8>(), payload)).prop_map(
        |(link, transport, bits, (identification, sequence, flags), payload)| {
            let (is_v6, may_be_fragmented, flow, ip_options, tcp_options) = bits;
            let ethertype: [u8; 2] = if is_v6 { [0x86, 0xdd] } else { [8, 0] };
            let mut header = vec![2; link];
            if link == 18 {
                header[12..16].copy_from_slice(&[0x81, 0, 0, 7]);
            }
            if link > 0 {
                header[link - 2..].copy_from_slice(&ethertype);
            }
            Parts {
                link: header,
                is_v6,
                transport,
                ip_options: vec![1; if is_v6 { 0 } else { ip_options * 4 }],
                flow,
                identification,
                may_be_fragmented,
                sequence,
                flags,
                tcp_options: vec![1; tcp_options * 12],
                payload,
            }
        },
    )
}

fn segments_of(parts: &Parts, payload_bytes: u16) -> Segments {
    Segments {
        transport: parts.transport,
        payload_bytes: NonZeroU16::new(payload_bytes).expect("not zero"),
    }
}

fn split_all(packet: &[u8], link: LinkLayer, segments: Segments) -> Vec<Vec<u8>> {
    let mut split = Split::new(packet, link, segments).expect("a packet to be split");
    let mut space = vec![0xee; split.segment_bytes()];
    let mut all = Vec::new();
    while let Some(bytes) = split.next_into(&mut space) {
        all.push(space[..bytes].to_vec());
    }
    assert_eq!(split.remaining(), 0);
    all
}

fn received(bytes: &[u8], checksum: ChecksumState) -> Packet<'_> {
    Packet {
        bytes,
        arrival: Arrival {
            offload: Offload {
                checksum,
                segments: None,
            },
            ..Arrival::default()
        },
    }
}

fn whole(merged: &Merged<'_>) -> Vec<u8> {
    merged.parts().flatten().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn segments_are_those_of_the_reference(
        parts in any_parts(0..9000),
        payload_bytes in 1..3000_u16,
    ) {
        let segments = segments_of(&parts, payload_bytes);
        let mut packet = parts.packet();
        let link = parts.link_layer();
        prop_assert_eq!(verify_checksum(&packet, link), Some(true));
        // What its checksum and the link's padding are does not matter.
        packet.extend([0; 3]);
        let split = split_all(&packet, link, segments);
        prop_assert_eq!(split, parts.segments(usize::from(payload_bytes)));
    }

    #[test]
    fn what_is_split_and_merged_is_the_same_packet(
        parts in any_parts(1..9000),
        payload_bytes in 150..3000_u16,
    ) {
        let link = parts.link_layer();
        let segments = parts.segments(usize::from(payload_bytes));
        let merged = merge(segments.iter().map(|s| received(s, ChecksumState::Unknown)), link);
        prop_assert_eq!(merged.len(), 1);
        prop_assert_eq!(merged[0].packets(), segments.len());
        let mut packet = whole(&merged[0]);
        if segments.len() > 1 {
            let expected = Offload {
                checksum: ChecksumState::NotReady,
                segments: Some(segments_of(&parts, payload_bytes)),
            };
            prop_assert_eq!(merged[0].offload(), expected);
            // The field has the sum of the pseudo header: finishing it by place is enough.
            let mut by_place = packet.clone();
            let (start, offset) = headers::checksum_place(&packet, link).expect("a place");
            prop_assert!(checksum::finish_at(&mut by_place, start, offset));
            prop_assert_eq!(verify_checksum(&by_place, link), Some(true));
            prop_assert!(complete_checksum(&mut packet, link));
        }
        prop_assert_eq!(packet, parts.packet());
    }

    /// Any mixture: each flow's packets come out in order and unchanged.
    #[test]
    fn merging_loses_and_reorders_nothing(
        packets in vec((any_parts(0..400), 50..200_u16, any::<bool>()), 1..20),
        is_ethernet in any::<bool>(),
        order in any::<u64>(),
    ) {
        let link = if is_ethernet { LinkLayer::Ethernet } else { LinkLayer::Ip };
        let mut flows: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 16];
        let mut all = Vec::new();
        for (mut parts, payload_bytes, is_wrong) in packets {
            // Identifications that mean nothing are not kept.
            parts.may_be_fragmented = true;
            parts.link = match is_ethernet {
                true => [&[2; 12][..], if parts.is_v6 { &[0x86, 0xdd] } else { &[8, 0] }].concat(),
                false => Vec::new(),
            };
            let mut segments = parts.segments(usize::from(payload_bytes));
            if is_wrong {
                let last = segments.last_mut().expect("a segment");
                *last.last_mut().expect("a byte") ^= 1;
            }
            all.push((flow_of(&parts), segments));
        }
        // Packets of several senders come interleaved.
        let mut mixed = Vec::new();
        let mut state = order;
        while !all.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The first one of a flow that is chosen comes first.
            let chosen = (state >> 33) as usize % all.len();
            let flow = all[chosen].0;
            let index = all.iter().position(|(other, _)| *other == flow).expect("a flow");
            let packet = all[index].1.remove(0);
            flows[flow].push(packet.clone());
            mixed.push(packet);
            if all[index].1.is_empty() {
                all.remove(index);
            }
        }
        let merged = merge(mixed.iter().map(|p| received(p, ChecksumState::Unknown)), link);
        prop_assert_eq!(merged.iter().map(Merged::packets).sum::<usize>(), mixed.len());
        let mut found: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 16];
        for packet in &merged {
            let bytes = whole(packet);
            let split = match packet.offload().segments {
                None => vec![bytes],
                Some(segments) => split_all(&bytes, link, segments),
            };
            for segment in split {
                let headers = Headers::parse(&segment, link).expect("headers");
                found[flow_in(&segment, headers)].push(segment);
            }
        }
        prop_assert_eq!(found, flows);
    }

    #[test]
    fn nothing_panics(bytes in vec(any::<u8>(), 0..200), v in 0..3_u8, at in 0..3_usize) {
        let mut bytes = bytes;
        // As much like a packet as chance alone would seldom make it.
        if let Some(first) = bytes.get_mut(at * 7) {
            *first = [0x45, 0x60, 0x00][usize::from(v)];
        }
        for link in [LinkLayer::Ip, LinkLayer::Ethernet] {
            for transport in [Transport::Tcp, Transport::Udp] {
                let payload_bytes = NonZeroU16::MIN;
                let segments = Segments { transport, payload_bytes };
                if let Some(mut split) = Split::new(&bytes, link, segments) {
                    let mut space = vec![0; split.segment_bytes()];
                    while split.next_into(&mut space).is_some() {}
                }
            }
            verify_checksum(&bytes, link);
            complete_checksum(&mut bytes.clone(), link);
            let twice = [&bytes, &bytes].map(|b| received(b, ChecksumState::Valid));
            prop_assert_eq!(merge(twice, link).iter().map(Merged::packets).sum::<usize>(), 2);
        }
    }
}

/// A number for each flow of the packets above.
fn flow_of(parts: &Parts) -> usize {
    usize::from(parts.flow)
        + if parts.is_v6 { 4 } else { 0 }
        + if parts.transport == Transport::Udp {
            8
        } else {
            0
        }
}

fn flow_in(packet: &[u8], headers: Headers) -> usize {
    usize::from(packet[headers.transport_start + 1])
        + if headers.is_v6 { 4 } else { 0 }
        + if headers.transport == Transport::Udp {
            8
        } else {
            0
        }
}

fn tcp(sequence: u32, payload: usize) -> Parts {
    Parts {
        link: Vec::new(),
        is_v6: false,
        transport: Transport::Tcp,
        ip_options: Vec::new(),
        flow: 1,
        identification: sequence as u16 / 100,
        may_be_fragmented: true,
        sequence,
        flags: 0x10,
        tcp_options: Vec::new(),
        payload: vec![7; payload],
    }
}

/// How many packets `packets` are merged into.
fn merged_into(packets: &[Vec<u8>]) -> usize {
    let packets = packets
        .iter()
        .map(|packet| received(packet, ChecksumState::Unknown));
    merge(packets, LinkLayer::Ip).len()
}

#[test]
fn only_the_next_segment_with_the_same_headers_is_merged() {
    let first = tcp(0, 100).packet();
    let pair = |change: &dyn Fn(&mut Parts)| {
        let mut next = tcp(100, 100);
        change(&mut next);
        merged_into(&[first.clone(), next.packet()])
    };
    assert_eq!(pair(&|_| ()), 1);
    assert_eq!(pair(&|next| next.payload.truncate(60)), 1);
    assert_eq!(pair(&|next| next.flags = 0x18), 1);
    let changes: [&dyn Fn(&mut Parts); 9] = [
        &|next| next.sequence = 101,
        &|next| next.sequence = 99,
        &|next| next.payload.push(7),
        &|next| next.payload.clear(),
        &|next| next.identification = 7,
        &|next| next.flow = 2,
        &|next| next.flags = 0x12,
        &|next| next.flags = 0x90,
        &|next| next.tcp_options = vec![1; 4],
    ];
    for (number, change) in changes.iter().enumerate() {
        assert_eq!(pair(change), 2, "change {number}");
    }
    // Nothing follows a short segment, or PSH; and no segment overtakes an acknowledgment.
    let short = tcp(100, 60).packet();
    assert_eq!(
        merged_into(&[first.clone(), short, tcp(160, 60).packet()]),
        2
    );
    let pushed = Parts {
        flags: 0x18,
        ..tcp(100, 100)
    }
    .packet();
    assert_eq!(
        merged_into(&[first.clone(), pushed, tcp(200, 100).packet()]),
        2
    );
    let pure = tcp(100, 0).packet();
    assert_eq!(
        merged_into(&[first.clone(), pure, tcp(100, 100).packet()]),
        3
    );
    // A wrong byte stays alone.
    let mut wrong = tcp(100, 100).packet();
    wrong[60] ^= 1;
    assert_eq!(merged_into(&[first.clone(), wrong]), 2);
    let mut wrong = tcp(100, 100).packet();
    wrong[10] ^= 1;
    assert_eq!(merged_into(&[first.clone(), wrong]), 2);
    // A fragment, and a datagram without a checksum.
    let mut fragment = tcp(100, 100).packet();
    fragment[7] = 1;
    assert_eq!(merged_into(&[fragment, tcp(200, 100).packet()]), 2);
    let mut bare = Parts {
        transport: Transport::Udp,
        ..tcp(0, 100)
    }
    .packet();
    bare[26..28].fill(0);
    assert_eq!(merged_into(&[bare.clone(), bare.clone()]), 2);
    assert_eq!(verify_checksum(&bare, LinkLayer::Ip), Some(true));
}

#[test]
fn a_merged_packet_has_no_more_than_64_kib_and_64_packets() {
    let large: Vec<Vec<u8>> = (0..60).map(|n| tcp(n * 1400, 1400).packet()).collect();
    let mut identified = large.clone();
    for (number, packet) in identified.iter_mut().enumerate() {
        let parts = Parts {
            identification: number as u16,
            ..tcp(number as u32 * 1400, 1400)
        };
        *packet = parts.packet();
    }
    let merged = merge(
        identified
            .iter()
            .map(|packet| received(packet, ChecksumState::Valid)),
        LinkLayer::Ip,
    );
    assert_eq!(
        merged.iter().map(Merged::packets).collect::<Vec<_>>(),
        [46, 14]
    );
    assert!(whole(&merged[0]).len() <= 65_535);
    let small = (0..130_u16).map(|n| {
        Parts {
            identification: n,
            ..tcp(u32::from(n) * 10, 10)
        }
        .packet()
    });
    assert_eq!(merged_into(&small.collect::<Vec<_>>()), 3);
}

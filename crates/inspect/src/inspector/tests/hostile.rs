//! Packets that are made to hide a request: what the server takes is found.

use super::*;
use crate::ahead::{HostPolicy, Overlap};
use weir_packet::wire::FlowKey;
use weir_packet::wire::build::{self, TcpHeader};
use weir_packet::wire::protocol::TCP;
use weir_select::AddressSet;

const RULES: &str = r#"alert http any any -> any any (flow:established,to_server; http.uri; content:"/evil"; sid:1;)
                       alert tcp any any -> any any (flow:established,to_server; content:"/evil"; sid:2;)"#;
const EVIL: &[u8] = b"GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";
const GOOD: &[u8] = b"GET /good HTTP/1.1\r\nHost: a\r\n\r\n";
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A connection whose packets have right checksums.
struct Wire {
    records: Vec<Vec<u8>>,
    /// Next sequence numbers of client and server.
    next: [u32; 2],
}

impl Wire {
    fn new() -> Wire {
        let mut wire = Wire {
            records: Vec::new(),
            next: [1000, 9000],
        };
        wire.client(SYN, 0, b"");
        wire.next[0] += 1;
        wire.server(SYN | ACK, 0, b"");
        wire.next[1] += 1;
        wire.client(ACK, 0, b"");
        wire
    }

    fn send(&mut self, is_client: bool, flags: u8, numbers: (u32, u32), payload: &[u8]) {
        let header = TcpHeader {
            sequence: numbers.0,
            acknowledgment: if flags & ACK == 0 { 0 } else { numbers.1 },
            flags,
            window: 65_535,
            options: &[],
        };
        self.push(is_client, &header, payload);
    }

    fn push(&mut self, is_client: bool, header: &TcpHeader<'_>, payload: &[u8]) {
        let client = FlowKey {
            source: u128::from(ENDS.0),
            destination: u128::from(ENDS.1),
            source_port: 40_000,
            destination_port: 80,
            protocol: TCP,
            ip_version: 4,
        };
        let key = if is_client { client } else { client.reversed() };
        self.records.push(build::tcp_packet(&key, header, payload));
    }

    /// A handshake with timestamps, that of the client.
    fn with_timestamps(newest: u32) -> Wire {
        let mut wire = Wire {
            records: Vec::new(),
            next: [1000, 9000],
        };
        wire.timed(true, SYN, newest, 0, b"");
        wire.next[0] += 1;
        wire.timed(false, SYN | ACK, 77, 0, b"");
        wire.next[1] += 1;
        wire.timed(true, ACK, newest, 0, b"");
        wire
    }

    /// A segment with a timestamp, at a distance from the next byte.
    fn timed(&mut self, is_client: bool, flags: u8, timestamp: u32, distance: i32, payload: &[u8]) {
        let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        options[4..8].copy_from_slice(&timestamp.to_be_bytes());
        let [client, server] = self.next;
        let (sequence, acknowledgment) = match is_client {
            true => (client, server),
            false => (server, client),
        };
        let header = TcpHeader {
            sequence: sequence.wrapping_add_signed(distance),
            acknowledgment: if flags & ACK == 0 { 0 } else { acknowledgment },
            flags,
            window: 65_535,
            options: &options,
        };
        self.push(is_client, &header, payload);
    }

    /// At a distance from the next byte.
    fn client(&mut self, flags: u8, distance: i32, payload: &[u8]) {
        let sequence = self.next[0].wrapping_add_signed(distance);
        self.send(true, flags, (sequence, self.next[1]), payload);
    }

    fn server(&mut self, flags: u8, distance: i32, payload: &[u8]) {
        let acknowledgement = self.next[0].wrapping_add_signed(distance);
        self.send(false, flags, (self.next[1], acknowledgement), payload);
    }

    /// The client sends bytes, and the server acknowledges them.
    fn asks(mut self, payload: &[u8]) -> Wire {
        self.client(ACK, 0, payload);
        self.next[0] += payload.len() as u32;
        self.server(ACK, 0, b"");
        self
    }

    /// The last segment's checksum is left to a network card.
    fn leaves_last_checksum(mut self) -> Wire {
        if let Some(record) = self.records.last_mut() {
            record[36..38].fill(0);
        }
        self
    }

    fn spoils_last_checksum(mut self) -> Wire {
        if let Some(record) = self.records.last_mut() {
            record[36] ^= 0x55;
        }
        self
    }

    fn sids(&self) -> Vec<u32> {
        let (pairs, _) = raised(&load(RULES), &self.records);
        let mut sids: Vec<u32> = pairs.into_iter().map(|(_, sid)| sid).collect();
        sids.sort_unstable();
        sids
    }

    fn refused(&self) -> RefusedPackets {
        raised(&load(RULES), &self.records).1.packets_refused
    }
}

#[test]
fn an_unharmed_request_is_found() {
    assert_eq!(Wire::new().asks(GOOD).asks(EVIL).sids(), [1, 2]);
    assert!(Wire::new().asks(GOOD).sids().is_empty());
}

#[test]
fn a_reset_outside_the_expected_number_ends_nothing() {
    for distance in [-1, 1, 100, 0x3000_0000] {
        let mut wire = Wire::new().asks(GOOD);
        wire.client(RST, distance, b"");
        let wire = wire.asks(EVIL);
        assert_eq!(wire.sids(), [1, 2], "{distance}");
        assert_eq!(wire.refused().reset, 1);
    }
}

#[test]
fn a_forged_reset_and_a_forged_syn_replace_nothing() {
    let mut wire = Wire::new();
    wire.client(RST, 0x3000_0000, b"");
    wire.client(SYN, 0x2000_0000, b"");
    let wire = wire.asks(EVIL);
    assert_eq!(wire.sids(), [1, 2]);
    let refused = wire.refused();
    assert_eq!((refused.reset, refused.syn), (1, 1));
}

#[test]
fn a_connection_that_the_server_takes_anew_is_a_new_one() {
    let mut wire = Wire::new().asks(GOOD);
    // The client was started again; the server gives the old connection up.
    wire.next[0] = 700_000;
    wire.client(SYN, 0, b"");
    wire.next = [700_001, 50_000];
    wire.server(SYN | ACK, 0, b"");
    wire.next[1] += 1;
    wire.client(ACK, 0, b"");
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

#[test]
fn a_fin_that_is_out_of_the_window_or_damaged_ends_nothing() {
    let mut wire = Wire::new().asks(GOOD);
    wire.client(FIN | ACK, 0x3000_0000, b"");
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
    let mut wire = Wire::new().asks(GOOD);
    wire.client(FIN | ACK, 0, b"");
    let wire = wire.spoils_last_checksum().asks(EVIL);
    assert_eq!(wire.sids(), [1, 2]);
    assert_eq!(wire.refused().checksum, 1);
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_moves_nothing() {
    for distance in [1, 31, 5000, 1 << 20] {
        let mut wire = Wire::new();
        wire.server(ACK, distance, b"");
        let wire = wire.asks(EVIL);
        assert_eq!(wire.sids(), [1, 2], "{distance}");
        assert_eq!(wire.refused().acknowledgement, 1);
    }
}

#[test]
fn a_damaged_segment_does_not_come_first() {
    let mut wire = Wire::new();
    wire.client(ACK, 0, &[b'x'; 31]);
    let wire = wire.spoils_last_checksum().asks(EVIL);
    assert_eq!(wire.sids(), [1, 2]);
}

#[test]
fn a_host_that_sends_whole_checksums_leaves_none_to_its_network_card() {
    let mut wire = Wire::new();
    wire.client(ACK, 0, &[b'x'; 31]);
    let wire = wire.leaves_last_checksum().asks(EVIL);
    assert_eq!(wire.sids(), [1, 2]);
    assert_eq!(wire.refused().checksum, 1);
    // Of a host that leaves all of them, all count.
    let mut wire = Wire::new().asks(EVIL);
    for record in wire
        .records
        .iter_mut()
        .filter(|record| record[12..16] == ENDS.0.to_be_bytes())
    {
        record[36..38].fill(0);
    }
    assert_eq!(wire.sids(), [1, 2]);
}

#[test]
fn a_lost_segment_is_awaited_while_it_is_not_acknowledged() {
    let mut wire = Wire::new();
    let body = vec![b'x'; 400_000];
    let post = [
        b"POST /good HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n",
        &body[..],
    ]
    .concat();
    let segments: Vec<&[u8]> = post.chunks(1000).collect();
    // A window of 64 KiB, whose first segment comes last.
    for flight in segments.chunks(60) {
        let mut distance = 1000;
        for segment in &flight[1..] {
            wire.client(ACK, distance, segment);
            distance += segment.len() as i32;
        }
        wire.client(ACK, 0, flight[0]);
        let sent: usize = flight.iter().map(|segment| segment.len()).sum();
        wire.next[0] += sent as u32;
        wire.server(ACK, 0, b"");
    }
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

/// Servers skip empty lines in front of a request line; the response then tells that it is HTTP.
#[test]
fn a_request_behind_empty_lines_is_found() {
    for lines in ["\r\n", "\n", "\r\n\r\n\n"] {
        let mut wire = Wire::new().asks(&[lines.as_bytes(), EVIL].concat());
        wire.server(ACK, 0, b"");
        assert_eq!(wire.sids(), [1, 2], "{lines:?}");
    }
    // A line that no request begins with: what was asked is known by the response alone.
    let mut wire = Wire::new().asks(b"GET  /evil\r\nHost: a\r\n\r\n");
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    wire.send(false, ACK, (wire.next[1], wire.next[0]), response);
    assert_eq!(wire.sids(), [1, 2]);
}

/// Clients close behind a head that has no end, and servers answer nevertheless.
#[test]
fn a_head_without_end_is_looked_at() {
    let evil = b"GET /evil HTTP/1.1\r\nHost: a\r\n";
    for cut in [20, 27, 29] {
        let mut wire = Wire::new().asks(&evil[..cut]);
        wire.client(FIN | ACK, 0, b"");
        assert_eq!(wire.sids(), [1, 2], "{cut}");
    }
    let mut wire = Wire::new().asks(&evil[..29]);
    // Something is lost behind it.
    wire.next[0] += 100;
    assert_eq!(wire.asks(GOOD).sids(), [1, 2]);
}

#[test]
fn many_tiny_segments_behind_a_gap_give_up_nothing() {
    let mut wire = Wire::new();
    for (distance, byte) in (0..).zip(EVIL).skip(1) {
        wire.client(ACK, distance, &[*byte]);
    }
    for distance in 0..3000 {
        wire.client(ACK, 10_000 + distance, b"x");
    }
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

#[test]
fn a_connection_is_read_on_behind_a_gap() {
    let mut wire = Wire::new().asks(GOOD);
    // Lost in front of the sensor, not of the server.
    wire.next[0] += 500;
    let wire = wire.asks(EVIL);
    assert_eq!(wire.sids(), [1, 2]);
    assert_eq!(raised(&load(RULES), &wire.records).1.stream_gaps, 1);
}

/// Of a request and its response anything is missing: all later ones are read.
#[test]
fn a_conversation_is_read_on_whatever_the_sensor_missed() {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsick";
    let rules = format!(
        "{RULES}
         alert tcp any any -> any any (flow:established,to_client; content:\"sick\"; sid:3;)
         alert http any any -> any any (flow:to_client; file.data; content:\"sick\"; sid:4;)"
    );
    let exchange = |wire: &mut Wire, request: &[u8], response: &[u8]| {
        for (is_client, payload) in [(true, request), (false, response)] {
            for part in payload.chunks(20) {
                let [client, server] = wire.next;
                let (own, other) = if is_client {
                    (client, server)
                } else {
                    (server, client)
                };
                wire.send(is_client, ACK, (own, other), part);
                wire.next[usize::from(!is_client)] += part.len() as u32;
                let [client, server] = wire.next;
                let (own, other) = if is_client {
                    (server, client)
                } else {
                    (client, server)
                };
                wire.send(!is_client, ACK, (own, other), b"");
            }
        }
    };
    let rules = load(&rules);
    // Of each packet of one exchange, whether it is missing: six of the request, five of the response.
    let mut whole = Wire::new();
    exchange(
        &mut whole,
        GOOD,
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
    );
    let start = whole.records.len();
    exchange(
        &mut whole,
        GOOD,
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
    );
    let lost = start..whole.records.len();
    for _ in 0..4 {
        exchange(&mut whole, EVIL, RESPONSE);
    }
    for first in lost.clone() {
        for behind in first + 1..=lost.end {
            let mut records = whole.records.clone();
            records.drain(first..behind);
            let (found, statistics) = raised(&rules, &records);
            for sid in 1..=4 {
                let count = found.iter().filter(|(_, of)| *of == sid).count();
                let case = format!("{first} to {behind}, rule {sid}: {statistics:?}");
                assert!((3..=4).contains(&count), "{case}");
            }
        }
    }
}

#[test]
fn old_timestamps_zero_windows_and_segments_without_ack_are_not_taken() {
    let mut wire = Wire::new();
    wire.client(0, 0, &[b'x'; 31]);
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

#[test]
fn the_receiver_decides_which_of_overlapping_segments_counts() {
    let mut wire = Wire::new();
    // Both begin together behind what is missing; Linux keeps the longer, BSD the first.
    wire.client(ACK, 5, b"good");
    wire.client(ACK, 5, b"evil HTTP/1.1\r\n\r\n");
    wire.client(ACK, 0, b"GET /");
    wire.next[0] += 23;
    wire.server(ACK, 0, b"");
    let rules = load(RULES);
    for (overlap, expected) in [
        (Overlap::Linux, 2),
        (Overlap::Bsd, 0),
        (Overlap::First, 0),
        (Overlap::Last, 2),
    ] {
        let server = "198.18.2.2/32".parse().expect("a prefix");
        let options = InspectOptions {
            policies: vec![HostPolicy {
                hosts: AddressSet::prefix(server),
                overlap,
            }],
            ..InspectOptions::default()
        };
        let mut inspector = Inspector::with_options(Arc::clone(&rules), &options);
        let records = wire.records.iter();
        let packets: Vec<Packet<'_>> = records.map(|record| as_packet(record, 1)).collect();
        let mut alerts = 0;
        inspector.inspect(&packets, |_| alerts += 1);
        assert_eq!(alerts, expected, "{overlap:?}");
    }
}

#[test]
fn a_syn_that_comes_again_brings_nothing() {
    let mut wire = Wire::new();
    wire.client(SYN, -1, &[b'x'; 31]);
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

/// A network card is left the checksums of all packets of a host, or of none.
#[test]
fn a_damaged_syn_ack_replaces_nothing() {
    let mut wire = Wire::new();
    wire.client(SYN, 500, b"");
    wire.server(SYN | ACK, 501, b"");
    assert_eq!(wire.leaves_last_checksum().asks(EVIL).sids(), [1, 2]);
}

/// Linux drops a segment that another covers, and its FIN.
#[test]
fn a_fin_that_is_covered_ends_nothing() {
    let mut wire = Wire::new();
    wire.client(FIN | ACK, 6, b"x");
    wire.client(ACK, 5, &EVIL[5..]);
    wire.client(ACK, 0, &EVIL[..5]);
    wire.next[0] += EVIL.len() as u32;
    wire.server(ACK, 0, b"");
    assert_eq!(wire.sids(), [1, 2]);
}

/// Each end still waits for what is missing in front of the other's FIN.
#[test]
fn fins_ahead_of_their_turn_close_nothing() {
    let mut wire = Wire::new();
    wire.send(false, FIN | ACK, (wire.next[1] + 10, wire.next[0]), b"");
    wire.client(FIN | ACK, 100, b"");
    wire.client(SYN, 0, b"");
    assert_eq!(wire.asks(EVIL).sids(), [1, 2]);
}

#[test]
fn a_timestamp_of_an_old_segment_does_not_count() {
    let mut wire = Wire::with_timestamps(1000);
    wire.timed(true, ACK, 1001, 0, GOOD);
    wire.next[0] += GOOD.len() as u32;
    wire.timed(false, ACK, 78, 0, b"");
    wire.timed(true, ACK, 0x3000_0000, -10, b"old");
    wire.timed(true, ACK, 1002, 0, EVIL);
    assert_eq!(wire.sids(), [1, 2]);
}

#[test]
fn timestamps_are_compared_as_linux_does() {
    // One tick is let pass, and zero is no timestamp; two are not.
    for (newest, timestamp, expected) in [
        (1000, 999, &[1, 2][..]),
        (1000, 998, &[]),
        (0, 0xffff_0000, &[1, 2]),
    ] {
        let mut wire = Wire::with_timestamps(newest);
        wire.timed(true, ACK, timestamp, 0, EVIL);
        assert_eq!(wire.sids(), expected, "{newest} {timestamp}");
    }
}

/// There is no window behind what the receiver gave, also where the bytes are the next.
#[test]
fn bytes_at_the_edge_of_the_window_are_not_taken() {
    let mut wire = Wire::new();
    let body = vec![b'x'; 65_535 - 62];
    let post = b"POST /good HTTP/1.1\r\nHost: a\r\nContent-Length:          65473\r\n\r\n";
    assert_eq!(post.len() + body.len(), 65_535 + 2);
    let full = [&post[..], &body[2..]].concat();
    for (distance, part) in (0..).step_by(1000).zip(full.chunks(1000)) {
        wire.client(ACK, distance, part);
    }
    wire.client(ACK, 65_535, &[b'y'; 100]);
    wire.next[0] += 65_535;
    wire.server(ACK, 0, b"");
    assert_eq!(wire.refused().window, 1);
    assert_eq!(wire.asks(b"xx").asks(EVIL).sids(), [1, 2]);
}

/// No end acknowledges what lies in front of the first byte. Linux takes data in order
/// before it looks at that, but not with a flag that it does not foresee.
#[test]
fn an_acknowledgement_in_front_of_the_stream_is_none() {
    const ECE: u8 = 0x40;
    // Half of all numbers away is neither in front nor behind.
    for distance in [5, 1 << 31] {
        let mut wire = Wire::new();
        let acknowledgement = wire.next[1].wrapping_sub(distance);
        wire.send(
            true,
            ACK | ECE,
            (wire.next[0], acknowledgement),
            &[b'x'; 31],
        );
        let wire = wire.asks(EVIL);
        assert_eq!(wire.sids(), [1, 2], "{distance}");
        assert_eq!(wire.refused().acknowledgement, 1);
    }
}

/// Names of the anomalies, with so many of each kind told per second, of which there are a
/// thousand packets.
fn anomalies(records: &[Vec<u8>], per_second: u32) -> Vec<(usize, &'static str)> {
    let options = InspectOptions {
        anomalies_per_second: per_second,
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(load(RULES), &options);
    let packets: Vec<Packet<'_>> = (0..)
        .zip(records)
        .map(|(number, record)| as_packet(record, number * 1_000_000))
        .collect();
    inspector.inspect(&packets, |_| {});
    let found = inspector.anomalies().iter();
    found
        .map(|anomaly| {
            let flow = packets[anomaly.packet].flow();
            assert_eq!(anomaly.flow, flow);
            (anomaly.packet, anomaly.kind.name())
        })
        .collect()
}

#[test]
fn what_is_refused_is_told_by_its_name() {
    let mut wire = Wire::new().asks(GOOD);
    let first = wire.records.len();
    wire.client(RST, 100, b"");
    wire.client(SYN, 0x2000, b"");
    wire.server(SYN | ACK, 5, b"");
    wire.server(ACK, 5000, b"");
    wire.client(0, 0, b"x");
    wire.client(ACK, 0x0100_0000, b"x");
    wire.client(ACK, 0, b"x");
    let mut wire = wire.spoils_last_checksum();
    wire.client(ACK, -5, b"other");
    wire.client(ACK, 10, b"y");
    wire.next[0] += 11;
    wire.server(ACK, 0, b"");
    let mut records = wire.records;
    // The second fragment overlaps the first.
    records.push(ipv4(17, ENDS, 0x2000, &[1; 16]));
    records.push(ipv4(17, ENDS, 1, &[2; 16]));
    let datagram = udp(ENDS, (1, 2), b"four");
    let mut lies = datagram.clone();
    lies[25] += 1;
    const SOURCE_ROUTE: [u8; 4] = [131, 3, 4, 0];
    let mut routed = ipv4(17, ENDS, 0, &[&SOURCE_ROUTE, &datagram[20..]].concat());
    routed[0] += 1;
    records.extend([datagram[..30].to_vec(), lies, routed]);
    let mut timed = Wire::with_timestamps(1000);
    timed.timed(true, ACK, 1, 0, b"x");
    let before_timed = records.len();
    let mut names = anomalies(&records, 9);
    names.extend(
        anomalies(&timed.records, 9)
            .iter()
            .map(|(packet, name)| (packet + before_timed, *name)),
    );
    let expected = [
        (first, "stream.rst_wrong_seq"),
        (first + 1, "stream.est_syn_resend"),
        (first + 2, "stream.est_synack_resend"),
        (first + 3, "stream.pkt_invalid_ack"),
        (first + 4, "stream.pkt_no_ack"),
        (first + 5, "stream.est_packet_out_of_window"),
        (first + 6, "decoder.invalid_checksum"),
        (first + 7, "stream.reassembly_overlap_different_data"),
        (first + 9, "stream.reassembly_seq_gap"),
        (first + 11, "decoder.ipv4.frag_ignored"),
        (first + 12, "decoder.ipv4.trunc_pkt"),
        (first + 13, "decoder.udp.len_invalid"),
        (first + 14, "decoder.ipv4.opt_invalid"),
        (before_timed + 3, "stream.pkt_invalid_timestamp"),
    ];
    assert_eq!(names, expected);
    assert!(anomalies(&records, 0).is_empty());
}

/// Of each kind by itself, and again in the next second.
#[test]
fn anomalies_are_told_at_a_bounded_rate() {
    let mut wire = Wire::new();
    let resets = |wire: &mut Wire| (0..500).for_each(|n| wire.client(RST, 100 + n, b""));
    resets(&mut wire);
    wire.client(SYN, 7, b"");
    resets(&mut wire);
    let told: Vec<usize> = anomalies(&wire.records, 2)
        .iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(told, [3, 4, 503, 1000, 1001]);
}

#[test]
fn urgent_bytes_are_left_out() {
    let mut wire = Wire::new();
    wire.client(ACK | 0x20, 0, b"GET /e!");
    let record = wire.records.last_mut().expect("a segment");
    // The urgent pointer stands behind the byte.
    record[38..40].copy_from_slice(&7u16.to_be_bytes());
    record[36..38].fill(0);
    let key = FlowKey::from_headers(&as_packet(record, 0).headers, record).expect("a flow");
    let checksum = build::transport_checksum(&record[20..], &key);
    record[36..38].copy_from_slice(&checksum.to_be_bytes());
    wire.next[0] += 7;
    assert_eq!(wire.asks(b"vil HTTP/1.1\r\n\r\n").sids(), [1, 2]);
}

#[test]
fn one_side_is_enough_where_connections_are_picked_up() {
    let whole = Wire::new().asks(GOOD).asks(EVIL);
    let is_client = |record: &&Vec<u8>| record[12..16] == ENDS.0.to_be_bytes();
    let one_side: Vec<Vec<u8>> = whole.records.iter().filter(is_client).cloned().collect();
    let rules = load(RULES);
    let sids = |records: &[Vec<u8>]| {
        let options = InspectOptions {
            limits: FlowLimits {
                midstream: true,
                ..FlowLimits::default()
            },
            ..InspectOptions::default()
        };
        let mut inspector = Inspector::with_options(Arc::clone(&rules), &options);
        let packets: Vec<Packet<'_>> = records.iter().map(|record| as_packet(record, 1)).collect();
        let mut sids = Vec::new();
        inspector.inspect(&packets, |alert| {
            sids.push(rules.rules()[alert.rule as usize].description.sid);
        });
        sids.sort_unstable();
        sids
    };
    assert_eq!(sids(&one_side), [1, 2], "a SYN and no SYN-ACK");
    assert_eq!(sids(&one_side[1..]), [1, 2], "no SYN");
    assert_eq!(sids(&whole.records[1..]), [1, 2], "the SYN-ACK first");
    assert_eq!(sids(&whole.records), [1, 2]);
}

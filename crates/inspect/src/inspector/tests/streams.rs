//! Contents that lie in several segments and fragments.

use super::*;
use weir_packet::wire::protocol::UDP;

const PORTS: (u16, u16) = (40_000, 80);
const ACK: u8 = 0x10;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;

/// A connection, packet by packet.
pub(super) struct Talk {
    records: Vec<Vec<u8>>,
    client_next: u32,
    server_next: u32,
}

impl Talk {
    /// With its handshake.
    pub(super) fn new() -> Talk {
        let mut talk = Talk {
            records: Vec::new(),
            client_next: 1000,
            server_next: 9000,
        };
        talk.client_sends(SYN, 1000, b"");
        talk.server_sends(SYN | ACK, 9000, b"");
        (talk.client_next, talk.server_next) = (1001, 9001);
        talk.client_sends(ACK, 1001, b"");
        talk
    }

    pub(super) fn records(&self) -> &[Vec<u8>] {
        &self.records
    }

    fn client_sends(&mut self, flags: u8, sequence: u32, payload: &[u8]) {
        let fields = TcpFields {
            flags,
            sequence,
            acknowledgement: self.server_next + u32::from(self.server_next == 9000),
        };
        self.records.push(tcp(ENDS, PORTS, fields, payload));
    }

    fn server_sends(&mut self, flags: u8, sequence: u32, payload: &[u8]) {
        let fields = TcpFields {
            flags,
            sequence,
            acknowledgement: self.client_next + u32::from(self.client_next == 1000),
        };
        let (ends, ports) = ((ENDS.1, ENDS.0), (PORTS.1, PORTS.0));
        self.records.push(tcp(ends, ports, fields, payload));
    }

    pub(super) fn asks(mut self, payload: &[u8]) -> Talk {
        self.client_sends(ACK, self.client_next, payload);
        self.client_next += payload.len() as u32;
        self
    }

    pub(super) fn answers(mut self, payload: &[u8]) -> Talk {
        self.server_sends(ACK, self.server_next, payload);
        self.server_next += payload.len() as u32;
        self
    }

    /// Client's bytes at a place of its stream.
    pub(super) fn places(mut self, place: u32, payload: &[u8]) -> Talk {
        self.client_sends(ACK, 1001 + place, payload);
        self
    }

    /// The server acknowledges bytes of the client.
    fn acknowledges(mut self, place: u32) -> Talk {
        self.client_next = 1001 + place;
        self.server_sends(ACK, self.server_next, b"");
        self
    }

    pub(super) fn resets(mut self) -> Talk {
        self.client_sends(RST, self.client_next, b"");
        self
    }

    pub(super) fn sids(&self, rules: &str) -> Vec<(usize, u32)> {
        raised(&load(rules), &self.records).0
    }
}

const SECRET: &str =
    r#"alert tcp any any -> any 80 (flow:established,to_server; content:"secret word"; sid:1;)"#;

#[test]
fn a_content_over_two_and_three_segments_in_any_order() {
    let two = Talk::new().asks(b"a secr").asks(b"et word");
    assert_eq!(two.sids(SECRET), [(4, 1)], "the packet that completes it");
    let three = Talk::new().asks(b"a sec").asks(b"ret").asks(b" word..");
    assert_eq!(three.sids(SECRET), [(5, 1)]);
    let behind = Talk::new()
        .places(5, b"ret wo")
        .places(11, b"rd")
        .places(0, b"a sec");
    assert_eq!(behind.sids(SECRET), [(5, 1)]);
    let byte_by_byte = (b"a secret word")
        .iter()
        .fold(Talk::new(), |talk, byte| talk.asks(&[*byte]));
    assert_eq!(byte_by_byte.sids(SECRET), [(15, 1)]);
    let apart = Talk::new().asks(b"a secr").asks(b"-").asks(b"et word");
    assert_eq!(apart.sids(SECRET), []);
    let other_way = Talk::new().answers(b"a secr").answers(b"et word");
    assert_eq!(other_way.sids(SECRET), []);
}

#[test]
fn a_match_is_raised_once_and_again_where_it_is_again() {
    let once = Talk::new().asks(b"secret word").asks(b"x").asks(b"y");
    assert_eq!(once.sids(SECRET), [(3, 1)]);
    let again = Talk::new()
        .asks(b"secret word")
        .asks(b"x")
        .asks(b"secret word");
    assert_eq!(again.sids(SECRET), [(3, 1), (5, 1)]);
    let retransmitted = Talk::new().asks(b"secret word").places(0, b"secret word");
    assert_eq!(retransmitted.sids(SECRET), [(3, 1)]);
}

#[test]
fn contents_of_one_rule_in_several_segments() {
    let rule = r#"alert tcp any any -> any any (content:"longest one"; content:"b"; distance:2; within:1; sid:1;)"#;
    let talk = Talk::new().asks(b"the longest one").asks(b"..").asks(b"b");
    assert_eq!(talk.sids(rule), [(5, 1)]);
    let talk = Talk::new().asks(b"the longest one").asks(b"...").asks(b"b");
    assert_eq!(talk.sids(rule), []);
}

#[test]
fn places_count_from_the_streams_start_and_from_the_packets() {
    let rule = r#"alert tcp any any -> any any (content:"cd"; offset:2; depth:2; sid:1;)"#;
    assert_eq!(Talk::new().asks(b"ab").asks(b"cd").sids(rule), [(4, 1)]);
    assert_eq!(
        Talk::new().asks(b"......").asks(b"abcd").sids(rule),
        [(4, 1)]
    );
    let stream_only = rule.replace("content", "flow:only_stream; content");
    assert_eq!(
        Talk::new().asks(b"......").asks(b"abcd").sids(&stream_only),
        []
    );
    let packet_only = rule.replace("content", "flow:no_stream; content");
    assert_eq!(Talk::new().asks(b"ab").asks(b"cd").sids(&packet_only), []);
    assert_eq!(Talk::new().asks(b"abcd").sids(&packet_only), [(3, 1)]);
    let pattern = r#"alert tcp any any -> any any (content:"cd"; pcre:"/^cd/"; sid:1;)"#;
    assert_eq!(Talk::new().asks(b"ab").asks(b"cd").sids(pattern), []);
    let block = [b'.'; 3000];
    let far = (0..4)
        .fold(Talk::new(), |talk, _| talk.asks(&block))
        .asks(b"cd");
    assert_eq!(far.sids(pattern), [], "what is in sight is not the start");
}

#[test]
fn gaps_end_what_could_match_and_are_counted() {
    let talk = Talk::new()
        .asks(b"a secr")
        .places(9, b"et word secret word");
    assert_eq!(talk.sids(SECRET), []);
    let talk = talk.acknowledges(28);
    let (pairs, statistics) = raised(&load(SECRET), &talk.records);
    assert_eq!((pairs, statistics.stream_gaps), (vec![(5, 1)], 1));
}

#[test]
fn of_segments_that_overlap_the_first_counts() {
    let talk = Talk::new().asks(b"a secret").places(4, b"XXXX word");
    let (pairs, statistics) = raised(&load(SECRET), &talk.records);
    assert_eq!((pairs, statistics.overlaps_differing), (vec![(4, 1)], 1));
    // What waits gives way to what is in order, as in Linux.
    let in_order = Talk::new()
        .places(8, b" word")
        .places(2, b"XXXXXX word")
        .places(0, b"a secret");
    assert_eq!(in_order.sids(SECRET), [(5, 1)]);
}

#[test]
fn connections_without_a_beginning_are_packets_unless_picked_up() {
    let mut talk = Talk::new()
        .asks(b"a secr")
        .answers(b"yes")
        .asks(b"et word, secret word");
    talk.records.drain(..3);
    let any_state = r#"alert tcp any any -> any 80 (content:"secret word"; sid:2;)"#;
    assert_eq!(talk.sids(&[SECRET, any_state].join("\n")), [(2, 2)]);
    let rules = load(SECRET);
    let options = InspectOptions {
        limits: FlowLimits {
            midstream: true,
            ..FlowLimits::default()
        },
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(rules, &options);
    let packets: Vec<Packet<'_>> = talk.records.iter().map(|r| as_packet(r, 1)).collect();
    let mut alerts = Vec::new();
    inspector.inspect(&packets, |alert| alerts.push((alert.packet, alert.rule)));
    assert_eq!(alerts, [(2, 0)]);
}

/// The greeting could be of FTP or SMTP; the client tells.
#[test]
fn what_came_before_the_protocol_was_told_is_matched_then() {
    let rule = r#"alert ftp any 80 -> any any (flow:established; content:"220-"; depth:4; sid:1;)
                  alert smtp any 80 -> any any (flow:established; content:"220-"; depth:4; sid:2;)"#;
    let talk = Talk::new()
        .answers(b"220-welcome\r\n")
        .answers(b"220 here\r\n")
        .asks(b"USER a\r\n")
        .answers(b"331 password\r\n")
        .answers(b"331 password\r\n");
    assert_eq!(talk.sids(rule), [(6, 1)]);
    let never_told = Talk::new()
        .answers(b"220-welcome\r\n")
        .asks(b"hello\r\n")
        .answers(b"?\r\n");
    assert_eq!(never_told.sids(rule), []);
}

#[test]
fn a_rule_about_a_head_and_the_stream_waits_behind_a_long_body() {
    let rule = r#"alert tcp any any -> any any (flow:established,to_client; content:"secret word";
                  content:!"X-Quiet"; http_header; sid:1;)"#;
    let answer = |head: &str| {
        let body = [7; 1000];
        let head = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: 300000\r\n\r\n");
        let mut talk = Talk::new().asks(b"GET / HTTP/1.1\r\n\r\n");
        talk = talk.answers(head.as_bytes());
        for number in 0..200 {
            if number % 50 == 0 {
                talk = talk.asks(b"");
            }
            talk = talk.answers(&body);
        }
        talk.answers(b"secret word")
    };
    assert_eq!(answer("").sids(rule), [(209, 1)]);
    assert_eq!(answer("X-Quiet: 1\r\n").sids(rule), []);
}

proptest! {
    /// However a text is cut into segments, the rules that match it match the
    /// stream; they wait for contents and patterns, bounded or not.
    #[test]
    fn rules_match_however_a_stream_is_cut(
        text in proptest::collection::vec(proptest::sample::select(b"abcd\n".to_vec()), 1..60),
        cuts in proptest::collection::vec(1usize..9, 1..30),
    ) {
        let options = [
            r#"content:"ab"; content:"cd"; distance:0;"#,
            r#"content:"ab"; content:"dd";"#,
            r#"content:"ab"; pcre:"/c{2}d/";"#,
            r#"content:"ab"; pcre:"/^d[^\n]{2}\n/m";"#,
            r#"content:"ab"; pcre:"/ba?c/R";"#,
            r#"content:"ab"; pcre:"/a[^\n]*dd/";"#,
            r#"content:"ab"; isdataat:6,relative; content:"aa";"#,
            r#"content:"cd"; content:"bbb"; within:9;"#,
        ];
        let rules: String = (1..)
            .zip(options)
            .map(|(sid, options)| format!("alert tcp any any -> any 80 (flow:established; {options} sid:{sid};)\n"))
            .collect();
        let found = |talk: Talk| {
            let mut sids: Vec<u32> = talk.sids(&rules).into_iter().map(|(_, sid)| sid).collect();
            sids.sort_unstable();
            sids.dedup();
            sids
        };
        let mut cut = Talk::new();
        let mut rest = &text[..];
        for bytes in cuts.iter().cycle() {
            let (segment, after) = rest.split_at(rest.len().min(*bytes));
            cut = cut.asks(segment);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(found(cut), found(Talk::new().asks(&text)));
    }
}

#[test]
fn a_content_over_fragments() {
    let rule = r#"alert udp any any -> any 53 (content:"secret word"; sid:1;)
                  alert tcp any any -> any 80 (flow:established; content:"secret word"; sid:2;)"#;
    let datagram = udp(ENDS, (5, 53), b"a secret word");
    let piece = |packet: &[u8], protocol, range: std::ops::Range<usize>| {
        let after = &packet[20..];
        let more = if range.end < after.len() { 0x2000 } else { 0 };
        ipv4(
            protocol,
            ENDS,
            more | (range.start / 8) as u16,
            &after[range],
        )
    };
    let records = [piece(&datagram, UDP, 16..21), piece(&datagram, UDP, 0..16)];
    assert_eq!(raised(&load(rule), &records).0, [(1, 1)]);
    let mut talk = Talk::new().asks(b"a secret").asks(b" word");
    let segment = talk.records.pop().expect("a segment");
    talk.records.push(piece(&segment, 6, 24..25));
    talk.records.push(piece(&segment, 6, 0..24));
    let (pairs, statistics) = raised(&load(rule), &talk.records);
    assert_eq!((pairs, statistics.datagrams_reassembled), (vec![(5, 2)], 1));
}

/// Streams that are never read to their end by any rule, more of them than
/// there is room for.
#[test]
fn floods_of_streams_stay_bounded_and_are_counted() {
    let rules = load(SECRET);
    let options = InspectOptions {
        limits: FlowLimits {
            stream_bytes: 1 << 20,
            ..FlowLimits::default()
        },
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(rules, &options);
    let talk = Talk::new().places(1, &[7; 1400]).places(3000, &[7; 1400]);
    for client in 0..2000u32 {
        let records: Vec<Vec<u8>> = (talk.records.iter().cloned())
            .map(|mut record| {
                let from_server = record[12..16] == ENDS.1.to_be_bytes();
                let at = if from_server { 16 } else { 12 };
                record[at..at + 4].copy_from_slice(&client.to_be_bytes());
                record
            })
            .collect();
        let packets: Vec<Packet<'_>> = records.iter().map(|r| as_packet(r, 1)).collect();
        inspector.inspect(&packets, |_| ());
    }
    let statistics = inspector.statistics();
    assert_eq!(statistics.flows, 2000);
    assert!(statistics.streams_evicted > 1000, "{statistics:?}");
}

/// Rules that each wait for the rest of a match in vain, and segments of one
/// byte: the next packet would have all of them look at the whole window again.
#[test]
fn what_waiting_rules_look_at_for_one_packet_is_bounded() {
    let waiting: String = (1..=60)
        .map(|sid| {
            format!(
                "alert tcp any any -> any 80 (flow:established; content:\"aaaa\"; \
                 pcre:\"/^a[^b]*b.{{{sid}}}c/R\"; sid:{sid};)\n"
            )
        })
        .collect();
    let other =
        "alert udp any any -> any any (content:\"aaaa\"; content:\"b\"; distance:0; sid:99;)";
    let rules = load(&(waiting + other));
    let mut talk = Talk::new();
    for _ in 0..4 {
        talk = talk.asks(&[b'a'; 1400]);
    }
    let packets_of_one_byte = 40;
    let (_, before) = raised(&rules, &talk.records);
    for _ in 0..packets_of_one_byte {
        talk = talk.asks(b"a");
    }
    talk.records.push(udp(ENDS, (1, 2), b"aaaa.b"));
    let (pairs, after) = raised(&rules, &talk.records);
    assert_eq!(
        pairs,
        [(talk.records.len() - 1, 99)],
        "other packets have shares of their own"
    );
    let tried = after.candidates - before.candidates;
    let put_off = after.trials_put_off - before.trials_put_off;
    assert!(tried < 20 * packets_of_one_byte, "{tried} trials");
    assert!(put_off > 40 * packets_of_one_byte, "{put_off} put off");
    assert_eq!(after.waiting_evicted, 0, "all wait on");
}

/// A rule that was put off is tried with the packet after.
#[test]
fn a_rule_that_was_put_off_is_found_later() {
    let dear = r#"alert tcp any any -> any 80 (flow:established; content:"aaaa"; pcre:"/^a[^b]*c/R"; sid:1;)"#;
    let cheap = r#"alert tcp any any -> any 80 (flow:established; content:"bbbb"; content:"zz"; distance:0; sid:2;)"#;
    let text = [&[b'a'; 60_000], &b"bbbb zz"[..]].concat();
    let talk = Talk::new().asks(&text).asks(b".");
    let (pairs, statistics) = raised(&load(&[dear, cheap].join("\n")), &talk.records);
    assert_eq!((pairs, statistics.trials_put_off), (vec![(4, 2)], 1));
}

/// A rule behind others that use up every packet's share has its turn, too.
#[test]
fn no_rule_is_put_off_for_ever() {
    let hostile: String = (1..=60)
        .map(|sid| {
            format!(
                "alert tcp any any -> any 80 (flow:established; content:\"aaaa\"; \
                 pcre:\"/^a[^x]*x.{{{sid}}}c/R\"; sid:{sid};)\n"
            )
        })
        .collect();
    let last = "alert tcp any any -> any 80 (flow:established; content:\"aaaa\"; \
                content:\"b\"; distance:0; sid:99;)";
    let mut talk = Talk::new();
    for _ in 0..4 {
        talk = talk.asks(&[b'a'; 1400]);
    }
    talk = talk.asks(b"b");
    let with_b = talk.records.len() - 1;
    for _ in 0..10 {
        talk = talk.asks(b"a");
    }
    let (pairs, statistics) = raised(&load(&(hostile + last)), &talk.records);
    let [(packet, 99)] = pairs[..] else {
        panic!("{pairs:?}");
    };
    assert!(
        (with_b..with_b + 8).contains(&packet),
        "{packet} for {with_b}"
    );
    assert!(statistics.trials_put_off > 100, "{statistics:?}");
}

const CONNECT: &[u8] = b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n";
const TUNNEL_RULES: &str = r#"
    alert tls any any -> any any (flow:established,to_server; tls.sni; content:"a.example"; sid:1;)
    alert http any any -> any any (flow:established,to_server; http.uri; content:"/evil"; sid:2;)
    alert http any any -> any any (flow:established,to_client; file.data; content:"evil"; sid:3;)"#;

/// What a proxy passes on is a conversation of its own, whatever its segments.
#[test]
fn tunnels_through_proxies_are_read() {
    let open = b"HTTP/1.1 200 Connection established\r\n\r\n";
    let (hello, server_hello) = super::pairs::tls(b"a.example", 1, b"");
    for step in [1, 7, 4000] {
        let talk = Talk::new().asks(CONNECT).answers(open);
        let talk = hello
            .chunks(step)
            .fold(talk, |talk, piece| talk.asks(piece));
        let sids: Vec<u32> = (talk.answers(&server_hello).sids(TUNNEL_RULES).iter())
            .map(|(_, sid)| *sid)
            .collect();
        assert_eq!(sids, [1], "{step}");
    }
    let sids = |talk: Talk| -> Vec<u32> {
        let raised = talk.sids(TUNNEL_RULES);
        raised.into_iter().map(|(_, sid)| sid).collect()
    };
    // Before the proxy has answered.
    let talk = Talk::new().asks(CONNECT).asks(&hello).answers(open);
    assert_eq!(sids(talk.answers(&server_hello)), [1]);
    // HTTP, and in a tunnel within the tunnel.
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let evil = b"GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";
    let talk = Talk::new().asks(CONNECT).answers(open).asks(evil);
    assert_eq!(sids(talk.answers(page)), [2, 3]);
    let talk = Talk::new().asks(CONNECT).answers(open).asks(CONNECT);
    assert_eq!(sids(talk.answers(open).asks(evil).answers(page)), [2, 3]);
    // No tunnel: the proxy wants to know who asks.
    let talk = Talk::new().asks(CONNECT);
    let talk = talk.answers(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(sids(talk.asks(evil).answers(page)), [2, 3]);
}

/// As Linux hands them to captures (BIG TCP), with 0 where their length does not fit.
#[test]
fn segments_longer_than_a_length_field_are_inspected() {
    let rules = load(r#"alert tcp any any -> any 80 (flow:established; content:"secret"; sid:1;)"#);
    let long = [&vec![b'x'; 70_000][..], b"a secret"].concat();
    let mut records = Talk::new().asks(&long).records;
    let [high, low] = (records[3].len() as u16).to_be_bytes();
    assert_eq!(records[3][2..4], [high, low], "the length modulo 65,536");
    records[3][2..4].fill(0);
    let (found, statistics) = raised(&rules, &records);
    assert_eq!(found, [(3, 1)]);
    assert_eq!(statistics.packets_refused, RefusedPackets::default());
}

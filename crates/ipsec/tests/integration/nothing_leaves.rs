//! A marked payload in every encapsulation that a link may carry: where the
//! policies discard, none leaves; where they let pass, all do; where they protect
//! the outermost addresses, each leaves as ESP and comes back.

use weir_ipsec::{ClassifyOutbound, DropReason, Output, Sequences};
use weir_packet::wire::protocol::{ESP, GRE, IPV4, IPV6, TCP, UDP};
use weir_packet::wire::{Headers, LinkType, internet_checksum};
use weir_stream::{Arrival, Batch, BatchLimits, Context, Stage, Vocabulary};

use crate::common::{TUNNEL4, association, ipv4, ipv6, load, protect, udp, unprotect};

const MARK: &[u8] = b"secret text of site A";

/// The names by which protocols that are not IP may pass.
const BY_NAME: &str = "allow = [\"arp\", \"mpls\", \"pppoe\", \"llc\", \"lldp\"]\n";

fn ethernet(ether_type: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(rest);
    frame
}

fn marked() -> Vec<u8> {
    ipv4(UDP, &udp(2000, MARK))
}

fn vlan(tags: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    for number in 0..tags.len() as u8 {
        rest.extend([0, 7 + number]);
        let next = tags.get(usize::from(number) + 1).copied();
        rest.extend(next.unwrap_or(0x0800).to_be_bytes());
    }
    rest.extend(packet);
    ethernet(tags[0], &rest)
}

fn mpls(labels: u8, packet: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    for number in 1..=labels {
        rest.extend([0, 1, number << 4 | u8::from(number == labels), 64]);
    }
    rest.extend(packet);
    ethernet(0x8847, &rest)
}

fn pppoe(protocol: u16, packet: &[u8]) -> Vec<u8> {
    let mut rest = vec![0x11, 0, 0, 9];
    rest.extend((2 + packet.len() as u16).to_be_bytes());
    rest.extend(protocol.to_be_bytes());
    rest.extend(packet);
    ethernet(0x8864, &rest)
}

fn llc(start: &[u8], packet: &[u8]) -> Vec<u8> {
    let rest = [start, packet].concat();
    ethernet(rest.len() as u16, &rest)
}

/// The marked payload over several packets, cut into fragments of 16 bytes.
fn fragments(order: &[usize]) -> Vec<Vec<u8>> {
    let datagram = udp(2000, &[MARK, MARK, MARK].concat());
    let pieces: Vec<Vec<u8>> = datagram
        .chunks(24)
        .enumerate()
        .map(|(number, piece)| {
            let mut packet = ipv4(UDP, piece);
            let is_last = 24 * (number + 1) >= datagram.len();
            packet[6] = if is_last { 0 } else { 0x20 };
            packet[7] = 3 * number as u8;
            packet[10..12].fill(0);
            let checksum = internet_checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            ethernet(0x0800, &packet)
        })
        .collect();
    order.iter().map(|at| pieces[*at].clone()).collect()
}

/// Every encapsulation that is named, with IP outermost or behind a shim.
fn with_ip() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let bridged = |packet: &[u8]| ethernet(0x0800, packet);
    let plain = marked();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &bridged(&plain)].concat();
    let geneve = [&[0, 0, 0x65, 0x58, 0, 0, 42, 0][..], &bridged(&plain)].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let one = |name, record| (name, vec![record]);
    vec![
        one("plain", ethernet(0x0800, &plain)),
        one("IPv6", ethernet(0x86dd, &ipv6(UDP, &udp(2000, MARK)))),
        one("VLAN", vlan(&[0x8100], &plain)),
        one("QinQ", vlan(&[0x88a8, 0x8100], &plain)),
        one("MPLS, 1 label", mpls(1, &plain)),
        one("MPLS, 2 labels", mpls(2, &plain)),
        one("MPLS, 3 labels", mpls(3, &plain)),
        one("PPPoE", pppoe(0x0021, &plain)),
        one("PPPoE, IPv6", pppoe(0x0057, &ipv6(UDP, &udp(2000, MARK)))),
        one("LLC/SNAP", llc(&snap, &plain)),
        one(
            "GRE",
            bridged(&ipv4(GRE, &[&[0, 0, 8, 0][..], &plain].concat())),
        ),
        one("VXLAN", bridged(&ipv4(UDP, &udp(4789, &vxlan)))),
        one("Geneve", bridged(&ipv4(UDP, &udp(6081, &geneve)))),
        one("IPv4 in IP", bridged(&ipv4(IPV4, &plain))),
        one(
            "IPv6 in IP",
            bridged(&ipv4(IPV6, &ipv6(UDP, &udp(2000, MARK)))),
        ),
        ("fragments", fragments(&[0, 1, 2])),
        ("fragments, last first", fragments(&[2, 1, 0])),
        ("fragments, first last", fragments(&[1, 2, 0])),
    ]
}

/// What carries no IP that policies could see.
fn without_ip() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let plain = marked();
    let one = |name, record| (name, vec![record]);
    vec![
        one("ARP", ethernet(0x0806, MARK)),
        one("LLDP", ethernet(0x88cc, MARK)),
        one("LLC", llc(&[0x42, 0x42, 3], MARK)),
        one(
            "MPLS pseudowire",
            mpls(1, &[&[0, 0, 0, 1][..], &ethernet(0x0800, &plain)].concat()),
        ),
        one("PPP control", pppoe(0xc021, MARK)),
    ]
}

fn file(head: &str, policies: &str) -> String {
    head.to_owned() + &association("one", 0x1001, "aes-128-gcm-16", "tunnel", TUNNEL4) + policies
}

/// Protects all packets, by their outermost addresses.
const OUTERMOST: &str = r#"
[[policy]]
source = ["198.18.1.1", "fd00:1::1"]
destination = ["198.18.2.2", "fd00:2::2"]
action = "protect"
sa = "one"
"#;

/// The same to a port, so that fragments must follow the first one.
const OUTERMOST_BY_PORT: &str = r#"
[[policy]]
source = "198.18.1.1"
protocol = "udp"
destination_port = 2000
action = "protect"
sa = "one"
"#;

fn is_esp(record: &[u8]) -> bool {
    let headers = Headers::parse(LinkType::Ethernet, record);
    headers.protocol == ESP && !record.windows(MARK.len()).any(|bytes| bytes == MARK)
}

#[test]
fn marked_payloads_in_every_encapsulation() {
    println!(
        "{:<24} {:>6} {:>10} {:>10}",
        "encapsulation", "sent", "protected", "discarded"
    );
    for (name, records) in with_ip().into_iter().chain(without_ip()) {
        let sent = records.len() as u64;
        let has_ip = with_ip().iter().any(|(known, _)| *known == name);
        let run = |file: &str| protect(file, LinkType::Ethernet, &records);

        let discarded = run(&file("default = \"discard\"\n", ""));
        assert_eq!(discarded.records.len(), 0, "{name}: nothing leaves");
        let dropped: u64 = discarded.drops().iter().map(|(_, count)| count).sum();
        assert_eq!(dropped, sent, "{name}");

        // By-name permission is for what is not IP alone.
        let allowed = run(&file(&format!("default = \"discard\"\n{BY_NAME}"), ""));
        let expected = if has_ip { vec![] } else { records.clone() };
        assert_eq!(allowed.records, expected, "{name}");
        let bypassed = run(&file("default = \"bypass\"\n", ""));
        let expected = if has_ip { records.clone() } else { vec![] };
        assert_eq!(bypassed.records, expected, "{name}");
        if !has_ip {
            assert_eq!(bypassed.drops(), [(DropReason::NotSeenThrough, sent)]);
        }
        let bypassed = run(&file(&format!("default = \"bypass\"\n{BY_NAME}"), ""));
        assert_eq!(bypassed.records, records, "{name}: all leave");

        let mut protected = 0;
        if has_ip {
            let mut files = vec![file("", OUTERMOST)];
            if name.starts_with("fragments") {
                files.push(file("default = \"bypass\"\n", OUTERMOST_BY_PORT));
            }
            for file in files {
                let sealed = run(&file);
                assert_eq!(sealed.drops(), [], "{name}");
                assert_eq!(sealed.records.len() as u64, sent, "{name}");
                assert!(sealed.records.iter().all(|record| is_esp(record)), "{name}");
                protected = sealed.records.len();
                let back = unprotect(&file, LinkType::Ethernet, &sealed.records);
                assert_eq!(back.drops(), [], "{name}");
                let (mut came, mut went) = (back.records, records.clone());
                came.sort();
                went.sort();
                assert_eq!(came, went, "{name}: byte for byte");
            }
        }
        println!("{name:<24} {sent:>6} {protected:>10} {dropped:>10}");
    }
}

/// A cheap generator (xorshift64*), from a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// A million packets with changed headers, under `default = "discard"` and a
/// policy that protects what it can see: none leaves but as ESP.
#[test]
fn a_million_fuzzed_packets() {
    const PACKETS: usize = 1_000_000;
    let seeds: Vec<Vec<u8>> = with_ip()
        .into_iter()
        .chain(without_ip())
        .flat_map(|(_, records)| records)
        .collect();
    let mut random = Random(0x005e_ed0f_11a7);
    let discarding = load("default = \"discard\"\n");
    let choosing = load(&file("default = \"discard\"\n", OUTERMOST_BY_PORT));
    let mut classify = ClassifyOutbound::new(discarding.databases().clone());
    let mut choose = ClassifyOutbound::new(choosing.databases().clone());
    let mut shards = choosing
        .protect(&Sequences::RepeatableInsecure, Output::Capture, 1)
        .expect("a stage");
    let mut protect = shards.remove(0);
    let mut vocabulary = Vocabulary::default();
    let stages: [&mut dyn Stage; 3] = [&mut classify, &mut choose, &mut protect];
    for stage in stages {
        stage.register(&mut vocabulary).expect("words");
    }
    let (mut sent, mut left, mut sealed) = (0, 0, 0);
    let mut bytes = Vec::new();
    while sent < PACKETS {
        bytes.clear();
        let mut places = Vec::new();
        for _ in 0..256.min(PACKETS - sent) {
            let seed = &seeds[random.below(seeds.len())];
            let start = bytes.len();
            bytes.extend_from_slice(seed);
            let record = &mut bytes[start..];
            let headers_bytes = record.len().min(70);
            for _ in 0..1 + random.below(4) {
                // The mark stays: it is what must not leave.
                record[12 + random.below(headers_bytes - 12)] = random.below(256) as u8;
            }
            places.push((start as u32, record.len() as u32));
        }
        let block = std::sync::Arc::new(weir_packet::file::Block::from(bytes.clone()));
        let records = || {
            places.iter().map(|(start, bytes)| {
                let arrival = Arrival {
                    timestamp_ns: 1_000_000_000 + sent as u64 * 1000,
                    wire_bytes: *bytes,
                    link: LinkType::Ethernet,
                    ..Arrival::default()
                };
                (*start, *bytes, arrival)
            })
        };
        let mut batch = Batch::new(BatchLimits::default());
        batch.receive(&block, 0, records()).expect("room");
        classify
            .process(&mut batch, &mut Context::default())
            .expect("a verdict");
        left += batch.live().count();
        let mut batch = Batch::new(BatchLimits::default());
        batch.receive(&block, 0, records()).expect("room");
        choose
            .process(&mut batch, &mut Context::default())
            .expect("a verdict");
        protect
            .process(&mut batch, &mut Context::default())
            .expect("sealed");
        for index in batch.live() {
            assert!(is_esp(batch.record(index)), "{:02x?}", batch.record(index));
            sealed += 1;
        }
        sent += places.len();
    }
    println!(
        "{:<24} {sent:>6} {sealed:>10} {:>10}",
        "fuzzed",
        sent - left
    );
    assert_eq!(left, 0);
    assert!(sealed > 1000, "some are protected: {sealed}");
}

/// A policy by ports and `bypass` for the rest: the fragments of a protected
/// datagram are protected, in whatever order they come.
#[test]
fn fragments_of_a_protected_port_do_not_pass() {
    let file = file("default = \"bypass\"\n", OUTERMOST_BY_PORT);
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
        let run = protect(&file, LinkType::Ethernet, &fragments(&order));
        assert_eq!((run.drops(), run.records.len()), (vec![], 3));
        assert!(run.records.iter().all(|record| is_esp(record)));
    }
    let run = protect(&file, LinkType::Ethernet, &fragments(&[1, 2]));
    assert_eq!(run.drops(), [(DropReason::FirstFragmentMissing, 2)]);
}

/// A later fragment of ESP in UDP has no port: it goes where the first one does.
#[test]
fn fragments_of_esp_in_udp_do_not_pass_as_clear_text() {
    let nat_t = "inbound_policy = false\n".to_owned()
        + &crate::common::one(
            "aes-128-gcm-16",
            "tunnel",
            &format!("{TUNNEL4}\nnat_t = true"),
        );
    let esp = crate::common::null_esp(0x1001, 1, &[7; 64]);
    let datagram = udp(4500, &esp);
    let fragment = |number: usize| {
        let piece = &datagram[24 * number..24 * (number + 1)];
        let mut packet = crate::common::between_gateways(UDP, piece);
        packet[6..8].copy_from_slice(&[0x20, 3 * number as u8]);
        packet
    };
    for order in [[0, 1], [1, 0]] {
        let records = order.map(fragment);
        let run = unprotect(&nat_t, LinkType::RawIp, &records);
        assert_eq!(run.drops(), [(DropReason::EspFragment, 2)]);
    }
}

/// ESP that other hosts exchange is a packet like any other.
#[test]
fn esp_for_others_goes_to_the_policies() {
    let tunnel = |head: &str| {
        head.to_owned()
            + &association("one", 0x1001, "aes-128-gcm-16", "tunnel", TUNNEL4)
            + "[[policy]]\nsource = \"10.0.0.0/8\"\naction = \"protect\"\nsa = \"one\"\n"
    };
    let transit = ipv4(ESP, &crate::common::null_esp(0x1001, 1, &[7; 64]));
    let in_udp = ipv4(UDP, &udp(4500, &[7; 40]));
    let records = [transit, in_udp];
    let run = unprotect(&tunnel("default = \"bypass\"\n"), LinkType::RawIp, &records);
    assert_eq!((run.drops(), &run.records[..]), (vec![], &records[..]));
    let run = unprotect(
        &tunnel("default = \"discard\"\n"),
        LinkType::RawIp,
        &records,
    );
    assert_eq!(run.drops(), [(DropReason::NoPolicy, 2)]);
}

/// What a gateway sealed does not come back in, and what no inbound policy names
/// accepts nothing.
#[test]
fn sealed_packets_do_not_come_back_in() {
    let directed = |direction: &str, policy: &str| {
        let more = format!("{TUNNEL4}\ndirection = \"{direction}\"");
        "default = \"bypass\"\n".to_owned()
            + &association("one", 0x1001, "aes-128-gcm-16", "tunnel", &more)
            + policy
    };
    let policy = "[[policy]]\nsource = \"198.18.1.0/24\"\naction = \"protect\"\nsa = \"one\"\n";
    let outbound = directed("outbound", policy);
    let packet = ipv4(TCP, &[7; 40]);
    let sealed = protect(&outbound, LinkType::RawIp, std::slice::from_ref(&packet)).records;
    assert!(sealed.len() == 1 && sealed[0][9] == ESP);
    let reflected = unprotect(&outbound, LinkType::RawIp, &sealed);
    assert_eq!(reflected.records, sealed, "it stays ESP");
    let opened = unprotect(&directed("inbound", policy), LinkType::RawIp, &sealed);
    assert_eq!(opened.records, [packet]);
    let unnamed = unprotect(&directed("inbound", ""), LinkType::RawIp, &sealed);
    assert_eq!(unnamed.drops(), [(DropReason::SelectorMismatch, 1)]);
}

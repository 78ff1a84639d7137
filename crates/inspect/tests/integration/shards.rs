//! The same alerts for any number of shards.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use weir_inspect::{
    EveWriter, InspectOptions, InspectStage, LiveRules, RuleFile, RuleSet, Variables,
};
use weir_packet::wire::build::{self, TcpHeader, flags};
use weir_packet::wire::{FlowKey, LinkType, protocol};
use weir_stream::{MemorySource, Pipeline, Stage};

/// Rules that see one flow, one pair of hosts, and one host with many others.
const RULES: &str = r#"
alert tcp any any -> any 80 (flow:established; content:"secret word"; sid:1;)
alert udp any any -> any 53 (content:"ask"; sid:2;)
alert tcp any any -> any 80 (flow:established; content:"login"; flowbits:set,seen; noalert; sid:3;)
alert tcp any any -> any 80 (flow:established; content:"word"; flowbits:isset,seen; sid:4;)
alert udp any any -> any 53 (content:"ask"; threshold:type both,track by_both,count 3,seconds 600; sid:5;)
alert udp any any -> any 53 (content:"ask"; threshold:type limit,track by_src,count 2,seconds 600; sid:6;)
alert udp any any -> any 53 (content:"ask"; threshold:type threshold,track by_src,count 10,seconds 600; sid:7;)
alert udp any any -> any 53 (content:"ask"; detection_filter:track by_dst,count 20,seconds 600; sid:8;)
"#;
/// Those that count what one host does to others.
const OVER_PAIRS: [u64; 3] = [6, 7, 8];

fn key(client: u128, server: u128, port: u16, protocol: u8) -> FlowKey {
    FlowKey {
        source: 0x0a00_0000 + client,
        destination: 0xc612_0000 + server,
        source_port: 40_000,
        destination_port: port,
        protocol,
        ip_version: 4,
    }
}

/// Connections whose contents are cut in the middle, and datagrams, of many
/// hosts in turn.
fn records() -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut texts: Vec<(FlowKey, u32)> = Vec::new();
    for client in 0..20 {
        for server in 0..6 {
            texts.push((key(client, server, 80, protocol::TCP), 1000));
        }
    }
    let segment = |key: &FlowKey, flags, sequence, acknowledgment, payload: &[u8]| {
        let header = TcpHeader {
            sequence,
            acknowledgment,
            flags,
            window: 65_535,
            ..TcpHeader::default()
        };
        build::tcp_packet(key, &header, payload)
    };
    for (key, isn) in &texts {
        records.push(segment(key, flags::SYN, *isn, 0, b""));
        let back = key.reversed();
        records.push(segment(&back, flags::SYN | flags::ACK, 5000, isn + 1, b""));
        records.push(segment(key, flags::ACK, isn + 1, 5001, b""));
    }
    for part in [&b"login se"[..], b"cret w", b"ord"] {
        for (key, next) in &mut texts {
            records.push(segment(key, flags::ACK, *next + 1, 5001, part));
            *next += part.len() as u32;
            let datagram = FlowKey {
                destination_port: 53,
                protocol: protocol::UDP,
                ..*key
            };
            records.push(build::udp_packet(&datagram, b"ask"));
        }
    }
    records
}

/// Lines that are written, kept.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("whole").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Alerts by packet and sid, of the rules that see a pair; and the number of
/// alerts of each of the others.
fn alerts(shards: usize) -> (Vec<(u64, u64)>, BTreeMap<u64, usize>) {
    let file = RuleFile {
        name: "test",
        text: RULES.as_bytes(),
    };
    let (rules, report) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    assert_eq!(report.loaded, 8, "{:?}", report.faults);
    let live = LiveRules::new(Arc::new(rules));
    let lines = Lines::default();
    let chain = |_| {
        let stage = InspectStage::following(&live, &InspectOptions::default());
        vec![Box::new(stage) as Box<dyn Stage>]
    };
    Pipeline::new(MemorySource::new(LinkType::RawIp, &records()))
        .shards((0..shards).map(chain).collect())
        .sink(EveWriter::new(lines.clone()))
        .run()
        .expect("a run");
    let text = lines.0.lock().expect("whole").clone();
    let (mut of_pairs, mut counts) = (Vec::new(), BTreeMap::new());
    for line in text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let alert: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        let sid = alert["alert"]["signature_id"].as_u64().expect("a sid");
        if sid == 1 {
            let flow = &alert["flow"];
            let packets = ["pkts_toserver", "pkts_toclient"].map(|name| flow[name].as_u64());
            assert_eq!(packets, [Some(5), Some(1)], "{alert}");
            assert_eq!(flow["dest_port"], 80);
            assert_eq!(alert["direction"], "to_server");
        }
        if OVER_PAIRS.contains(&sid) {
            *counts.entry(sid).or_default() += 1;
        } else {
            of_pairs.push((alert["pcap_cnt"].as_u64().expect("a number"), sid));
        }
    }
    of_pairs.sort_unstable();
    (of_pairs, counts)
}

#[test]
fn alerts_do_not_depend_on_the_number_of_shards() {
    let (of_pairs, counts) = alerts(1);
    let of = |sid: u64| of_pairs.iter().filter(|(_, known)| *known == sid).count();
    let (pairs, datagrams) = (120, 360);
    assert_eq!([1, 2, 4, 5].map(of), [pairs, datagrams, pairs, pairs]);
    // Each of 20 hosts asks 6 others 3 times; each of these is asked 60 times.
    assert_eq!(counts, BTreeMap::from([(6, 20 * 2), (7, 20), (8, 6 * 40)]));
    for shards in [2, 4] {
        assert_eq!(
            alerts(shards),
            (of_pairs.clone(), counts.clone()),
            "{shards} shards"
        );
    }
}

use std::path::Path;

use weir_packet::file::{Format, Reader};
use weir_packet::wire::{FlowKey, LinkType};
use weir_stream::{Arrival, MemorySource, Pipeline};

use super::*;
use crate::rule::Variables;
use crate::rule_set::{RuleFile, RuleSet};
use crate::stage::InspectStage;
use crate::test_packets::udp;

fn rules(text: &str) -> Arc<RuleSet> {
    let file = RuleFile {
        name: "test.rules",
        text: text.as_bytes(),
    };
    let loaded = RuleSet::load(&[file], &Variables::default());
    Arc::new(loaded.expect("rules").0)
}

fn records(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = Reader::open(path).expect("opened");
    let (mut records, mut entries) = (Vec::new(), Vec::new());
    while let Some(block) = reader.fill(64, 1 << 20, &mut entries).expect("read") {
        records.extend(entries.drain(..).map(|entry| entry.bytes(&block).to_vec()));
    }
    records
}

/// What the sink writes of packets that go through so many shards.
fn kept(packets: &[Vec<u8>], rules: &Arc<RuleSet>, shards: usize) -> (Vec<Vec<u8>>, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("alerted.pcapng");
    let writer = Writer::create(&path, Format::PcapNg).expect("created");
    let chains = (0..shards)
        .map(|_| vec![Box::new(InspectStage::new(Arc::clone(rules))) as Box<dyn Stage>])
        .collect();
    let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, packets))
        .shards(chains)
        .sink(AlertedPackets::new(writer))
        .run()
        .expect("a run");
    let sink = outcome.stages::<AlertedPackets>().next().expect("the sink");
    (records(&path), sink.statistics().packets)
}

/// 6000 packets of 40 flows, in both directions; the flows with an odd number
/// raise an alert by their eleventh packet and by later ones.
fn traffic() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut packets, mut expected) = (Vec::new(), Vec::new());
    for number in 0..6000_u32 {
        let (flow, turn) = (number % 40, number / 40);
        let is_bad = flow % 2 == 1 && turn >= 10 && turn % 10 == 0;
        let word = if is_bad { "bad" } else { "fine" };
        let payload = format!("{word} {number}");
        let (client, server) = (0x0a00_0001 + flow, 0x0a00_ff01);
        let packet = match turn % 2 {
            0 => udp((client, server), (1000, 53), payload.as_bytes()),
            _ => udp((server, client), (53, 1000), payload.as_bytes()),
        };
        if flow % 2 == 1 && turn >= 10 {
            expected.push(packet.clone());
        }
        packets.push(packet);
    }
    (packets, expected)
}

#[test]
fn what_raised_an_alert_and_what_follows_is_written_in_order_of_arrival() {
    let rules = rules(r#"alert udp any any -> any any (msg:"a"; content:"bad"; sid:1;)"#);
    let (packets, expected) = traffic();
    for shards in [1, 2, 5] {
        let (records, counted) = kept(&packets, &rules, shards);
        assert_eq!(records.len() as u64, counted);
        assert!(records == expected, "{shards} shards");
    }
}

#[test]
fn without_alerts_the_capture_is_empty_and_whole() {
    let rules = rules(r#"alert udp any any -> any any (msg:"a"; content:"worse"; sid:1;)"#);
    assert_eq!(kept(&traffic().0, &rules, 2), (Vec::new(), 0));
}

fn record(byte: u8) -> KeptRecord {
    KeptRecord {
        arrival: Arrival::default(),
        bytes: [byte; 4].into(),
    }
}

fn released(order: &mut ArrivalOrder) -> Vec<u8> {
    std::iter::from_fn(|| order.release())
        .map(|record| record.bytes[0])
        .collect()
}

#[test]
fn a_record_waits_for_those_before_it() {
    let mut order = ArrivalOrder::new(100);
    order.keep(3, record(3));
    order.note(3);
    order.keep(1, record(1));
    order.note(1);
    assert!(released(&mut order).is_empty());
    order.note(0);
    assert_eq!(released(&mut order), [1]);
    order.note(2);
    assert_eq!(released(&mut order), [3]);
    order.keep(9, record(9));
    order.keep(8, record(8));
    assert!(released(&mut order).is_empty());
    order.end();
    assert_eq!(released(&mut order), [8, 9]);
    assert_eq!(order.released_early(), 0);
}

#[test]
fn waiting_records_are_bounded_and_the_early_ones_counted() {
    let mut order = ArrivalOrder::new(8);
    for number in [5, 4, 3] {
        order.keep(number, record(number as u8));
        order.note(number);
    }
    assert_eq!(released(&mut order), [3]);
    assert_eq!(order.released_early(), 1);
}

#[test]
fn the_oldest_of_too_many_flows_is_forgotten() {
    let flow = |number: u16| FlowKey {
        source: 1,
        destination: 2,
        source_port: number,
        destination_port: 53,
        protocol: 17,
        ip_version: 4,
    };
    let mut flows = AlertedFlows::new(2);
    flows.add(&flow(1));
    flows.add(&flow(1).reversed());
    flows.add(&flow(2));
    assert_eq!(flows.forgotten(), 0);
    flows.add(&flow(3));
    flows.add(&FlowKey::default());
    assert_eq!(flows.forgotten(), 1);
    let mut source = MemorySource::new(
        LinkType::RawIp,
        &[1, 2, 3].map(|port| udp((2, 1), (53, port), b"a")),
    );
    let mut batch = Batch::new(BatchLimits::default());
    source
        .process(&mut batch, &mut Context::default())
        .expect("records");
    let held: Vec<bool> = (0..3).map(|i| flows.holds_one_of(&batch, i)).collect();
    assert_eq!(held, [false, true, true]);
}

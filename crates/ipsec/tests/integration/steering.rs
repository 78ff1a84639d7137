//! Which shard packets go to: that of their association, both directions of a
//! flow to one.

use std::sync::Arc;

use crate::common::{TUNNEL4, ipv4, ipv6, keyed_association, load, udp};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, Sequences, Windows};
use weir_packet::wire::LinkType;
use weir_packet::wire::protocol::UDP;
use weir_stream::{
    Batch, BatchLimits, Context, MemorySource, Outcome, Pipeline, Stage, StageError, SteeringRule,
};

/// Two lists of associations, there and back, and one on its own.
fn file() -> String {
    let back = r#"tunnel = { source = "198.18.0.2", destination = "198.18.0.1" }"#;
    let mut text = "default = \"bypass\"\n".to_owned();
    for n in 0..9u8 {
        let tunnel = if n % 2 == 0 { TUNNEL4 } else { back };
        let spi = 0x1000 + u32::from(n);
        text += &keyed_association(&format!("{n}"), spi, "aes-128-gcm-16", "tunnel", tunnel, n);
    }
    for (source, destination, names) in [
        ("198.18.1.0/24", "198.18.2.0/24", r#"["0", "2", "4", "6"]"#),
        ("198.18.2.0/24", "198.18.1.0/24", r#"["1", "3", "5", "7"]"#),
        ("fd00:1::/32", "fd00:2::/32", r#""8""#),
    ] {
        text += &format!(
            "[[policy]]\nsource = \"{source}\"\ndestination = \"{destination}\"\n\
             action = \"protect\"\nsa = {names}\n"
        );
    }
    text
}

/// The packet that goes the other way.
fn answer(packet: &[u8]) -> Vec<u8> {
    let mut answer = packet.to_vec();
    let (addresses, transport) = if packet[0] >> 4 == 6 {
        (8..40, 40)
    } else {
        (12..20, 20)
    };
    let middle = addresses.len() / 2;
    answer[addresses].rotate_left(middle);
    answer[transport..transport + 4].rotate_left(2);
    answer
}

/// Packets of many flows, each followed by its answer.
fn conversations() -> Vec<Vec<u8>> {
    (0..500u16)
        .flat_map(|flow| {
            let datagram = udp(10_000 + flow, &flow.to_be_bytes());
            let mut bypassed = ipv4(UDP, &datagram);
            bypassed[14] = 77;
            [ipv4(UDP, &datagram), ipv6(UDP, &datagram), bypassed]
        })
        .flat_map(|packet| [packet.clone(), answer(&packet)])
        .collect()
}

fn shards_of(rule: &SteeringRule, records: &[Vec<u8>]) -> Vec<u8> {
    let mut source = MemorySource::new(LinkType::RawIp, records);
    let mut batch = Batch::new(BatchLimits::default());
    let mut shards = Vec::new();
    while shards.len() < records.len() {
        batch.clear();
        source
            .process(&mut batch, &mut Context::default())
            .expect("packets");
        shards.extend(&rule.shards(&batch, 256)[..batch.len()]);
    }
    shards
}

#[test]
fn both_directions_of_a_flow_meet() {
    let databases = load(&file()).databases().clone();
    let records = conversations();
    for rule in [databases.outbound_steering(), databases.inbound_steering()] {
        let shards = shards_of(&rule, &records);
        for (pair, packets) in shards.chunks(2).zip(records.chunks(2)) {
            assert_eq!(pair[0], pair[1], "{packets:?}");
        }
    }
    // Two associations each, there and back, and one alone: five homes.
    let homes: Vec<u32> = (0..9).map(|index| databases.sad().home(index)).collect();
    assert_eq!(homes, [0, 0, 1, 1, 2, 2, 3, 3, 4]);
}

/// Notes which shard saw which flow, as the stages of a shard do.
struct Witness(Vec<Vec<u8>>);

impl Stage for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0
            .extend(batch.live().map(|index| batch.record(index).to_vec()));
        Ok(())
    }
}

fn run(records: &[Vec<u8>], shards: Vec<Vec<Box<dyn Stage>>>) -> Outcome {
    Pipeline::new(MemorySource::new(LinkType::RawIp, records))
        .shards(shards)
        .sink(Witness(Vec::new()))
        .run()
        .expect("a run")
}

#[test]
fn any_number_of_shards_protects_and_unprotects_all() {
    let records = conversations();
    for count in [1, 2, 3, 8] {
        let file = load(&file());
        let databases = Arc::clone(file.databases());
        let unprotect = file.unprotect(&Windows::Empty, count).expect("stages");
        let protect = file
            .protect(&Sequences::RepeatableInsecure, Output::Capture, count)
            .expect("stages");
        assert_eq!((protect.len(), unprotect.len()), (count, count));
        let shards = protect
            .into_iter()
            .map(|stage| -> Vec<Box<dyn Stage>> {
                let classify = ClassifyOutbound::new(databases.clone());
                vec![Box::new(classify), Box::new(stage)]
            })
            .collect();
        let outcome = run(&records, shards);
        assert_eq!(outcome.statistics.forwarded(), 3000, "{count} shards");
        let protected = outcome
            .stages::<Witness>()
            .next()
            .expect("a sink")
            .0
            .clone();

        let shards = unprotect
            .into_iter()
            .map(|stage| -> Vec<Box<dyn Stage>> {
                let classify = ClassifyInbound::new(databases.clone());
                vec![Box::new(classify), Box::new(stage)]
            })
            .collect();
        let outcome = run(&protected, shards);
        assert_eq!(outcome.statistics.forwarded(), 3000, "{count} shards");
        let mut back = outcome
            .stages::<Witness>()
            .next()
            .expect("a sink")
            .0
            .clone();
        let mut sent = records.clone();
        back.sort();
        sent.sort();
        assert_eq!(back, sent);
        let bypassed: u64 = outcome
            .stages::<ClassifyInbound>()
            .map(ClassifyInbound::bypassed)
            .sum();
        // Answers over IPv6 have no policy.
        assert_eq!(bypassed, 1000 + 500);
    }
}

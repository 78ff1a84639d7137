//! Stages in pipelines over packets in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_fabric::filter::{PartitionTable, Scheme};
use weir_fabric::secure::{DropReason, FabricFile};
use weir_fabric::stage::{
    Epochs, FabricError, FilterSettings, FilterStage, ProtectStage, ReceivingKeys, SendingKeys,
    StageDropReason, Traffic, UnprotectStage, Windows,
};
use weir_fabric::wire::{Bth, ExtendedHeaders, Lrh, Message, Opcode, Operation, Packet, Transport};
use weir_ledger::{LedgerError, NewKeys};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, LinkType, protocol};
use weir_stream::{Batch, Context, MemorySource, Outcome, Pipeline, Stage, StageError};

const A: u128 = 0xc000_0201;
const B: u128 = 0xc000_0202;

/// Keeps what arrives.
#[derive(Default)]
struct Keep(Vec<Vec<u8>>);

impl Stage for Keep {
    fn name(&self) -> &str {
        "keep"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let records = batch.live().map(|index| batch.record(index).to_vec());
        self.0.extend(records);
        Ok(())
    }
}

/// The file of side `a` or of the other one: queue pairs 100, 101, … of A to 200, 201, … of B.
fn file(is_a: bool, queue_pairs: u32, more: &str) -> Arc<FabricFile> {
    let mut text = format!(
        "{more}\n[[partition]]\nname = \"all\"\npartition_key = 0x8001\n\
         secret = \"000102030405060708090a0b0c0d0e0f\"\n"
    );
    for number in 0..queue_pairs {
        let ends = [(A, 100 + number), (B, 200 + number)].map(|(address, queue_pair)| {
            let address = std::net::Ipv4Addr::from(address as u32 + (number << 8));
            format!("{{ address = \"{address}\", queue_pair = {queue_pair} }}")
        });
        let [local, remote] = match is_a {
            true => ends,
            false => [ends[1].clone(), ends[0].clone()],
        };
        text += &format!(
            "[[queue_pair]]\nname = \"pair-{number}\"\npartition = \"all\"\ntransport = \"rc\"\n\
             session_random = \"{:032x}\"\nlocal = {local}\nremote = {remote}\n",
            number + 1
        );
    }
    let file = FabricFile::parse(Path::new("fabric.toml"), &text, &mut |_| Err("none".into()));
    Arc::new(file.expect("right"))
}

fn message(queue_pair: u32, psn: u32, p_key: u16, payload: &[u8]) -> Message<'_> {
    message_of(Transport::Rc, queue_pair, psn, p_key, payload)
}

fn message_of(
    transport: Transport,
    queue_pair: u32,
    psn: u32,
    p_key: u16,
    payload: &[u8],
) -> Message<'_> {
    let opcode = Opcode::of(transport, Operation::SendOnly);
    Message {
        bth: Bth {
            opcode: opcode.expect("SEND Only"),
            partition_key: p_key,
            destination_qp: queue_pair,
            psn,
            ..Bth::default()
        },
        extended: ExtendedHeaders::default(),
        payload,
    }
}

/// A frame of queue pair `number` from A to B.
fn frame(number: u32, psn: u32, p_key: u16) -> Vec<u8> {
    frame_of(Transport::Rc, number, psn, p_key)
}

fn frame_of(transport: Transport, number: u32, psn: u32, p_key: u16) -> Vec<u8> {
    let key = FlowKey {
        source: A + (u128::from(number) << 8),
        destination: B + (u128::from(number) << 8),
        source_port: 49_152,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], protocol::ETHER_IPV4);
    let payload = psn.to_be_bytes().repeat(8);
    let message = message_of(transport, 200 + number, psn, p_key, &payload);
    let written = message.write_rocev2(&mut frame, &key, &IpHeader::default());
    written.expect("a packet");
    frame
}

fn arp() -> Vec<u8> {
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [0xff; 6], [4; 6], 0x0806);
    frame.resize(60, 0);
    frame
}

fn run(records: &[Vec<u8>], chains: Vec<Vec<Box<dyn Stage>>>) -> (Outcome, Vec<Vec<u8>>) {
    let mut outcome = Pipeline::new(MemorySource::new(LinkType::Ethernet, records))
        .shards(chains)
        .sink(Keep::default())
        .run()
        .expect("a run");
    let kept = outcome.stages_mut::<Keep>().next().expect("the sink");
    let kept = std::mem::take(&mut kept.0);
    (outcome, kept)
}

fn chain(stage: impl Stage) -> Vec<Vec<Box<dyn Stage>>> {
    vec![vec![Box::new(stage)]]
}

fn ledger(directory: &tempfile::TempDir, new_keys: NewKeys) -> Epochs {
    Epochs::Ledger {
        path: path(directory),
        new_keys,
    }
}

fn path(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("ledger")
}

fn protect(file: &Arc<FabricFile>, epochs: &Epochs, records: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let keys = SendingKeys::open(file, epochs, Traffic::Capture).expect("keys");
    let (outcome, kept) = run(records, chain(keys.stage(0, 1)));
    let stage = outcome.stages::<ProtectStage>().next().expect("it");
    assert!(stage.ledger_error().is_none());
    kept
}

fn unprotect(
    file: &Arc<FabricFile>,
    windows: &Windows,
    records: &[Vec<u8>],
) -> (Outcome, Vec<Vec<u8>>) {
    let keys = ReceivingKeys::open(file, windows).expect("keys");
    run(records, chain(keys.stage(0, 1).expect("a stage")))
}

fn bth(frame: &[u8]) -> Bth {
    let packet = Packet::parse(LinkType::Ethernet, frame).expect("whole");
    packet.expect("RoCEv2").bth()
}

#[test]
fn packets_come_back_as_they_were() {
    let records: Vec<Vec<u8>> = (0..700).map(|psn| frame(psn % 3, psn, 0x8001)).collect();
    let protected = protect(&file(true, 3, ""), &Epochs::RepeatableInsecure, &records);
    assert_eq!(protected.len(), records.len());
    assert!(protected.iter().all(|frame| bth(frame).reserved_6 == 1));
    let (outcome, restored) = unprotect(&file(false, 3, ""), &Windows::Epoch(0), &protected);
    assert!(restored == records);
    let stage = outcome.stages::<UnprotectStage>().next().expect("it");
    let rows = stage.reports();
    assert_eq!(stage.unprotected(), 700);
    assert_eq!(rows.iter().map(|row| row.packets).sum::<u64>(), 700);
    assert_eq!(rows[2].name, "pair-2");
}

#[test]
fn native_packets_come_back_as_they_were() {
    let text = "[[partition]]\nname = \"all\"\npartition_key = 0x8001\n\
                secret = \"000102030405060708090a0b0c0d0e0f\"\n\
                [[queue_pair]]\nname = \"one\"\npartition = \"all\"\ntransport = \"rc\"\n\
                session_random = \"00000000000000000000000000000001\"\n";
    let of = |local, remote| {
        let text = format!(
            "{text}local = {{ address = {local}, queue_pair = {local} }}\n\
             remote = {{ address = {remote}, queue_pair = {remote} }}\n"
        );
        let file = FabricFile::parse(Path::new("fabric.toml"), &text, &mut |_| Err("none".into()));
        Arc::new(file.expect("right"))
    };
    let records: Vec<Vec<u8>> = (0..10)
        .map(|psn| {
            let lrh = Lrh {
                source_lid: 1,
                destination_lid: 2,
                ..Lrh::default()
            };
            let mut packet = Vec::new();
            let written = message(2, psn, 0x8001, b"native").write_native(&mut packet, lrh, None);
            written.expect("a packet");
            packet
        })
        .collect();
    let run = |records: &[Vec<u8>], stage: Box<dyn Stage>| {
        let outcome = Pipeline::new(MemorySource::new(LinkType::InfiniBand, records))
            .shards(vec![vec![stage]])
            .sink(Keep::default())
            .run()
            .expect("a run");
        outcome.stages::<Keep>().next().expect("the sink").0.clone()
    };
    let epochs = &Epochs::RepeatableInsecure;
    let sending = SendingKeys::open(&of(1, 2), epochs, Traffic::Capture).expect("keys");
    let protected = run(&records, Box::new(sending.stage(0, 1)));
    assert!(
        protected
            .iter()
            .zip(&records)
            .all(|(one, other)| one != other)
    );
    let receiving = ReceivingKeys::open(&of(2, 1), &Windows::Epoch(0)).expect("keys");
    let stage = receiving.stage(0, 1).expect("a stage");
    assert!(run(&protected, Box::new(stage)) == records);
}

/// Where the PSN wraps, an epoch ends: the next ones are reserved in time, and the receiver follows.
#[test]
fn packets_come_back_as_they_were_where_epochs_end() {
    const EPOCHS: usize = 4;
    /// More than those after which the stage looks at what is left.
    const PACKETS: u32 = (1 << 16) + 300;
    // Requests may step over PSNs; a number is the nearest one to the highest so far.
    let of_epoch = || {
        let steps = [0, 0x40_0000, 0x80_0000];
        let packets = (0..PACKETS).map(|at| 0xff_ffff - PACKETS + 1 + at);
        steps.into_iter().chain(packets)
    };
    let psns = (0..EPOCHS).flat_map(|_| of_epoch());
    let records: Vec<Vec<u8>> = psns.map(|psn| frame(0, psn, 0x8001)).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let keys = SendingKeys::open(
        &file(true, 1, ""),
        &ledger(&directory, NewKeys::All),
        Traffic::Capture,
    );
    let (outcome, protected) = run(&records, chain(keys.expect("keys").stage(0, 1)));
    let stage = outcome.stages::<ProtectStage>().next().expect("it");
    assert!(stage.ledger_error().is_none());
    let epochs: Vec<u8> = protected
        .iter()
        .map(|frame| bth(frame).reserved_7)
        .collect();
    let per_epoch = records.len() / EPOCHS;
    let expected: Vec<u8> = (0..records.len())
        .map(|at| 2 + (at / per_epoch) as u8)
        .collect();
    assert!(epochs == expected);
    let windows = Windows::Ledger {
        path: directory.path().join("windows"),
        marks: None,
        traffic: Traffic::Capture,
    };
    let (_, restored) = unprotect(&file(false, 1, ""), &windows, &protected);
    assert!(restored == records);
}

#[test]
fn every_start_takes_epochs_that_were_not_used() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = file(true, 2, "");
    let open = |new_keys| {
        SendingKeys::open(&file, &ledger(&directory, new_keys), Traffic::Capture).map(drop)
    };
    let missing = open(NewKeys::NONE).expect_err("no ledger");
    assert!(matches!(
        missing,
        FabricError::Ledger(LedgerError::Missing { .. })
    ));
    assert!(
        missing.to_string().contains("queue_pair \"pair-0\""),
        "{missing}"
    );
    let unknown = open(NewKeys::Of(vec!["nobody".into()])).expect_err("no such name");
    assert!(matches!(unknown, FabricError::UnknownName { .. }));

    let one = [frame(0, 7, 0x8001), frame(1, 7, 0x8001)];
    let mut epochs = Vec::new();
    for start in 0..10 {
        let new_keys = if start == 0 {
            NewKeys::All
        } else {
            NewKeys::NONE
        };
        if start % 3 == 2 {
            // A start that ends without giving anything back.
            let keys = ledger(&directory, new_keys);
            drop(SendingKeys::open(&file, &keys, Traffic::Live).expect("keys"));
            continue;
        }
        let protected = protect(&file, &ledger(&directory, new_keys), &one);
        let of_start = protected.iter().map(|frame| bth(frame).reserved_7);
        epochs.push(of_start.collect::<Vec<u8>>());
    }
    // An orderly end costs two epochs, another one three.
    assert_eq!(
        epochs,
        [2, 4, 9, 11, 16, 18, 23].map(|epoch| vec![epoch; 2])
    );
    let error = SendingKeys::open(&file, &Epochs::RepeatableInsecure, Traffic::Live);
    assert!(matches!(error, Err(FabricError::RepeatableLive)));
}

#[test]
fn what_was_received_is_refused_by_the_next_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let windows = Windows::Ledger {
        path: path(&directory),
        marks: None,
        traffic: Traffic::Capture,
    };
    let (a, b) = (file(true, 1, ""), file(false, 1, ""));
    // More than the window of a reliable connection, which takes duplicates.
    let records: Vec<Vec<u8>> = (0..3000).map(|psn| frame(0, psn, 0x8001)).collect();
    let first = protect(&a, &ledger(&directory, NewKeys::All), &records);
    let (_, taken) = unprotect(&b, &windows, &first);
    assert!(taken == records);
    let (outcome, taken) = unprotect(&b, &windows, &first);
    let replayed = outcome.statistics.drops(DropReason::Replayed);
    assert_eq!(replayed + taken.len() as u64, 3000);
    assert!(taken.len() <= 1024, "{} taken twice", taken.len());
    // The next start of the sender goes on.
    let second = protect(&a, &ledger(&directory, NewKeys::NONE), &records);
    let (_, taken) = unprotect(&b, &windows, &second);
    assert!(taken == records);
}

/// Queue pairs that nobody lists, by any number of workers.
#[test]
fn what_unlisted_queue_pairs_received_is_refused_by_the_next_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "[[partition]]\nname = \"all\"\npartition_key = 0x8001\n\
                secret = \"000102030405060708090a0b0c0d0e0f\"\n\
                unlisted = { session_random = \"000102030405060708090a0b0c0d0e0f\" }\n";
    let file = FabricFile::parse(Path::new("fabric.toml"), text, &mut |_| Err("none".into()));
    let file = Arc::new(file.expect("right"));
    let windows = Windows::Ledger {
        path: directory.path().join("windows"),
        marks: None,
        traffic: Traffic::Capture,
    };
    let records: Vec<Vec<u8>> = (0..3000)
        .map(|at| frame_of(Transport::Uc, at % 7, at / 7, 0x8001))
        .collect();
    let unprotect = |workers, records: &[Vec<u8>]| {
        let keys = ReceivingKeys::open(&file, &windows).expect("keys");
        let chains = (0..workers).map(|worker| -> Vec<Box<dyn Stage>> {
            vec![Box::new(keys.stage(worker, workers).expect("a stage"))]
        });
        let (outcome, mut taken) = run(records, chains.collect());
        taken.sort_unstable();
        (outcome.statistics.drops(DropReason::Replayed), taken)
    };
    let mut expected = records.clone();
    expected.sort_unstable();
    // More starts of the sender than the epoch's bits in a packet count.
    for start in 0..70 {
        let new_keys = match start {
            0 => NewKeys::All,
            _ => NewKeys::NONE,
        };
        let keys = ledger(&directory, new_keys);
        if start % 10 != 0 {
            protect(&file, &keys, &records[..7]);
            continue;
        }
        let secure = protect(&file, &keys, &records);
        let (_, taken) = unprotect(1 + start % 3, &secure);
        assert!(taken == expected, "{start}");
        for workers in 1..4 {
            assert_eq!(unprotect(workers, &secure), (3000, Vec::new()), "{start}");
        }
    }
}

#[test]
fn workers_have_the_keys_of_their_own_queue_pairs() {
    const WORKERS: usize = 3;
    let records: Vec<Vec<u8>> = (0..900).map(|psn| frame(psn % 20, psn, 0x8001)).collect();
    let sending = SendingKeys::open(
        &file(true, 20, ""),
        &Epochs::RepeatableInsecure,
        Traffic::Capture,
    );
    let sending = sending.expect("keys");
    let chains = (0..WORKERS)
        .map(|worker| -> Vec<Box<dyn Stage>> { vec![Box::new(sending.stage(worker, WORKERS))] });
    let (outcome, protected) = run(&records, chains.collect());
    assert_eq!(outcome.statistics.forwarded(), 900);
    let busy = outcome.stages::<ProtectStage>();
    assert!(busy.filter(|stage| stage.protected() > 0).count() > 1);
    let receiving = ReceivingKeys::open(&file(false, 20, ""), &Windows::Epoch(0)).expect("keys");
    let chains = (0..WORKERS).map(|worker| -> Vec<Box<dyn Stage>> {
        vec![Box::new(receiving.stage(worker, WORKERS).expect("a stage"))]
    });
    let (_, mut restored) = run(&protected, chains.collect());
    let mut records = records;
    restored.sort_unstable();
    records.sort_unstable();
    assert!(restored == records);
}

#[test]
fn other_networks_pass_where_the_file_says_so() {
    let records = [arp(), frame(0, 1, 0x8001), frame(9, 1, 0x8001)];
    let dropped = |more: &str| {
        let keys = SendingKeys::open(
            &file(true, 1, more),
            &Epochs::RepeatableInsecure,
            Traffic::Capture,
        );
        let (outcome, kept) = run(&records, chain(keys.expect("keys").stage(0, 1)));
        let statistics = outcome.statistics;
        let of = [DropReason::NotFabric, DropReason::UnknownQueuePair];
        (kept.len(), of.map(|reason| statistics.drops(reason)))
    };
    assert_eq!(dropped(""), (1, [1, 1]));
    assert_eq!(dropped("other_packets = \"allow\""), (2, [0, 1]));
}

#[test]
fn a_stateful_filter_blocks_what_receivers_have_refused() {
    let settings = |scheme| FilterSettings {
        scheme,
        sender: PartitionTable::new([0x8001, 0x8002]),
        receiver: Some(PartitionTable::new([0x8001])),
        quiet_ns: 1_000_000_000,
    };
    // A key that nobody has, and one that only the sender has.
    let mut records: Vec<Vec<u8>> = Vec::new();
    for psn in 0..1000 {
        records.push(frame(0, psn, 0x8001));
        records.push(frame(0, psn, 0x8666));
        records.push(frame(0, psn, 0x8002));
        records.push(arp());
    }
    let drops = |scheme| {
        let (outcome, kept) = run(&records, chain(FilterStage::new(settings(scheme))));
        let statistics = &outcome.statistics;
        let of = [
            StageDropReason::PartitionKeyBlocked,
            StageDropReason::PartitionKeyRefused,
        ];
        let stage = outcome.stages::<FilterStage>().next().expect("it");
        let of = of.map(|reason| statistics.drops(reason));
        assert_eq!([stage.counts().blocked, stage.counts().refused], of);
        (kept.len(), of)
    };
    assert_eq!(drops(Scheme::Ingress), (2000, [1000, 1000]));
    let (kept, [blocked, refused]) = drops(Scheme::StatefulIngress);
    assert_eq!((kept, blocked + refused), (2000, 2000));
    // Those of the first batch passed the filter, which nobody had told yet.
    assert!((900..1000).contains(&blocked), "{blocked}");
}

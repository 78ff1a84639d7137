//! The stage and the writer in pipelines.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use weir_inspect::{
    Checksums, Classification, EveWriter, INSPECT, InspectOptions, InspectStage, InspectSummary,
    LiveRules, LoadReport, RuleFile, RuleSet, Variables,
};
use weir_match::EngineChoice;
use weir_packet::wire::LinkType;
use weir_stream::{
    Batch, Context, DropCode, Event, MemorySource, Pipeline, Stage, StageError, Vocabulary,
    VocabularyError, WorkBit,
};

weir_stream::drop_reasons! {
    /// Why the classifier drops packets.
    enum Dropped {
        /// It is one too many.
        Surplus = "surplus",
    }
}

fn rules() -> (Arc<RuleSet>, LoadReport) {
    let text = b"alert udp any any -> any any (msg:\"m\"; content:\"x\"; sid:1;)\n\
                 alert udp any any -> any any (content:\"x\"; base64_data; sid:2;)\n";
    let file = RuleFile {
        name: "a.rules",
        text,
    };
    let (rules, report) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    (Arc::new(rules), report)
}

/// Ten UDP packets with the payload `x`.
fn source() -> MemorySource {
    let mut packet = vec![0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
    packet.extend([0, 1, 0, 2, 0, 9, 0, 0, b'x']);
    MemorySource::new(LinkType::RawIp, &vec![packet; 10])
}

/// Takes inspection off the list of some records, and drops others.
#[derive(Default)]
struct Classifier(Option<(WorkBit, DropCode)>);

impl Stage for Classifier {
    fn name(&self) -> &str {
        "classifier"
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        let surplus = vocabulary.drop_reasons()?.code(Dropped::Surplus);
        self.0 = Some((vocabulary.work_bit(&INSPECT)?, surplus));
        Ok(())
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let (inspect, surplus) = self.0.expect("registered");
        for index in batch.live() {
            match batch.number(index) {
                0..3 => batch.set_work(index, batch.work(index).without(inspect)),
                3..5 => batch.drop_record(index, surplus),
                _ => {}
            }
        }
        Ok(())
    }
}

#[test]
fn only_what_is_on_its_way_and_asks_for_it_is_inspected() {
    let (rules, report) = rules();
    let outcome = Pipeline::new(source())
        .stage(Classifier::default())
        .stage(InspectStage::new(rules))
        .run()
        .expect("a run");
    let stage = outcome.stages::<InspectStage>().next().expect("the stage");
    let counts = stage.alert_counts().iter();
    let counts: Vec<_> = counts
        .map(|count| (count.signature_id, count.alerts))
        .collect();
    assert_eq!(counts, [(1, 5)]);
    let statistics = stage.statistics();
    assert_eq!((statistics.packets, statistics.alerts), (5, 5));

    let summary = InspectSummary::new(&report, statistics, &outcome.statistics);
    let line = serde_json::to_value(&summary).expect("JSON");
    assert_eq!(line["event_type"], "summary");
    let counts = [
        "packets",
        "bytes",
        "rules_loaded",
        "alerts",
        "candidates",
        "false_candidates",
    ];
    assert_eq!(
        counts.map(|name| line[name].as_u64()),
        [10, 290, 1, 5, 5, 0].map(Some)
    );
    assert_eq!(
        line["rules_skipped"],
        serde_json::json!({"keyword base64_data": 1})
    );
    assert!(line["seconds"].is_f64() && line["gbit_per_s"].is_f64());
}

/// Inline, a packet that is rejected is replaced by one that tells its sender.
#[test]
fn rejected_packets_are_dropped_and_their_senders_told() {
    let text = b"reject udp any any -> any any (content:\"x\"; sid:1;)\n";
    let file = RuleFile {
        name: "a.rules",
        text,
    };
    let (rules, _) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    let options = InspectOptions {
        is_inline: true,
        ..InspectOptions::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("eve.jsonl");
    let eve = fs::File::create(&path).expect("a file");
    let outcome = Pipeline::new(source())
        .stage(Classifier::default())
        .stage(InspectStage::with_options(Arc::new(rules), &options))
        .sink(Protocols::default())
        .sink(EveWriter::new(eve))
        .run()
        .expect("a run");
    let drops = outcome.statistics.drops_by_reason();
    let drops: Vec<(&str, u64)> = drops.map(|(word, packets)| (word.name, packets)).collect();
    assert_eq!(drops, [("surplus", 2), ("rule_reject", 5)]);
    let stage = outcome.stages::<InspectStage>().next().expect("the stage");
    let statistics = stage.statistics();
    assert_eq!((statistics.packets, statistics.replies_created), (5, 5));
    let eve = fs::read_to_string(&path).expect("alerts");
    assert_eq!(eve.matches(r#""action":"blocked""#).count(), 5);

    // Three datagrams that are not inspected, and five errors to their sender.
    let Protocols(seen) = outcome.stages().next().expect("the sink");
    assert_eq!(seen[..], [[(17, 2); 3].as_slice(), &[(1, 1); 5]].concat());
}

/// Two connections one after the other between the same ports are two, in alerts and in anomalies;
/// their 5-tuple, which is all that a measurement knows, is one.
#[test]
fn connections_between_the_same_ports_have_different_identifiers() {
    let text = b"alert tcp any any -> any any (msg:\"m\"; content:\"x\"; sid:1;)\n";
    let file = RuleFile {
        name: "a.rules",
        text,
    };
    let (rules, _) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    let tcp = |is_from_client: bool, flags: u8, sequence: u32, payload: &[u8]| {
        let (client, server) = ((1, 1234_u16), (2, 80_u16));
        let (from, to) = match is_from_client {
            true => (client, server),
            false => (server, client),
        };
        let mut packet = vec![
            0x45,
            0,
            0,
            40 + payload.len() as u8,
            0,
            0,
            0,
            0,
            64,
            6,
            0,
            0,
        ];
        packet.extend([198, 18, 0, from.0, 198, 18, 0, to.0]);
        packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
        // Each end acknowledges the first byte of the other one.
        let acknowledgement: u32 = if is_from_client { 501 } else { 1001 };
        packet.extend([sequence.to_be_bytes(), acknowledgement.to_be_bytes()].concat());
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    };
    let (syn, rst, ack) = (0x02, 0x04, 0x10);
    let connection = [
        tcp(true, syn, 1000, b""),
        tcp(false, syn | ack, 500, b""),
        tcp(true, ack, 1001, b""),
        tcp(true, ack, 1001, b"x"),
        tcp(false, ack, 501, b"x"),
        // One that its receiver does not take, and one that it does.
        tcp(true, rst, 9000, b""),
        tcp(true, rst, 1002, b""),
    ];
    let options = InspectOptions {
        anomalies_per_second: 9,
        checksums: Checksums::Ignore,
        ..InspectOptions::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("eve.jsonl");
    let eve = fs::File::create(&path).expect("a file");
    Pipeline::new(MemorySource::new(LinkType::RawIp, &connection).repeated(2))
        .stage(InspectStage::with_options(Arc::new(rules), &options))
        .sink(EveWriter::new(eve))
        .run()
        .expect("a run");
    let lines = fs::read_to_string(&path).expect("lines");
    let mut lines: Vec<serde_json::Value> = (lines.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    // Of one batch, alerts are written first.
    lines.sort_by_key(|line| line["pcap_cnt"].as_u64());
    let kinds: Vec<_> = lines.iter().map(|line| &line["event_type"]).collect();
    assert_eq!(
        kinds,
        ["alert", "alert", "anomaly", "alert", "alert", "anomaly"]
    );
    let ids: Vec<u64> = (lines.iter())
        .map(|line| line["flow_id"].as_u64().expect("a number"))
        .collect();
    assert_eq!(ids[..3], [ids[0]; 3]);
    assert_eq!(ids[3..], [ids[3]; 3]);
    assert_ne!(ids[0], ids[3]);
    assert!(ids.iter().all(|id| *id < 1 << 53));
    for line in &lines {
        // From tshark 4.0.
        assert_eq!(line["community_id"], "1:pTkywY4SxYXoZ5HrvVIokAUl968=");
    }
}

/// What no receiver takes is written beside the alerts where that is requested.
#[test]
fn anomalies_are_lines_of_their_own() {
    let mut packet = vec![0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
    packet.extend([0, 1, 0, 2, 0, 9, 0x55, 0x55, b'x']);
    let damaged = MemorySource::new(LinkType::RawIp, &vec![packet; 10]);
    let options = InspectOptions {
        anomalies_per_second: 3,
        ..InspectOptions::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("eve.jsonl");
    let eve = fs::File::create(&path).expect("a file");
    Pipeline::new(damaged)
        .stage(InspectStage::with_options(rules().0, &options))
        .sink(EveWriter::new(eve))
        .run()
        .expect("a run");
    let lines = fs::read_to_string(&path).expect("lines");
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    let line = &lines[0];
    assert_eq!(
        line["anomaly"],
        serde_json::json!({"type": "decode", "event": "decoder.invalid_checksum"})
    );
    assert_eq!(line["event_type"], "anomaly");
    assert_eq!(
        (&line["src_ip"], &line["dest_port"]),
        (&"198.18.0.1".into(), &2.into())
    );
    assert_eq!(
        (&line["proto"], &line["pcap_cnt"]),
        (&"UDP".into(), &1.into())
    );
}

/// Protocol and last byte of the destination of what is forwarded.
#[derive(Default)]
struct Protocols(Vec<(u8, u8)>);

impl Stage for Protocols {
    fn name(&self) -> &str {
        "protocols"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let packets = batch.live().map(|index| batch.record(index));
        self.0.extend(packets.map(|packet| (packet[9], packet[19])));
        Ok(())
    }
}

/// The same capture many times over, in small batches, while another thread
/// replaces the rules a hundred times.
#[test]
fn rules_are_replaced_a_hundred_times_while_packets_run() {
    const RELOADS: usize = 100;
    let text = b"alert udp any any -> any any (content:\"x\"; sid:1;)\n\
                 alert udp any any -> any any (content:\"y\"; sid:2;)\n\
                 alert udp any any -> any any (content:\"x\"; content:!\"y\"; sid:3;)\n";
    let file = RuleFile {
        name: "a.rules",
        text,
    };
    let (variables, engine) = (Variables::default(), EngineChoice::default());
    let classification = Classification::default();
    let (rules, _) = RuleSet::load(&[file], &variables).expect("an engine");
    let rules = Arc::new(rules);
    let live = LiveRules::new(Arc::clone(&rules));
    let reload = || {
        let reloaded = live
            .current()
            .reload(&[file], &variables, &classification, &engine);
        let (rules, report) = reloaded.expect("an engine");
        assert_eq!(report.loaded, 3);
        live.replace(Arc::new(rules)).expect("kin")
    };
    let (batches, reloads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut stages: Vec<InspectStage> = (0..2)
        .map(|_| InspectStage::following(&live, &InspectOptions::default()))
        .collect();
    let mut vocabulary = Vocabulary::default();
    for stage in &mut stages {
        stage.register(&mut vocabulary).expect("words");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..RELOADS {
                // Packets run between any two of them.
                let seen = batches.load(Ordering::Acquire);
                while batches.load(Ordering::Acquire) == seen {
                    std::thread::yield_now();
                }
                assert_eq!(reload(), 1 + number as u64);
                reloads.store(number + 1, Ordering::Release);
            }
        });
        for stage in &mut stages {
            let (batches, reloads) = (&batches, &reloads);
            scope.spawn(move || {
                let mut last = 0;
                loop {
                    let is_last = reloads.load(Ordering::Acquire) == RELOADS;
                    let mut batch = Batch::new(Default::default());
                    source()
                        .process(&mut batch, &mut Context::default())
                        .expect("ten packets");
                    assert_eq!(batch.live().count(), 10);
                    stage
                        .process(&mut batch, &mut Context::default())
                        .expect("inspected");
                    assert_eq!(batch.events().len(), 20, "two rules match each packet");
                    assert_eq!(batch.live().count(), 10);
                    let generation = batch.events()[0].generation.expect("the stage follows");
                    assert!(generation >= last, "rules do not go back");
                    let same = |event: &Event| event.generation == Some(generation);
                    assert!(
                        batch.events().iter().all(same),
                        "one set of rules per batch"
                    );
                    last = generation;
                    batches.fetch_add(1, Ordering::Release);
                    if is_last {
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(live.adopted(), RELOADS as u64);
    for stage in &stages {
        assert!(!Arc::ptr_eq(stage.rules(), &rules), "others came");
        let counts = stage.alert_counts().iter();
        let counts: Vec<_> = counts
            .map(|count| (count.signature_id, count.alerts))
            .collect();
        let packets = stage.statistics().packets;
        assert_eq!(counts, [(1, packets), (3, packets)]);
    }
}

/// A disk that is full after some bytes.
struct SmallDisk(usize);

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_with_an_error() {
    let (rules, _) = rules();
    let error = Pipeline::new(source())
        .stage(InspectStage::new(rules))
        .sink(EveWriter::new(SmallDisk(100)))
        .run()
        .err()
        .expect("no room for ten alerts");
    assert!(error.to_string().starts_with("alerts: "), "{error}");
}

#[test]
fn a_log_that_was_moved_away_is_opened_anew() {
    let (rules, _) = rules();
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = (folder.path().join("eve.jsonl"), folder.path().join("old"));
    let reopen = Arc::new(AtomicBool::new(false));
    let run = |reopen: &Arc<AtomicBool>| {
        let writer = EveWriter::append_to(&path, Arc::clone(reopen));
        Pipeline::new(source())
            .stage(InspectStage::new(Arc::clone(&rules)))
            .sink(writer.expect("a file"))
            .run()
            .expect("a run");
    };
    run(&reopen);
    run(&reopen);
    let lines = |path| {
        fs::read_to_string(path)
            .map(|text| text.lines().count())
            .ok()
    };
    assert_eq!(lines(&path), Some(20), "the second run appends");

    let mut writer = EveWriter::append_to(&path, Arc::clone(&reopen)).expect("a file");
    fs::rename(&path, &moved).expect("moved");
    writer.write_document(&1).expect("written");
    reopen.store(true, Ordering::Relaxed);
    writer
        .process(&mut Batch::new(Default::default()), &mut Context::default())
        .expect("reopened");
    writer.write_document(&2).expect("written");
    assert_eq!((lines(&moved), lines(&path)), (Some(21), Some(1)));
}

//! The measure stage in pipelines of one and several shards.

use std::time::Duration;

use weir_measure::change::{Alarm, ChangeConfig, KeySource, Model};
use weir_measure::{ALARM, IntervalReport, MEASURE, MeasureConfig, MeasureStage, Seed};
use weir_packet::wire::{KeyKind, LinkType};
use weir_stream::{
    Batch, Context, DropCode, Event, MemorySource, Pipeline, Stage, StageError, Steering,
    SteeringRule, StopFlag, Vocabulary, VocabularyError, WorkBit,
};

weir_stream::drop_reasons! {
    /// Why records are dropped before they are measured.
    enum Dropped {
        /// It is one of three.
        Third = "third",
    }
}

/// A raw IPv4 packet from 198.18.0.x, of 20 to 220 bytes.
fn packet(host: u8, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0; bytes.max(20)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[12..16].copy_from_slice(&[198, 18, 0, host]);
    packet[16..20].copy_from_slice(&[198, 19, 0, 1]);
    packet
}

/// Drops every third record and takes every fifth off the measurement.
struct Thin {
    words: Option<(WorkBit, DropCode)>,
    /// Or else all records come to one shard.
    steer_by_flow: bool,
}

impl Stage for Thin {
    fn name(&self) -> &str {
        "thin"
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        let third = vocabulary.drop_reasons()?.code(Dropped::Third);
        self.words = Some((vocabulary.work_bit(&MEASURE)?, third));
        Ok(())
    }

    fn steering(&self) -> Steering {
        match self.steer_by_flow {
            true => Steering::Flow,
            false => Steering::By(SteeringRule::new("one shard", |_, _| 0)),
        }
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let (measure, third) = self.words.expect("registered");
        for index in 0..batch.len() {
            if batch.number(index).is_multiple_of(3) {
                batch.drop_record(index, third);
            } else if batch.number(index).is_multiple_of(5) {
                batch.set_work(index, batch.work(index).without(measure));
            }
        }
        Ok(())
    }
}

fn run(shards: usize, steer_by_flow: bool, exact: bool) -> Vec<IntervalReport> {
    let records: Vec<_> = (0..5000)
        .map(|n: usize| packet((n * n % 199) as u8, 20 + n % 200))
        .collect();
    let source = MemorySource::new(LinkType::RawIp, &records).with_gap_ns(1_000_000);
    let mut config = MeasureConfig::new(KeyKind::Source);
    config.interval = Some(Duration::from_secs(1));
    config.exact = exact;
    config.seed = Some(Seed::from_u64(1));
    let measurement = config.build(shards).expect("a configuration");

    let mut pipeline = Pipeline::new(source).shards(
        measurement
            .meters
            .into_iter()
            .map(|meter| -> Vec<Box<dyn Stage>> {
                let thin = Thin {
                    words: None,
                    steer_by_flow,
                };
                vec![Box::new(thin), Box::new(MeasureStage::new(meter))]
            })
            .collect(),
    );
    if let Some(timeline) = measurement.timeline {
        pipeline = pipeline.watch(timeline);
    }
    let outcome = pipeline.run().expect("a run");
    assert_eq!(outcome.statistics.packets(), 5000);
    measurement.collector.finish()
}

/// Keeps the events of what passes, and asks for the end after so many packets.
struct Listener {
    events: Vec<Event>,
    packets: usize,
    stop: StopFlag,
}

impl Stage for Listener {
    fn name(&self) -> &str {
        "listener"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.events.extend_from_slice(batch.events());
        self.packets = self.packets.saturating_sub(batch.len());
        if self.packets == 0 {
            self.stop.stop();
        }
        Ok(())
    }
}

/// Ten sources, a packet each per 10 ms; in seconds 3, 4, 8 and 9, of which the last
/// is cut short, source 77 has every other packet. Stops after `stop_after` packets.
fn alarms(shards: usize, keys: KeySource, stop_after: usize) -> (Vec<Event>, Vec<Alarm>) {
    let records: Vec<_> = (0..10_000)
        .map(|n: usize| {
            let surges = [3, 4, 8, 9].contains(&(n / 1000)) && n.is_multiple_of(2);
            packet(if surges { 77 } else { (n % 10) as u8 }, 100)
        })
        .collect();
    let source = MemorySource::new(LinkType::RawIp, &records).with_gap_ns(1_000_000);
    let mut config = MeasureConfig::new(KeyKind::Source);
    config.interval = Some(Duration::from_secs(1));
    config.seed = Some(Seed::from_u64(1));
    let model: Model = "ma:1".parse().expect("a model");
    config.change = Some(ChangeConfig {
        keys,
        ..ChangeConfig::new(model)
    });
    let measurement = config.build(shards).expect("a configuration");
    let stop = StopFlag::default();
    let chains = measurement
        .meters
        .into_iter()
        .map(|meter| -> Vec<Box<dyn Stage>> { vec![Box::new(MeasureStage::new(meter))] });
    let mut pipeline = Pipeline::new(source)
        .shards(chains.collect())
        .sink(Listener {
            events: Vec::new(),
            packets: stop_after,
            stop: stop.clone(),
        })
        .stop_flag(stop);
    if let Some(timeline) = measurement.timeline {
        pipeline = pipeline.watch(timeline);
    }
    let outcome = pipeline.run().expect("a run");
    let listener = outcome.stages::<Listener>().next().expect("a sink");
    let reports = measurement.collector.finish();
    let alarms = reports.into_iter().flat_map(|report| report.alarms);
    (listener.events.clone(), alarms.collect())
}

/// Every alarm of the reports is an event, once, in their order, those of the
/// interval before the end among them, in every sharding.
#[test]
fn alarms_are_events_beside_batches() {
    for keys in [KeySource::Kept, KeySource::Same, KeySource::Next] {
        let mut of_one_shard = None;
        for shards in [1, 2, 3] {
            let (events, alarms) = alarms(shards, keys, usize::MAX);
            let planted = alarms.iter().filter(|a| a.key == "198.18.0.77");
            let seconds: Vec<u64> = planted.map(|a| a.start_ns / 1_000_000_000).collect();
            let expected: &[u64] = match keys {
                // Who is gone is not asked for.
                KeySource::Next => &[3, 8],
                KeySource::Kept | KeySource::Same => &[3, 5, 8],
            };
            assert_eq!(seconds, expected, "{keys:?}");
            assert_eq!(events.len(), alarms.len());
            for (event, alarm) in events.iter().zip(&alarms) {
                assert!(event.kind.is(&ALARM));
                assert_eq!(event.key, KeyKind::Source);
                assert_eq!(event.flow, alarm.flow);
                assert_eq!(event.flow.source_address().to_string(), alarm.key);
                assert_eq!(event.timestamp_ns, alarm.start_ns + 1_000_000_000);
                let members = event.members.as_deref().expect("members");
                let object: serde_json::Value =
                    serde_json::from_str(&format!("{{{members}}}")).expect("JSON");
                assert_eq!(object["alarm"], serde_json::json!(alarm));
            }
            assert_eq!(events, *of_one_shard.get_or_insert(events.clone()));
        }
    }
}

/// A run that is stopped tells what it found until then.
#[test]
fn alarms_of_a_stopped_run_are_told() {
    for shards in [1, 2] {
        let (events, alarms) = alarms(shards, KeySource::Kept, 4500);
        assert!(!alarms.is_empty());
        assert_eq!(events.len(), alarms.len());
    }
}

/// A report as it is without a table of exact sums.
fn forget_table(mut report: IntervalReport) -> IntervalReport {
    report.error = None;
    report.f2 = 0.0;
    report.f2_bound = 0.0;
    for row in &mut report.top {
        row.exact = None;
    }
    report
}

/// 5,000 records a millisecond apart are five seconds; of 15 records in a row
/// 5 are dropped and 2 more are not to be measured.
#[test]
fn live_records_are_measured_in_every_sharding() {
    let reports = run(1, true, true);
    assert_eq!(reports.len(), 5);
    let packets: u64 = reports.iter().map(|r| r.packets).sum();
    let measured = (0..5000u32).filter(|n| n % 3 != 0 && n % 5 != 0).count();
    assert_eq!(packets, measured as u64);
    assert_eq!(reports[0].start_ns, 0);
    for report in &reports {
        // Estimated, and lower where keys share a register: the seed is fixed.
        let off_by = report.error.map(|it| it.keys.abs_diff(report.distinct));
        assert!(off_by.is_some_and(|keys| keys <= 2), "{off_by:?}");
        assert_eq!(report.top.len(), 10);
    }
    for shards in [2, 3] {
        assert_eq!(run(shards, true, true), reports, "{shards} shards");
        assert_eq!(
            run(shards, false, true),
            reports,
            "{shards} shards, all on one"
        );
    }
    // Without a table of exact sums packets are counted interval by interval, not
    // one by one. No two of the hundred keys meet in all rows.
    let without_table: Vec<_> = reports.into_iter().map(forget_table).collect();
    for shards in [1, 2, 3] {
        let estimated = run(shards, true, false);
        let few_looks: Vec<_> = estimated.into_iter().map(forget_table).collect();
        assert_eq!(few_looks, without_table, "{shards} shards");
    }
}

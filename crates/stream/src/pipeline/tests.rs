//! Whole runs: order, conservation, interruption and failure.

mod words;

use weir_packet::wire::{FlowKey, KeyKind, LinkType};

use super::*;
use crate::batch::{Batch, HeldRecord};
use crate::context::Context;
use crate::memory::MemorySource;
use crate::stage::StageError;
use crate::{DropCode, Event, EventKind, Steering, SteeringRule, Word};

/// IPv4/UDP packets of `flows` flows, the packet's number as payload.
fn packets(count: u32, flows: u16) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| {
            let mut packet = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0];
            packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
            let port = (number.wrapping_mul(2_654_435_761) >> 7) as u16 % flows;
            packet.extend(port.to_be_bytes());
            packet.extend([0, 53, 0, 12, 0, 0]);
            packet.extend(number.to_be_bytes());
            packet
        })
        .collect()
}

/// Remembers the flow and number of each record that arrives.
#[derive(Default)]
struct Recorder(Vec<(u16, u32)>);

impl Stage for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let record = batch.record(index);
            let number = record[28..32].try_into().expect("four bytes");
            self.0
                .push((batch.headers(index).source_port, u32::from_be_bytes(number)));
        }
        Ok(())
    }
}

crate::drop_reasons! {
    /// Why the juggler drops.
    enum Dropped {
        /// It slipped.
        Slipped = "slipped",
    }
}

const NOTED: Word = Word::new("tests", "noted", "Something was noted.");

/// Swaps neighbours by holding every other record back until its successor
/// has passed, drops every tenth, doubles every fifteenth.
#[derive(Default)]
struct Juggler {
    held: Option<HeldRecord>,
    words: Option<(DropCode, EventKind)>,
}

impl Stage for Juggler {
    fn name(&self) -> &str {
        "juggler"
    }
    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        let slipped = vocabulary.drop_reasons()?.code(Dropped::Slipped);
        self.words = Some((slipped, vocabulary.event_kind(&NOTED)?));
        Ok(())
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let (slipped, noted) = self.words.expect("registered");
        for index in batch.live() {
            let number = batch.number(index);
            if number.is_multiple_of(10) {
                batch.drop_record(index, slipped);
            } else if number.is_multiple_of(15) {
                let copy = batch.record(index).to_vec();
                // A full batch makes no copy, which is as conserving.
                let _ = batch.create(index, &copy);
                batch.notice(index, noted);
            } else if number.is_multiple_of(7) {
                batch.absorb(index);
            } else if self.held.is_none() {
                self.held = Some(batch.hold(index));
            }
        }
        if let Some(held) = self.held.take() {
            self.held = batch.release(held).err();
        }
        Ok(())
    }
    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        if let Some(held) = self.held.take() {
            self.held = batch.release(held).err();
        }
        Ok(())
    }
}

fn shards(count: usize, stage: impl Fn() -> Box<dyn Stage>) -> Vec<Vec<Box<dyn Stage>>> {
    (0..count).map(|_| vec![stage()]).collect()
}

#[test]
fn one_shard_keeps_the_order_of_arrival() {
    let packets = packets(2000, 40);
    let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
        .sink(Recorder::default())
        .run()
        .expect("a run");
    let seen: Vec<u32> = outcome
        .stages::<Recorder>()
        .next()
        .expect("sink")
        .0
        .iter()
        .map(|r| r.1)
        .collect();
    assert_eq!(seen, (0..2000).collect::<Vec<u32>>());
    assert_eq!(outcome.statistics.packets(), 2000);
    assert_eq!(outcome.statistics.forwarded_bytes(), 2000 * 32);
    assert!(!outcome.interrupted);
}

#[test]
fn several_shards_keep_flows_together_and_in_order() {
    let packets = packets(20_000, 100);
    for count in [2, 3, 8] {
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
            .shards(shards(count, || Box::new(Recorder::default())))
            .sink(Recorder::default())
            .run()
            .expect("a run");
        let recorders: Vec<&Recorder> = outcome.stages().collect();
        let (sink, shards) = recorders.split_last().expect("shards and a sink");
        assert_eq!(shards.len(), count);
        assert_eq!(sink.0.len(), 20_000);
        let mut home = std::collections::HashMap::new();
        for (shard, recorder) in shards.iter().enumerate() {
            for (flow, _) in &recorder.0 {
                assert_eq!(*home.entry(*flow).or_insert(shard), shard);
            }
        }
        let mut last = std::collections::HashMap::new();
        for (flow, number) in &sink.0 {
            if let Some(before) = last.insert(*flow, *number) {
                assert!(before < *number, "flow {flow}");
            }
        }
        assert_eq!(outcome.statistics.packets(), 20_000);
    }
}

#[test]
fn every_fate_is_accounted_for() {
    let packets = packets(5000, 50);
    for count in [1, 2] {
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
            .shards(shards(count, || Box::new(Juggler::default())))
            .sink(Recorder::default())
            .run()
            .expect("conserved");
        let statistics = &outcome.statistics;
        assert_eq!(statistics.packets(), 5000);
        assert_eq!(statistics.drops(Dropped::Slipped), 500);
        assert_eq!(statistics.events(), 5000 / 15 - 5000 / 30);
        assert_eq!(statistics.held(), 0);
        assert_eq!(
            statistics.packets() + statistics.created(),
            statistics.forwarded() + 500 + statistics.absorbed()
        );
        let sink = outcome.stages::<Recorder>().next().expect("a sink");
        assert_eq!(sink.0.len() as u64, statistics.forwarded());
    }
}

/// Notes an event beside the first batch of the end, and counts those that pass.
#[derive(Default)]
struct Teller {
    noted: Option<EventKind>,
    has_told: bool,
    seen: usize,
}

impl Stage for Teller {
    fn name(&self) -> &str {
        "teller"
    }
    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.noted = Some(vocabulary.event_kind(&NOTED)?);
        Ok(())
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.seen += batch.events().len();
        Ok(())
    }
    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        if !std::mem::replace(&mut self.has_told, true) {
            batch.notice_beside(Event {
                arrival: None,
                timestamp_ns: 5,
                flow: FlowKey::default(),
                key: KeyKind::FiveTuple,
                flow_id: None,
                icmp: None,
                vlan_tci: None,
                interface: None,
                kind: self.noted.expect("registered"),
                generation: None,
                members: None,
            });
        }
        Ok(())
    }
}

#[test]
fn what_is_told_at_the_end_reaches_every_stage_behind() {
    for count in [1, 3] {
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets(500, 9)))
            .shards(shards(count, || Box::new(Teller::default())))
            .sink(Teller::default())
            .sink(Teller::default())
            .run()
            .expect("a run");
        let seen: Vec<usize> = outcome.stages::<Teller>().map(|s| s.seen).collect();
        let (in_shards, in_sinks) = seen.split_at(count);
        assert!(in_shards.iter().all(|seen| *seen == 0));
        assert_eq!(in_sinks, [count, count + 1]);
        assert_eq!(outcome.statistics.events(), count as u64 + 2);
    }
}

/// Holds every record and never gives one back.
#[derive(Default)]
struct Hoarder(Vec<HeldRecord>);

impl Stage for Hoarder {
    fn name(&self) -> &str {
        "hoarder"
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0.extend(batch.live().map(|index| batch.hold(index)));
        Ok(())
    }
}

#[test]
fn what_a_stage_still_holds_is_reported() {
    let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets(300, 1)))
        .stage(Hoarder::default())
        .run()
        .expect("counted");
    assert_eq!(outcome.statistics.held(), 300);
    assert_eq!(outcome.statistics.forwarded(), 0);
}

/// Fails at its nth batch.
struct Failing(u32);

impl Stage for Failing {
    fn name(&self) -> &str {
        "failing"
    }
    fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0 -= 1;
        if self.0 == 0 {
            return Err(StageError::new("failing", "disk full"));
        }
        Ok(())
    }
}

#[test]
fn a_failing_stage_ends_the_run_wherever_it_stands() {
    let packets = packets(20_000, 100);
    let source = || MemorySource::new(LinkType::RawIp, &packets).repeated(1000);
    let runs = [
        Pipeline::new(source()).stage(Failing(3)),
        Pipeline::new(source()).sink(Failing(3)),
        Pipeline::new(source()).shards(shards(3, || Box::new(Failing(3)))),
        Pipeline::new(source())
            .shards(shards(3, || Box::new(Recorder::default())))
            .sink(Failing(3)),
    ];
    for run in runs {
        let error = run.run().err().expect("an error");
        assert_eq!(error.to_string(), "failing: disk full");
    }
}

/// Asks for the end when it has seen some batches.
struct Stopper(u32, StopFlag);

impl Stage for Stopper {
    fn name(&self) -> &str {
        "stopper"
    }
    fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 {
            self.1.stop();
        }
        Ok(())
    }
}

#[test]
fn a_stopped_run_is_whole_and_says_so() {
    let packets = packets(1000, 10);
    for count in [1, 2] {
        let stop = StopFlag::default();
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets).repeated(1 << 40))
            .shards(shards(count, || Box::new(Stopper(5, stop.clone()))))
            .stop_flag(stop.clone())
            .run()
            .expect("a run");
        assert!(outcome.interrupted);
        assert_eq!(outcome.statistics.packets(), outcome.statistics.forwarded());
    }
}

#[test]
fn a_pipeline_without_shards_is_refused() {
    let run = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets(1, 1))).shards(Vec::new());
    assert!(matches!(run.run(), Err(PipelineError::NoShard)));
}

#[test]
fn side_by_side_runs_add_up() {
    let packets = packets(1000, 10);
    let pipelines = (0..2)
        .map(|_| Pipeline::new(MemorySource::new(LinkType::RawIp, &packets)))
        .collect();
    let (statistics, outcomes) = run_side_by_side(pipelines).expect("two runs");
    assert_eq!(statistics.packets(), 2000);
    assert_eq!(outcomes.len(), 2);
}

/// Panics at its first batch.
struct Panicking;

impl Stage for Panicking {
    fn name(&self) -> &str {
        "panicking"
    }

    fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        panic!("out of order");
    }
}

/// The other pipeline has no end of its own and a stop flag of its own.
#[test]
fn the_first_pipeline_that_fails_stops_the_others() {
    let packets = packets(1000, 10);
    let endless = || MemorySource::new(LinkType::RawIp, &packets).repeated(1 << 40);
    for count in [1, 2] {
        let beside =
            || Pipeline::new(endless()).shards(shards(count, || Box::new(Recorder::default())));
        let failing = Pipeline::new(endless()).stage(Failing(3));
        let error = run_side_by_side(vec![beside(), failing, beside()]).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            Some("failing: disk full")
        );
        let failing = Pipeline::new(endless()).sink(Panicking);
        let error = run_side_by_side(vec![beside(), failing]).err();
        assert!(matches!(error, Some(PipelineError::Thread(why)) if why == "out of order"));
    }
}

/// Needs records of one last digit of the port, divided by `divisor`, on one
/// shard; remembers them, and does what the [`Juggler`] does where it juggles.
struct Homed {
    rule: SteeringRule,
    seen: Recorder,
    juggler: Option<Juggler>,
}

fn homed(name: &'static str, divisor: u16, juggles: bool) -> Homed {
    Homed {
        rule: SteeringRule::new(name, move |batch, index| home(batch, index, divisor)),
        seen: Recorder::default(),
        juggler: juggles.then(Juggler::default),
    }
}

fn home(batch: &Batch, index: usize, divisor: u16) -> u32 {
    u32::from(batch.headers(index).source_port / divisor)
}

impl Stage for Homed {
    fn name(&self) -> &str {
        "homed"
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.juggler
            .as_mut()
            .map_or(Ok(()), |juggler| juggler.register(vocabulary))
    }

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.seen.process(batch, cx)?;
        self.juggler
            .as_mut()
            .map_or(Ok(()), |juggler| juggler.process(batch, cx))
    }

    fn drain(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.juggler
            .as_mut()
            .map_or(Ok(()), |juggler| juggler.drain(batch, cx))
    }

    fn steering(&self) -> Steering {
        Steering::By(self.rule.clone())
    }
}

/// Counts events beside records that are there and beside others.
#[derive(Default)]
struct EventCounter {
    with_record: usize,
    without: usize,
}

impl Stage for EventCounter {
    fn name(&self) -> &str {
        "event counter"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for event in batch.events() {
            let is_here = |index| Some(batch.number(index)) == event.arrival;
            match batch.live().any(is_here) {
                true => self.with_record += 1,
                false => self.without += 1,
            }
        }
        Ok(())
    }
}

/// Three segments with other homes each, one of which drops, doubles, absorbs
/// and holds.
#[test]
fn records_are_handed_over_where_the_steering_changes() {
    let packets = packets(20_000, 60);
    let mut of_one_shard = None;
    for count in [1, 2, 3, 4, 7] {
        let chains = (0..count).map(|_| -> Vec<Box<dyn Stage>> {
            vec![
                Box::new(homed("a", 1, false)),
                Box::new(Juggler::default()),
                Box::new(homed("b", 7, false)),
                Box::new(homed("c", 20, false)),
                Box::new(homed("c", 20, false)),
            ]
        });
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
            .shards(chains.collect())
            // Every batch has room for what is doubled.
            .limits(BatchLimits::new(200, 1 << 20))
            .sink(Recorder::default())
            .sink(EventCounter::default())
            .run()
            .expect("conserved");
        let stages: Vec<&Homed> = outcome.stages().collect();
        assert_eq!(stages.len(), 4 * count);
        for (shard, stages) in stages.chunks(4).enumerate() {
            for (stage, divisor) in stages.iter().zip([1u16, 7, 20, 20]) {
                let is_home = |flow: u16| usize::from(flow / divisor) % count == shard;
                assert!(stage.seen.0.iter().all(|(flow, _)| is_home(*flow)));
            }
            // A stage that holds nothing sees its records in order of arrival.
            let first: Vec<u32> = stages[0].seen.0.iter().map(|(_, number)| *number).collect();
            assert!(first.is_sorted(), "shard {shard} of {count}");
        }
        let statistics = &outcome.statistics;
        assert_eq!(statistics.packets(), 20_000);
        assert_eq!(statistics.drops(Dropped::Slipped), 2000);
        assert_eq!(statistics.held(), 0);
        let events = outcome.stages::<EventCounter>().next().expect("a sink");
        assert_eq!(statistics.events(), 20_000 / 15 - 20_000 / 30);
        assert_eq!((events.with_record, events.without), (667, 0));
        let sink = outcome.stages::<Recorder>().next().expect("a sink");
        let mut seen = sink.0.clone();
        seen.sort_unstable();
        assert_eq!(
            seen,
            *of_one_shard.get_or_insert(seen.clone()),
            "{count} shards"
        );
    }
}

/// Nothing is dropped, so that every record has its place.
#[test]
fn handed_over_records_keep_the_order_of_arrival() {
    let packets = packets(30_000, 50);
    for count in [2, 3, 5] {
        let chains = (0..count).map(|_| -> Vec<Box<dyn Stage>> {
            vec![
                Box::new(homed("a", 1, false)),
                Box::new(homed("all", u16::MAX, false)),
                Box::new(homed("b", 3, false)),
            ]
        });
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
            .shards(chains.collect())
            .limits(BatchLimits::new(64, 1500))
            .run()
            .expect("a run");
        for stage in outcome.stages::<Homed>() {
            let numbers: Vec<u32> = stage.seen.0.iter().map(|(_, number)| *number).collect();
            assert!(numbers.is_sorted());
        }
        let all = outcome.stages::<Homed>().nth(1).expect("the second stage");
        assert_eq!(all.seen.0.len(), 30_000, "one shard has all of them");
    }
}

#[test]
fn what_is_told_at_the_end_is_handed_over_too() {
    let chains = (0..3).map(|_| -> Vec<Box<dyn Stage>> {
        vec![
            Box::new(homed("a", 1, true)),
            Box::new(Teller::default()),
            Box::new(homed("b", 9, true)),
            Box::new(Teller::default()),
        ]
    });
    let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &packets(5000, 30)))
        .shards(chains.collect())
        .sink(EventCounter::default())
        .run()
        .expect("a run");
    let told = outcome.stages::<EventCounter>().next().expect("a sink");
    assert_eq!(
        (told.with_record + told.without) as u64,
        outcome.statistics.events()
    );
    assert!(outcome.statistics.events() >= 6);
    assert_eq!(outcome.statistics.held(), 0);
}

#[test]
fn a_failure_behind_a_hand_over_ends_the_run() {
    let packets = packets(20_000, 100);
    type Last = fn() -> Box<dyn Stage>;
    let last: [(Last, &str); 2] = [
        (|| Box::new(Failing(3)), "failing: disk full"),
        (|| Box::new(Panicking), "shard thread: out of order"),
    ];
    for (last, expected) in last {
        for place in 0..2 {
            let chains = (0..3).map(|_| -> Vec<Box<dyn Stage>> {
                let mut chain: Vec<Box<dyn Stage>> = vec![
                    Box::new(homed("a", 1, false)),
                    Box::new(homed("b", 9, false)),
                ];
                chain.insert(place + 1, last());
                chain
            });
            let source = MemorySource::new(LinkType::RawIp, &packets).repeated(1 << 40);
            let run = Pipeline::new(source).shards(chains.collect());
            let error = run.run().err().expect("an error");
            assert_eq!(error.to_string(), expected);
        }
    }
}

//! Meters as stages of a pipeline.

use serde::Serialize;
use weir_packet::wire::{FlowKey, Ipv4Flow, KeyKind};
use weir_stream::{
    Arrival, Batch, Context, Disposition, Event, EventKind, Members, Stage, StageError, Steering,
    Vocabulary, VocabularyError, Word, WorkBit,
};

use crate::change::Alarm;
use crate::interval::Timeline;
use crate::meter::Meter;
use crate::packets::Packets;

const NAME: &str = "measure";

/// Packets of a live stream come at most this long after their time, as far as the clock ends
/// intervals: those that waited longer count in the next interval, as late.
const LATE_NS: u64 = 20_000_000;

const OWNER: &str = env!("CARGO_PKG_NAME");

/// The work of measuring a record.
pub const MEASURE: Word = Word::new(OWNER, NAME, "It is to be counted.");

/// The event that a key changed. The members are `"alarm":{…}`, an
/// [`Alarm`](crate::change::Alarm).
pub const ALARM: Word = Word::new(
    OWNER,
    "alarm",
    "What a key had in an interval is not what the intervals before let expect.",
);

/// The numbers that these words have in a pipeline.
#[derive(Clone, Copy, Debug)]
struct Words {
    measure: WorkBit,
    alarm: EventKind,
}

/// Counts the records that are not dropped and are to be measured
/// ([`MEASURE`]); the others only advance the clock. Changes nothing in records.
///
/// Where changes are looked for, every alarm becomes an [`ALARM`]
/// beside a batch, in the order of intervals. An interval is searched while the
/// packets of the next ones come, so that its alarms lie beside a later batch of
/// the first shard, or at the end beside an empty one of the shard that ends last.
#[derive(Debug)]
pub struct MeasureStage {
    words: Option<Words>,
    meter: Meter,
    is_finished: bool,
}

impl MeasureStage {
    /// A stage around the meter of its shard.
    pub fn new(meter: Meter) -> MeasureStage {
        if meter.looks_for_changes() {
            meter.keep_alarms();
        }
        MeasureStage {
            words: None,
            meter,
            is_finished: false,
        }
    }

    fn words(&self) -> Result<Words, StageError> {
        self.words.ok_or_else(|| StageError::unregistered(NAME))
    }

    fn notice(&self, alarms: &[Alarm], batch: &mut Batch, kind: EventKind) {
        for alarm in alarms {
            batch.notice_beside(event(alarm, self.meter.key(), kind));
        }
    }

    /// Hands over the last interval; false where that was done.
    fn finish_meter(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.is_finished, true);
        if is_first {
            self.meter.finish();
        }
        is_first
    }
}

/// The members of an alarm in EVE JSON, beside those of its key.
#[derive(Serialize)]
struct AlarmMembers<'a> {
    alarm: &'a Alarm,
}

/// What an alarm is beside a batch.
fn event(alarm: &Alarm, key: KeyKind, kind: EventKind) -> Event {
    let interval_ns = (alarm.seconds * 1e9).round() as u64;
    Event {
        arrival: None,
        timestamp_ns: alarm.start_ns.saturating_add(interval_ns),
        flow: alarm.flow,
        key,
        flow_id: None,
        icmp: None,
        vlan_tci: None,
        interface: None,
        kind,
        generation: None,
        members: Some(Members::of(&AlarmMembers { alarm })),
    }
}

impl Stage for MeasureStage {
    fn name(&self) -> &str {
        NAME
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words {
            measure: vocabulary.work_bit(&MEASURE)?,
            alarm: vocabulary.event_kind(&ALARM)?,
        });
        Ok(())
    }

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        let words = self.words()?;
        if batch.is_empty() {
            self.meter.idle(batch.records_steered());
        }
        self.meter.count_all(&Measured {
            batch,
            measure: words.measure,
        });
        if let Some(stream_ns) = cx.stream_ns() {
            self.meter.advance(stream_ns.saturating_sub(LATE_NS));
        }
        if self.meter.looks_for_changes() {
            self.notice(&self.meter.take_alarms(), batch, words.alarm);
        }
        Ok(())
    }

    fn wants_flow_keys(&self) -> bool {
        true
    }

    /// The collector adds the shards up, however records are shared out.
    fn steering(&self) -> Steering {
        Steering::Any
    }

    /// The stages in front hold nothing any more.
    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = self.words()?;
        if self.finish_meter() && self.meter.looks_for_changes() {
            self.notice(&self.meter.take_last_alarms(), batch, words.alarm);
        }
        Ok(())
    }

    /// A run that failed was not drained.
    fn finish(&mut self) -> Result<(), StageError> {
        self.finish_meter();
        Ok(())
    }
}

/// A batch whose records count where they are to be measured.
struct Measured<'a> {
    batch: &'a Batch,
    measure: WorkBit,
}

/// Inlined where they are called, so that a flow stays in registers: its fields
/// written one by one and read as vectors would stall each packet.
impl Packets for Measured<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.batch.len()
    }

    #[inline(always)]
    fn time(&self, index: usize) -> (u64, u64) {
        let batch = self.batch;
        (batch.number(index), batch.arrival(index).clock_ns())
    }

    #[inline(always)]
    fn is_counted(&self, index: usize) -> bool {
        let batch = self.batch;
        let is_live = batch.disposition(index) == Disposition::Forward;
        is_live & batch.work(index).needs(self.measure)
    }

    #[inline(always)]
    fn arrival(&self, index: usize) -> &Arrival {
        self.batch.arrival(index)
    }

    #[inline(always)]
    fn captured_bytes(&self, index: usize) -> u32 {
        self.batch.captured_bytes(index)
    }

    #[inline(always)]
    fn flow(&self, index: usize) -> Option<FlowKey> {
        self.batch.flow_key(index)
    }

    #[inline(always)]
    fn ipv4_flows(&self) -> &[Ipv4Flow] {
        self.batch.ipv4_flows()
    }
}

/// Observes every record of a pipeline, before steering
/// ([`Pipeline::watch`](weir_stream::Pipeline::watch)).
impl Stage for Timeline {
    fn name(&self) -> &str {
        "timeline"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in 0..batch.len() {
            self.observe(batch.number(index), batch.arrival(index).clock_ns());
        }
        Ok(())
    }
}

//! Meters as stages of a pipeline.

use weir_packet::wire::{FlowKey, Ipv4Flow, KeyKind};
use weir_stream::{
    Arrival, Batch, Disposition, Event, EventKind, Stage, StageError, Steering, Watcher,
};

use crate::change::Alarm;
use crate::interval::Timeline;
use crate::meter::Meter;
use crate::packets::Packets;

/// Counts the records that are not dropped and are to be measured
/// ([`weir_stream::Work::measure`]); the others only advance the clock. Changes
/// nothing in records.
///
/// Where changes are looked for, every alarm becomes an [`EventKind::Alarm`]
/// beside a batch, in the order of intervals. An interval is searched while the
/// packets of the next ones come, so that its alarms lie beside a later batch of
/// the first shard, or at the end beside an empty one of the shard that ends last.
#[derive(Debug)]
pub struct MeasureStage {
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
            meter,
            is_finished: false,
        }
    }

    fn notice(&self, alarms: &[Alarm], batch: &mut Batch) {
        for alarm in alarms {
            batch.notice_beside(event(alarm, self.meter.key()));
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

/// What an alarm is beside a batch.
fn event(alarm: &Alarm, key: KeyKind) -> Event {
    let interval_ns = (alarm.seconds * 1e9).round() as u64;
    // What has no maps but structures can be written.
    let object = serde_json::to_string(alarm).unwrap_or_default();
    Event {
        arrival: None,
        timestamp_ns: alarm.start_ns.saturating_add(interval_ns),
        flow: alarm.flow,
        icmp: None,
        vlan_tci: None,
        interface: None,
        kind: EventKind::Alarm {
            key,
            observed: alarm.observed,
            forecast: alarm.forecast,
            score: alarm.score,
        },
        members: Some(format!("\"alarm\":{object}").into()),
    }
}

impl Stage for MeasureStage {
    fn name(&self) -> &str {
        "measure"
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        if batch.is_empty() {
            self.meter.idle(batch.records_steered());
        }
        self.meter.count_all(batch);
        if self.meter.looks_for_changes() {
            self.notice(&self.meter.take_alarms(), batch);
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
    fn drain(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        if self.finish_meter() && self.meter.looks_for_changes() {
            self.notice(&self.meter.take_last_alarms(), batch);
        }
        Ok(())
    }

    /// A run that failed was not drained.
    fn finish(&mut self) -> Result<(), StageError> {
        self.finish_meter();
        Ok(())
    }
}

/// Inlined where they are called, so that a flow stays in registers: its fields
/// written one by one and read as vectors would stall each packet.
impl Packets for Batch {
    #[inline(always)]
    fn len(&self) -> usize {
        Batch::len(self)
    }

    #[inline(always)]
    fn time(&self, index: usize) -> (u64, u64) {
        (self.number(index), Batch::arrival(self, index).clock_ns())
    }

    #[inline(always)]
    fn is_counted(&self, index: usize) -> bool {
        (self.disposition(index) == Disposition::Forward) & self.work(index).measure()
    }

    #[inline(always)]
    fn arrival(&self, index: usize) -> &Arrival {
        Batch::arrival(self, index)
    }

    #[inline(always)]
    fn captured_bytes(&self, index: usize) -> u32 {
        Batch::captured_bytes(self, index)
    }

    #[inline(always)]
    fn flow(&self, index: usize) -> Option<FlowKey> {
        self.flow_key(index)
    }

    #[inline(always)]
    fn ipv4_flows(&self) -> &[Ipv4Flow] {
        Batch::ipv4_flows(self)
    }
}

impl Timeline {
    /// Observes every record of a pipeline
    /// ([`Pipeline::watch`](weir_stream::Pipeline::watch)).
    pub fn watcher(mut self) -> Watcher {
        Box::new(move |batch| {
            for index in 0..batch.len() {
                self.observe(batch.number(index), batch.arrival(index).clock_ns());
            }
        })
    }
}

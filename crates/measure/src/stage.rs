//! Meters as stages of a pipeline.

use weir_packet::wire::FlowKey;
use weir_stream::{Batch, Disposition, Stage, StageError, Steer};

use crate::interval::Timeline;
use crate::meter::{Meter, Packets};

/// Counts the records that are still on their way and are to be measured
/// ([`weir_stream::Work::measure`]); the others only tell the time. Changes
/// nothing.
#[derive(Debug)]
pub struct MeasureStage {
    meter: Meter,
}

impl MeasureStage {
    /// A stage around the meter of its shard.
    pub fn new(meter: Meter) -> MeasureStage {
        MeasureStage { meter }
    }
}

impl Stage for MeasureStage {
    fn name(&self) -> &str {
        "measure"
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        if batch.is_empty() {
            self.meter.idle(batch.clock_ns());
        }
        self.meter.count_all(batch);
        Ok(())
    }

    fn wants_flow_keys(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.meter.finish();
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
        (self.number(index), self.arrival(index).timestamp_ns)
    }

    #[inline(always)]
    fn is_counted(&self, index: usize) -> bool {
        self.disposition(index) == Disposition::Forward && self.work(index).measure()
    }

    #[inline(always)]
    fn wire_bytes(&self, index: usize) -> u32 {
        self.arrival(index).wire_bytes
    }

    #[inline(always)]
    fn flow(&self, index: usize) -> Option<FlowKey> {
        self.flow_key(index)
    }
}

impl Timeline {
    /// Wraps the choice of a shard, which sees every record in order of
    /// arrival, so that it tells the timeline first.
    pub fn watch(mut self, mut steer: Steer) -> Steer {
        Box::new(move |batch, index| {
            self.observe(batch.number(index), batch.arrival(index).timestamp_ns);
            steer(batch, index)
        })
    }
}

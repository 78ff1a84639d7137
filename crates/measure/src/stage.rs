//! Meters as stages of a pipeline.

use weir_stream::{Batch, Disposition, Stage, StageError, Steer};

use crate::interval::Timeline;
use crate::meter::Meter;

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
        for index in 0..batch.len() {
            let arrival = *batch.arrival(index);
            self.meter.tick(batch.number(index), arrival.timestamp_ns);
            if batch.disposition(index) == Disposition::Forward && batch.work(index).measure() {
                let flow = batch.flow_key(index);
                self.meter
                    .count(arrival.timestamp_ns, flow.as_ref(), arrival.wire_bytes);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.meter.finish();
        Ok(())
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

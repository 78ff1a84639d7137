//! The stage that traces the packets of a pipeline.

use weir_stream::{Batch, Context, Stage, StageError};

use super::{Report, TopologyMap, Tracer};

/// Traces each record; records go on as they are.
pub struct TraceStage {
    tracer: Tracer,
}

impl TraceStage {
    /// A stage that knows the nodes of `map`.
    pub fn new(map: TopologyMap) -> TraceStage {
        TraceStage {
            tracer: Tracer::new(map),
        }
    }

    /// What was found in what came so far.
    pub fn report(&self) -> Report {
        self.tracer.report()
    }
}

impl Stage for TraceStage {
    fn name(&self) -> &str {
        "fabric-trace"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let link = batch.arrival(index).link;
            // Counted from 1 on, as dissectors do.
            let number = batch.number(index) + 1;
            let headers = batch.headers(index);
            self.tracer
                .trace(number, headers, link, batch.record(index));
        }
        Ok(())
    }
}

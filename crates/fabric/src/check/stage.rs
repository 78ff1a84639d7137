//! The stage that checks the packets of a pipeline.

use weir_stream::{Batch, Context, Stage, StageError};

use super::{Checker, Report};

/// Checks each record; records go on as they are.
#[derive(Default)]
pub struct CheckStage {
    checker: Checker,
}

impl CheckStage {
    /// What was found in what came so far.
    pub fn report(&self) -> Report {
        self.checker.report()
    }
}

impl Stage for CheckStage {
    fn name(&self) -> &str {
        "fabric-check"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let link = batch.arrival(index).link;
            // Counted from 1 on, as dissectors do.
            let number = batch.number(index) + 1;
            let headers = batch.headers(index);
            self.checker
                .check(number, headers, link, batch.record(index));
        }
        Ok(())
    }
}

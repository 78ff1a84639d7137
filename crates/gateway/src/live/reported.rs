//! Stages that report at their end.

use weir_stream::{Batch, Context, Stage, StageError, Steering, Vocabulary, VocabularyError};

/// A stage that a worker owns, and what reads its results when it ends.
pub struct Reported<S, R> {
    stage: S,
    report: R,
}

impl<S, R> Reported<S, R> {
    pub fn new(stage: S, report: R) -> Reported<S, R> {
        Reported { stage, report }
    }
}

impl<S: Stage, R: FnMut(&S) + Send + 'static> Stage for Reported<S, R> {
    fn name(&self) -> &str {
        self.stage.name()
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.stage.register(vocabulary)
    }

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.stage.process(batch, cx)
    }

    fn wants_flow_keys(&self) -> bool {
        self.stage.wants_flow_keys()
    }

    fn steering(&self) -> Steering {
        self.stage.steering()
    }

    fn changes_flows(&self) -> bool {
        self.stage.changes_flows()
    }

    fn drain(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.stage.drain(batch, cx)
    }

    fn finish(&mut self) -> Result<(), StageError> {
        let finished = self.stage.finish();
        (self.report)(&self.stage);
        finished
    }
}

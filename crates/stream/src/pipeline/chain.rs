//! The stages that one thread runs, one after the other.

use crate::batch::Batch;
use crate::context::Context;
use crate::stage::{Stage, StageError};
use crate::steering::Segment;

#[derive(Default)]
pub(crate) struct Chain {
    stages: Vec<Box<dyn Stage>>,
}

impl Chain {
    pub fn new(stages: Vec<Box<dyn Stage>>) -> Chain {
        Chain { stages }
    }

    /// Cuts the stages of one thread into a chain for each segment.
    pub fn cut(stages: Vec<Box<dyn Stage>>, segments: &[Segment]) -> Vec<Chain> {
        let mut rest = stages.into_iter();
        let mut chains: Vec<Chain> = (segments.iter())
            .map(|segment| Chain::new(rest.by_ref().take(segment.stages).collect()))
            .collect();
        // What a thread has more than the first one is of the last segment.
        if let Some(last) = chains.last_mut() {
            last.stages.extend(rest);
        }
        chains
    }

    pub fn into_stages(self) -> Vec<Box<dyn Stage>> {
        self.stages
    }

    pub fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        self.process_from(0, batch, cx)
    }

    fn process_from(
        &mut self,
        first: usize,
        batch: &mut Batch,
        cx: &mut Context,
    ) -> Result<(), StageError> {
        for stage in &mut self.stages[first..] {
            stage.process(batch, cx)?;
        }
        Ok(())
    }

    /// Lets every stage release what it holds and tell what it has noticed,
    /// first to last, each batch through the stages behind, and hands each batch
    /// that has records or events to `done`.
    pub fn drain(
        &mut self,
        batch: &mut Batch,
        cx: &mut Context,
        mut done: impl FnMut(&mut Batch) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        for index in 0..self.stages.len() {
            loop {
                batch.clear();
                self.stages[index].drain(batch, cx)?;
                if batch.is_empty() && batch.events().is_empty() {
                    break;
                }
                self.process_from(index + 1, batch, cx)?;
                done(batch)?;
            }
        }
        Ok(())
    }

    /// Finishes every stage, also after one failed, and returns the first
    /// error.
    pub fn finish(&mut self) -> Result<(), StageError> {
        self.stages
            .iter_mut()
            .map(|stage| stage.finish())
            .fold(Ok(()), Result::and)
    }
}

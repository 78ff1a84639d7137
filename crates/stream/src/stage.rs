//! Stages: the steps of a pipeline, sources and sinks among them.

use std::any::Any;
use std::error::Error;

use crate::batch::Batch;
use crate::context::Context;
use crate::steering::Steering;
use crate::vocabulary::{Vocabulary, VocabularyError};

/// One step of a pipeline: a kernel over batches, with its state.
///
/// A stage is called with one batch at a time and decides about the records
/// that are still on their way ([`Batch::live`]): it reads or rewrites them,
/// drops them, holds them back, adds others, or notes events. A *source* is a
/// stage that finds the batch empty and fills it; a *sink* writes out what
/// arrives. `Any` lets the owner of a finished pipeline find
/// the stages of a type, for their results.
pub trait Stage: Any + Send {
    /// Name for reports and errors.
    fn name(&self) -> &str;

    /// Enters the stage's drop reasons, event kinds and parts of the work into the vocabulary
    /// of its pipeline, and keeps the numbers that they get there; a stage around another one
    /// has that one register too. Called before the first batch. A stage that has words fails where [`process`](Stage::process) is
    /// called without this ([`StageError::unregistered`]).
    ///
    /// # Errors
    /// A word is taken, or no number is left.
    fn register(&mut self, _vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        Ok(())
    }

    /// Works on one batch. A live pipeline calls this at least every 10 ms, with an empty batch
    /// where no packets come, and `cx` says what time it is.
    ///
    /// # Errors
    /// Only what ends the run, such as a full disk. A bad packet is a drop
    /// with a reason.
    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError>;

    /// Whether [`process`](Stage::process) needs most records' flow keys
    /// ([`Batch::flow_key`]): batches then keep what makes that cheap.
    fn wants_flow_keys(&self) -> bool {
        false
    }

    /// Which records must come to the same shard, where there are several. The
    /// pipeline hands records over between shards where a stage needs another
    /// steering than those in front of it.
    fn steering(&self) -> Steering {
        Steering::Flow
    }

    /// Whether records leave with other addresses, protocols or ports than they
    /// came with, so that they belong to other flows.
    fn changes_flows(&self) -> bool {
        false
    }

    /// Called with an empty batch after the source's last one, again and again
    /// until the stage adds neither records nor events: the time to release what
    /// is held, and to note what is known only now.
    ///
    /// # Errors
    /// As for [`process`](Stage::process).
    fn drain(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        Ok(())
    }

    /// Called once at the end, also of an interrupted run: files are completed
    /// here.
    ///
    /// # Errors
    /// As for [`process`](Stage::process).
    fn finish(&mut self) -> Result<(), StageError> {
        Ok(())
    }
}

/// Why a stage ended the run.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {source}")]
pub struct StageError {
    stage: String,
    source: Box<dyn Error + Send + Sync>,
}

impl StageError {
    /// An error of the stage named `stage`.
    pub fn new(stage: &str, source: impl Into<Box<dyn Error + Send + Sync>>) -> StageError {
        StageError {
            stage: stage.to_owned(),
            source: source.into(),
        }
    }

    /// The stage was given a batch before it had entered its words
    /// ([`Stage::register`]).
    #[cold]
    pub fn unregistered(stage: &str) -> StageError {
        StageError::new(stage, "its words are not registered: run it in a pipeline")
    }
}

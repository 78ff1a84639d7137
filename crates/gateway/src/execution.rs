//! Pipelines that run over captures, and what was wrong with these.

use weir_capture::CaptureSource;
use weir_packet::file::CaptureError;
use weir_stream::{Outcome as Finished, Pipeline, PipelineError, Statistics, run_side_by_side};

use crate::error::{Error, Result};

/// Pipelines that ran.
pub struct Execution {
    /// Accounts of all of them.
    pub statistics: Statistics,
    /// Each of them.
    pub pipelines: Vec<Finished>,
}

impl Execution {
    /// Whether the run was ended before its time.
    pub fn interrupted(&self) -> bool {
        self.pipelines.iter().any(|pipeline| pipeline.interrupted)
    }

    /// What was wrong with the captures.
    pub fn faults(&self) -> impl Iterator<Item = &CaptureError> {
        self.pipelines
            .iter()
            .flat_map(Finished::stages::<CaptureSource>)
            .flat_map(CaptureSource::faults)
    }

    /// Whether a capture ended in the middle of a record.
    pub fn truncated(&self) -> bool {
        self.pipelines.iter().any(was_truncated)
    }

    /// Whether all captures were whole.
    ///
    /// # Errors
    /// A capture was cut short or broken: what was whole has been processed.
    pub fn check_captures(&self) -> Result {
        let mut faults = self.faults();
        match faults.next() {
            None => Ok(()),
            Some(first) => {
                let more = match faults.count() {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                Err(Error::running(anyhow::anyhow!("{first}{more}")))
            }
        }
    }
}

/// Whether one of a pipeline's captures ended in the middle of a record.
pub fn was_truncated(pipeline: &Finished) -> bool {
    let sources = pipeline.stages::<CaptureSource>();
    let mut faults = sources.flat_map(CaptureSource::faults);
    faults.any(CaptureError::is_truncation)
}

/// Runs pipelines side by side to their end, or until their stop flags are raised.
///
/// # Errors
/// The first failure of a stage.
pub fn execute(pipelines: Vec<Pipeline>) -> Result<Execution> {
    let result = run_side_by_side(pipelines);
    let (statistics, pipelines) = result.map_err(|error: PipelineError| Error::running(error))?;
    Ok(Execution {
        statistics,
        pipelines,
    })
}

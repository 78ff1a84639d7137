//! Runs pipelines over captures, with a progress bar and signals.

use std::sync::Arc;

use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome};
use weir_packet::file::CaptureError;
use weir_stream::{CaptureSource, Outcome as Finished, Pipeline, Progress, Statistics, StopFlag};
use weir_stream::{PipelineError, run_side_by_side};

use crate::signals;

/// What a progress bar shows of one pipeline's captures.
pub struct Watched {
    pub progress: Arc<Progress>,
    pub total_bytes: Option<u64>,
}

/// Pipelines that ran.
pub struct Execution {
    /// Accounts of all of them.
    pub statistics: Statistics,
    /// Each of them.
    pub pipelines: Vec<Finished>,
}

impl Execution {
    /// Whether the run was ended by a signal.
    pub fn interrupted(&self) -> bool {
        self.pipelines.iter().any(|pipeline| pipeline.interrupted)
    }

    /// What was wrong with the captures.
    pub fn faults(&self) -> impl Iterator<Item = &CaptureError> {
        self.pipelines
            .iter()
            .filter_map(|pipeline| pipeline.source::<CaptureSource>())
            .flat_map(CaptureSource::faults)
    }

    /// Whether a capture ended in the middle of a record.
    pub fn truncated(&self) -> bool {
        self.pipelines.iter().any(was_truncated)
    }

    /// A failure where a capture was cut short or broken: what was whole has
    /// been processed.
    pub fn check_captures(&self) -> Outcome {
        let mut faults = self.faults();
        match faults.next() {
            None => Ok(()),
            Some(first) => {
                let more = match faults.count() {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                Err(Failure::running(anyhow::anyhow!("{first}{more}")))
            }
        }
    }
}

/// Whether one of a pipeline's captures ended in the middle of a record.
pub fn was_truncated(pipeline: &Finished) -> bool {
    let faults = pipeline
        .source::<CaptureSource>()
        .map(CaptureSource::faults);
    faults.is_some_and(|faults| faults.iter().any(CaptureError::is_truncation))
}

/// Runs pipelines side by side to their end, or until a signal raises their
/// `stop`. Until this is called, signals end the process as usual.
pub fn execute(
    pipelines: Vec<Pipeline>,
    watched: Vec<Watched>,
    stop: &StopFlag,
    quiet: bool,
) -> Outcome<Execution> {
    execute_telling(pipelines, watched, stop, quiet, String::new)
}

/// The same with a note beside the progress bar.
pub fn execute_telling(
    pipelines: Vec<Pipeline>,
    watched: Vec<Watched>,
    stop: &StopFlag,
    quiet: bool,
    note: impl Fn() -> String + Send + 'static,
) -> Outcome<Execution> {
    signals::stop_on_interrupt(stop)?;
    let total_bytes = watched.iter().map(|watched| watched.total_bytes).sum();
    let sources: Vec<Arc<Progress>> = watched.into_iter().map(|w| w.progress).collect();
    let bar = Bar::watch(Extent::of_captures(total_bytes), quiet, move || Place {
        position: sources.iter().map(|source| source.bytes_read()).sum(),
        packets: sources.iter().map(|source| source.packets()).sum(),
        note: note(),
    });
    let result = run_side_by_side(pipelines);
    drop(bar);
    let (statistics, pipelines) = result.map_err(|error: PipelineError| Failure::running(error))?;
    Ok(Execution {
        statistics,
        pipelines,
    })
}

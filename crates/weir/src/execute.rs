//! Runs pipelines over captures, with a progress bar and signals.

use std::sync::Arc;

use weir_capture::Progress;
use weir_console::Outcome;
use weir_console::progress::{Bar, Extent, Place};
use weir_gateway::{Execution, Watched};
use weir_stream::{Pipeline, StopFlag};

use crate::failure::failure;
use crate::signals;

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
    let result = weir_gateway::execute(pipelines);
    drop(bar);
    result.map_err(failure)
}

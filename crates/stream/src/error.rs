//! Why a run failed.

use std::io;
use std::thread;

use crate::egress::MAX_PORTS;
use crate::stage::StageError;
use crate::statistics::Conservation;
use crate::vocabulary::VocabularyError;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A stage could not go on.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// Two stages use one name for different things, or name too many.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
    /// The accounts do not balance: a defect of a stage or of the frame.
    #[error(transparent)]
    Conservation(#[from] Conservation),
    /// A thread could not be started or died.
    #[error("shard thread: {0}")]
    Thread(String),
    /// The operating system gives no thread, no processor, or no descriptor.
    #[error("starting a worker: {0}")]
    System(#[from] io::Error),
    /// A path begins or ends at a port that there is not.
    #[error("no port has number {number}")]
    NoPort {
        /// The number.
        number: usize,
    },
    /// A worker has nothing to send by.
    #[error("port {port} has no send queue for worker {worker}: open one for each worker")]
    NoQueue {
        /// Name of the port.
        port: String,
        /// Number of the worker.
        worker: usize,
    },
    /// There are more ports than a record's egress can name.
    #[error("a pipeline has at most {MAX_PORTS} ports")]
    TooManyPorts,
    /// No shard was given.
    #[error("a pipeline needs at least one shard")]
    NoShard,
    /// Another worker has ended before its time; it says why.
    #[error("another worker has ended")]
    Abandoned,
}

/// The result of what may have panicked; a panic becomes an error.
pub(crate) fn caught<T, E: Into<PipelineError>>(
    result: thread::Result<Result<T, E>>,
) -> Result<T, PipelineError> {
    match result {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Err(PipelineError::Thread(text.unwrap_or("panicked").to_owned()))
        }
    }
}

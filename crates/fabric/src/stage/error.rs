//! Why keys cannot be used.

use weir_ledger::LedgerError;

use crate::secure::FlowError;

/// Why the keys of a `fabric.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// The ledger cannot be relied on, or does not know a key.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A name that `--new-key` gives is not in the file.
    #[error(
        "there is no queue_pair or partition {name:?} with keys to send by: --new-key names those"
    )]
    UnknownName {
        /// The name.
        name: String,
    },
    /// Repeated epochs on a network give keys away.
    #[error("--repeatable-insecure repeats nonces and is refused for live outputs; use a ledger")]
    RepeatableLive,
    /// A flow cannot be set up.
    #[error("{owner}: {source}")]
    Flow {
        /// The queue pair or partition.
        owner: weir_ledger::Owner,
        /// Why.
        source: FlowError,
    },
    /// The ledger could not be written for the first epochs.
    #[error("the ledger cannot be written: {0}")]
    Unwritten(std::sync::Arc<LedgerError>),
}

//! Why a gateway cannot be set up.

use std::path::PathBuf;

use weir_crypto::{KeyError, Suite};
use weir_ledger::LedgerError;

/// Why nothing can be protected by an SA file.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The ledger cannot be relied on, or does not know a key.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A new key is announced for an association that is not there.
    #[error("{}: --new-key {name}: no sa has this name", path.display())]
    UnknownAssociation {
        /// The SA file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The SA file wants numbers again that are used up.
    #[error(
        "{}: sa {association:?}: expected_sequence = {expected} was used before; its key goes on \
         with {next_sequence}: take the line out, or take a new key",
        path.display()
    )]
    SequenceUsed {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// What the file says.
        expected: u64,
        /// What the ledger says.
        next_sequence: u64,
    },
    /// The ledger's place is unknown.
    #[error("there is no home directory to keep a ledger in: name one with --state PATH")]
    NoLedgerPath,
    /// Repeatable output was requested for a network.
    #[error("--repeatable-insecure repeats nonces and is refused for live outputs; use a ledger")]
    RepeatableLive,
    /// The file's keys are public.
    #[error(
        "{}: insecure_example = true: its keys are public, so it protects with \
         --repeatable-insecure only; remove the line and take keys of your own",
        path.display()
    )]
    InsecureExample {
        /// The SA file.
        path: PathBuf,
    },
    /// A legacy suite would encrypt.
    #[error(
        "{}: sa {association:?}: {suite} is legacy and decrypts only; choose another suite, or \
         set legacy_encrypt = true in spite of its weakness",
        path.display()
    )]
    LegacyEncrypt {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// Its suite.
        suite: Suite,
    },
    /// An outbound association has another one's key.
    #[error(
        "{}: sa {association:?} and sa {other:?} share a key, under which nonces would repeat; \
         give each association its own",
        path.display()
    )]
    SharedKey {
        /// The SA file.
        path: PathBuf,
        /// The one that would seal.
        association: String,
        /// The other.
        other: String,
    },
    /// SA files were replaced faster than slots of former associations may be used again.
    #[error(
        "{}: too many associations were replaced within a minute; try again later",
        path.display()
    )]
    TooManyReplaced {
        /// The SA file.
        path: PathBuf,
    },
    /// A key cannot be set up.
    #[error("{}: sa {association:?}: {source}", path.display())]
    Key {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// Why.
        source: KeyError,
    },
}

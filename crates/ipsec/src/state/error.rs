//! What can be wrong with a state file.

use std::io;
use std::path::PathBuf;

/// Why a state file cannot be relied on. In every case nothing is sealed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is none yet.
    #[error(
        "{}: no state file; if these keys were never used, create it with --init-state, \
         otherwise bring it back or take new keys",
        path.display()
    )]
    Missing {
        /// The state file.
        path: PathBuf,
    },
    /// It was written before and is gone.
    #[error(
        "{}: the state file is gone, although {}.lock says that it was written; bring it back, \
         or take new keys and remove the lock file",
        path.display(), path.display()
    )]
    Lost {
        /// The state file.
        path: PathBuf,
    },
    /// It lies there without its lock file: a copy.
    #[error(
        "{}: {}.lock is missing, so this is a copy that may be older than the keys' last use; \
         bring back both files or take new keys (if nothing was sealed since this file was \
         written, create an empty {}.lock)",
        path.display(), path.display(), path.display()
    )]
    Copied {
        /// The state file.
        path: PathBuf,
    },
    /// An older version of it was put back.
    #[error(
        "{}: this is writing {found}, but writing {newest} was made: the file is older than the \
         keys' last use; bring back the newest one or take new keys",
        path.display()
    )]
    Stale {
        /// The state file.
        path: PathBuf,
        /// The number of its writing.
        found: u64,
        /// The number of the last writing.
        newest: u64,
    },
    /// Another process counts with it.
    #[error("{}: in use by another process; wait until it ends, or use other keys", path.display())]
    Locked {
        /// The state file.
        path: PathBuf,
    },
    /// It cannot be understood.
    #[error(
        "{}:{line}:{column}: {message}; it was damaged or edited: bring back an intact one or \
         take new keys",
        path.display()
    )]
    Malformed {
        /// The state file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The operating system refused.
    #[error("{}: {doing}: {source}", path.display())]
    System {
        /// The file at fault.
        path: PathBuf,
        /// What was tried, as in `cannot write`.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// All numbers that a state file can hold are used up.
    #[error("{}: the sequence numbers of association `{association}` are used up: rekey", path.display())]
    UsedUp {
        /// The state file.
        path: PathBuf,
        /// The association.
        association: String,
    },
}

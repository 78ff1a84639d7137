//! What can be wrong with a ledger.

use std::io;
use std::path::PathBuf;

use super::{Fingerprint, Owner};

/// Why a ledger cannot be relied on. In every case nothing is sealed.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is none yet.
    #[error(
        "{}: no ledger; if the key of {owner} was never used anywhere, create it with \
         --new-key {}, otherwise bring the ledger back or take a new key",
        path.display(), .owner.name
    )]
    Missing {
        /// The ledger.
        path: PathBuf,
        /// The first one whose key would need it.
        owner: Owner,
    },
    /// It does not know a key.
    #[error(
        "{}: the key of {owner} ({fingerprint}) is not in this ledger; if it was never \
         used anywhere, pass --new-key {}, otherwise take a new key",
        path.display(), .owner.name
    )]
    UnknownKey {
        /// The ledger.
        path: PathBuf,
        /// What the key belongs to.
        owner: Owner,
        /// Its key.
        fingerprint: Fingerprint,
    },
    /// It was written before and is gone.
    #[error(
        "{}: the ledger's slots are gone, although its generation says that they were written; \
         bring them back, or take new keys and remove the directory",
        path.display()
    )]
    Lost {
        /// The ledger.
        path: PathBuf,
    },
    /// Its slots lie there without what says how new they must be.
    #[error(
        "{}: the ledger's generation is missing, so its slots may be older than the keys' last \
         use; bring it back, or take new keys and remove the directory",
        path.display()
    )]
    Unwitnessed {
        /// The ledger.
        path: PathBuf,
    },
    /// It is a copy of a ledger.
    #[error(
        "{}: this is a copy of a ledger, which may be older than the keys' last use; use the \
         original, or take new keys and remove the directory",
        path.display()
    )]
    Copied {
        /// The ledger.
        path: PathBuf,
    },
    /// An older version of it was put back.
    #[error(
        "{}: the newest slot is of generation {found}, but generation {newest} was written: the \
         ledger is older than its keys' last use; bring back the newest one, or take new keys and \
         remove the directory",
        path.display()
    )]
    Stale {
        /// The ledger.
        path: PathBuf,
        /// The newest generation among the slots.
        found: u64,
        /// The generation that was written last.
        newest: u64,
    },
    /// Another process uses a key.
    #[error(
        "{}: the key of {owner} ({fingerprint}) is in use by another process; wait \
         until it ends, or use another key",
        path.display()
    )]
    InUse {
        /// The ledger.
        path: PathBuf,
        /// What the key belongs to.
        owner: Owner,
        /// Its key.
        fingerprint: Fingerprint,
    },
    /// A part of it cannot be read as what it should be.
    #[error(
        "{}: {what}; the ledger was damaged or edited: bring back an intact one, or take new keys \
         and remove the directory",
        path.display()
    )]
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It has no slot left.
    #[error(
        "{}: the ledger is full: it has room for {capacity} keys, and {wanted} are wanted; choose \
         another ledger with --state",
        path.display()
    )]
    Full {
        /// The ledger.
        path: PathBuf,
        /// The most keys that a ledger holds.
        capacity: u64,
        /// How many it would have to hold.
        wanted: u64,
    },
    /// Something else has its name.
    #[error("{}: {what}: a ledger is a directory with two files, none of them a link", path.display())]
    NotALedger {
        /// The file at fault.
        path: PathBuf,
        /// What was found at the path.
        what: &'static str,
    },
    /// Others could change it.
    #[error(
        "{}: others can change this ledger (owner {owner}, mode {mode:04o}): run `chown` and \
         `chmod go-w`, if nobody has changed it",
        path.display()
    )]
    OpenToOthers {
        /// The file at fault.
        path: PathBuf,
        /// The user who owns it.
        owner: u32,
        /// Its permissions.
        mode: u32,
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
    /// A commit failed.
    #[error(transparent)]
    Commit(std::sync::Arc<LedgerError>),
    /// The thread that writes it has ended.
    #[error("{}: the thread that writes the ledger has ended", path.display())]
    Closed {
        /// The ledger.
        path: PathBuf,
    },
}

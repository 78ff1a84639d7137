//! The sequence ledger: which numbers of which keys are used up, so that no key
//! counts through the same nonces twice, across restarts, crashes, copies and
//! renames.
//!
//! A ledger is a directory, one for a machine. Its keys are found by their
//! [`Fingerprint`], not by the name, the SPI or the file that they stand under:
//! a key that is moved or copied to another SA file goes on where it stopped.
//!
//! ```text
//!  slots        header: magic, version, id of the ledger, its own inode number
//!               then groups of 64 slots: a page of copies A, a page of copies B
//!  generation   the number of the last commit, and how many slots there are
//! ```
//!
//! Before a number is used, the ledger says that it is. A commit writes copy A
//! of its slots and syncs, then copy B and the generation and syncs both. So the
//! last acknowledged value stands in one copy at any time, and a crash skips the
//! rest of a reserved range and never repeats it. A generation newer than every
//! slot shows that an older file was put back, another inode number that the
//! file is a copy.
//!
//! `store` reads and writes these files and holds a lock for each key in use.
//! [`Ledger`] does so on a thread, for packet paths that never wait for a disk.
//! [`Reservations`] are what a sender holds, a [`SeenBound`] what a receiver does. [`Marks`] are
//! beside the ledger: they survive the process, not the machine. A [`Journal`] is for receivers that
//! come and go while the process runs.
//!
//! Each protocol has a domain of its own for each thing that it counts ([`Fingerprint::over`]), so
//! that no two share an entry.
//!
//! ```
//! use weir_ledger::{Fingerprint, KeyIdentity, Kind, Ledger, Owner, Progress, Reservations};
//!
//! let directory = tempfile::tempdir()?;
//! let key = KeyIdentity {
//!     kind: Kind::Sealing,
//!     fingerprint: Fingerprint::over("example of a cipher key", &[&[7; 16]]),
//!     owner: Owner::new("example", "one"),
//!     may_be_new: true,
//! };
//! // A step of no bytes: numbers alone are counted.
//! let step = Progress { next_sequence: 100, bytes: 0 };
//! let mut last = 0;
//! for _ in 0..2 {
//!     let path = directory.path().join("ledger");
//!     let (ledger, progress) = Ledger::open(&path, std::slice::from_ref(&key), |_, _| None)?;
//!     let mut used = progress[0];
//!     let mut reservations = Reservations::new(&ledger, 0, step, used, true);
//!     assert!(reservations.provide(used, 0).is_ok());
//!     assert!(used.next_sequence > last, "a number that was used before");
//!     last = used.next_sequence;
//!     used.next_sequence += 1;
//!     // Without this, all that was reserved is used up.
//!     Reservations::settle([(reservations, used)])?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod fingerprint;
mod identity;
mod journal;
mod marks;
mod place;
mod reservation;
mod service;
mod slot;
mod store;
mod window;

#[cfg(test)]
mod tests;

pub use error::LedgerError;
pub use fingerprint::Fingerprint;
pub use identity::{KeyIdentity, NewKeys, Owner};
pub use journal::{Journal, JournalKey, JournalValue};
pub use marks::{Mark, Marks};
pub use place::{default_marks, default_path, files};
pub use reservation::{Reservations, Shortage};
pub use service::{Ledger, Response};
pub use slot::{Kind, Progress};
pub use store::check;
pub use window::{SeenBound, Step};

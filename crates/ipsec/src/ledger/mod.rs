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
//! `service` does so on a thread, for packet paths that never wait for a disk.
//! `reservation` and `window` are what an association holds. `marks` are beside the ledger: they
//! survive the process, not the machine.

mod error;
mod fingerprint;
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
pub(crate) use marks::{Mark, Marks};
pub use place::default_marks;
pub use place::{default_path, files};
pub(crate) use reservation::{Reservations, Shortage, step};
pub(crate) use service::Ledger;
pub(crate) use slot::{Kind, Progress};
pub(crate) use store::{KeyIdentity, check};
pub(crate) use window::SeenBound;

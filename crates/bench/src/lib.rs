//! The benchmark suites of ciphers and MACs on this machine.
//!
//! A [`Plan`] says which algorithms, at which sizes, under how many keys, on how
//! many threads, and in how many rounds. [`Plan::run`] measures and returns a
//! [`Row`] per algorithm, mode and size.
//!
//! ```text
//! each size:  each round:  each algorithm and mode, from another one on each
//!                          time: one turn, and how long a processor cycle takes
//! ```
//!
//! Algorithms take turns, round after round, so that whatever else the machine
//! does meets all of them alike; a row tells the median of its rounds and the
//! quartiles. Every packet of a batch has its key, in an order that nothing can
//! guess, and all that a packet needs is part of the work: nonces, pads, jobs,
//! tags. What only a benchmark must do, such as to put back texts that were
//! decrypted, is done while no clock runs.
//!
//! ```
//! use weir_bench::{Plan, Subjects};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Plan {
//!     algorithms: vec!["aes-128-gcm".to_owned()],
//!     bytes: vec![64],
//!     rounds: 1,
//!     ..Plan::new(Subjects::Cipher)
//! };
//! let rows = plan.run(|_| true)?;
//! assert_eq!(rows.len(), 2); // sealing and opening
//! assert!(rows[0].ns_per_packet > 0.0);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod batch;
mod cipher;
mod contest;
mod cycles;
mod mac;
mod plan;
mod quartiles;
mod row;

pub use contest::{Progress, RunError};
pub use plan::{Plan, PlanError, Subjects};
pub use quartiles::Quartiles;
pub use row::Row;

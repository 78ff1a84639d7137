//! The benchmark suites of ciphers and MACs on this machine.
//!
//! A [`Plan`] says which algorithms, at which sizes, under how many keys, on how
//! many threads, and in how many rounds. [`Plan::run`] measures and returns a
//! [`Row`] per algorithm, mode and size.
//!
//! ```text
//! each size:  each round:  the length of a processor cycle, then one sample of
//!                          each algorithm and mode, beginning with another one
//!                          each time
//! ```
//!
//! Rounds are interleaved, so that a change of the machine's state affects all
//! algorithms alike; a row has the median of its rounds and the quartiles. Every
//! packet of a batch has its key, in random order, and all that a packet needs is
//! part of the work: nonces, pads, jobs, tags. Work that only a benchmark has, such
//! as the restoration of decrypted texts, is not timed.
//!
//! [`compare`] is the harness below: it measures any [`Candidate`]s in interleaved
//! rounds and checks that they agree; [`Target`] decides whether the ratio of two
//! of them is as required.
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
mod comparison;
mod cycles;
mod plan;
mod quartiles;
mod row;
mod runner;
mod suite;
mod target;

pub use comparison::{Candidate, Disagreement, Rounds, Sample, SampleParts, compare, timed};
pub use plan::{Plan, PlanError, Subjects};
pub use quartiles::Quartiles;
pub use row::Row;
pub use runner::{Progress, RunError};
pub use target::Target;

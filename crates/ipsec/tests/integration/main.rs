//! The crate through its public interface: ESP against known answers, SA files, state, steering.

mod bad_input;
mod common;
mod known_answers;
mod ledger;
mod nothing_leaves;
mod round_trip;
mod sa_file;
mod steering;

//! The crate through its public interface: ESP against known answers, SA files and their replacement, state,
//! steering.

mod bad_input;
mod common;
mod known_answers;
mod ledger;
mod nothing_leaves;
mod replacement;
mod round_trip;
mod sa_file;
mod steering;
mod too_big;

//! The crate through its public interface: sketches against exact counts, intervals, changes.

mod agreement;
mod changes;
mod collector;
mod estimators;
mod many_keys;
mod pipeline;
mod recount;

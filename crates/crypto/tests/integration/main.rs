//! The crate through its public interface: batches, refusals, packets of one buffer, MACs, and
//! published vectors.

mod batches;
mod macs;
mod placed;
mod refusals;
mod support;
mod vectors;

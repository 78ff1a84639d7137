//! The crate through its public interface: rule files, the stage in a pipeline, shards.

mod examples;
mod rules;
mod shards;
mod stage;

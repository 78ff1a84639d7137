//! What a pipeline consists of.

use crate::batch::BatchLimits;
use crate::stage::Stage;
use crate::stop::StopFlag;

pub(super) struct Parts {
    /// The source, and the stages that watch it.
    pub source: Vec<Box<dyn Stage>>,
    /// A chain of the same stages for every shard.
    pub shards: Vec<Vec<Box<dyn Stage>>>,
    pub sinks: Vec<Box<dyn Stage>>,
    pub limits: BatchLimits,
    pub stop: StopFlag,
}

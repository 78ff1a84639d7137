//! What is left of a run.

use std::any::Any;

use crate::stage::Stage;
use crate::statistics::Statistics;

/// A finished run: its accounts, and the stages with their results.
pub struct Outcome {
    /// Accounts of the whole run.
    pub statistics: Statistics,
    /// Accounts of each shard. Where records are handed over between shards, one
    /// counts them as received and another their fate.
    pub shard_statistics: Vec<Statistics>,
    /// The source, and the stages that watched it.
    pub source: Vec<Box<dyn Stage>>,
    /// The stages of each shard.
    pub shards: Vec<Vec<Box<dyn Stage>>>,
    /// The sinks.
    pub sinks: Vec<Box<dyn Stage>>,
    /// Whether the run was ended by its [`StopFlag`](crate::StopFlag).
    pub interrupted: bool,
}

impl Outcome {
    /// The stages of type `S`, one per shard that has it, then those among
    /// the sinks.
    pub fn stages<S: Stage>(&self) -> impl Iterator<Item = &S> {
        of_type(self.shards.iter().flatten().chain(&self.sinks))
    }

    /// The same stages, for those that have something left to do.
    pub fn stages_mut<S: Stage>(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.shards.iter_mut().flatten().chain(&mut self.sinks);
        all.filter_map(|stage| (stage.as_mut() as &mut dyn Any).downcast_mut())
    }

    /// The source, if it is of type `S`.
    pub fn source<S: Stage>(&self) -> Option<&S> {
        of_type(&self.source).next()
    }
}

fn of_type<'a, S: Stage>(
    stages: impl IntoIterator<Item = &'a Box<dyn Stage>>,
) -> impl Iterator<Item = &'a S> {
    let any = stages.into_iter().map(|stage| stage.as_ref() as &dyn Any);
    any.filter_map(|stage| stage.downcast_ref())
}

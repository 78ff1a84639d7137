//! Executes kernels over clusters in lock step, bit for bit.
//!
//! Record `r` of a stream belongs to cluster `r mod C`, as the stream register
//! file deals them out, so a stream's records are a multiple of the clusters.

use std::collections::BTreeMap;

pub(crate) use clusters::{Clusters, Lanes};

use crate::stream_processor::kernel::{Kernel, Loop, Node, Op, Place, Trip, Value};

mod clusters;

/// What scratchpads hold, by the name of the array: the words of cluster 0,
/// then those of cluster 1, and so on. They stay from kernel to kernel.
pub type Scratchpads = BTreeMap<String, Vec<u32>>;

/// What a kernel is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The words of each input stream, record after record.
    pub inputs: Vec<Vec<u32>>,
    /// The words of each indexed stream; kernels change them.
    pub indexed: Vec<Vec<u32>>,
    /// The host's scalars.
    pub scalars: Vec<u32>,
}

/// A kernel that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// A number of clusters that is not a power of two up to 32.
    #[error("{0} clusters: it has to be 1, 2, 4, 8, 16 or 32")]
    Clusters(usize),
    /// Another number of streams or scalars than the kernel declares.
    #[error("kernel {kernel} takes {expected} {what}, not {found}")]
    Arguments {
        /// The kernel.
        kernel: String,
        /// `input streams`, `indexed streams` or `scalars`.
        what: &'static str,
        /// How many it declares.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A stream that cannot be dealt out evenly.
    #[error(
        "kernel {kernel}: stream {stream} has {words} words, which is not a multiple of {record_words} words × {clusters} clusters"
    )]
    Uneven {
        /// The kernel.
        kernel: String,
        /// The stream.
        stream: String,
        /// Its words.
        words: usize,
        /// Words in a record.
        record_words: usize,
        /// The clusters.
        clusters: usize,
    },
    /// An operation that cannot be done.
    #[error("kernel {kernel}, {place}, {operation}: {reason}")]
    Operation {
        /// The kernel.
        kernel: String,
        /// Where the operation was written.
        place: Place,
        /// The operation.
        operation: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// Runs a kernel and returns its output streams.
///
/// # Errors
/// Arguments that do not fit the kernel, a stream that is read past its end,
/// an index outside its array or lane: with the operation's place.
pub fn execute(
    kernel: &Kernel,
    clusters: usize,
    arguments: &mut Arguments,
    scratchpads: &mut Scratchpads,
) -> Result<Vec<Vec<u32>>, ExecuteError> {
    let machine = Clusters::new(kernel, clusters, arguments, scratchpads)?;
    let mut run = Run {
        registers: vec![0; kernel.value_count() * clusters],
        machine,
    };
    run.nodes(kernel.body())?;
    Ok(run.machine.into_outputs())
}

/// A run in the order of the program: one register per value and cluster.
struct Run<'a> {
    machine: Clusters<'a>,
    registers: Vec<u32>,
}

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node]) -> Result<(), ExecuteError> {
        for node in nodes {
            match node {
                Node::Block(block) => block.ops.iter().try_for_each(|op| self.op(op))?,
                Node::Loop(looped) => self.repeat(looped)?,
            }
        }
        Ok(())
    }

    fn repeat(&mut self, looped: &Loop) -> Result<(), ExecuteError> {
        let carried = &looped.carried;
        self.assign(carried.iter().map(|value| (value.inside, value.before)));
        for _ in 0..self.machine.iterations(looped)? {
            self.nodes(&looped.body)?;
            self.assign(carried.iter().map(|value| (value.inside, value.next)));
        }
        self.assign(carried.iter().map(|value| (value.after, value.inside)));
        Ok(())
    }

    /// Sets registers to others, all at once.
    fn assign(&mut self, pairs: impl Iterator<Item = (Value, Value)>) {
        let clusters = self.machine.count();
        let range = |value: Value| value.index() * clusters..(value.index() + 1) * clusters;
        let moved: Vec<(Value, Vec<u32>)> = pairs
            .map(|(to, from)| (to, self.registers[range(from)].to_vec()))
            .collect();
        for (to, words) in moved {
            self.registers[range(to)].copy_from_slice(&words);
        }
    }

    fn op(&mut self, op: &Op) -> Result<(), ExecuteError> {
        let clusters = self.machine.count();
        let results = {
            let registers = &self.registers;
            self.machine.perform(op, |arg, cluster| {
                registers[op.args[arg].index() * clusters + cluster]
            })?
        };
        for (result, words) in op.results.iter().zip(results) {
            let start = result.index() * clusters;
            self.registers[start..start + clusters].copy_from_slice(&words[..clusters]);
        }
        Ok(())
    }
}

/// How often a loop runs.
impl Clusters<'_> {
    pub(crate) fn iterations(&self, looped: &Loop) -> Result<usize, ExecuteError> {
        match looped.trip {
            Trip::Count(count) => Ok(count as usize),
            Trip::Scalar(scalar) => Ok(self.scalar(scalar) as usize),
            Trip::Records {
                stream,
                per_iteration,
            } => {
                let records = self.records_left(stream);
                let per_iteration = per_iteration as usize;
                if !records.is_multiple_of(per_iteration) {
                    return Err(self.failure(
                        looped.place,
                        "loop",
                        format!(
                            "each cluster has {records} records left, and an iteration takes {per_iteration}"
                        ),
                    ));
                }
                Ok(records / per_iteration)
            }
        }
    }
}

//! Operation counts.

use std::collections::BTreeMap;

use super::{Class, Kernel, Node, Opcode, Trip};

/// How many operations of each name a program holds. Loop bodies count once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    by_name: BTreeMap<&'static str, u32>,
    by_class: BTreeMap<Class, u32>,
}

impl Counts {
    /// Of a part of a kernel.
    pub fn of_nodes(nodes: &[Node]) -> Counts {
        let mut counts = Counts::default();
        counts.add_nodes(nodes);
        counts
    }

    fn add_nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Block(block) => {
                    for op in &block.ops {
                        *self.by_name.entry(op.code.name()).or_default() += 1;
                        *self.by_class.entry(op.code.class()).or_default() += 1;
                    }
                }
                Node::Loop(looped) => self.add_nodes(&looped.body),
            }
        }
    }

    /// Operations of one name.
    pub fn of(&self, name: &str) -> u32 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// Operations of one class.
    pub fn of_class(&self, class: Class) -> u32 {
        self.by_class.get(&class).copied().unwrap_or(0)
    }

    /// All operations.
    pub fn total(&self) -> u32 {
        self.by_name.values().sum()
    }

    /// Names and numbers, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.by_name.iter().map(|(&name, &count)| (name, count))
    }
}

impl Kernel {
    /// Records of each input stream that a cluster takes in a call, where those
    /// that loops run over have `records` each and scalars are 0.
    pub fn records_read(&self, records: u64) -> Vec<u64> {
        let mut read = Reads {
            driving: vec![false; self.inputs().len()],
            taken: vec![0; self.inputs().len()],
            records,
        };
        read.nodes(self.body(), 1);
        read.driving
            .into_iter()
            .zip(read.taken)
            .map(|(drives, taken)| if drives { records } else { taken })
            .collect()
    }
}

/// Reads of input streams, counted.
struct Reads {
    /// Whether a loop runs over each stream.
    driving: Vec<bool>,
    taken: Vec<u64>,
    records: u64,
}

impl Reads {
    fn nodes(&mut self, nodes: &[Node], times: u64) {
        for node in nodes {
            match node {
                Node::Block(block) => {
                    for op in &block.ops {
                        if let Opcode::Input { stream, word: 0 } = op.code {
                            let taken = &mut self.taken[stream.index()];
                            *taken = taken.saturating_add(times);
                        }
                    }
                }
                Node::Loop(looped) => {
                    let trips = match looped.trip {
                        Trip::Count(count) => u64::from(count),
                        Trip::Scalar(_) => 0,
                        Trip::Records {
                            stream,
                            per_iteration,
                        } => {
                            self.driving[stream.index()] = true;
                            let left = self.records.saturating_sub(self.taken[stream.index()]);
                            left / u64::from(per_iteration)
                        }
                    };
                    self.nodes(&looped.body, times.saturating_mul(trips));
                }
            }
        }
    }
}

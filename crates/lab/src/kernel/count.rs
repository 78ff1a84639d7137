//! Operation counts.

use std::collections::BTreeMap;

use super::{Class, Node};

/// How many operations of each name a program holds. Loop bodies count once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    by_name: BTreeMap<&'static str, u32>,
    by_class: BTreeMap<Class, u32>,
}

impl Counts {
    pub(super) fn of_nodes(nodes: &[Node]) -> Counts {
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

//! Operations whose results nothing uses are removed before anything is
//! counted or scheduled.

use std::collections::HashSet;

use super::{Kernel, Node, Value};

impl Kernel {
    /// Removes dead operations, carried values that only feed themselves, and
    /// blocks that are left empty.
    pub(super) fn prune(&mut self) {
        let mut live = HashSet::new();
        // A carried value makes its successor live one iteration earlier:
        // repeat until nothing is added.
        loop {
            let before = live.len();
            mark(&self.body, &mut live);
            if live.len() == before {
                break;
            }
        }
        remove(&mut self.body, &live);
    }
}

fn mark(nodes: &[Node], live: &mut HashSet<Value>) {
    for node in nodes.iter().rev() {
        match node {
            Node::Block(block) => {
                for op in block.ops.iter().rev() {
                    if op.code.has_effect() || op.results.iter().any(|value| live.contains(value)) {
                        live.extend(&op.args);
                    }
                }
            }
            Node::Loop(looped) => {
                mark_carried(looped, live);
                mark(&looped.body, live);
                mark_carried(looped, live);
            }
        }
    }
}

fn mark_carried(looped: &super::Loop, live: &mut HashSet<Value>) {
    for carried in &looped.carried {
        if live.contains(&carried.after) || live.contains(&carried.inside) {
            live.extend([carried.next, carried.before]);
        }
    }
}

fn remove(nodes: &mut Vec<Node>, live: &HashSet<Value>) {
    for node in nodes.iter_mut() {
        match node {
            Node::Block(block) => block.ops.retain(|op| {
                op.code.has_effect() || op.results.iter().any(|value| live.contains(value))
            }),
            Node::Loop(looped) => {
                looped.carried.retain(|carried| {
                    live.contains(&carried.after) || live.contains(&carried.inside)
                });
                remove(&mut looped.body, live);
            }
        }
    }
    nodes.retain(|node| match node {
        Node::Block(block) => !block.ops.is_empty(),
        Node::Loop(looped) => !looped.body.is_empty(),
    });
}

//! The order in which operations are given their places.

use std::cmp::Reverse;

use super::bounds::heights;
use super::graph::Graph;

/// Which operation goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The one with the longest way to the end: for speed.
    Height,
    /// The one that comes first in the program: what is written together runs
    /// together, and fewer values wait in registers.
    Program,
}

impl Order {
    /// The quicker one first.
    pub(super) const ALL: [Order; 2] = [Order::Height, Order::Program];

    /// All operations of a block, whose iterations start every `interval`
    /// cycles where they overlap.
    pub(super) fn of(self, graph: &Graph, interval: Option<u32>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..graph.len()).collect();
        if self == Order::Height {
            let height = heights(graph, interval);
            order.sort_by_key(|&op| Reverse(height[op]));
        }
        order
    }
}

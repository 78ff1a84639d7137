//! What a receiver remembers of flows that nobody lists.

use hashbrown::HashMap;

use super::derive::{Address, Endpoint};
use super::receive_from::ReceiveFrom;

/// What a receiver knows of the unlisted flows of a partition, of those that gave way, too: no number is
/// taken twice, and the first packet of a flow is understood.
///
/// Flows enter it with authentic packets only, so that strangers cannot fill it.
pub(super) struct Memory {
    flows: HashMap<[Endpoint; 2], Remembered>,
    nodes: HashMap<Address, NodeEpochs>,
    flows_max: usize,
    /// Nothing can be forgotten until a node begins with a newer epoch.
    is_stuck: bool,
}

struct Remembered {
    from: ReceiveFrom,
    /// Whether the receiver has it.
    is_in_use: bool,
}

/// Epochs of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeEpochs {
    /// The newest one with which a flow began.
    pub newest: u64,
    /// The lowest one with which a flow may begin that is not known: flows with lower ones were
    /// forgotten.
    pub lowest: u64,
}

/// Epochs by which the flows of a node may differ from the one that was begun last.
const EPOCHS_APART: u64 = 63;

/// The same where flows must be forgotten. A start of a sender leaves out an epoch, and what a
/// sender begins after it forgot a flow is two epochs above that flow.
const EPOCHS_APART_MIN: u64 = 2;

/// Flows that are remembered for each that a receiver has.
const REMEMBERED_PER_FLOW: usize = 4;

impl Memory {
    pub(super) fn new(flows_max: usize) -> Memory {
        Memory {
            flows: HashMap::new(),
            nodes: HashMap::new(),
            flows_max: REMEMBERED_PER_FLOW * flows_max,
            is_stuck: false,
        }
    }

    /// Where a flow begins.
    pub(super) fn from(&self, ends: &[Endpoint; 2], first_epoch: u64) -> ReceiveFrom {
        let node = self.node(ends[0].address).unwrap_or_default();
        let lowest = node.newest.saturating_sub(EPOCHS_APART).max(first_epoch);
        match self.flows.get(ends) {
            Some(known) => known.from.max(ReceiveFrom::epoch(lowest)),
            None => ReceiveFrom::epoch(lowest.max(node.lowest)),
        }
    }

    pub(super) fn node(&self, node: Address) -> Option<NodeEpochs> {
        self.nodes.get(&node).copied()
    }

    /// Whether a flow with an authentic packet may stay. What was forgotten for it is added to the notes.
    pub(super) fn begin(
        &mut self,
        ends: [Endpoint; 2],
        from: ReceiveFrom,
        newest_epoch: u64,
        note: &mut impl FnMut(MemoryNote),
    ) -> bool {
        let node = ends[0].address;
        if let Some(known) = self.flows.get_mut(&ends) {
            known.is_in_use = true;
            // Where the PSN wraps, none is left out.
            if newest_epoch > known.from.epochs_end() {
                self.begun(node, newest_epoch, note);
            }
            return true;
        }
        if self.nodes.len() >= self.flows_max && !self.nodes.contains_key(&node) {
            return false;
        }
        self.begun(node, newest_epoch, note);
        if self.flows.len() >= self.flows_max && !self.make_room(note) {
            return false;
        }
        let is_in_use = true;
        self.flows.insert(ends, Remembered { from, is_in_use });
        true
    }

    /// A node begins with an epoch.
    fn begun(&mut self, node: Address, epoch: u64, note: &mut impl FnMut(MemoryNote)) {
        let epochs = self.nodes.entry(node).or_default();
        if epoch > epochs.newest {
            epochs.newest = epoch;
            self.is_stuck = false;
            note(MemoryNote::Node(node, *epochs));
        }
    }

    /// Forgets flows that are far behind the newest of their nodes. Unknown flows of these begin above
    /// them from now on.
    fn make_room(&mut self, note: &mut impl FnMut(MemoryNote)) -> bool {
        if self.is_stuck {
            return false;
        }
        let mut apart = EPOCHS_APART;
        while self.flows.len() >= self.flows_max && apart > EPOCHS_APART_MIN {
            apart = (apart / 2).max(EPOCHS_APART_MIN);
            let nodes = &mut self.nodes;
            self.flows.retain(|ends, known| {
                let Some(node) = nodes.get_mut(&ends[0].address) else {
                    return true;
                };
                let above = known.from.epochs_end();
                if known.is_in_use || above + apart - 1 > node.newest {
                    return true;
                }
                if above > node.lowest {
                    node.lowest = above;
                    note(MemoryNote::Node(ends[0].address, *node));
                }
                note(MemoryNote::Forgotten(*ends));
                false
            });
        }
        self.is_stuck = self.flows.len() >= self.flows_max;
        !self.is_stuck
    }

    /// A flow gives way: where it goes on.
    pub(super) fn gave_way(&mut self, ends: &[Endpoint; 2], state: ReceiveFrom) {
        if let Some(known) = self.flows.get_mut(ends) {
            known.from = known.from.max(state);
            known.is_in_use = false;
        }
    }

    /// What another receiver knew.
    pub(super) fn recall_flow(&mut self, ends: [Endpoint; 2], from: ReceiveFrom) {
        let is_in_use = false;
        self.flows.insert(ends, Remembered { from, is_in_use });
    }

    pub(super) fn recall_node(&mut self, node: Address, epochs: NodeEpochs) {
        let known = self.nodes.entry(node).or_default();
        known.newest = known.newest.max(epochs.newest);
        known.lowest = known.lowest.max(epochs.lowest);
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = (&[Endpoint; 2], ReceiveFrom)> {
        self.flows.iter().map(|(ends, known)| (ends, known.from))
    }
}

/// What changes in a [`Memory`].
pub(super) enum MemoryNote {
    Node(Address, NodeEpochs),
    Forgotten([Endpoint; 2]),
}

//! Which flows raised an alert.

use std::collections::VecDeque;

use hashbrown::HashSet;
use weir_packet::wire::FlowKey;
use weir_stream::Batch;

use crate::packet::Packet;
use crate::virtual_network::Vlans;

/// A bounded set of flows, either direction.
pub(super) struct AlertedFlows {
    known: HashSet<FlowKey>,
    /// The same, the oldest first.
    by_age: VecDeque<FlowKey>,
    limit: usize,
    forgotten: u64,
}

impl AlertedFlows {
    pub(super) fn new(limit: usize) -> AlertedFlows {
        AlertedFlows {
            known: HashSet::new(),
            by_age: VecDeque::new(),
            limit: limit.max(1),
            forgotten: 0,
        }
    }

    /// Adds the flow of an alert; one of all zeros is none.
    pub(super) fn add(&mut self, flow: &FlowKey) {
        let (flow, _) = flow.canonical();
        if flow == FlowKey::default() || !self.known.insert(flow) {
            return;
        }
        self.by_age.push_back(flow);
        if self.by_age.len() > self.limit
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.known.remove(&oldest);
            self.forgotten += 1;
        }
    }

    /// Whether a record, or a packet that it carries, is of such a flow.
    pub(super) fn holds_one_of(&self, batch: &Batch, index: usize) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let packet = Packet {
            headers: *batch.headers(index),
            bytes: batch.record(index),
            ..Packet::default()
        };
        (packet.levels(Vlans::Ignore))
            .any(|packet| self.known.contains(&packet.flow().canonical().0))
    }

    /// Flows that gave way to others.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

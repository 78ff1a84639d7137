//! What a stage keeps for each flow.

use crate::secure::FlowId;

/// Places by flow.
#[derive(Default)]
pub(super) struct ByFlow(Vec<Option<(FlowId, usize)>>);

impl ByFlow {
    pub fn insert(&mut self, flow: FlowId, place: usize) {
        if self.0.len() <= flow.slot() {
            self.0.resize(flow.slot() + 1, None);
        }
        self.0[flow.slot()] = Some((flow, place));
    }

    /// The place of the flow that had this one's slot before.
    pub fn before(&self, flow: FlowId) -> Option<usize> {
        let (_, place) = self.0.get(flow.slot()).copied().flatten()?;
        Some(place)
    }

    /// The place of a flow; nothing for those that have none.
    #[inline]
    pub fn get(&self, flow: FlowId) -> Option<usize> {
        let (found, place) = self.0.get(flow.slot()).copied().flatten()?;
        (found == flow).then_some(place)
    }
}

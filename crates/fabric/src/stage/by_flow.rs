//! What a stage keeps for each flow of its file.

use crate::secure::FlowId;

/// Places by flow, of flows that are never removed.
#[derive(Default)]
pub(super) struct ByFlow(Vec<Option<(FlowId, usize)>>);

impl ByFlow {
    pub fn insert(&mut self, flow: FlowId, place: usize) {
        if self.0.len() <= flow.slot() {
            self.0.resize(flow.slot() + 1, None);
        }
        self.0[flow.slot()] = Some((flow, place));
    }

    /// The place of a flow; nothing for those that are not of the file.
    #[inline]
    pub fn get(&self, flow: FlowId) -> Option<usize> {
        let (found, place) = self.0.get(flow.slot()).copied().flatten()?;
        (found == flow).then_some(place)
    }
}

//! What an inspector is told beside its rules.

use crate::flow::FlowLimits;

/// How an inspector works. The default is that of a sensor beside the path of the
/// packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectOptions {
    /// Bounds of what is remembered of flows.
    pub limits: FlowLimits,
    /// Packets pass through the inspector: rules with the actions `drop` and
    /// `reject` stop them.
    pub is_inline: bool,
}

//! What a queue pair did.

use crate::secure::Flow;

/// What the stage of one direction did for a queue pair of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Its place in the file.
    pub place: usize,
    /// Its name in the file.
    pub name: String,
    /// Its packets.
    pub flow: Flow,
    /// Packets that were protected, or that were verified.
    pub packets: u64,
    /// Their bytes, as they left the stage.
    pub bytes: u64,
    /// Of a receiver: whether the modes with encryption and without it are refused.
    pub is_degraded: (bool, bool),
}

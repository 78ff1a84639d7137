//! Settings of an inspector beside its rules.

use crate::ahead::HostPolicy;
use crate::checksum::Checksums;
use crate::flow::FlowLimits;
use crate::virtual_network::Vlans;

/// How an inspector works. The default is that of a sensor beside the path of the
/// packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectOptions {
    /// Bounds of what is remembered of flows.
    pub limits: FlowLimits,
    /// Packets pass through the inspector: rules with the actions `drop` and
    /// `reject` stop them.
    pub is_inline: bool,
    /// How hosts keep overlapping segments; others do as Linux.
    pub policies: Vec<HostPolicy>,
    /// Whether checksums are verified.
    pub checksums: Checksums,
    /// Whether equal addresses in several VLANs are different hosts.
    pub vlans: Vlans,
    /// Most anomalies of each kind per second of the packets' time that are told, 0 for none.
    pub anomalies_per_second: u32,
}

//! What traces found, as values that can be printed and written as JSON.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde::Serialize;

use super::{ROUTES_MAX, Tracer, Untraced};

/// What traces found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The topology, as the map describes it.
    pub topology: String,
    /// Packets whose source was named.
    pub traced: u64,
    /// Of these, packets that claim to come from another node.
    pub spoofed: u64,
    /// Packets of InfiniBand and RoCEv2 that were not traced, by reason.
    pub untraced: BTreeMap<&'static str, u64>,
    /// Packets of other networks.
    pub other: u64,
    /// Traced packets by source, destination and claimed source; those with the most packets first.
    pub routes: Vec<RouteRow>,
    /// The most of them that are counted apart.
    pub routes_max: usize,
    /// Traced packets beyond that number.
    pub routes_untracked: u64,
}

/// Packets between two nodes with one claimed source.
#[derive(Clone, Debug, Serialize)]
pub struct RouteRow {
    /// Coordinates of the node that sent them, by their marks.
    pub source: String,
    /// Coordinates of the node that they arrived at.
    pub destination: String,
    /// The source GID that they carry.
    pub claimed_gid: String,
    /// Coordinates of the node that has this GID; none where the map does not have it.
    pub claimed_node: Option<String>,
    /// Whether that is another node than the source; none where it is not known.
    pub spoofed: Option<bool>,
    /// Packets.
    pub packets: u64,
    /// Their bytes from the LRH to the ICRC.
    pub bytes: u64,
    /// Number of the first one in the capture, from 1 on.
    pub first_packet: u64,
}

impl Report {
    /// Packets that were not traced for `reason`.
    pub fn untraced(&self, reason: Untraced) -> u64 {
        self.untraced.get(reason.name()).copied().unwrap_or(0)
    }
}

impl Tracer {
    /// What was found so far.
    pub fn report(&self) -> Report {
        let topology = self.map.topology();
        let name = |node| topology.node_name(node).unwrap_or_default();
        let reasons = Untraced::ALL.iter().zip(self.untraced);
        let mut routes: Vec<RouteRow> = (self.routes.iter())
            .map(|(route, count)| RouteRow {
                source: name(route.source),
                destination: name(route.destination),
                claimed_gid: Ipv6Addr::from_bits(route.claimed_gid).to_string(),
                claimed_node: self.map.node(route.claimed_gid).map(name),
                spoofed: self.is_spoofed(route),
                packets: count.packets,
                bytes: count.bytes,
                first_packet: count.first_packet,
            })
            .collect();
        // The first packet is another one for each.
        routes.sort_by_key(|row| (std::cmp::Reverse(row.packets), row.first_packet));
        Report {
            topology: topology.to_string(),
            traced: self.traced,
            spoofed: self.spoofed,
            untraced: reasons
                .filter(|(_, packets)| *packets > 0)
                .map(|(reason, packets)| (reason.name(), packets))
                .collect(),
            other: self.other,
            routes,
            routes_max: ROUTES_MAX,
            routes_untracked: self.routes_untracked,
        }
    }
}

//! From packets to counts by source.

use hashbrown::HashMap;
use weir_packet::wire::{Headers, LinkType};

use super::TopologyMap;
use crate::marks::{MarkingField, TraceError};
use crate::wire::{Grh, Packet};

/// The most combinations of source, claimed source and destination that are counted apart; packets
/// of others are counted together.
pub const ROUTES_MAX: usize = 16_384;

/// Why a packet was not traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untraced {
    /// Its headers cannot be read.
    Malformed,
    /// RoCEv2: addresses of IP have no bits for marks.
    RoceV2,
    /// It has no GRH, and so no destination GID.
    NoGrh,
    /// Its destination GID has a prefix that leaves no bits for marks: it goes to another site, or to
    /// a group.
    NoMarkingField,
    /// The map does not say which node has its destination GID.
    UnknownDestination,
    /// The field is zero: no switch has marked it, or its node sent it to itself.
    NotMarked,
    /// No switch of this topology leaves such a field.
    Outside,
}

impl Untraced {
    /// All reasons, in order.
    pub const ALL: [Untraced; 7] = [
        Untraced::Malformed,
        Untraced::RoceV2,
        Untraced::NoGrh,
        Untraced::NoMarkingField,
        Untraced::UnknownDestination,
        Untraced::NotMarked,
        Untraced::Outside,
    ];

    /// Name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Untraced::Malformed => "malformed",
            Untraced::RoceV2 => "rocev2",
            Untraced::NoGrh => "no_grh",
            Untraced::NoMarkingField => "no_marking_field",
            Untraced::UnknownDestination => "unknown_destination",
            Untraced::NotMarked => "not_marked",
            Untraced::Outside => "outside",
        }
    }
}

/// Where a packet came from and where it went, as nodes, and the GID that it gave for its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Route {
    pub source: u64,
    pub destination: u64,
    pub claimed_gid: u128,
}

/// Packets of a route.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub packets: u64,
    pub bytes: u64,
    pub first_packet: u64,
}

/// Counts what comes by its true source.
pub struct Tracer {
    pub(super) map: TopologyMap,
    pub(super) traced: u64,
    pub(super) spoofed: u64,
    pub(super) untraced: [u64; Untraced::ALL.len()],
    /// Packets of other networks.
    pub(super) other: u64,
    pub(super) routes: HashMap<Route, Count>,
    pub(super) routes_untracked: u64,
}

impl Tracer {
    /// A tracer that knows the nodes of `map`.
    pub fn new(map: TopologyMap) -> Tracer {
        Tracer {
            map,
            traced: 0,
            spoofed: 0,
            untraced: [0; Untraced::ALL.len()],
            other: 0,
            routes: HashMap::new(),
            routes_untracked: 0,
        }
    }

    /// Takes the next packet into account: the record number `number`, with the headers that
    /// [`Headers::parse`] found in it.
    pub fn trace(&mut self, number: u64, headers: &Headers, link: LinkType, record: &[u8]) {
        let packet = match Packet::behind(headers, link, record) {
            Ok(Some(packet)) => packet,
            Ok(None) => {
                self.other += 1;
                return;
            }
            Err(_) => {
                self.untraced[Untraced::Malformed as usize] += 1;
                return;
            }
        };
        match self.route(&packet) {
            Ok(route) => self.count(number, route, packet.packet_bytes() as u64),
            Err(reason) => self.untraced[reason as usize] += 1,
        }
    }

    fn route(&self, packet: &Packet<'_>) -> Result<Route, Untraced> {
        if packet.carrier().is_rocev2() {
            return Err(Untraced::RoceV2);
        }
        let Grh {
            source_gid,
            destination_gid,
            ..
        } = packet.grh().ok_or(Untraced::NoGrh)?;
        let mut gid = destination_gid.to_be_bytes();
        let field = MarkingField::of_gid(&gid).map_err(|_| Untraced::NoMarkingField)?;
        let cleared = MarkingField::ZERO.store_in(&mut gid);
        cleared.map_err(|_| Untraced::NoMarkingField)?;
        let destination = self.map.node(u128::from_be_bytes(gid));
        let destination = destination.ok_or(Untraced::UnknownDestination)?;
        let source = self.map.topology().source(field, destination);
        let source = source.map_err(|error| match error {
            TraceError::NotMarked => Untraced::NotMarked,
            TraceError::NoSuchVictim(_) | TraceError::SpareBits { .. } | TraceError::Outside => {
                Untraced::Outside
            }
        })?;
        Ok(Route {
            source,
            destination,
            claimed_gid: source_gid,
        })
    }

    fn count(&mut self, number: u64, route: Route, bytes: u64) {
        self.traced += 1;
        self.spoofed += u64::from(self.is_spoofed(&route) == Some(true));
        if self.routes.len() == ROUTES_MAX && !self.routes.contains_key(&route) {
            self.routes_untracked += 1;
            return;
        }
        let count = self.routes.entry(route).or_insert(Count {
            first_packet: number,
            ..Count::default()
        });
        count.packets += 1;
        count.bytes += bytes;
    }

    /// Whether a packet claims to come from another node than it does; `None` where the map does not
    /// have the GID that it claims.
    pub(super) fn is_spoofed(&self, route: &Route) -> Option<bool> {
        let claimed = self.map.node(route.claimed_gid)?;
        Some(claimed != route.source)
    }
}

//! The state of the associations of a running gateway.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use weir_ipsec::{Drops, Mode, PresentAssociation, Quota, SaDirection};
use weir_stream::DropReason;

use crate::status::ReloadedAssociations;

/// An active association and what it did. It has no key.
#[derive(Clone, Debug, Serialize)]
pub struct SaStatus {
    /// Its name in the SA file.
    pub name: String,
    /// Its security parameters index.
    pub spi: u32,
    /// `outbound` or `inbound`; null where the file leaves that to who uses it.
    pub direction: Option<&'static str>,
    /// The other end of its tunnel; null in transport mode.
    pub peer: Option<IpAddr>,
    /// Its cipher suite.
    pub suite: String,
    /// `tunnel` or `transport`.
    pub mode: &'static str,
    /// Whether its sequence numbers have 64 bits.
    pub esn: bool,
    /// Packets that it protected or verified; null where no stage has it.
    pub packets: Option<u64>,
    /// Bytes that the cipher or MAC was applied to: payload and padding of ESP.
    pub payload_bytes: Option<u64>,
    /// Packets that belonged to it and were dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// The last sequence number sent, or the highest received; 0 before the first.
    pub sequence: Option<u64>,
    /// How much it may protect.
    pub lifetime: SaLifetime,
}

/// How much an association may protect.
#[derive(Clone, Debug, Serialize)]
pub struct SaLifetime {
    /// Passing it is an event.
    pub soft: SaQuota,
    /// Packets beyond it are dropped.
    pub hard: SaQuota,
}

/// Packets and bytes; null for no bound but the suite's.
#[derive(Clone, Debug, Serialize)]
pub struct SaQuota {
    /// Packets.
    pub packets: Option<u64>,
    /// Bytes that the cipher or MAC is applied to.
    pub bytes: Option<u64>,
}

/// What became of associations that were to be added.
#[derive(Clone, Debug, Serialize)]
pub struct AddedSas {
    /// How often the configuration was replaced.
    pub generation: u64,
    /// What changed.
    pub associations: ReloadedAssociations,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// An association that was removed.
#[derive(Clone, Debug, Serialize)]
pub struct RemovedSa {
    /// How often the configuration was replaced.
    pub generation: u64,
    /// Its name.
    pub name: String,
    /// Its security parameters index.
    pub spi: u32,
    /// What changed.
    pub associations: ReloadedAssociations,
}

impl From<PresentAssociation> for SaStatus {
    fn from(present: PresentAssociation) -> SaStatus {
        let PresentAssociation { parameters, report } = present;
        let is_inbound = parameters.direction == Some(SaDirection::Inbound);
        let (mode, peer) = match parameters.mode {
            Mode::Transport => ("transport", None),
            Mode::Tunnel(tunnel) if is_inbound => ("tunnel", Some(tunnel.ends.source())),
            Mode::Tunnel(tunnel) => ("tunnel", Some(tunnel.ends.destination())),
        };
        let report = report.as_ref();
        SaStatus {
            spi: parameters.spi,
            direction: parameters.direction.map(|direction| match direction {
                SaDirection::Outbound => "outbound",
                SaDirection::Inbound => "inbound",
            }),
            peer,
            suite: parameters.suite.name().to_string(),
            mode,
            esn: parameters.esn,
            packets: report.map(|report| report.traffic.packets),
            payload_bytes: report.map(|report| report.traffic.bytes),
            drops: report.map_or_else(BTreeMap::new, |report| drops(&report.drops)),
            sequence: report.map(|report| report.sequence),
            lifetime: SaLifetime {
                soft: parameters.lifetime.soft.into(),
                hard: parameters.lifetime.hard.into(),
            },
            name: parameters.name.clone(),
        }
    }
}

fn drops(drops: &Drops) -> BTreeMap<&'static str, u64> {
    let drops = drops.iter();
    drops
        .map(|(reason, packets)| (reason.word().name, packets))
        .collect()
}

impl From<Quota> for SaQuota {
    fn from(quota: Quota) -> SaQuota {
        let bounded = |count| (count != u64::MAX).then_some(count);
        SaQuota {
            packets: bounded(quota.packets),
            bytes: bounded(quota.bytes),
        }
    }
}

//! Surges of traffic, for tests of change detection.

use std::str::FromStr;
use std::time::Duration;

use super::{Plan, PlanError};
use crate::wire::{FlowKey, protocol};

/// More traffic for a while: one source that sends UDP datagrams of one size at
/// an even pace, beside the packets that the plan has anyway.
///
/// The source of surge n, from 0, is 203.0.113.(n+1) (TEST-NET-3, RFC 5737),
/// which no other flow has; it sends to 198.19.113.(n+1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surge {
    /// Its first packet, nanoseconds after [`Plan::start_ns`].
    pub start_ns: u64,
    /// How long it lasts.
    pub length_ns: u64,
    /// Its packets per second.
    pub packets_per_second: u64,
    /// Bytes of its IP packets.
    pub ip_bytes: u16,
}

/// The most surges: as many as TEST-NET-3 has hosts.
pub(super) const MAX_SURGES: usize = 254;

const FIRST_SOURCE: u128 = 0xcb00_7101;
const FIRST_DESTINATION: u128 = 0xc613_7101;
const PORT: u16 = 9;

/// Bytes of IPv4 and UDP header.
pub(super) const HEADER_BYTES: u16 = 28;

/// A surge that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "surge {0:?}: use START,SECONDS,RATE,BYTES, as in 10,5,20000,1000: seconds from the start, \
     seconds, packets per second, bytes per packet"
)]
pub struct SurgeError(String);

impl FromStr for Surge {
    type Err = SurgeError;

    fn from_str(text: &str) -> Result<Surge, SurgeError> {
        let read = || {
            let mut fields = text.split(',');
            let mut seconds = || {
                let seconds: f64 = fields.next()?.parse().ok()?;
                let duration = Duration::try_from_secs_f64(seconds).ok()?;
                u64::try_from(duration.as_nanos()).ok()
            };
            let (start_ns, length_ns) = (seconds()?, seconds()?);
            let surge = Surge {
                start_ns,
                length_ns,
                packets_per_second: fields.next()?.parse().ok()?,
                ip_bytes: fields.next()?.parse().ok()?,
            };
            fields.next().is_none().then_some(surge)
        };
        read().ok_or_else(|| SurgeError(text.to_owned()))
    }
}

impl Surge {
    /// Number of its packets.
    pub fn packets(&self) -> u64 {
        let packets = u128::from(self.length_ns) * u128::from(self.packets_per_second);
        u64::try_from(packets.div_ceil(SECOND_NS)).unwrap_or(u64::MAX)
    }

    /// The flow of surge `number`.
    pub(super) fn flow_key(number: u32) -> FlowKey {
        FlowKey {
            source: FIRST_SOURCE + u128::from(number),
            destination: FIRST_DESTINATION + u128::from(number),
            source_port: PORT,
            destination_port: PORT,
            protocol: protocol::UDP,
            ip_version: 4,
        }
    }

    /// Time of packet `number`, relative to the plan's start.
    fn time_ns(&self, number: u64) -> u64 {
        let after = u128::from(number) * SECOND_NS / u128::from(self.packets_per_second);
        self.start_ns
            .saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }
}

const SECOND_NS: u128 = 1_000_000_000;

/// The packets of all surges in order of time.
pub(super) struct Surges {
    /// Each with the number of its next packet.
    surges: Vec<(Surge, u64)>,
    start_ns: u64,
}

impl Surges {
    pub fn new(plan: &Plan) -> Surges {
        Surges {
            surges: plan.surges.iter().map(|surge| (*surge, 0)).collect(),
            start_ns: plan.start_ns,
        }
    }

    /// Number of the surge whose packet comes next, and its time, if that is
    /// before `end_ns`.
    pub fn next_before(&mut self, end_ns: Option<u64>) -> Option<(u32, u64)> {
        let open = self.surges.iter().enumerate();
        let due = open
            .filter(|(_, (surge, next))| *next < surge.packets())
            .map(|(number, (surge, next))| (surge.time_ns(*next), number))
            .min()?;
        let (after_ns, number) = due;
        let timestamp_ns = self.start_ns.saturating_add(after_ns);
        if end_ns.is_some_and(|end_ns| timestamp_ns >= end_ns) {
            return None;
        }
        self.surges[number].1 += 1;
        Some((number as u32, timestamp_ns))
    }

    /// Bytes of the IP packets of surge `number`.
    pub fn ip_bytes(&self, number: u32) -> u16 {
        self.surges[number as usize].0.ip_bytes
    }
}

/// Refuses surges that cannot be made.
pub(super) fn check(surges: &[Surge]) -> Result<(), PlanError> {
    if surges.len() > MAX_SURGES {
        return Err(PlanError::Surges(surges.len()));
    }
    for surge in surges {
        if !(1..=1_000_000_000).contains(&surge.packets_per_second) {
            return Err(PlanError::PacketsPerSecond(surge.packets_per_second));
        }
        if surge.ip_bytes < HEADER_BYTES {
            return Err(PlanError::SurgeBytes(surge.ip_bytes));
        }
    }
    Ok(())
}

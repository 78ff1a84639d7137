//! Flows of a partition that nobody lists: their keys are derived when their first packet appears.

use std::fmt;

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

use super::derive::{Endpoint, Secret, SenderKeys, SessionRandom, label};
use super::flow::{ExtendedMode, Flow, FlowError};
use super::place::Path;
use crate::wire::{Bth, Transport};

/// Keys for all queue pairs of a partition that are not listed.
///
/// Each flow has keys of its own, derived from those of the partition when its first packet
/// appears. Packets of connected services do not name the queue pair that they come from: it counts as 0.
/// A sender begins all flows with the epochs of the partition.
#[derive(Clone)]
pub struct Unlisted {
    /// P_Key of the partition; the membership bit does not count.
    pub partition_key: u16,
    /// When packets take extended mode.
    pub extended: ExtendedMode,
    /// How many of the latest numbers of a flow are remembered.
    pub window_packets: usize,
    /// How many unlisted flows a sender or receiver has, over all its partitions. One more makes the
    /// one give way that was used longest ago.
    pub flows_max: usize,
    secret: Secret,
    random: SessionRandom,
}

impl Unlisted {
    /// The fewest flows of a bound: more than a batch has packets.
    pub const FLOWS_MIN: usize = 512;
    /// The most flows of a bound.
    pub const FLOWS_MAX: usize = 1 << 20;
    /// The bound where none is given.
    pub const FLOWS: usize = 4096;
    /// The window where none is given.
    pub const WINDOW_PACKETS: usize = 256;

    /// Keys by the secret of a partition and random bits that all its nodes have.
    pub fn new(partition_key: u16, secret: &Secret, random: SessionRandom) -> Unlisted {
        Unlisted {
            partition_key,
            extended: ExtendedMode::Fallback,
            window_packets: Unlisted::WINDOW_PACKETS,
            flows_max: Unlisted::FLOWS,
            secret: secret.for_all(random, label::UNLISTED),
            random,
        }
    }

    /// A name of these keys for a ledger, which counts their epochs.
    pub fn identity(&self) -> [u8; 32] {
        self.secret.identity(self.random)
    }

    pub(super) fn check(&self) -> Result<(), FlowError> {
        if !(Unlisted::FLOWS_MIN..=Unlisted::FLOWS_MAX).contains(&self.flows_max) {
            return Err(FlowError::Unlisted(self.flows_max));
        }
        match self.window_packets {
            1..=Flow::WINDOW_PACKETS_MAX => Ok(()),
            packets => Err(FlowError::Window(packets)),
        }
    }

    /// The flow of a packet, and its keys. A notification begins no flow, since it does not say of which
    /// transport, nor does an unknown operation, nor reliable datagrams, of which only requests name the
    /// queue pair that they come from.
    pub(super) fn flow(&self, path: &Path, bth: &Bth) -> Option<(Flow, SenderKeys)> {
        let transport = bth.opcode.transport()?;
        if matches!(transport, Transport::Cnp | Transport::Rd) {
            return None;
        }
        let sender = Endpoint {
            address: path.source(),
            queue_pair: path.source_qp().unwrap_or(0),
        };
        let flow = Flow {
            extended: self.extended,
            window_packets: self.window_packets,
            ..Flow::new(sender, path.destination(), transport, self.partition_key)
        };
        let keys = SenderKeys::derive(&self.secret, self.random, sender, path.destination());
        Some((flow, keys))
    }
}

impl fmt::Debug for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unlisted")
            .field("partition_key", &self.partition_key)
            .field("extended", &self.extended)
            .field("window_packets", &self.window_packets)
            .field("flows_max", &self.flows_max)
            .finish_non_exhaustive()
    }
}

/// Failed tags of flows that are not kept, as none of their packets was right.
///
/// A path shares its counter with others: it may have too many failed tags, never too few.
pub(super) struct Suspects {
    failed: Box<[u8; COUNTERS]>,
    hasher: DefaultHashBuilder,
}

const COUNTERS: usize = 1 << 16;

impl Suspects {
    /// Where a counter ends.
    pub(super) const FAILED_MAX: u32 = u8::MAX as u32;

    pub(super) fn new() -> Suspects {
        Suspects {
            failed: Box::new([0; COUNTERS]),
            hasher: DefaultHashBuilder::default(),
        }
    }

    fn counter(&self, path: &Path) -> usize {
        self.hasher.hash_one(path) as usize % COUNTERS
    }

    pub(super) fn failed(&self, path: &Path) -> u32 {
        u32::from(self.failed[self.counter(path)])
    }

    pub(super) fn set_failed(&mut self, path: &Path, failed: u32) {
        let at = self.counter(path);
        self.failed[at] = self.failed[at].max(failed.min(Suspects::FAILED_MAX) as u8);
    }
}

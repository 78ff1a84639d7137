//! What senders and receivers know about a pair of queue pairs, and about partitions.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;

use aes::Aes128;
use cmac::{Cmac, KeyInit, Mac};
use weir_crypto::KeyError;

use super::batch::Batch;
use super::derive::{Address, Endpoint, GcmKey, SenderKeys};
use super::format::{CUT_TAG_BYTES, Role};
use super::place::Path;
use super::reason::DropReason;
use super::unlisted::Unlisted;
use crate::marks::MarkingField;
use crate::wire::{Bth, Transport};

/// Packets of one direction between two queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Who sends.
    pub sender: Endpoint,
    /// Who receives.
    pub receiver: Endpoint,
    /// Transport service of both.
    pub transport: Transport,
    /// P_Key of their packets; the membership bit does not count.
    pub partition_key: u16,
    /// When packets take extended mode.
    pub extended: ExtendedMode,
    /// How many of the latest numbers are remembered, up to [`Flow::WINDOW_PACKETS_MAX`].
    pub window_packets: usize,
    /// Whether packets carry the time; they need a GRH then.
    pub timestamps: Option<Timestamps>,
}

/// Timestamps in the upper bits of the marking field of the DGID, against replays (III.F). Switches mark
/// in the bits below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// How many of the lower bits of the seconds since 1970 a packet carries, 8 to 38.
    pub bits: u32,
    /// How far a timestamp may be from the receiver's clock, less than a quarter of what the bits count.
    pub tolerance_seconds: u32,
}

/// When packets grow, to carry a number and a tag of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ExtendedMode {
    /// Not at all: such packets are dropped.
    #[default]
    Never,
    /// Where the number of a packet was used for another one.
    Fallback,
    /// All packets.
    Always,
}

/// What a partition asks of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Plain packets are dropped.
    #[default]
    Require,
    /// Plain packets pass.
    Allow,
}

/// Which packets may be plain. By default none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PlainPolicy {
    /// Modes by P_Key without the membership bit.
    partitions: HashMap<u16, Mode>,
    /// Destination queue pairs that are exempt, as those of management.
    queue_pairs: Vec<u32>,
}

/// Why a flow was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// Its packets could not be distinguished from those of another flow.
    #[error("another flow has the same source and destination")]
    Exists,
    /// The window is empty or too long.
    #[error("a window of {0} packets: 1 to {max} are possible", max = Flow::WINDOW_PACKETS_MAX)]
    Window(usize),
    /// Epochs overlap with earlier ones or have more than 40 bits.
    #[error("the epochs were used before, or have more than 40 bits")]
    Epochs,
    /// The timestamps have a wrong size, or no place in the packets.
    #[error(
        "timestamps have 8 to 38 bits, of which the tolerance is less than a quarter, and need a \
         link-local or site-local GID as destination"
    )]
    Timestamps,
    /// Too few or too many unlisted flows.
    #[error("{0} unlisted flows: {min} to {max} are possible", min = Unlisted::FLOWS_MIN, max = Unlisted::FLOWS_MAX)]
    Unlisted(usize),
    /// A key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Flow {
    /// The longest window.
    pub const WINDOW_PACKETS_MAX: usize = 1 << 16;

    /// The window where none is given.
    pub const WINDOW_PACKETS: usize = 1024;

    /// A flow with a window of [`Flow::WINDOW_PACKETS`], which takes extended mode where it must, and
    /// without timestamps.
    pub fn new(
        sender: Endpoint,
        receiver: Endpoint,
        transport: Transport,
        partition_key: u16,
    ) -> Flow {
        Flow {
            sender,
            receiver,
            transport,
            partition_key,
            extended: ExtendedMode::Fallback,
            window_packets: Flow::WINDOW_PACKETS,
            timestamps: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), FlowError> {
        if !(1..=Flow::WINDOW_PACKETS_MAX).contains(&self.window_packets) {
            return Err(FlowError::Window(self.window_packets));
        }
        let has_field = matches!(self.receiver.address, Address::Gid(gid) if is_marked(gid));
        match self.timestamps {
            Some(timestamps) if !has_field || !timestamps.are_possible() => {
                Err(FlowError::Timestamps)
            }
            _ => Ok(()),
        }
    }

    /// Whether a packet that is said to be of this flow can be.
    pub(super) fn admit(&self, bth: &Bth) -> Result<(), DropReason> {
        let transport = bth.opcode.transport();
        if transport != Some(self.transport) && transport != Some(Transport::Cnp) {
            return Err(DropReason::UnknownQueuePair);
        }
        match partition(bth.partition_key) == partition(self.partition_key) {
            true => Ok(()),
            false => Err(DropReason::PartitionKey),
        }
    }

    /// How its packets name it: datagrams say which queue pair they come from, but for the responses of
    /// reliable ones.
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> + use<> {
        let named = matches!(self.transport, Transport::Ud | Transport::Rd);
        let unnamed = !matches!(self.transport, Transport::Ud);
        let path = |source_qp| Path::new(self.sender.address, self.receiver, source_qp);
        let (path, with_source) = (path(None), path(Some(self.sender.queue_pair)));
        [(named, with_source), (unnamed, path)]
            .into_iter()
            .filter_map(|(has, path)| has.then_some(path))
    }
}

fn is_marked(gid: Ipv6Addr) -> bool {
    MarkingField::of_gid(&gid.octets()).is_ok()
}

impl Timestamps {
    fn are_possible(self) -> bool {
        (8..=MarkingField::BITS).contains(&self.bits)
            && u64::from(self.tolerance_seconds) < 1 << (self.bits - 2)
    }

    /// What stands in a packet at a time.
    pub(super) fn stamp(self, now_seconds: u64) -> u64 {
        now_seconds & ((1 << self.bits) - 1)
    }

    pub(super) fn is_fresh(self, stamp: u64, now_seconds: u64) -> bool {
        let ahead = self.stamp(stamp.wrapping_sub(now_seconds));
        let behind = self.stamp(now_seconds.wrapping_sub(stamp));
        ahead.min(behind) <= u64::from(self.tolerance_seconds)
    }
}

/// A P_Key without the membership bit.
pub(crate) fn partition(partition_key: u16) -> u16 {
    partition_key & 0x7fff
}

impl PlainPolicy {
    /// Sets the mode of a partition.
    pub fn set_mode(&mut self, partition_key: u16, mode: Mode) {
        self.partitions.insert(partition(partition_key), mode);
    }

    /// Exempts a destination queue pair, by its number, at all addresses.
    pub fn exempt(&mut self, queue_pair: u32) {
        if !self.queue_pairs.contains(&queue_pair) {
            self.queue_pairs.push(queue_pair);
        }
    }

    /// Whether a plain packet may pass.
    pub(super) fn allows(&self, bth: &Bth) -> bool {
        let mode = self.partitions.get(&partition(bth.partition_key));
        mode == Some(&Mode::Allow) || self.exempts(bth)
    }

    /// Whether a packet is for a queue pair that is exempt.
    pub(super) fn exempts(&self, bth: &Bth) -> bool {
        self.queue_pairs.contains(&bth.destination_qp)
    }
}

/// What the packets of a flow need seldom.
pub(super) struct FlowSecrets {
    pub(super) gcm_32: GcmKey,
    pub(super) gcm_128: GcmKey,
    pub(super) cmac: CmacKey,
}

impl FlowSecrets {
    pub(super) fn new(keys: &SenderKeys) -> FlowSecrets {
        FlowSecrets {
            gcm_32: keys.gcm_32.clone(),
            gcm_128: keys.gcm_128.clone(),
            cmac: CmacKey::new(keys),
        }
    }
}

/// The key of packets that are authenticated only.
pub(super) struct CmacKey(Cmac<Aes128>);

impl CmacKey {
    pub(super) fn new(keys: &SenderKeys) -> CmacKey {
        CmacKey(Cmac::new((&*keys.cmac_32).into()))
    }

    fn over(&self, batch: &Batch<'_>, index: usize, role: Role, number: u64) -> Cmac<Aes128> {
        let mut mac = self.0.clone();
        mac.update(&(role as u32).to_be_bytes());
        mac.update(&number.to_be_bytes());
        mac.update(batch.associated(index));
        mac.update(&batch.buffer[batch.body(index)]);
        mac
    }

    pub(super) fn tag(
        &self,
        batch: &Batch<'_>,
        index: usize,
        role: Role,
        number: u64,
    ) -> [u8; CUT_TAG_BYTES] {
        let whole = self
            .over(batch, index, role, number)
            .finalize()
            .into_bytes();
        std::array::from_fn(|at| whole[at])
    }

    /// Compares in constant time.
    pub(super) fn is_right(
        &self,
        batch: &Batch<'_>,
        index: usize,
        role: Role,
        number: u64,
    ) -> bool {
        let carried: [u8; CUT_TAG_BYTES] = batch.check(index);
        let mac = self.over(batch, index, role, number);
        mac.verify_truncated_left(&carried).is_ok()
    }
}

impl fmt::Debug for CmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CmacKey(…)")
    }
}

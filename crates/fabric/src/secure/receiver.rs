//! Packets that are verified and restored.

mod receiving;

use std::collections::HashMap;
use std::fmt;

use weir_crypto::{Opener, WholeTags};

use super::batch::Batch;
use super::derive::{Address, Endpoint, SenderKeys};
use super::flow::{ExtendedMode, Flow, FlowError, FlowSecrets, PlainPolicy, partition};
use super::flows::{FlowId, Flows, Origin};
use super::format::{Algorithm, EPOCH_END, EXTENDED_BYTES, PSN_BITS, Role, is_reliable};
use super::memory::{Memory, MemoryNote, NodeEpochs};
use super::place::Path;
use super::reason::DropReason;
use super::receive_from::ReceiveFrom;
use super::slots::Slots;
use super::unlisted::{Suspects, Unlisted};
use crate::wire::Bth;
use receiving::{Planned, Receiving, ReceivingRole};

/// Verifies packets of many queue pairs, and restores them.
pub struct Receiver {
    opener: Opener,
    flows: Flows<Receiving>,
    /// Keys of unlisted flows by P_Key without the membership bit.
    unlisted: HashMap<u16, ReceivingUnlisted>,
    /// Unlisted flows that began in this batch: they stay if one of their packets is right.
    new_flows: Vec<(FlowId, ReceiveFrom)>,
    notes: Vec<Note>,
    suspects: Suspects,
    policy: PlainPolicy,
    limits: TagLimits,
    planned: Vec<Planned>,
    tags: WholeTags,
    alarms: Vec<Alarm>,
}

/// How many wrong tags are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagLimits {
    /// Under one key of a 32-bit mode, until that mode is refused.
    pub failed: u32,
    /// In a row in one flow, until there is an alarm.
    pub consecutive: u32,
}

/// What an administrator should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Where.
    pub flow: Flow,
    /// What.
    pub cause: AlarmCause,
}

/// Why there is an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmCause {
    /// This number of tags in a row was wrong: somebody forges packets. Tags of unlisted flows that never
    /// had a right packet count for their partition.
    ConsecutiveFailures(u32),
    /// The mode is refused from now on, until its key is renewed.
    Degraded(Algorithm),
}

/// What has to be written down of unlisted flows, so that a receiver that takes the place of this one
/// takes nothing twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A flow began with packets of the last batch, and they must not go on before it is written down how
    /// far the flow has come ([`Receiver::state`]).
    Began {
        /// The flow.
        flow: FlowId,
        /// Its first numbers, without the window in front of them that reliable transports have.
        from: ReceiveFrom,
    },
    /// Epochs of a node changed.
    Node {
        /// Of the partition, without the membership bit.
        partition_key: u16,
        /// The node.
        address: Address,
        /// What they are now.
        epochs: NodeEpochs,
    },
    /// A flow was forgotten. The epochs of its node are noted first.
    Forgotten {
        /// Of the partition, without the membership bit.
        partition_key: u16,
        /// Sender and receiver.
        ends: [Endpoint; 2],
    },
}

struct ReceivingUnlisted {
    keys: Unlisted,
    first_epoch: u64,
    memory: Memory,
    /// Wrong tags in a row of flows that did not stay.
    consecutive: u32,
}

/// Most unlisted flows that begin in a batch. Each costs a derivation of keys, also for a forged
/// packet.
const NEW_FLOWS_MAX: usize = 16;

impl Receiver {
    /// Without flows.
    pub fn new(policy: PlainPolicy, limits: TagLimits) -> Receiver {
        Receiver {
            opener: Opener::new(),
            flows: Flows::new(),
            unlisted: HashMap::new(),
            new_flows: Vec::new(),
            notes: Vec::new(),
            suspects: Suspects::new(),
            policy,
            limits,
            planned: Vec::new(),
            tags: WholeTags::new(),
            alarms: Vec::new(),
        }
    }

    /// Adds a flow with the keys of its sender.
    ///
    /// # Errors
    /// Why it was not added.
    pub fn add(
        &mut self,
        flow: Flow,
        keys: &SenderKeys,
        from: ReceiveFrom,
    ) -> Result<FlowId, FlowError> {
        if from.requests.max(from.responses) >> PSN_BITS >= EPOCH_END {
            return Err(FlowError::Epochs);
        }
        let known_epoch = from.known_epoch();
        self.add_of(Origin::Listed, flow, keys, from, known_epoch)
    }

    fn add_of(
        &mut self,
        origin: Origin,
        flow: Flow,
        keys: &SenderKeys,
        from: ReceiveFrom,
        known_epoch: Option<u64>,
    ) -> Result<FlowId, FlowError> {
        let from = match is_reliable(flow.transport) {
            true => from.before(flow.window_packets as u64),
            false => from,
        };
        if let Some(in_its_way) = self.flows.check(&flow)? {
            self.remove(in_its_way);
        }
        let receiving = Receiving {
            secrets: Box::new(FlowSecrets::new(keys)),
            gcm_32: [None; 2],
            gcm_128: None,
            roles: [from.requests, from.responses].map(|lowest| ReceivingRole {
                lowest,
                highest: None,
                taken: Slots::new(flow.window_packets, is_reliable(flow.transport)),
            }),
            lowest_extended: from.extended,
            highest_extended: None,
            extended: Slots::new(flow.window_packets, false),
            known_epoch,
            failed_gcm_32: 0,
            failed_cmac_32: 0,
            consecutive: 0,
            has_verified: false,
        };
        Ok(self.flows.insert(flow, origin, receiving))
    }

    /// Takes a flow out; its keys are wiped. Added again with other keys, it has no failed tags.
    pub fn remove(&mut self, id: FlowId) {
        let state = self.state(id).unwrap_or_default();
        let Some((flow, origin, receiving)) = self.flows.remove(id) else {
            return;
        };
        let unlisted = self.unlisted.get_mut(&partition(flow.partition_key));
        if let (Origin::Unlisted, Some(unlisted)) = (origin, unlisted) {
            (unlisted.memory).gave_way(&[flow.sender, flow.receiver], state);
        }
        for key in (receiving.gcm_32.into_iter()).chain([receiving.gcm_128]) {
            key.and_then(|key| self.opener.remove(key));
        }
    }

    /// Gives the flows of a partition that are not added keys of their own. A flow begins with a packet
    /// that is authentic, and no other leaves anything behind; its epoch is at least the first one.
    ///
    /// # Errors
    /// The partition has such keys, or what the epoch or the bound are.
    pub fn add_unlisted(&mut self, keys: Unlisted, first_epoch: u64) -> Result<(), FlowError> {
        keys.check()?;
        if first_epoch >= EPOCH_END {
            return Err(FlowError::Epochs);
        }
        let partition_key = partition(keys.partition_key);
        if self.unlisted.contains_key(&partition_key) {
            return Err(FlowError::Exists);
        }
        let flows_max = keys.flows_max;
        let unlisted = ReceivingUnlisted {
            keys,
            first_epoch,
            memory: Memory::new(flows_max),
            consecutive: 0,
        };
        self.unlisted.insert(partition_key, unlisted);
        Ok(())
    }

    /// Tells the receiver how far an unlisted flow of a partition has come: nothing before is taken, but
    /// from a window of reliable transports.
    pub fn recall_flow(&mut self, partition_key: u16, ends: [Endpoint; 2], from: ReceiveFrom) {
        if let Some(unlisted) = self.unlisted.get_mut(&partition(partition_key)) {
            unlisted.memory.recall_flow(ends, from);
        }
    }

    /// Tells the receiver of a node of a partition what another receiver noted.
    pub fn recall_node(&mut self, partition_key: u16, address: Address, epochs: NodeEpochs) {
        if let Some(unlisted) = self.unlisted.get_mut(&partition(partition_key)) {
            unlisted.memory.recall_node(address, epochs);
        }
    }

    /// How far the unlisted flows have come that the receiver remembers, with the P_Keys of their
    /// partitions, without the membership bit, and their senders and receivers.
    pub fn remembered(&self) -> Vec<(u16, [Endpoint; 2], ReceiveFrom)> {
        let in_use = self.flows.iter().filter_map(|(id, flow, origin, _)| {
            let ends = [flow.sender, flow.receiver];
            let state = (origin == Origin::Unlisted).then(|| self.state(id))??;
            Some(((partition(flow.partition_key), ends), state))
        });
        let in_use: HashMap<_, ReceiveFrom> = in_use.collect();
        let of_partitions = self.unlisted.iter().flat_map(|(partition_key, unlisted)| {
            (unlisted.memory.flows()).map(|(ends, from)| (*partition_key, *ends, from))
        });
        of_partitions
            .map(|(partition_key, ends, from)| {
                let state = in_use.get(&(partition_key, ends)).copied();
                (partition_key, ends, from.max(state.unwrap_or(from)))
            })
            .collect()
    }

    /// Takes the unlisted flows of a partition out, and their keys.
    pub fn remove_unlisted(&mut self, partition_key: u16) {
        self.unlisted.remove(&partition(partition_key));
        let of_partition: Vec<FlowId> = (self.flows.iter())
            .filter(|(_, flow, origin, _)| {
                *origin == Origin::Unlisted
                    && partition(flow.partition_key) == partition(partition_key)
            })
            .map(|(id, ..)| id)
            .collect();
        for id in of_partition {
            self.remove(id);
        }
    }

    /// Where a receiver that takes the place of this one must begin, so that nothing is taken twice:
    /// behind everything that was verified. To be kept over a restart.
    pub fn state(&self, id: FlowId) -> Option<ReceiveFrom> {
        let (_, receiving) = self.flows.get(id)?;
        let behind = |highest: Option<u64>, lowest| highest.map_or(lowest, |highest| highest + 1);
        let [requests, responses] =
            (receiving.roles.each_ref()).map(|role| behind(role.highest, role.lowest));
        Some(ReceiveFrom {
            requests,
            responses,
            extended: behind(receiving.highest_extended, receiving.lowest_extended),
        })
    }

    /// Whether the 32-bit modes with and without encryption are refused.
    pub fn is_degraded(&self, id: FlowId) -> (bool, bool) {
        let Some((_, receiving)) = self.flows.get(id) else {
            return (false, false);
        };
        let is_over = |failed| failed >= self.limits.failed;
        (
            is_over(receiving.failed_gcm_32),
            is_over(receiving.failed_cmac_32),
        )
    }

    /// What a flow is, for reports.
    pub fn flow(&self, id: FlowId) -> Option<&Flow> {
        Some(self.flows.get(id)?.0)
    }

    /// How many flows there are now, unlisted ones too.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Verifies and restores the packets of a batch, in order; returns what is alarming
    /// ([`alarms`](Receiver::alarms)). The time is that
    /// of timestamps: seconds since 1970.
    pub fn unprotect(&mut self, batch: &mut Batch<'_>, now_seconds: u64) -> &[Alarm] {
        self.alarms.clear();
        self.notes.clear();
        self.flows.begin_batch();
        self.look_ahead(batch);
        for index in 0..batch.len() {
            match self.plan(batch, index, now_seconds) {
                Ok(Some(planned)) => self.planned.push(planned),
                Ok(None) => {}
                Err(reason) => batch.drop(index, reason),
            }
        }
        self.run(batch);
        self.keep_or_remove_new_flows(batch);
        &self.alarms
    }

    /// What was alarming in the last batch.
    pub fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// What has to be written down after the last batch.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Fetches what is kept for the packets from memory, of all of them together.
    fn look_ahead(&self, batch: &mut Batch<'_>) {
        for place in batch.places.iter_mut() {
            place.path_hash = self.flows.hash(&place.path);
            self.flows.prefetch(place.path_hash);
        }
        for place in batch.places.iter_mut() {
            place.found = self.flows.find(place.path_hash, &place.path);
            if let Some(found) = place.found {
                self.flows.prefetch_flow(found);
            }
        }
        for place in batch.places.iter() {
            let found = place.found.and_then(|id| self.flows.get(id));
            let Some((_, receiving)) = found else {
                continue;
            };
            let bth = place.bth();
            let role = Role::of(bth.opcode);
            if let Some(key) = receiving.gcm_32[role as usize] {
                self.opener.prefetch(key);
            }
            if let Ok(number) = receiving.number(role, bth.reserved_7, bth.psn) {
                receiving.roles[role as usize].taken.prefetch(number);
            }
        }
    }

    fn plan(
        &mut self,
        batch: &mut Batch<'_>,
        index: usize,
        now_seconds: u64,
    ) -> Result<Option<Planned>, DropReason> {
        if !batch.is_open(index) {
            return Ok(None);
        }
        let place = &batch.places[index];
        let (bth, path, path_hash, found) = (place.bth(), place.path, place.path_hash, place.found);
        let algorithm = Algorithm::of(bth.reserved_6);
        if algorithm == Algorithm::None {
            if !self.policy.allows(&bth) {
                return Err(DropReason::PlainRefused);
            }
            batch.pass(index);
            return Ok(None);
        }
        let found = found.or_else(|| self.flows.find(path_hash, &path));
        let id = match found {
            Some(found) => found,
            None => self.begin_flow(&path, &bth)?,
        };
        let (flow, receiving) = (self.flows.get_mut(id)).ok_or(DropReason::UnknownQueuePair)?;
        flow.admit(&bth)?;
        batch.set_flow(index, id);
        let of_opcode = Algorithm::for_opcode(bth.opcode).ok_or(DropReason::UnknownOpcode)?;
        if let Some(timestamps) = flow.timestamps {
            let stamp = batch.timestamp(index, timestamps.bits);
            let stamp = stamp.ok_or(DropReason::NoTimestamp)?;
            if !timestamps.is_fresh(stamp, now_seconds) {
                return Err(DropReason::StaleTimestamp);
            }
        }
        match (algorithm, of_opcode) {
            (Algorithm::Gcm128, _) if flow.extended == ExtendedMode::Never => {
                Err(DropReason::ExtendedRefused)
            }
            (Algorithm::Gcm128, _) => {
                (receiving.plan_extended(batch, index, id, &mut self.opener)).map(Some)
            }
            (Algorithm::Gcm32, Algorithm::Gcm32) => {
                if receiving.failed_gcm_32 >= self.limits.failed {
                    return Err(DropReason::Degraded);
                }
                (receiving.plan_opening(batch, index, id, &mut self.opener)).map(Some)
            }
            (Algorithm::Cmac32, Algorithm::Cmac32) => {
                if receiving.failed_cmac_32 >= self.limits.failed {
                    return Err(DropReason::Degraded);
                }
                let verified = receiving.authenticate(batch, index);
                match verified {
                    Ok(()) => receiving.verified(),
                    Err(DropReason::TagFailed) => self.failed(id, Algorithm::Cmac32),
                    Err(_) => {}
                }
                verified.map(|()| None)
            }
            _ => Err(DropReason::UnknownAlgorithm),
        }
    }

    /// A flow that is not known, with its keys: until the batch has run.
    fn begin_flow(&mut self, path: &Path, bth: &Bth) -> Result<FlowId, DropReason> {
        let unlisted = self.unlisted.get(&partition(bth.partition_key));
        let unlisted = unlisted.ok_or(DropReason::UnknownQueuePair)?;
        let failed = self.suspects.failed(path);
        let is_suspect = failed >= self.limits.failed.min(Suspects::FAILED_MAX);
        // Nobody guesses a tag of 128 bits, so that wrong tags of others are nothing against it.
        if is_suspect && Algorithm::of(bth.reserved_6) != Algorithm::Gcm128 {
            return Err(DropReason::Degraded);
        }
        if self.new_flows.len() >= NEW_FLOWS_MAX {
            return Err(DropReason::NewFlowsLimit);
        }
        let (flow, keys) = (unlisted.keys.flow(path, bth)).ok_or(DropReason::UnknownQueuePair)?;
        let from = (unlisted.memory).from(&[flow.sender, flow.receiver], unlisted.first_epoch);
        let node = unlisted.memory.node(flow.sender.address);
        let known_epoch = from.known_epoch().max(node.map(|node| node.newest));
        let id = (self.add_of(Origin::Unlisted, flow, &keys, from, known_epoch))
            .map_err(|_| DropReason::UnknownQueuePair)?;
        if let Some((_, receiving)) = self.flows.get_mut(id) {
            receiving.failed_gcm_32 = failed;
            receiving.failed_cmac_32 = failed;
        }
        self.new_flows.push((id, from));
        Ok(id)
    }

    /// Flows of this batch stay if a packet was right. Others leave the number of their failed tags.
    fn keep_or_remove_new_flows(&mut self, batch: &mut Batch<'_>) {
        for (id, from) in std::mem::take(&mut self.new_flows) {
            let Some((&flow, receiving)) = self.flows.get_mut(id) else {
                continue;
            };
            let partition_key = partition(flow.partition_key);
            let Some(unlisted) = self.unlisted.get_mut(&partition_key) else {
                continue;
            };
            if receiving.has_verified {
                unlisted.consecutive = 0;
                let notes = &mut self.notes;
                let mut note = |note| notes.push(Note::of(partition_key, note));
                let ends = [flow.sender, flow.receiver];
                let newest_epoch = receiving.newest_epoch().unwrap_or(0);
                if !(unlisted.memory).begin(ends, from, newest_epoch, &mut note) {
                    self.remove(id);
                    batch.drop_flow(id, DropReason::TooManyFlows);
                    continue;
                }
                self.notes.push(Note::Began { flow: id, from });
                if self.flows.unlisted() > unlisted.keys.flows_max
                    && let Some(gives_way) = self.flows.oldest_unlisted()
                {
                    self.remove(gives_way);
                }
                continue;
            }
            let failed = receiving.failed_gcm_32.max(receiving.failed_cmac_32);
            let before = unlisted.consecutive;
            unlisted.consecutive = before.saturating_add(receiving.consecutive);
            let limit = self.limits.consecutive;
            if before < limit && unlisted.consecutive >= limit && receiving.consecutive < limit {
                let cause = AlarmCause::ConsecutiveFailures(unlisted.consecutive);
                self.alarms.push(Alarm { flow, cause });
            }
            for path in flow.paths() {
                self.suspects.set_failed(&path, failed);
            }
            self.remove(id);
        }
    }

    fn run(&mut self, batch: &mut Batch<'_>) {
        let mut planned = std::mem::take(&mut self.planned);
        let mut refused = Vec::new();
        let mut open = self.opener.batch(batch.buffer);
        planned.retain(|packet| {
            let is_taken = open.push_numbered(packet.descriptor, packet.number).is_ok();
            if !is_taken {
                refused.push(packet.index);
            }
            is_taken
        });
        let verdicts = open.run_with_tags(&mut self.tags);
        for index in refused {
            batch.drop(index, DropReason::CipherRefused);
        }
        for (at, packet) in planned.drain(..).enumerate() {
            batch.unmask(packet.index);
            let tag = self.tags.get(at).copied();
            let Some((_, receiving)) = self.flows.get_mut(packet.flow) else {
                continue;
            };
            let is_degraded = packet.algorithm == Algorithm::Gcm32
                && receiving.failed_gcm_32 >= self.limits.failed;
            let taken = match (is_degraded, verdicts.is_good(at)) {
                (true, _) => Err(DropReason::Degraded),
                (false, false) => Err(DropReason::TagFailed),
                (false, true) => receiving.take(&packet, tag),
            };
            match taken {
                Ok(()) => {
                    receiving.verified();
                    restore(batch, &packet);
                }
                Err(reason) => {
                    let body = batch.body(packet.index);
                    batch.buffer[body].fill(0);
                    batch.drop(packet.index, reason);
                    if matches!(reason, DropReason::TagFailed | DropReason::DuplicateDiffers) {
                        self.failed(packet.flow, packet.algorithm);
                    }
                }
            }
        }
        self.planned = planned;
    }

    /// Counts a failed tag.
    fn failed(&mut self, id: FlowId, algorithm: Algorithm) {
        let Some((&flow, receiving)) = self.flows.get_mut(id) else {
            return;
        };
        let mut alarm = |cause| self.alarms.push(Alarm { flow, cause });
        receiving.consecutive = receiving.consecutive.saturating_add(1);
        if receiving.consecutive == self.limits.consecutive {
            alarm(AlarmCause::ConsecutiveFailures(receiving.consecutive));
        }
        let failed = match algorithm {
            Algorithm::Gcm32 => &mut receiving.failed_gcm_32,
            Algorithm::Cmac32 => &mut receiving.failed_cmac_32,
            // 128 bits are not guessed.
            Algorithm::None | Algorithm::Gcm128 => return,
        };
        *failed = failed.saturating_add(1);
        if *failed == self.limits.failed {
            alarm(AlarmCause::Degraded(algorithm));
        }
    }
}

impl Note {
    fn of(partition_key: u16, note: MemoryNote) -> Note {
        match note {
            MemoryNote::Node(address, epochs) => Note::Node {
                partition_key,
                address,
                epochs,
            },
            MemoryNote::Forgotten(ends) => Note::Forgotten {
                partition_key,
                ends,
            },
        }
    }
}

/// Makes a verified packet what it was.
fn restore(batch: &mut Batch<'_>, packet: &Planned) {
    let index = packet.index;
    if packet.algorithm == Algorithm::Gcm128 {
        let by = -(EXTENDED_BYTES as isize);
        if let Err(reason) = batch.change_lengths(index, by) {
            return batch.drop(index, reason);
        }
    }
    batch.finish_plain(index);
}

impl Default for TagLimits {
    fn default() -> TagLimits {
        TagLimits {
            failed: 16,
            consecutive: 4,
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}

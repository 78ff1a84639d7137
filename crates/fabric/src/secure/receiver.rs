//! Packets that are verified and restored.

use std::fmt;

use subtle::ConstantTimeEq;
use weir_crypto::{Descriptor, KeyId, Opener, OpeningKey, WholeTags};

use super::batch::Batch;
use super::derive::SenderKeys;
use super::flow::{CmacKey, ExtendedMode, Flow, FlowError, FlowId, Paths, PlainPolicy};
use super::format::{
    Algorithm, CUT_TAG_BYTES, EPOCH_END, EXTENDED_BYTES, PSN_BITS, Role, TAG_BYTES, extend_epoch,
    is_reliable,
};
use super::reason::DropReason;
use super::slots::{Slots, Use};
use crate::wire::Opcode;

/// Verifies packets of many queue pairs, and restores them.
pub struct Receiver {
    opener: Opener,
    flows: Vec<Option<Receiving>>,
    paths: Paths,
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
    pub flow: FlowId,
    /// What.
    pub cause: AlarmCause,
}

/// Why there is an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmCause {
    /// This number of tags in a row was wrong: somebody forges packets.
    ConsecutiveFailures(u32),
    /// The mode is refused from now on, until its key is renewed.
    Degraded(Algorithm),
}

/// Where a receiver begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReceiveFrom {
    /// The lowest number of requests that is taken: an epoch, and a PSN of 24 bits.
    pub requests: u64,
    /// The same of responses.
    pub responses: u64,
    /// The lowest number of extended mode that is taken.
    pub extended: u64,
}

struct Receiving {
    flow: Flow,
    gcm_32: KeyId,
    gcm_128: KeyId,
    cmac: CmacKey,
    roles: [ReceivingRole; 2],
    /// Of extended mode: the lowest number that is taken, the highest that was, and the latest.
    lowest_extended: u64,
    highest_extended: Option<u64>,
    extended: Slots,
    failed_gcm_32: u32,
    failed_cmac_32: u32,
    consecutive: u32,
}

/// The numbers of requests, or of responses.
struct ReceivingRole {
    /// The lowest that is taken.
    lowest: u64,
    /// The highest that was verified.
    highest: Option<u64>,
    taken: Slots,
}

/// A packet of a batch of the cipher.
struct Planned {
    index: usize,
    flow: usize,
    descriptor: Descriptor,
    algorithm: Algorithm,
    role: Role,
    number: u64,
}

/// Numbers that lie so far back were not sent again after the PSN wrapped.
const WRAP: u64 = 1 << 23;

const PSN_MASK: u64 = (1 << PSN_BITS) - 1;

impl Receiver {
    /// Without flows.
    pub fn new(policy: PlainPolicy, limits: TagLimits) -> Receiver {
        Receiver {
            opener: Opener::new(),
            flows: Vec::new(),
            paths: Paths::default(),
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
        flow.check()?;
        if from.requests.max(from.responses) >> PSN_BITS >= EPOCH_END {
            return Err(FlowError::Epochs);
        }
        let gcm_32 = OpeningKey::with_cut_tags(&keys.gcm_32.material()?, CUT_TAG_BYTES)?;
        let gcm_128 = OpeningKey::new(&keys.gcm_128.material()?)?;
        let index = self.flows.len();
        self.paths.add(&flow, index)?;
        self.flows.push(Some(Receiving {
            flow,
            gcm_32: self.opener.add(gcm_32),
            gcm_128: self.opener.add(gcm_128),
            cmac: CmacKey::new(keys),
            roles: [from.requests, from.responses].map(|lowest| ReceivingRole {
                lowest,
                highest: None,
                taken: Slots::new(flow.window_packets, is_reliable(flow.transport)),
            }),
            lowest_extended: from.extended,
            highest_extended: None,
            extended: Slots::new(flow.window_packets, false),
            failed_gcm_32: 0,
            failed_cmac_32: 0,
            consecutive: 0,
        }));
        Ok(FlowId(index))
    }

    /// Takes a flow out; its keys are wiped. Added again with other keys, it has no failed tags.
    pub fn remove(&mut self, id: FlowId) {
        if let Some(receiving) = self.flows.get_mut(id.0).and_then(Option::take) {
            self.paths.remove(&receiving.flow);
            self.opener.remove(receiving.gcm_32);
            self.opener.remove(receiving.gcm_128);
        }
    }

    /// Where a receiver that takes the place of this one must begin, so that nothing is taken twice:
    /// behind everything that was verified. To be kept over a restart.
    pub fn state(&self, id: FlowId) -> Option<ReceiveFrom> {
        let receiving = self.flows.get(id.0)?.as_ref()?;
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
        let Some(Some(receiving)) = self.flows.get(id.0) else {
            return (false, false);
        };
        let is_over = |failed| failed >= self.limits.failed;
        (
            is_over(receiving.failed_gcm_32),
            is_over(receiving.failed_cmac_32),
        )
    }

    /// Verifies and restores the packets of a batch, in order; returns what is alarming.
    pub fn unprotect(&mut self, batch: &mut Batch) -> &[Alarm] {
        self.alarms.clear();
        for index in 0..batch.len() {
            match self.plan(batch, index) {
                Ok(Some(planned)) => self.planned.push(planned),
                Ok(None) => {}
                Err(reason) => batch.drop(index, reason),
            }
        }
        self.run(batch);
        &self.alarms
    }

    fn plan(&mut self, batch: &mut Batch, index: usize) -> Result<Option<Planned>, DropReason> {
        if !batch.is_open(index) {
            return Ok(None);
        }
        let place = &batch.places[index];
        let (bth, path) = (place.bth, place.path);
        let algorithm = Algorithm::of(bth.reserved_6).ok_or(DropReason::UnknownAlgorithm)?;
        if algorithm == Algorithm::None {
            if !self.policy.allows(&bth) {
                return Err(DropReason::PlainRefused);
            }
            batch.pass(index);
            return Ok(None);
        }
        let flow = self.paths.get(&path).ok_or(DropReason::UnknownQueuePair)?;
        let receiving = self.flows.get_mut(flow).and_then(Option::as_mut);
        let receiving = receiving.ok_or(DropReason::UnknownQueuePair)?;
        receiving.flow.admit(&bth)?;
        let of_opcode = Algorithm::for_opcode(bth.opcode).ok_or(DropReason::UnknownOpcode)?;
        match (algorithm, of_opcode) {
            (Algorithm::Gcm128, Algorithm::Gcm32) => {
                receiving.plan_extended(batch, index, flow).map(Some)
            }
            (Algorithm::Gcm32, Algorithm::Gcm32) => {
                if receiving.failed_gcm_32 >= self.limits.failed {
                    return Err(DropReason::Degraded);
                }
                receiving.plan_opening(batch, index, flow).map(Some)
            }
            (Algorithm::Cmac32, Algorithm::Cmac32) => {
                if receiving.failed_cmac_32 >= self.limits.failed {
                    return Err(DropReason::Degraded);
                }
                let verified = receiving.authenticate(batch, index);
                match verified {
                    Ok(()) => receiving.consecutive = 0,
                    Err(DropReason::TagFailed) => self.failed(flow, Algorithm::Cmac32),
                    Err(_) => {}
                }
                verified.map(|()| None)
            }
            _ => Err(DropReason::UnknownAlgorithm),
        }
    }

    fn run(&mut self, batch: &mut Batch) {
        let mut planned = std::mem::take(&mut self.planned);
        let mut refused = Vec::new();
        let mut open = self.opener.batch(&mut batch.buffer);
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
            let tag = self.tags.get(at).copied();
            let Some(Some(receiving)) = self.flows.get_mut(packet.flow) else {
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
                    receiving.consecutive = 0;
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
    fn failed(&mut self, flow: usize, algorithm: Algorithm) {
        let Some(Some(receiving)) = self.flows.get_mut(flow) else {
            return;
        };
        let mut alarm = |cause| {
            let flow = FlowId(flow);
            self.alarms.push(Alarm { flow, cause });
        };
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

impl Receiving {
    /// The number of a packet, whose epoch is not over.
    fn number(&self, role: Role, low_bits: u8, psn: u32) -> Result<u64, DropReason> {
        let &ReceivingRole {
            lowest, highest, ..
        } = &self.roles[role as usize];
        let newest = highest.unwrap_or(lowest) >> PSN_BITS;
        // The one before may go on where the PSN has wrapped.
        let oldest = match highest {
            Some(_) => newest.saturating_sub(1).max(lowest >> PSN_BITS),
            None => newest,
        };
        let epoch = extend_epoch(oldest, low_bits);
        if epoch >= EPOCH_END {
            return Err(DropReason::OldEpoch);
        }
        let number = epoch << PSN_BITS | u64::from(psn);
        let is_over = epoch < newest && highest.is_some_and(|highest| highest - number >= WRAP);
        match () {
            () if is_over => Err(DropReason::OldEpoch),
            () if number < lowest => Err(DropReason::Replayed),
            () => Ok(number),
        }
    }

    fn authenticate(&mut self, batch: &mut Batch, index: usize) -> Result<(), DropReason> {
        let bth = batch.places[index].bth;
        let role = Role::of(bth.opcode);
        let is_notification = bth.opcode == Opcode::CONGESTION_NOTIFICATION;
        let number = match is_notification {
            // Its PSN does not count.
            true => {
                let of_role = &self.roles[role as usize];
                let psn = low_psn(of_role.highest.unwrap_or(of_role.lowest));
                let number = self.number(role, bth.reserved_7, psn)?;
                number & !PSN_MASK | u64::from(bth.psn)
            }
            false => self.number(role, bth.reserved_7, bth.psn)?,
        };
        batch.set_associated(index);
        if !self.cmac.is_right(batch, index, role, number) {
            return Err(DropReason::TagFailed);
        }
        if !is_notification {
            let highest = &mut self.roles[role as usize].highest;
            *highest = (*highest).max(Some(number));
        }
        batch.finish_plain(index);
        Ok(())
    }

    fn plan_opening(
        &mut self,
        batch: &mut Batch,
        index: usize,
        flow: usize,
    ) -> Result<Planned, DropReason> {
        let bth = batch.places[index].bth;
        let role = Role::of(bth.opcode);
        let number = self.number(role, bth.reserved_7, bth.psn)?;
        match self.roles[role as usize].taken.look(number) {
            Use::Unused | Use::Used(Some(_)) => {}
            Use::Used(None) | Use::Forgotten => return Err(DropReason::Replayed),
        }
        batch.set_associated(index);
        Ok(Planned {
            index,
            flow,
            descriptor: batch.descriptor(index, self.gcm_32, role),
            algorithm: Algorithm::Gcm32,
            role,
            number,
        })
    }

    fn plan_extended(
        &mut self,
        batch: &mut Batch,
        index: usize,
        flow: usize,
    ) -> Result<Planned, DropReason> {
        if self.flow.extended == ExtendedMode::Never {
            return Err(DropReason::ExtendedRefused);
        }
        let number = batch.split_extended(index)?;
        if number < self.lowest_extended || self.extended.look(number) != Use::Unused {
            return Err(DropReason::Replayed);
        }
        batch.set_associated(index);
        Ok(Planned {
            index,
            flow,
            descriptor: batch.descriptor(index, self.gcm_128, Role::Request),
            algorithm: Algorithm::Gcm128,
            role: Role::Request,
            number,
        })
    }

    /// Marks the number of a packet with a right tag as taken, if it may be.
    fn take(&mut self, packet: &Planned, tag: Option<[u8; TAG_BYTES]>) -> Result<(), DropReason> {
        if packet.algorithm == Algorithm::Gcm128 {
            if self.extended.look(packet.number) != Use::Unused {
                return Err(DropReason::Replayed);
            }
            self.extended.set(packet.number, &[0; TAG_BYTES]);
            self.highest_extended = self.highest_extended.max(Some(packet.number));
            return Ok(());
        }
        let tag = tag.ok_or(DropReason::CipherRefused)?;
        let of_role = &mut self.roles[packet.role as usize];
        match of_role.taken.look(packet.number) {
            Use::Unused => {
                of_role.taken.set(packet.number, &tag);
                of_role.highest = of_role.highest.max(Some(packet.number));
                Ok(())
            }
            Use::Used(Some(first)) if bool::from(first.ct_eq(&tag)) => Ok(()),
            Use::Used(Some(_)) => Err(DropReason::DuplicateDiffers),
            Use::Used(None) | Use::Forgotten => Err(DropReason::Replayed),
        }
    }
}

fn low_psn(number: u64) -> u32 {
    (number & PSN_MASK) as u32
}

/// Makes a verified packet what it was.
fn restore(batch: &mut Batch, packet: &Planned) {
    let index = packet.index;
    if packet.algorithm == Algorithm::Gcm128 {
        let by = -(EXTENDED_BYTES as isize);
        if let Err(reason) = batch.change_lengths(index, by) {
            return batch.drop(index, reason);
        }
    }
    batch.finish_plain(index);
}

impl ReceiveFrom {
    /// Takes everything from an epoch on.
    pub fn epoch(epoch: u64) -> ReceiveFrom {
        let number = epoch << PSN_BITS;
        ReceiveFrom {
            requests: number,
            responses: number,
            extended: 0,
        }
    }
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

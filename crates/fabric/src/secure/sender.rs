//! Packets that are protected.

use std::fmt;
use std::ops::Range;

use weir_crypto::{Descriptor, KeyId, Sealer, SealingKey};
use zeroize::Zeroizing;

use super::batch::Batch;
use super::derive::SenderKeys;
use super::flow::{CmacKey, ExtendedMode, Flow, FlowError, FlowId, Paths, PlainPolicy};
use super::format::{
    Algorithm, CUT_TAG_BYTES, EPOCH_END, EXTENDED_BYTES, NUMBER_BYTES, PSN_BITS, Role, TAG_BYTES,
    is_reliable, nearest_number,
};
use super::reason::DropReason;
use super::slots::{Slots, Use};
use crate::wire::{Opcode, Verdict};

/// Protects packets of many queue pairs.
pub struct Sender {
    sealer: Sealer,
    flows: Vec<Option<Sending>>,
    paths: Paths,
    policy: PlainPolicy,
    /// Packets of the batch that is being made.
    planned: Vec<Planned>,
}

/// What a sender was given to count with, from a ledger: neither was ever used under these keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Epochs. The lowest is at least two higher than all before.
    pub epochs: Range<u64>,
    /// Numbers of extended mode.
    pub numbers: Range<u64>,
}

struct Sending {
    flow: Flow,
    epochs: Range<u64>,
    gcm_32: KeyId,
    gcm_128: KeyId,
    cmac: CmacKey,
    roles: [SendingRole; 2],
}

/// The numbers of requests, or of responses.
struct SendingRole {
    /// The highest of all packets.
    highest: Option<u64>,
    /// The lowest that seals no packet yet, and none above it.
    next: u64,
    sealed: Slots,
}

/// A packet of a batch of the cipher.
struct Planned {
    index: usize,
    flow: usize,
    descriptor: Descriptor,
    as_what: Sealing,
}

enum Sealing {
    /// Under a number that was not used.
    First(Role, u64),
    /// Under a number that was used, to be the same.
    Again {
        number: u64,
        tag: [u8; TAG_BYTES],
        /// The body, if it may go out in extended mode instead.
        body: Option<Zeroizing<Vec<u8>>>,
    },
    Extended {
        number: u64,
    },
}

/// What becomes of a packet before the cipher runs.
enum Plan {
    /// It is done with: dropped, passed, or authenticated.
    Done,
    Seal(Planned),
    /// It repeats a packet that is not sealed yet.
    Wait,
}

impl Sender {
    /// Without flows.
    pub fn new(policy: PlainPolicy) -> Sender {
        Sender {
            sealer: Sealer::new(),
            flows: Vec::new(),
            paths: Paths::default(),
            policy,
            planned: Vec::new(),
        }
    }

    /// Adds a flow with keys that no other sender has.
    ///
    /// # Errors
    /// Why it was not added.
    pub fn add(
        &mut self,
        flow: Flow,
        keys: &SenderKeys,
        reserved: Reserved,
    ) -> Result<FlowId, FlowError> {
        flow.check()?;
        check_epochs(&reserved.epochs)?;
        let start = reserved.epochs.start << PSN_BITS;
        let mut gcm_32 = SealingKey::new(keys.gcm_32.material()?, start..)?;
        for role in [Role::Request, Role::Response] {
            gcm_32.add_context(role as u32, start..)?;
        }
        let gcm_128 = SealingKey::new(keys.gcm_128.material()?, reserved.numbers)?;
        let index = self.flows.len();
        self.paths.add(&flow, index)?;
        self.flows.push(Some(Sending {
            flow,
            epochs: reserved.epochs,
            gcm_32: self.sealer.add(gcm_32),
            gcm_128: self.sealer.add(gcm_128),
            cmac: CmacKey::new(keys),
            roles: [(); 2].map(|()| SendingRole::new(&flow, start)),
        }));
        Ok(FlowId(index))
    }

    /// Takes a flow out; its keys are wiped. What replaces it needs other keys, or epochs and numbers
    /// that are not used.
    pub fn remove(&mut self, id: FlowId) {
        if let Some(sending) = self.flows.get_mut(id.0).and_then(Option::take) {
            self.paths.remove(&sending.flow);
            self.sealer.remove(sending.gcm_32);
            self.sealer.remove(sending.gcm_128);
        }
    }

    /// Begins with other epochs, since a queue pair was set up again.
    ///
    /// # Errors
    /// They are not at least two higher than all before.
    pub fn restart(&mut self, id: FlowId, epochs: Range<u64>) -> Result<(), FlowError> {
        check_epochs(&epochs)?;
        let Some(Some(sending)) = self.flows.get_mut(id.0) else {
            return Ok(());
        };
        if epochs.start <= sending.epochs.end {
            return Err(FlowError::Epochs);
        }
        let start = epochs.start << PSN_BITS;
        sending.roles = [(); 2].map(|()| SendingRole::new(&sending.flow, start));
        sending.epochs = epochs;
        Ok(())
    }

    /// Lets epochs below `end` be used, for PSNs that wrap.
    ///
    /// # Errors
    /// They have more than 40 bits.
    pub fn allow_epochs_until(&mut self, id: FlowId, end: u64) -> Result<(), FlowError> {
        if let Some(Some(sending)) = self.flows.get_mut(id.0) {
            let epochs = sending.epochs.start..sending.epochs.end.max(end);
            check_epochs(&epochs)?;
            sending.epochs = epochs;
        }
        Ok(())
    }

    /// Lets numbers of extended mode below `end` be used.
    pub fn allow_numbers_until(&mut self, id: FlowId, end: u64) {
        if let Some(Some(sending)) = self.flows.get(id.0)
            && let Some(key) = self.sealer.key_mut(sending.gcm_128)
        {
            key.allow_until(end);
        }
    }

    /// How many epochs behind the one in use are reserved.
    pub fn epochs_left(&self, id: FlowId) -> u64 {
        let Some(Some(sending)) = self.flows.get(id.0) else {
            return 0;
        };
        let highest = (sending.roles.iter()).filter_map(|role| role.highest).max();
        let epoch = highest.map_or(sending.epochs.start, |number| number >> PSN_BITS);
        (sending.epochs.end - 1).saturating_sub(epoch)
    }

    /// Protects the packets of a batch, in order.
    pub fn protect(&mut self, batch: &mut Batch) {
        let mut next = 0;
        while next < batch.len() {
            while let Some(index) = (next < batch.len()).then_some(next) {
                match self.plan(batch, index) {
                    Ok(Plan::Done) => {}
                    Ok(Plan::Seal(planned)) => self.planned.push(planned),
                    Ok(Plan::Wait) => break,
                    Err(reason) => batch.drop(index, reason),
                }
                next += 1;
            }
            let again = self.run(batch);
            self.planned = again;
            // Extended mode repeats nothing.
            let _ = self.run(batch);
        }
    }

    fn plan(&mut self, batch: &mut Batch, index: usize) -> Result<Plan, DropReason> {
        if !batch.is_open(index) {
            return Ok(Plan::Done);
        }
        let place = &batch.places[index];
        let (bth, path, icrc) = (place.bth, place.path, place.icrc);
        let found = self.paths.get(&path);
        let Some((flow, sending)) =
            found.and_then(|flow| Some((flow, self.flows.get_mut(flow)?.as_mut()?)))
        else {
            if !self.policy.allows(&bth) {
                return Err(DropReason::UnknownQueuePair);
            }
            batch.pass(index);
            return Ok(Plan::Done);
        };
        sending.flow.admit(&bth)?;
        let algorithm = Algorithm::for_opcode(bth.opcode).ok_or(DropReason::UnknownOpcode)?;
        if icrc != Verdict::Good {
            return Err(DropReason::IcrcWrong);
        }
        if bth.reserved_6 != 0 || bth.reserved_7 != 0 {
            return Err(DropReason::ReservedBits);
        }
        let role = Role::of(bth.opcode);
        if algorithm == Algorithm::Cmac32 {
            sending.authenticate(batch, index, role)?;
            return Ok(Plan::Done);
        }
        if sending.flow.extended == ExtendedMode::Always {
            sending.pass_over(role, bth.psn);
            return sending.plan_extended(batch, index, flow).map(Plan::Seal);
        }
        let is_waiting = |number| {
            self.planned.iter().any(|planned| {
                matches!(planned.as_what, Sealing::First(of, first)
                    if planned.flow == flow && of == role && first == number)
            })
        };
        sending.plan_sealing(batch, index, flow, role, is_waiting)
    }

    /// Seals what is planned; returns what is to go out in extended mode instead.
    fn run(&mut self, batch: &mut Batch) -> Vec<Planned> {
        let mut planned = std::mem::take(&mut self.planned);
        if planned.is_empty() {
            return planned;
        }
        let mut refused = Vec::new();
        let mut seal = self.sealer.batch(&mut batch.buffer);
        planned.retain_mut(|packet| {
            let pushed = match &mut packet.as_what {
                Sealing::First(_, number) => seal.push_numbered(packet.descriptor, *number),
                Sealing::Again { number, tag, .. } => {
                    seal.push_again(packet.descriptor, *number, tag)
                }
                Sealing::Extended { number } => {
                    seal.push(packet.descriptor).map(|drawn| *number = drawn)
                }
            };
            let reason = match (&pushed, &packet.as_what) {
                (Ok(()), _) => return true,
                (Err(_), Sealing::Extended { .. }) => DropReason::NumbersExhausted,
                (Err(_), _) => DropReason::CipherRefused,
            };
            refused.push((packet.index, reason));
            false
        });
        let verdicts = seal.run();
        for (index, reason) in refused {
            batch.drop(index, reason);
        }
        let mut again = Vec::new();
        for (at, packet) in planned.into_iter().enumerate() {
            again.extend(self.finish(batch, packet, verdicts.is_good(at)));
        }
        again
    }

    /// Hands out a packet, or drops it; or plans it in extended mode.
    fn finish(&mut self, batch: &mut Batch, packet: Planned, is_good: bool) -> Option<Planned> {
        let Planned { index, flow, .. } = packet;
        let sending = self.flows.get_mut(flow)?.as_mut()?;
        let tag: [u8; TAG_BYTES] = batch.check(index);
        match packet.as_what {
            Sealing::First(role, number) if is_good => {
                sending.roles[role as usize].sealed.set(number, &tag);
                batch.set_check(index, &tag[..CUT_TAG_BYTES]);
                batch.finish(index);
            }
            Sealing::Again { .. } if is_good => {
                batch.set_check(index, &tag[..CUT_TAG_BYTES]);
                batch.finish(index);
            }
            Sealing::Extended { number } if is_good => {
                let mut check = [0; NUMBER_BYTES + TAG_BYTES];
                check[..NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
                check[NUMBER_BYTES..].copy_from_slice(&tag);
                batch.set_check(index, &check);
                batch.finish(index);
            }
            Sealing::Again {
                body: Some(body), ..
            } => {
                let range = batch.body(index);
                batch.buffer[range].copy_from_slice(&body);
                match sending.plan_extended(batch, index, flow) {
                    Ok(planned) => return Some(planned),
                    Err(reason) => batch.drop(index, reason),
                }
            }
            Sealing::Again { .. } => batch.drop(index, DropReason::PsnReused),
            Sealing::First(..) | Sealing::Extended { .. } => {
                batch.drop(index, DropReason::CipherRefused);
            }
        }
        None
    }
}

impl Sending {
    /// The number of a packet, which is not above the reserved ones.
    fn number(&self, role: Role, psn: u32) -> Result<u64, DropReason> {
        let start = self.epochs.start << PSN_BITS;
        let number = match self.roles[role as usize].highest {
            None => start | u64::from(psn),
            Some(highest) => nearest_number(highest, psn).ok_or(DropReason::PsnPassed)?,
        };
        match number >> PSN_BITS {
            epoch if epoch >= self.epochs.end => Err(DropReason::NumbersExhausted),
            epoch if epoch < self.epochs.start => Err(DropReason::PsnPassed),
            _ => Ok(number),
        }
    }

    /// Counts a packet whose number seals nothing.
    fn pass_over(&mut self, role: Role, psn: u32) {
        let number = self.number(role, psn).ok();
        let highest = &mut self.roles[role as usize].highest;
        *highest = number.max(*highest);
    }

    fn authenticate(
        &mut self,
        batch: &mut Batch,
        index: usize,
        role: Role,
    ) -> Result<(), DropReason> {
        let bth = batch.places[index].bth;
        let highest = self.roles[role as usize].highest;
        let number = match bth.opcode == Opcode::CONGESTION_NOTIFICATION {
            true => {
                let epoch = highest.map_or(self.epochs.start, |number| number >> PSN_BITS);
                epoch << PSN_BITS | u64::from(bth.psn)
            }
            false => {
                let number = self.number(role, bth.psn)?;
                self.roles[role as usize].highest = highest.max(Some(number));
                number
            }
        };
        batch.set_fields(index, Algorithm::Cmac32, number >> PSN_BITS);
        batch.set_associated(index);
        let tag = self.cmac.tag(batch, index, role, number);
        batch.set_check(index, &tag);
        batch.finish(index);
        Ok(())
    }

    fn plan_sealing(
        &mut self,
        batch: &mut Batch,
        index: usize,
        flow: usize,
        role: Role,
        is_waiting: impl Fn(u64) -> bool,
    ) -> Result<Plan, DropReason> {
        let may_grow = self.flow.extended != ExtendedMode::Never;
        let number = self.number(role, batch.places[index].bth.psn);
        let of_role = &mut self.roles[role as usize];
        let planned = match number {
            Ok(number) => match of_role.sealed.look(number) {
                Use::Used(_) if is_waiting(number) => return Ok(Plan::Wait),
                Use::Used(Some(tag)) => {
                    let body = may_grow.then(|| batch.buffer[batch.body(index)].to_vec().into());
                    Ok((number, Sealing::Again { number, tag, body }))
                }
                Use::Unused if number >= of_role.next => {
                    of_role.next = number + 1;
                    of_role.highest = of_role.highest.max(Some(number));
                    // Its place is taken before it is sealed, so that nothing else gets its number.
                    of_role.sealed.set(number, &[0; TAG_BYTES]);
                    Ok((number, Sealing::First(role, number)))
                }
                _ => Err(DropReason::PsnPassed),
            },
            Err(reason) => Err(reason),
        };
        match planned {
            Ok((number, as_what)) => {
                batch.set_fields(index, Algorithm::Gcm32, number >> PSN_BITS);
                batch.set_associated(index);
                Ok(Plan::Seal(Planned {
                    index,
                    flow,
                    descriptor: batch.descriptor(index, self.gcm_32, role),
                    as_what,
                }))
            }
            Err(DropReason::PsnPassed) if may_grow => {
                self.plan_extended(batch, index, flow).map(Plan::Seal)
            }
            Err(reason) => Err(reason),
        }
    }

    fn plan_extended(
        &mut self,
        batch: &mut Batch,
        index: usize,
        flow: usize,
    ) -> Result<Planned, DropReason> {
        batch.change_lengths(index, EXTENDED_BYTES as isize)?;
        batch.set_fields(index, Algorithm::Gcm128, 0);
        batch.set_associated(index);
        Ok(Planned {
            index,
            flow,
            descriptor: batch.descriptor(index, self.gcm_128, Role::Request),
            as_what: Sealing::Extended { number: 0 },
        })
    }
}

impl SendingRole {
    fn new(flow: &Flow, start: u64) -> SendingRole {
        let packets = match is_reliable(flow.transport) {
            true => flow.window_packets,
            // Nothing is sent again.
            false => 1,
        };
        SendingRole {
            highest: None,
            next: start,
            sealed: Slots::new(packets, true),
        }
    }
}

fn check_epochs(epochs: &Range<u64>) -> Result<(), FlowError> {
    match epochs.start < epochs.end && epochs.end <= EPOCH_END {
        true => Ok(()),
        false => Err(FlowError::Epochs),
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}

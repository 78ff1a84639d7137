//! Packets that are protected.

mod sending;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use weir_crypto::Sealer;

use super::batch::Batch;
use super::derive::SenderKeys;
use super::flow::{ExtendedMode, Flow, FlowError, FlowSecrets, PlainPolicy, partition};
use super::flows::{FlowId, Flows, Origin};
use super::format::{Algorithm, CUT_TAG_BYTES, NUMBER_BYTES, Role, TAG_BYTES};
use super::reason::DropReason;
use super::unlisted::Unlisted;
use sending::{
    Outgoing, Plan, Planned, Sealing, Sending, SendingRole, allow_numbers_until, check_epochs,
    numbers_of,
};

/// Protects packets of many queue pairs.
pub struct Sender {
    sealer: Sealer,
    flows: Flows<Sending>,
    /// Keys of unlisted flows by P_Key without the membership bit.
    unlisted: HashMap<u16, SendingUnlisted>,
    policy: PlainPolicy,
    /// Packets of the batch that is being made.
    planned: Vec<Planned>,
}

struct SendingUnlisted {
    keys: Unlisted,
    epochs: Range<u64>,
    /// Where the next flow begins: behind all that flows used which gave way.
    first_epoch: u64,
}

/// How many packets ahead a flow is fetched.
const LEAD: usize = 8;

impl Sender {
    /// Without flows.
    pub fn new(policy: PlainPolicy) -> Sender {
        Sender {
            sealer: Sealer::new(),
            flows: Flows::new(),
            unlisted: HashMap::new(),
            policy,
            planned: Vec::new(),
        }
    }

    /// Adds a flow with keys that no other sender has. The epochs come from a ledger: the lowest is at
    /// least two higher than all that were ever used under these keys. Numbers of extended mode are
    /// drawn from them too.
    ///
    /// # Errors
    /// Why it was not added.
    pub fn add(
        &mut self,
        flow: Flow,
        keys: &SenderKeys,
        epochs: Range<u64>,
    ) -> Result<FlowId, FlowError> {
        self.add_of(Origin::Listed, flow, keys, epochs)
    }

    fn add_of(
        &mut self,
        origin: Origin,
        flow: Flow,
        keys: &SenderKeys,
        epochs: Range<u64>,
    ) -> Result<FlowId, FlowError> {
        check_epochs(&epochs)?;
        if let Some(in_its_way) = self.flows.check(&flow)? {
            self.remove(in_its_way);
        }
        let numbers = numbers_of(&epochs);
        let sending = Sending {
            epochs,
            secrets: Box::new(FlowSecrets::new(keys)),
            gcm_32: [None; 2],
            gcm_128: None,
            roles: [(); 2].map(|()| SendingRole::new(&flow, numbers.start)),
        };
        Ok(self.flows.insert(flow, origin, sending))
    }

    /// Takes a flow out; its keys are wiped. What replaces it needs other keys, or epochs that are not
    /// used.
    pub fn remove(&mut self, id: FlowId) {
        if let Some((flow, origin, sending)) = self.flows.remove(id) {
            let unlisted = self.unlisted.get_mut(&partition(flow.partition_key));
            if let Some(unlisted) = unlisted.filter(|_| origin == Origin::Unlisted) {
                let used = sending.newest_epoch(&self.sealer);
                unlisted.first_epoch = unlisted.first_epoch.max(used + 2);
            }
            for key in sending.keys() {
                self.sealer.remove(key);
            }
        }
    }

    /// Gives the flows of a partition that are not added keys of their own when their first packets
    /// appear. The epochs are those of all of them, and come from a ledger as those of a flow do.
    ///
    /// # Errors
    /// The partition has such keys, or what the epochs or the bound are.
    pub fn add_unlisted(&mut self, keys: Unlisted, epochs: Range<u64>) -> Result<(), FlowError> {
        check_epochs(&epochs)?;
        keys.check()?;
        let partition_key = partition(keys.partition_key);
        if self.unlisted.contains_key(&partition_key) {
            return Err(FlowError::Exists);
        }
        let first_epoch = epochs.start;
        let unlisted = SendingUnlisted {
            keys,
            epochs,
            first_epoch,
        };
        self.unlisted.insert(partition_key, unlisted);
        Ok(())
    }

    /// Takes the unlisted flows of a partition out, and their keys.
    pub fn remove_unlisted(&mut self, partition_key: u16) {
        self.unlisted.remove(&partition(partition_key));
        for id in self.unlisted_flows(partition_key) {
            self.remove(id);
        }
    }

    fn unlisted_flows(&self, partition_key: u16) -> Vec<FlowId> {
        let is_of = |flow: &Flow| partition(flow.partition_key) == partition(partition_key);
        (self.flows.iter())
            .filter(|(_, flow, origin, _)| *origin == Origin::Unlisted && is_of(flow))
            .map(|(id, ..)| id)
            .collect()
    }

    /// Begins with other epochs, since a queue pair was set up again.
    ///
    /// # Errors
    /// They are not at least two higher than all before.
    pub fn restart(&mut self, id: FlowId, epochs: Range<u64>) -> Result<(), FlowError> {
        check_epochs(&epochs)?;
        let Some((flow, sending)) = self.flows.get_mut(id) else {
            return Ok(());
        };
        if epochs.start <= sending.epochs.end {
            return Err(FlowError::Epochs);
        }
        let numbers = numbers_of(&epochs);
        sending.roles = [(); 2].map(|()| SendingRole::new(flow, numbers.start));
        sending.epochs = epochs;
        allow_numbers_until(&mut self.sealer, sending.gcm_128, numbers.end);
        Ok(())
    }

    /// Lets epochs below `end` be used, for PSNs that wrap and for numbers of extended mode.
    ///
    /// # Errors
    /// They have more than 40 bits.
    pub fn allow_epochs_until(&mut self, id: FlowId, end: u64) -> Result<(), FlowError> {
        if let Some((_, sending)) = self.flows.get_mut(id) {
            sending.allow_epochs_until(&mut self.sealer, end)?;
        }
        Ok(())
    }

    /// The same for the unlisted flows of a partition.
    ///
    /// # Errors
    /// As there.
    pub fn allow_unlisted_epochs_until(
        &mut self,
        partition_key: u16,
        end: u64,
    ) -> Result<(), FlowError> {
        let Some(unlisted) = self.unlisted.get_mut(&partition(partition_key)) else {
            return Ok(());
        };
        let epochs = unlisted.epochs.start..unlisted.epochs.end.max(end);
        check_epochs(&epochs)?;
        unlisted.epochs = epochs;
        for (flow, origin, sending) in self.flows.values_mut() {
            if origin == Origin::Unlisted
                && partition(flow.partition_key) == partition(partition_key)
            {
                sending.allow_epochs_until(&mut self.sealer, end)?;
            }
        }
        Ok(())
    }

    /// How many epochs behind the one in use are reserved.
    pub fn epochs_left(&self, id: FlowId) -> u64 {
        let Some((_, sending)) = self.flows.get(id) else {
            return 0;
        };
        let newest = sending.newest_epoch(&self.sealer);
        (sending.epochs.end - 1).saturating_sub(newest)
    }

    /// The same of the unlisted flows of a partition. It looks at every flow: not for every packet.
    pub fn unlisted_epochs_left(&self, partition_key: u16) -> u64 {
        let Some(unlisted) = self.unlisted.get(&partition(partition_key)) else {
            return 0;
        };
        let flows = self.unlisted_flows(partition_key).into_iter();
        let newest = flows
            .filter_map(|id| Some(self.flows.get(id)?.1.newest_epoch(&self.sealer)))
            .fold(unlisted.first_epoch, u64::max);
        (unlisted.epochs.end - 1).saturating_sub(newest)
    }

    /// What a flow is, for reports.
    pub fn flow(&self, id: FlowId) -> Option<&Flow> {
        Some(self.flows.get(id)?.0)
    }

    /// How many flows there are now, unlisted ones too.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Protects the packets of a batch, in order. The time is that of timestamps: seconds since 1970.
    pub fn protect(&mut self, batch: &mut Batch<'_>, now_seconds: u64) {
        self.flows.begin_batch();
        self.look_ahead(batch);
        let mut next = 0;
        while next < batch.len() {
            while let Some(index) = (next < batch.len()).then_some(next) {
                match self.plan(batch, index, now_seconds) {
                    Ok(Plan::Done) => {}
                    Ok(Plan::Seal(planned)) => self.planned.push(planned),
                    Ok(Plan::Wait) => break,
                    Err(reason) => batch.drop(index, reason),
                }
                next += 1;
            }
            let again = self.run(batch, now_seconds);
            self.planned = again;
            // Extended mode repeats nothing.
            let _ = self.run(batch, now_seconds);
        }
    }

    /// Fetches what is kept for the packets from memory, of all of them together.
    fn look_ahead(&self, batch: &mut Batch<'_>) {
        for place in batch.places.iter_mut() {
            place.path_hash = self.flows.hash(&place.path);
            self.flows.prefetch(place.path_hash);
        }
        for index in 0..batch.len() + LEAD {
            if let Some(place) = batch.places.get_mut(index) {
                place.found = self.flows.find(place.path_hash, &place.path);
                if let Some(found) = place.found {
                    self.flows.prefetch_flow(found);
                }
            }
            // In the meantime, work that does not need it.
            let Some(index) = index.checked_sub(LEAD) else {
                continue;
            };
            if batch.is_open(index) {
                batch.check_icrc(index);
            }
            let place = &batch.places[index];
            let found = place.found.and_then(|id| self.flows.get(id));
            let Some((_, sending)) = found else {
                continue;
            };
            let bth = place.bth();
            let role = Role::of(bth.opcode);
            if let Some(key) = sending.gcm_32[role as usize] {
                self.sealer.prefetch(key);
            }
            if let Ok(number) = sending.number(role, bth.psn) {
                sending.roles[role as usize].sealed.prefetch(number);
            }
        }
    }

    fn plan(
        &mut self,
        batch: &mut Batch<'_>,
        index: usize,
        now_seconds: u64,
    ) -> Result<Plan, DropReason> {
        if !batch.is_open(index) {
            return Ok(Plan::Done);
        }
        let bth = batch.places[index].bth();
        let Some(id) = self.find(batch, index)? else {
            if !self.policy.allows(&bth) {
                return Err(DropReason::UnknownQueuePair);
            }
            batch.pass(index);
            return Ok(Plan::Done);
        };
        let (flow, sending) = (self.flows.get_mut(id)).ok_or(DropReason::UnknownQueuePair)?;
        flow.admit(&bth)?;
        batch.set_flow(index, id);
        let algorithm = Algorithm::for_opcode(bth.opcode).ok_or(DropReason::UnknownOpcode)?;
        if !batch.places[index].has_its_icrc {
            return Err(DropReason::IcrcWrong);
        }
        if Algorithm::of(bth.reserved_6) != Algorithm::None || bth.reserved_7 != 0 {
            return Err(DropReason::ReservedBits);
        }
        let mut packet = Outgoing {
            batch,
            index,
            id,
            flow,
            now_seconds,
        };
        packet.take_timestamp()?;
        let role = Role::of(bth.opcode);
        if flow.extended == ExtendedMode::Always {
            sending.pass_over(role, bth.psn);
            return sending
                .plan_extended(packet, &mut self.sealer)
                .map(Plan::Seal);
        }
        if algorithm == Algorithm::Cmac32 {
            sending.authenticate(packet, role)?;
            return Ok(Plan::Done);
        }
        let is_waiting = |number| {
            self.planned.iter().any(|planned| {
                matches!(planned.as_what, Sealing::First(of, first)
                    if planned.flow == id && of == role && first == number)
            })
        };
        sending.plan_sealing(packet, role, &mut self.sealer, is_waiting)
    }

    /// The flow of a packet, which begins with it where it is not listed and its partition has keys.
    fn find(&mut self, batch: &Batch<'_>, index: usize) -> Result<Option<FlowId>, DropReason> {
        let place = &batch.places[index];
        let (bth, path, has_its_icrc) = (&place.bth(), &place.path, place.has_its_icrc);
        let found = place.found.filter(|id| self.flows.get(*id).is_some());
        if let Some(found) = found.or_else(|| self.flows.find(place.path_hash, path)) {
            return Ok(Some(found));
        }
        let partition_key = partition(bth.partition_key);
        let unlisted = self.unlisted.get(&partition_key);
        // Queue pairs of management stay plain where their partition has keys for all others.
        let Some(unlisted) = unlisted.filter(|_| !self.policy.exempts(bth)) else {
            return Ok(None);
        };
        if !has_its_icrc {
            return Err(DropReason::IcrcWrong);
        }
        let Some((flow, keys)) = unlisted.keys.flow(path, bth) else {
            return Ok(None);
        };
        if self.flows.unlisted() >= unlisted.keys.flows_max
            && let Some(gives_way) = self.flows.oldest_unlisted()
        {
            self.remove(gives_way);
        }
        let unlisted = self.unlisted.get(&partition_key);
        let epochs = unlisted.map(|unlisted| unlisted.first_epoch..unlisted.epochs.end);
        let epochs = epochs.ok_or(DropReason::UnknownQueuePair)?;
        let added = self.add_of(Origin::Unlisted, flow, &keys, epochs);
        added.map(Some).map_err(|error| match error {
            FlowError::Epochs => DropReason::EpochsExhausted,
            _ => DropReason::UnknownQueuePair,
        })
    }

    /// Seals what is planned; returns what is to go out in extended mode instead.
    fn run(&mut self, batch: &mut Batch<'_>, now_seconds: u64) -> Vec<Planned> {
        let mut planned = std::mem::take(&mut self.planned);
        if planned.is_empty() {
            return planned;
        }
        let mut refused = Vec::new();
        let mut seal = self.sealer.batch(batch.buffer);
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
                (Err(_), Sealing::Extended { .. }) => DropReason::EpochsExhausted,
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
            again.extend(self.finish(batch, packet, verdicts.is_good(at), now_seconds));
        }
        again
    }

    /// Hands out a packet, or drops it; or plans it in extended mode.
    fn finish(
        &mut self,
        batch: &mut Batch<'_>,
        packet: Planned,
        is_good: bool,
        now_seconds: u64,
    ) -> Option<Planned> {
        let Planned {
            index, flow: id, ..
        } = packet;
        let (flow, sending) = self.flows.get_mut(id)?;
        batch.unmask(index);
        let tag: [u8; TAG_BYTES] = batch.check(index);
        match packet.as_what {
            Sealing::First(role, number) if is_good => {
                sending.roles[role as usize]
                    .sealed
                    .set(number, &tag, now_seconds);
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
                let packet = Outgoing {
                    batch,
                    index,
                    id,
                    flow,
                    now_seconds,
                };
                let planned = sending.plan_extended(packet, &mut self.sealer);
                match planned {
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

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}

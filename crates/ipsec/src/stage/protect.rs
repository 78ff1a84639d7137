//! From packets to ESP packets, a batch at a time.

use std::sync::Arc;

use weir_crypto::{BATCH_PACKETS, SealBatch, Sealer};
use weir_simd::prefetch;
use weir_stream::{
    Batch, Context, Copies, Mailbox, Stage, StageError, Steering, SteeringRule, Vocabulary,
    VocabularyError,
};

use super::words::Words;
use super::{LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::change::{Collected, Command, ProtectChange, Settled};
use crate::esp::{Encapsulation, LateChecksum};
use crate::ledger::{LedgerError, Progress as Used, Reservations};
use crate::outbound::{Outbound, OutboundAssociation};
use crate::reason::DropReason;
use crate::report::{AssociationReport, Retired};

const NAME: &str = "protect";

/// Protects the records whose work says so ([`PROTECT`](super::PROTECT)) by the
/// associations that belong to its shard.
pub struct Protect {
    words: Option<Words>,
    /// By slot; `None` where another shard has it, or none.
    associations: Vec<Option<Outbound>>,
    /// Their keys.
    sealer: Sealer,
    steering: SteeringRule,
    /// Changes of a gateway that runs, and the number of this shard.
    commands: Option<(usize, Mailbox<Command<ProtectChange>>)>,
    /// Where its reports go at the end.
    finished: Option<Collected>,
    /// Records of this batch that are to be protected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    /// Those of them that their associations grant protection.
    planned: Vec<Planned>,
    /// Bytes of their packets.
    planned_bytes: usize,
    batches: u64,
    /// The batch for which numbers were reserved last.
    reserved_in: u64,
    protected: u64,
    /// What associations did that were retired.
    retired: Retired,
    ledger_error: Option<Arc<LedgerError>>,
}

/// A record that becomes an ESP packet.
struct Planned {
    index: u32,
    association: u32,
    encapsulation: Encapsulation,
    progress: Progress,
    /// Whether its metadata are those of the ESP packet already.
    is_parsed: bool,
    late: Option<LateChecksum>,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Granted,
    /// The cipher took it, and it is incomplete.
    Pushed,
    /// It is complete.
    Written,
    Sealed,
}

impl Protect {
    /// Without associations. `steering` brings records to the shard of theirs.
    pub(crate) fn new(steering: SteeringRule) -> Protect {
        Protect {
            words: None,
            associations: Vec::new(),
            sealer: Sealer::new(),
            steering,
            commands: None,
            finished: None,
            wanted: Vec::new(),
            planned: Vec::new(),
            planned_bytes: 0,
            batches: 0,
            reserved_in: 0,
            protected: 0,
            retired: Retired::default(),
            ledger_error: None,
        }
    }

    /// Puts an association into its slot, in which there is none.
    pub(crate) fn install(&mut self, slot: u32, association: OutboundAssociation) {
        let at = slot as usize;
        if at >= self.associations.len() {
            self.associations.resize_with(at + 1, || None);
        }
        let outbound = Outbound::new(association, &mut self.sealer);
        if let Some(place) = self.associations.get_mut(at) {
            *place = Some(outbound);
        }
    }

    /// As the stage of a shard whose associations change.
    pub(crate) fn following(
        self,
        shard: usize,
        commands: Mailbox<Command<ProtectChange>>,
        finished: Collected,
    ) -> Protect {
        Protect {
            commands: Some((shard, commands)),
            finished: Some(finished),
            ..self
        }
    }

    fn take_commands(&mut self) {
        while let Some((shard, mailbox)) = &mut self.commands
            && let Some(command) = mailbox.take()
        {
            match command {
                Command::Change(changes) => {
                    if let Some(change) = changes.take(*shard) {
                        self.change(change);
                    }
                }
                Command::Report(collected) => collected.add(self.reports()),
            }
        }
    }

    /// Makes a change that takes effect with the next batch. It does not wait for a disk.
    fn change(&mut self, change: ProtectChange) {
        for (slot, association) in change.installed {
            self.install(slot, association);
        }
        for (slot, parameters) in change.amended {
            if let Some(Some(outbound)) = self.associations.get_mut(slot as usize) {
                outbound.amend(parameters, &self.sealer);
            }
        }
        for (reservations, used) in self.retire(change.retired) {
            if let Some(settled) = &change.settled {
                // Where nobody waits for it, what was reserved stays used up.
                let _ = settled.send(Settled::Sealing(reservations, used));
            }
        }
    }

    /// Ends the associations in these slots: their keys are wiped. Returns what is left of their
    /// reservations.
    fn retire(&mut self, slots: impl IntoIterator<Item = u32>) -> Vec<(Reservations, Used)> {
        let mut settled = Vec::new();
        for slot in slots {
            let place = self.associations.get_mut(slot as usize);
            if let Some(outbound) = place.and_then(Option::take) {
                self.retired.add(outbound.report(slot, &self.sealer));
                settled.extend(outbound.close(&mut self.sealer));
            }
        }
        settled
    }

    /// Packets that were protected.
    pub fn protected(&self) -> u64 {
        self.protected
    }

    /// What each association of this shard did so far.
    pub fn reports(&self) -> Vec<AssociationReport> {
        let present = (0..).zip(&self.associations);
        let reports = present
            .filter_map(|(slot, outbound)| Some(outbound.as_ref()?.report(slot, &self.sealer)));
        self.retired.with(reports)
    }

    /// Why a range of sequence numbers could not be reserved, the last time
    /// that this happened. Packets were dropped by
    /// [`DropReason::SequenceExhausted`] for it.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.ledger_error.as_deref()
    }

    fn lacks_reservation(&self, association: u32) -> bool {
        matches!(
            self.associations.get(association as usize),
            Some(Some(outbound)) if outbound.lacks_reservation(&self.sealer)
        )
    }

    /// Reserves numbers for all associations of the packets of `wanted` from a
    /// position on: once a batch, with one commit of the ledger
    /// instead of one each.
    #[cold]
    fn reserve_from(&mut self, position: usize) {
        self.reserved_in = self.batches;
        let behind = self.wanted.get(position..).unwrap_or_default();
        let mut lacking: Vec<u32> = behind
            .iter()
            .map(|(_, association)| *association)
            .filter(|association| self.lacks_reservation(*association))
            .collect();
        lacking.sort_unstable();
        lacking.dedup();
        let slots = (0..).zip(&mut self.associations);
        let of = slots
            .filter(|(association, _)| lacking.binary_search(association).is_ok())
            .filter_map(|(_, slot)| slot.as_mut());
        Outbound::reserve_together(of, &mut self.sealer);
    }

    /// Prefetches what later packets of `wanted` read of their associations and keys.
    #[inline]
    fn look_ahead(&self, position: usize) {
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD)
            && let Some(slot) = self.associations.get(*association as usize)
        {
            prefetch(slot);
        }
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD_FURTHER)
            && let Some(Some(outbound)) = self.associations.get(*association as usize)
            && let Some(key) = self.sealer.key(outbound.key())
        {
            prefetch(key);
        }
    }

    #[cold]
    fn note_drop(&mut self, association: u32, reason: DropReason) {
        if let Some(Some(outbound)) = self.associations.get_mut(association as usize) {
            outbound.note_drop(reason);
        }
    }

    /// Plans the encapsulation of a record, and has its association grant it a number.
    #[inline]
    fn plan(
        &mut self,
        batch: &mut Batch,
        position: usize,
        words: &Words,
    ) -> Result<(), DropReason> {
        let (index, association) = self.wanted[position];
        let outbound = self
            .associations
            .get_mut(association as usize)
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let row = index as usize;
        let (headers, link) = (batch.headers(row), batch.arrival(row).link);
        let template = outbound.template();
        let encapsulation = Encapsulation::plan(template, link, headers, batch.record(row))?;
        let copied_bytes = encapsulation.shape(template).bytes();
        let plaintext_bytes = encapsulation.plaintext_bytes() as u64;
        if !outbound.grant_within_leeway(plaintext_bytes) {
            self.grant(batch, position, plaintext_bytes, words)?;
        }
        self.planned_bytes += copied_bytes;
        self.planned.push(Planned {
            index,
            association,
            encapsulation,
            progress: Progress::Granted,
            is_parsed: false,
            late: None,
        });
        Ok(())
    }

    /// Consults an association's accounts about a packet.
    #[cold]
    fn grant(
        &mut self,
        batch: &mut Batch,
        position: usize,
        plaintext_bytes: u64,
        words: &Words,
    ) -> Result<(), DropReason> {
        let (index, association) = self.wanted[position];
        if self.reserved_in != self.batches && self.lacks_reservation(association) {
            self.reserve_from(position);
        }
        let outbound = self
            .associations
            .get_mut(association as usize)
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let is_soft_expired = outbound
            .grant(&mut self.sealer, plaintext_bytes, self.batches)
            .map_err(|refusal| {
                if let Some(error) = refusal.ledger {
                    self.ledger_error = Some(error);
                }
                refusal.reason
            })?;
        if is_soft_expired {
            let spi = outbound.template().format.spi;
            words.notice_soft_lifetime(batch, index as usize, spi);
        }
        Ok(())
    }

    /// Writes and seals the packets that were planned.
    #[inline(never)]
    fn encapsulate(&mut self, batch: &mut Batch, words: &Words) {
        let (mut copies, memory) = batch.copies(self.planned.len(), self.planned_bytes);
        for planned in self.planned.chunks_mut(BATCH_PACKETS) {
            let mut sealing = self.sealer.batch(memory);
            for plan in &mut *planned {
                let slot = self.associations.get_mut(plan.association as usize);
                if let Some(Some(outbound)) = slot {
                    outbound.drawn();
                    plan.write(outbound, &mut copies, &mut sealing);
                }
            }
            let verdicts = sealing.run();
            let pushed = planned
                .iter_mut()
                .filter(|plan| plan.progress != Progress::Granted);
            for (plan, is_good) in pushed.zip(verdicts.iter()) {
                if is_good && plan.progress == Progress::Written {
                    plan.progress = Progress::Sealed;
                }
            }
        }
        for plan in &self.planned {
            let index = plan.index as usize;
            if plan.progress != Progress::Sealed {
                if let Some(Some(outbound)) = self.associations.get_mut(plan.association as usize) {
                    outbound.note_drop(DropReason::CipherRefused);
                }
                words.drop_record(batch, index, DropReason::CipherRefused);
                continue;
            }
            self.protected += 1;
            if let Some(checksum) = plan.late {
                checksum.set(batch.record_mut(index));
            }
            if !plan.is_parsed {
                batch.reparse(index);
            }
        }
    }
}

impl Planned {
    /// Copies the record, draws its number, and writes what goes around its payload.
    #[inline(always)]
    fn write(&mut self, outbound: &Outbound, copies: &mut Copies<'_>, sealing: &mut SealBatch<'_>) {
        let index = self.index as usize;
        let (template, encapsulation) = (outbound.template(), &self.encapsulation);
        let shape = encapsulation.shape(template);
        let Some(copy) = copies.copy(sealing.buffer_mut(), index, &shape) else {
            return;
        };
        let range = copy.range();
        let packet = template.format.descriptor(
            outbound.key(),
            range.start + encapsulation.esp_offset(template),
            encapsulation.plaintext_bytes(),
        );
        let Ok(sequence) = sealing.push(packet) else {
            return;
        };
        self.progress = Progress::Pushed;
        let link = copies.arrival(index).link;
        let composed = sealing
            .buffer_mut()
            .get_mut(range)
            .and_then(|copy| encapsulation.compose(template, link, copy, sequence));
        if composed.is_none() {
            return;
        }
        match encapsulation.outer_header(template) {
            Some(outer) => {
                copies.adopt(index, &copy, &outer);
                self.is_parsed = true;
            }
            None => {
                copies.adopt_unparsed(index, &copy);
                self.late = encapsulation.late_checksum(template);
            }
        }
        self.progress = Progress::Written;
    }
}

impl Stage for Protect {
    fn name(&self) -> &str {
        NAME
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words::register(vocabulary)?);
        Ok(())
    }

    fn steering(&self) -> Steering {
        Steering::By(self.steering.clone())
    }

    /// What comes out has the headers of its tunnel.
    fn changes_flows(&self) -> bool {
        true
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        self.take_commands();
        self.batches += 1;
        self.planned.clear();
        self.planned_bytes = 0;
        batch.take_work(words.protect, &mut self.wanted);
        for position in 0..self.wanted.len() {
            self.look_ahead(position);
            if let Err(reason) = self.plan(batch, position, &words) {
                let (index, association) = self.wanted[position];
                self.note_drop(association, reason);
                words.drop_record(batch, index as usize, reason);
            }
        }
        if !self.planned.is_empty() {
            self.encapsulate(batch, &words);
        }
        debug_assert!(
            self.planned
                .iter()
                .filter(|plan| plan.progress == Progress::Sealed)
                .all(|plan| batch.is_as_parsed(plan.index as usize)),
            "metadata say what stands in the records"
        );
        Ok(())
    }

    /// Wipes the keys and gives unused sequence numbers back to the
    /// ledger. A stage that has finished protects nothing more.
    fn finish(&mut self) -> Result<(), StageError> {
        let settled = self.retire(0..self.associations.len() as u32);
        if let Some(finished) = &self.finished {
            finished.add(self.reports());
        }
        Reservations::settle(settled).map_err(|error| StageError::new(NAME, error))
    }
}

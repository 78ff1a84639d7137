//! From packets to ESP packets, a batch at a time.

use weir_crypto::{BATCH_PACKETS, SealBatch};
use weir_ledger::LedgerError;
use weir_simd::prefetch;
use weir_stream::{
    Batch, Context, Copies, Mailbox, Stage, StageError, Steering, SteeringRule, Vocabulary,
    VocabularyError,
};

use super::slots::Slots;
use super::too_big::TooBig;
use super::words::Words;
use super::{LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::change::{Collected, Command};
use crate::esp::{Encapsulation, LateChecksum};
use crate::outbound::{Outbound, OutboundAssociation};
use crate::reason::DropReason;
use crate::report::AssociationReport;

const NAME: &str = "protect";

/// Protects the records whose work says so ([`PROTECT`](super::PROTECT)) by the
/// associations that belong to its shard.
pub struct Protect {
    words: Option<Words>,
    slots: Slots<Outbound>,
    steering: SteeringRule,
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
    too_big: TooBig,
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
            slots: Slots::default(),
            steering,
            wanted: Vec::new(),
            planned: Vec::new(),
            planned_bytes: 0,
            batches: 0,
            reserved_in: 0,
            protected: 0,
            too_big: TooBig::default(),
        }
    }

    /// Puts an association into its slot, in which there is none.
    pub(crate) fn install(&mut self, slot: u32, association: OutboundAssociation) {
        self.slots.install(slot, association);
    }

    /// As the stage of a shard whose associations change.
    pub(crate) fn following(
        mut self,
        shard: usize,
        commands: Mailbox<Command<OutboundAssociation>>,
        finished: Collected,
    ) -> Protect {
        self.slots.follow(shard, commands, finished);
        self
    }

    /// Packets that were protected.
    pub fn protected(&self) -> u64 {
        self.protected
    }

    /// What each association of this shard did so far.
    pub fn reports(&self) -> Vec<AssociationReport> {
        self.slots.reports()
    }

    /// Why a range of sequence numbers could not be reserved, the last time
    /// that this happened. Packets were dropped by
    /// [`DropReason::SequenceExhausted`] for it.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.slots.ledger_error()
    }

    fn lacks_reservation(&self, association: u32) -> bool {
        let outbound = self.slots.get(association);
        outbound.is_some_and(|outbound| outbound.lacks_reservation(&self.slots.keys))
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
        let rows = (0..).zip(&mut self.slots.rows);
        let of = rows
            .filter(|(association, _)| lacking.binary_search(association).is_ok())
            .filter_map(|(_, row)| row.as_mut());
        Outbound::reserve_together(of, &mut self.slots.keys);
    }

    /// Prefetches what later packets of `wanted` read of their associations and keys.
    #[inline]
    fn look_ahead(&self, position: usize) {
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD)
            && let Some(row) = self.slots.rows.get(*association as usize)
        {
            prefetch(row);
        }
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD_FURTHER)
            && let Some(outbound) = self.slots.get(*association)
            && let Some(key) = self.slots.keys.key(outbound.key())
        {
            prefetch(key);
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
        let outbound =
            (self.slots.get_mut(association)).ok_or(DropReason::NoSecurityAssociation)?;
        let row = index as usize;
        let (headers, link) = (batch.headers(row), batch.arrival(row).link);
        let template = outbound.template();
        let encapsulation = Encapsulation::plan(template, link, headers, batch.record(row))?;
        let copied_bytes = encapsulation.shape(template).bytes();
        if copied_bytes > batch.longest_at_egress(row) {
            return Err(DropReason::TooLong);
        }
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

    /// Tells the sender of a record that is too long, where that can be.
    #[cold]
    fn too_long(&mut self, batch: &mut Batch, position: usize, cx: &Context) -> DropReason {
        let (index, association) = self.wanted[position];
        let row = index as usize;
        let mtu_bytes = self.slots.get(association).and_then(|outbound| {
            Encapsulation::inner_mtu_bytes(
                outbound.template(),
                batch.headers(row),
                batch.record(row),
                batch.longest_at_egress(row),
            )
        });
        // A file has no side that its packets came from.
        let is_told = cx.is_live
            && mtu_bytes.is_some_and(|mtu| self.too_big.tell_sender(batch, row, mtu, cx.now_ns));
        match is_told {
            true => DropReason::FragmentationNeeded,
            false => DropReason::TooLong,
        }
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
        let Slots { rows, keys, .. } = &mut self.slots;
        let row = rows.get_mut(association as usize);
        let outbound = row
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let is_soft_expired = outbound.grant(keys, plaintext_bytes, self.batches)?;
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
            let mut sealing = self.slots.keys.batch(memory);
            for plan in &mut *planned {
                let row = self.slots.rows.get_mut(plan.association as usize);
                if let Some(Some(outbound)) = row {
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
                self.slots
                    .note_drop(plan.association, DropReason::CipherRefused);
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

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        self.slots.take_commands(|_| {});
        self.batches += 1;
        self.planned.clear();
        self.planned_bytes = 0;
        batch.take_work(words.protect, &mut self.wanted);
        for position in 0..self.wanted.len() {
            self.look_ahead(position);
            if let Err(reason) = self.plan(batch, position, &words) {
                let (index, association) = self.wanted[position];
                let reason = match reason {
                    DropReason::TooLong => self.too_long(batch, position, cx),
                    other => other,
                };
                self.slots.note_drop(association, reason);
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
        let finished = self.slots.finish();
        finished.map_err(|error| StageError::new(NAME, error))
    }
}

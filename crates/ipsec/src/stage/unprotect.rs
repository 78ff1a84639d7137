//! From ESP packets to the packets inside, a batch at a time.

use std::ops::Range;
use std::sync::Arc;

use weir_crypto::{LaneUse, OpenJob, open};
use weir_packet::file::Block;
use weir_packet::wire::{Fragment, LinkType};
use weir_select::Tuple;
use weir_simd::prefetch;
use weir_stream::{
    Arrival as RecordArrival, BATCH_RECORDS, Batch, BatchLimits, Disposition, DropReason,
    EventKind, RecordRow, Stage, StageError, Steering, Work,
};

use super::{Defect, LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::esp::{Arrival, Associated, Decapsulation, Format};
use crate::fragments::Fragments;
use crate::gateway::{Arrived, Databases};
use crate::inbound::{Admitted, Inbound};
use crate::ledger::{LedgerError, SeenBound};
use crate::policy::Verdict;
use crate::report::AssociationReport;

mod ordinary;
mod resync;
#[cfg(test)]
mod tests;

use ordinary::{Fate, Seen};

const NAME: &str = "unprotect";

/// Verifies, decrypts and decapsulates the records whose work says so
/// ([`Work::unprotect`]) by the associations that belong to its shard.
pub struct Unprotect {
    databases: Arc<Databases>,
    /// By index; `None` where another shard has it.
    associations: Vec<Option<Inbound>>,
    /// Those that came out of associations.
    fragments: Fragments,
    /// Records of this batch that are to be unprotected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    /// What is known of each of them.
    seen: Vec<Seen>,
    /// Those of them that are admitted and not ordinary.
    planned: Vec<Planned>,
    /// Empty between batches.
    jobs: Vec<OpenJob<'static>>,
    /// Associations whose next packet is tried under other high halves.
    lost: Vec<u32>,
    unprotected: u64,
    lane_use: LaneUse,
}

/// A record that is admitted, and not ordinary, and waits for the cipher.
struct Planned {
    index: u32,
    association: u32,
    /// [`Batch::offset`], once it can be written to.
    offset: u32,
    decapsulation: Decapsulation,
    associated: Associated,
    sequence: u64,
    verified: bool,
}

impl Planned {
    /// Lays out a record for the cipher, if it is worth it.
    #[inline(never)]
    fn new(
        inbound: &Inbound,
        association: u32,
        index: usize,
        row: RecordRow<'_>,
        databases: &Databases,
    ) -> Result<(Planned, Admitted), DropReason> {
        let nat_t_ports = databases.sad.nat_t_ports();
        let arrival = Arrival::find(row.headers, row.record, nat_t_ports)?
            .ok_or(DropReason::MalformedHeaders)?;
        let (format, link) = (inbound.format(), row.arrival.link);
        let decapsulation = Decapsulation::plan(format, link, row.headers, &arrival)?;
        let admitted = inbound.admit(arrival.sequence_low)?;
        let plan = Planned {
            index: index as u32,
            association,
            offset: 0,
            decapsulation,
            associated: Associated::new(inbound.format(), admitted.sequence),
            sequence: admitted.sequence,
            verified: false,
        };
        Ok((plan, admitted))
    }
}

impl Unprotect {
    pub(crate) fn new(databases: Arc<Databases>, associations: Vec<Option<Inbound>>) -> Unprotect {
        Unprotect {
            databases,
            associations,
            fragments: Fragments::default(),
            wanted: Vec::new(),
            seen: Vec::new(),
            planned: Vec::new(),
            jobs: Vec::new(),
            lost: Vec::new(),
            unprotected: 0,
            lane_use: LaneUse::default(),
        }
    }

    /// Packets that were unprotected.
    pub fn unprotected(&self) -> u64 {
        self.unprotected
    }

    /// How full the cipher's lanes were.
    pub fn lane_use(&self) -> LaneUse {
        self.lane_use
    }

    /// Why the ledger of replay windows could not be written, the last time that
    /// this happened. Packets were dropped by
    /// [`DropReason::SequenceExhausted`] for it.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        let mut associations = self.associations.iter().flatten();
        associations.find_map(Inbound::ledger_error)
    }

    /// What each association of this shard did so far.
    pub fn reports(&self) -> Vec<AssociationReport> {
        (0..)
            .zip(&self.associations)
            .filter_map(|(association, inbound)| {
                let inbound = inbound.as_ref()?;
                Some(AssociationReport {
                    association,
                    parameters: inbound.parameters().clone(),
                    traffic: inbound.traffic(),
                })
            })
            .collect()
    }

    /// Unprotects one record, outside of any pipeline: what is inside, with
    /// the link header in front, or `None` where the record is not ESP and
    /// passes by. The window and the lifetimes move as in
    /// [`process`](Stage::process).
    ///
    /// # Errors
    /// Why the record is dropped.
    pub fn unprotect_record(
        &mut self,
        link: LinkType,
        record: &[u8],
    ) -> Result<Option<Vec<u8>>, DropReason> {
        let mut batch = Batch::new(BatchLimits::default());
        let bytes = u32::try_from(record.len()).map_err(|_| DropReason::TooLong)?;
        let arrival = RecordArrival {
            wire_bytes: bytes,
            link,
            ..RecordArrival::default()
        };
        let block = Arc::new(Block::from(record.to_vec()));
        batch
            .receive(&block, 0, [(0, bytes, arrival)])
            .map_err(|_| DropReason::NoRoom)?;
        let arrived = (self.databases).classify_inbound(batch.headers(0), batch.record(0), 0);
        let association = match arrived {
            Arrived::Esp(association) => association,
            Arrived::Other(Verdict::Drop(reason)) => return Err(reason),
            Arrived::Other(Verdict::AsFirstFragment) => {
                return Err(DropReason::FirstFragmentMissing);
            }
            Arrived::Other(Verdict::Bypass | Verdict::Protect(_)) => return Ok(None),
        };
        batch.set_work(0, batch.work(0).with_unprotect(association));
        self.process(&mut batch)
            .map_err(|_| DropReason::MalformedHeaders)?;
        match batch.disposition(0) {
            Disposition::Drop(reason) => Err(reason),
            _ => Ok(Some(batch.record(0).to_vec())),
        }
    }

    /// Opens the wanted records from a position on, up to the first whose number is
    /// an ESN jump, and returns the position behind them.
    fn open_from(&mut self, batch: &mut Batch, from: usize) -> Result<usize, StageError> {
        let to = self.open_ordinary(batch, from)?;
        if !self.planned.is_empty() {
            self.open_planned(batch)?;
        }
        Ok(to)
    }

    /// One call of the cipher for all that are not ordinary.
    fn open_planned(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        for plan in &mut self.planned {
            let index = plan.index as usize;
            // Decryption is in place: the record leaves its block here.
            batch.record_mut(index);
            plan.offset = batch.offset(index) as u32;
        }
        // It is the order of arrival unless a record outgrew its space.
        let is_in_order = self.planned.is_sorted_by_key(|plan| plan.offset);
        if !is_in_order {
            self.planned.sort_unstable_by_key(|plan| plan.offset);
        }
        let mut records = batch.records_mut();
        let mut jobs = std::mem::take(&mut self.jobs);
        let mut verdicts = [false; BATCH_RECORDS];
        for plan in &self.planned {
            let index = plan.index as usize;
            let displaced = || StageError::new(NAME, Defect::Displaced { index });
            let key = self
                .associations
                .get(plan.association as usize)
                .and_then(Option::as_ref)
                .map(Inbound::key)
                .ok_or_else(displaced)?;
            let parts = records
                .take(index)
                .and_then(|record| plan.decapsulation.layout().parts(record))
                .ok_or_else(displaced)?;
            jobs.push(OpenJob {
                key,
                prefix: plan.associated.prefix(parts.esp_header),
                iv: parts.iv,
                text: parts.text,
                suffix: plan.associated.suffix(),
                tag: parts.tag,
                verified: false,
            });
        }
        self.lane_use += open(&mut jobs);
        for (verdict, job) in verdicts.iter_mut().zip(&jobs) {
            *verdict = job.verified;
        }
        self.jobs = OpenJob::recycle(jobs);
        for (plan, verdict) in self.planned.iter_mut().zip(verdicts) {
            plan.verified = verdict;
        }
        if !is_in_order {
            self.planned.sort_unstable_by_key(|plan| plan.index);
        }
        Ok(())
    }

    /// Takes in what came back from the cipher, in order of arrival.
    fn release(&mut self, batch: &mut Batch, positions: Range<usize>) {
        let mut planned = 0;
        for position in positions {
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD) {
                self.databases.spd.look_ahead(*association);
            }
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD_FURTHER) {
                self.databases.spd.look_ahead_at_selectors(*association);
                // It has left the innermost cache since it was admitted.
                if let Some(slot) = self.associations.get(*association as usize) {
                    prefetch(slot);
                }
            }
            let outcome = match self.seen[position].fate() {
                Fate::Ordinary => self.release_ordinary(batch, position),
                Fate::Planned => {
                    planned += 1;
                    self.release_planned(batch, planned - 1)
                }
                Fate::Refused(reason) => Err(reason),
            };
            match outcome {
                Ok(()) => {
                    self.unprotected += 1;
                    let (index, association) = self.wanted[position];
                    if batch.headers(index as usize).fragment != Fragment::Whole {
                        self.check_fragment(batch, index as usize, association);
                    }
                }
                Err(reason) => {
                    let (index, association) = self.wanted[position];
                    if reason == DropReason::IntegrityFailed {
                        self.note_failure(association);
                    }
                    batch.drop_record(index as usize, reason);
                }
            }
        }
        self.planned.clear();
    }

    /// Holds a fragment that came out of an association to what its datagram may
    /// be: where ports matter, the first fragment says so for all.
    #[cold]
    fn check_fragment(&mut self, batch: &mut Batch, index: usize, association: u32) {
        let interface = batch.arrival(index).interface;
        let (headers, record) = (batch.headers(index), batch.record(index));
        let spd = &self.databases.spd;
        let verdict = spd.accepts_fragment(association, headers, record, interface);
        let verdict = if verdict == Verdict::AsFirstFragment
            || headers.fragment == Fragment::First && spd.asks_behind_addresses(association)
        {
            (self.fragments).follow_first(batch, index, Some(association), verdict)
        } else {
            Some(verdict)
        };
        if let Some(verdict) = verdict {
            apply(batch, index, verdict);
        }
    }

    fn release_fragments(&mut self, batch: &mut Batch) {
        self.fragments.release(batch, apply);
    }

    /// Takes in a record that is not ordinary.
    fn release_planned(&mut self, batch: &mut Batch, planned: usize) -> Result<(), DropReason> {
        let plan = &self.planned[planned];
        let index = plan.index as usize;
        if !plan.verified {
            return Err(DropReason::IntegrityFailed);
        }
        let inbound = self
            .associations
            .get_mut(plan.association as usize)
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let text_bytes = u64::from(plan.decapsulation.layout().text_bytes);
        take_in(batch, index, inbound, plan.sequence, text_bytes)?;
        let unwrapped = unwrap(batch, plan, inbound.format(), &self.databases);
        unwrapped.inspect_err(|_| inbound.refuse(text_bytes))
    }
}

/// Does to a fragment that came out of an association what was decided about it.
fn apply(batch: &mut Batch, index: usize, verdict: Verdict) {
    match verdict {
        Verdict::Bypass => {}
        Verdict::Drop(reason) => batch.drop_record(index, reason),
        Verdict::Protect(_) | Verdict::AsFirstFragment => {
            batch.drop_record(index, DropReason::SelectorMismatch);
        }
    }
}

/// Takes a verified packet into its association.
#[inline(always)]
fn take_in(
    batch: &mut Batch,
    index: usize,
    inbound: &mut Inbound,
    sequence: u64,
    text_bytes: u64,
) -> Result<(), DropReason> {
    if inbound.accept(sequence, text_bytes)? {
        let spi = inbound.format().spi;
        batch.notice(index, EventKind::SoftLifetime { spi });
    }
    Ok(())
}

/// Puts what was inside a packet in its place.
fn unwrap(
    batch: &mut Batch,
    plan: &Planned,
    format: &Format,
    databases: &Databases,
) -> Result<(), DropReason> {
    let index = plan.index as usize;
    let record = batch.record_mut(index);
    let cut = plan.decapsulation.unwrap_packet(format, record)?;
    batch.shrink(index, cut.front_bytes, cut.back_bytes);
    batch.reparse(index);
    let headers = batch.headers(index);
    if !headers.is_whole_ip() {
        return Err(DropReason::BadInnerPacket);
    }
    let interface = batch.arrival(index).interface;
    let tuple = Tuple::from_headers(headers, batch.record(index), interface);
    if headers.fragment == Fragment::Whole && !databases.spd.accepts(plan.association, &tuple) {
        return Err(DropReason::SelectorMismatch);
    }
    // What was read in the outer header holds no more.
    batch.set_work(index, Work::UNCLASSIFIED);
    Ok(())
}

impl Stage for Unprotect {
    fn name(&self) -> &str {
        NAME
    }

    fn steering(&self) -> Steering {
        Steering::By(self.databases.inbound_steering())
    }

    /// What comes out has the headers that were inside.
    fn changes_flows(&self) -> bool {
        true
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.planned.clear();
        batch.take_associations(Work::unprotect, &mut self.wanted);
        if self.seen.len() < self.wanted.len() {
            self.seen.resize_with(BATCH_RECORDS, Seen::default);
        }
        if !self.lost.is_empty() {
            self.resynchronize(batch);
        }
        let mut from = 0;
        while from < self.wanted.len() {
            let to = self.open_from(batch, from)?;
            self.release(batch, from..to);
            from = to;
        }
        debug_assert!(
            self.wanted
                .iter()
                .map(|(index, _)| *index as usize)
                .filter(|index| batch.disposition(*index) == Disposition::Forward)
                .all(|index| batch.is_as_parsed(index)),
            "metadata say what stands in the records"
        );
        if !self.fragments.is_idle() {
            self.release_fragments(batch);
        }
        Ok(())
    }

    fn drain(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.fragments.end();
        self.release_fragments(batch);
        Ok(())
    }

    /// Writes down how far the windows that are kept have come. A stage that has
    /// finished opens nothing more with them.
    fn finish(&mut self) -> Result<(), StageError> {
        let associations = self.associations.iter_mut().flatten();
        SeenBound::settle(associations.filter_map(Inbound::close))
            .map_err(|error| StageError::new(NAME, error))
    }
}

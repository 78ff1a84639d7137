//! From ESP packets to the packets inside, a batch at a time.

use std::sync::Arc;

use weir_crypto::{LaneUse, OpenJob, open};
use weir_packet::file::Block;
use weir_packet::wire::LinkType;
use weir_select::Tuple;
use weir_simd::prefetch;
use weir_stream::{
    Arrival as RecordArrival, BATCH_RECORDS, Batch, BatchLimits, Disposition, DropReason,
    EventKind, Stage, StageError, Work,
};

use super::{Defect, LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::esp::{Arrival, Associated, Decapsulation};
use crate::gateway::Databases;
use crate::inbound::{Admitted, Inbound};
use crate::report::AssociationReport;

const NAME: &str = "unprotect";

/// Verifies, decrypts and unwraps the records whose work asks for it
/// ([`Work::unprotect`]) by the associations that belong to its shard.
pub struct Unprotect {
    databases: Arc<Databases>,
    /// By index; `None` where another shard has it.
    associations: Vec<Option<Inbound>>,
    /// Records of this batch that are to be unprotected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    planned: Vec<Planned>,
    /// Empty between batches.
    jobs: Vec<OpenJob<'static>>,
    unprotected: u64,
    lane_use: LaneUse,
}

/// A record that is admitted and waits for the cipher.
struct Planned {
    index: u32,
    association: u32,
    /// [`Batch::offset`].
    offset: u32,
    decapsulation: Decapsulation,
    associated: Associated,
    sequence: u64,
    verified: bool,
}

impl Unprotect {
    pub(crate) fn new(databases: Arc<Databases>, associations: Vec<Option<Inbound>>) -> Unprotect {
        Unprotect {
            databases,
            associations,
            wanted: Vec::new(),
            planned: Vec::new(),
            jobs: Vec::new(),
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
        let Some(association) = self.databases.classify_inbound(&batch, 0)? else {
            return Ok(None);
        };
        batch.set_work(0, batch.work(0).with_unprotect(association));
        self.process(&mut batch)
            .map_err(|_| DropReason::MalformedHeaders)?;
        match batch.disposition(0) {
            Disposition::Drop(reason) => Err(reason),
            _ => Ok(Some(batch.record(0).to_vec())),
        }
    }

    /// Asks for what later packets of `wanted` take from their associations.
    #[inline]
    fn look_ahead(&self, position: usize) {
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD)
            && let Some(slot) = self.associations.get(*association as usize)
        {
            prefetch(slot);
            self.databases.spd.look_ahead(*association);
        }
        if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD_FURTHER)
            && let Some(Some(inbound)) = self.associations.get(*association as usize)
        {
            inbound.look_ahead();
        }
    }

    /// Lays a record out for the cipher.
    #[inline]
    fn admit(
        &mut self,
        batch: &mut Batch,
        index: usize,
        association: u32,
    ) -> Result<Admitted, DropReason> {
        let inbound = self
            .associations
            .get(association as usize)
            .and_then(Option::as_ref)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let template = inbound.template();
        let headers = batch.headers(index);
        let nat_t_ports = self.databases.sad.nat_t_ports();
        let arrival = Arrival::find(headers, batch.record(index), nat_t_ports)?
            .ok_or(DropReason::MalformedHeaders)?;
        let link = batch.arrival(index).link;
        let decapsulation = Decapsulation::plan(template, link, headers, &arrival)?;
        let admitted = inbound.admit(arrival.sequence_low)?;
        let sequence = admitted.sequence;
        let associated = Associated::new(template, sequence);
        // Decryption is in place: the record leaves its block here.
        batch.record_mut(index);
        self.planned.push(Planned {
            index: index as u32,
            association,
            offset: batch.offset(index) as u32,
            decapsulation,
            associated,
            sequence,
            verified: false,
        });
        Ok(admitted)
    }

    /// One call of the cipher for all admitted records.
    fn open(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        // It is the order of arrival unless a record outgrew its room.
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

    /// Opens what is planned and takes it in, in order of arrival.
    fn finish_planned(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        if self.planned.is_empty() {
            return Ok(());
        }
        self.open(batch)?;
        for position in 0..self.planned.len() {
            if let Some(plan) = self.planned.get(position + LOOK_AHEAD_FURTHER) {
                self.databases.spd.look_ahead_at_selectors(plan.association);
            }
            match self.release(batch, position) {
                Ok(()) => self.unprotected += 1,
                Err(reason) => batch.drop_record(self.planned[position].index as usize, reason),
            }
        }
        self.planned.clear();
        Ok(())
    }

    /// Takes in a record that came back from the cipher.
    fn release(&mut self, batch: &mut Batch, position: usize) -> Result<(), DropReason> {
        let plan = &self.planned[position];
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
        if inbound.accept(plan.sequence, text_bytes)? {
            let spi = inbound.template().spi;
            batch.notice(index, EventKind::SoftLifetime { spi });
        }
        let record = batch.record_mut(index);
        let cut = plan
            .decapsulation
            .unwrap_packet(inbound.template(), record)?;
        batch.shrink(index, cut.front_bytes, cut.back_bytes);
        batch.reparse(index);
        let headers = batch.headers(index);
        if !headers.is_whole_ip() {
            return Err(DropReason::BadInnerPacket);
        }
        let interface = batch.arrival(index).interface;
        let tuple = Tuple::from_headers(headers, batch.record(index), interface);
        if !self.databases.spd.accepts(plan.association, &tuple) {
            return Err(DropReason::SelectorMismatch);
        }
        inbound.count(text_bytes);
        // What was read in the outer header holds no more.
        batch.set_work(index, Work::UNCLASSIFIED);
        Ok(())
    }
}

impl Stage for Unprotect {
    fn name(&self) -> &str {
        NAME
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.planned.clear();
        batch.take_associations(Work::unprotect, &mut self.wanted);
        for position in 0..self.wanted.len() {
            self.look_ahead(position);
            let (index, association) = self.wanted[position];
            let index = index as usize;
            match self.admit(batch, index, association) {
                Ok(Admitted { is_leap: false, .. }) => {}
                Ok(Admitted { is_leap: true, .. }) => self.finish_planned(batch)?,
                Err(reason) => batch.drop_record(index, reason),
            }
        }
        self.finish_planned(batch)
    }
}

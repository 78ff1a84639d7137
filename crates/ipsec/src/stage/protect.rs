//! From packets to ESP packets, a batch at a time.

use weir_crypto::{LaneUse, SealJob, Ticket, seal};
use weir_stream::{Batch, DropReason, EventKind, Stage, StageError};

use super::{Displaced, sort_by_place};
use crate::esp::{Associated, Encapsulation};
use crate::outbound::{Drawn, Outbound};
use crate::report::AssociationReport;
use crate::state::{Reservations, StateError};

const NAME: &str = "protect";

/// Protects the records whose work asks for it
/// ([`Work::protect`](weir_stream::Work::protect)) by the associations that
/// belong to its shard.
pub struct Protect {
    /// By index; `None` where another shard has it.
    associations: Vec<Option<Outbound>>,
    planned: Vec<Planned>,
    /// Parallel to `planned`, since jobs borrow it while tickets move.
    associated: Vec<Associated>,
    /// Positions in `planned`, by place in memory, and their records.
    order: Vec<usize>,
    places: Vec<usize>,
    /// Empty between batches.
    jobs: Vec<SealJob<'static>>,
    batches: u64,
    protected: u64,
    lane_use: LaneUse,
    reports: Vec<AssociationReport>,
    state_error: Option<StateError>,
}

/// A record that is composed and waits for the cipher.
struct Planned {
    index: usize,
    association: u32,
    encapsulation: Encapsulation,
    /// Taken when the job is made.
    ticket: Option<Ticket>,
}

impl Protect {
    pub(crate) fn new(associations: Vec<Option<Outbound>>) -> Protect {
        Protect {
            associations,
            planned: Vec::new(),
            associated: Vec::new(),
            order: Vec::new(),
            places: Vec::new(),
            jobs: Vec::new(),
            batches: 0,
            protected: 0,
            lane_use: LaneUse::default(),
            reports: Vec::new(),
            state_error: None,
        }
    }

    /// Packets that were protected.
    pub fn protected(&self) -> u64 {
        self.protected
    }

    /// How full the cipher's lanes were.
    pub fn lane_use(&self) -> LaneUse {
        self.lane_use
    }

    /// What each association of this shard did, after the run.
    pub fn reports(&self) -> &[AssociationReport] {
        &self.reports
    }

    /// Why a range of sequence numbers could not be reserved, the last time
    /// that this happened. Packets were dropped by
    /// [`DropReason::SequenceExhausted`] for it.
    pub fn state_error(&self) -> Option<&StateError> {
        self.state_error.as_ref()
    }

    /// Grows and fills in a record, up to encryption.
    fn compose(
        &mut self,
        batch: &mut Batch,
        index: usize,
        association: u32,
    ) -> Result<(), DropReason> {
        let outbound = self
            .associations
            .get_mut(association as usize)
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let parameters = outbound.parameters();
        let headers = *batch.headers(index);
        let record = batch.record(index);
        let link = batch.arrival(index).link;
        let encapsulation = Encapsulation::plan(parameters, link, &headers, record)?;
        let padding_bytes = record.len() - headers.end_offset as usize;

        let Drawn {
            ticket,
            is_soft_expired,
        } = outbound
            .draw(encapsulation.text_bytes(), self.batches)
            .map_err(|refusal| {
                self.state_error = refusal.state.or(self.state_error.take());
                refusal.reason
            })?;
        let parameters = outbound.parameters();
        if is_soft_expired {
            let spi = parameters.spi;
            batch.notice(index, EventKind::SoftLifetime { spi });
        }
        batch.shrink(index, 0, padding_bytes);
        let record = batch.grow(
            index,
            encapsulation.front_bytes(),
            encapsulation.back_bytes(),
        );
        encapsulation.compose(parameters, record, ticket.counter())?;
        self.associated.push(Associated::new(
            parameters.suite,
            parameters.esn,
            parameters.spi,
            ticket.counter(),
        ));
        self.planned.push(Planned {
            index,
            association,
            encapsulation,
            ticket: Some(ticket),
        });
        Ok(())
    }

    /// One call of the cipher for all composed records.
    fn seal(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        let planned = &mut self.planned;
        sort_by_place(batch, &mut self.order, planned.len(), |position| {
            planned[position].index
        });
        self.places.clear();
        self.places
            .extend(self.order.iter().map(|position| planned[*position].index));

        let mut jobs = std::mem::take(&mut self.jobs);
        for (position, record) in self.order.iter().zip(batch.records_mut(&self.places)) {
            let plan = &mut planned[*position];
            let layout = plan.encapsulation.layout();
            let displaced = || StageError::new(NAME, Displaced { layout });
            let key = self
                .associations
                .get(plan.association as usize)
                .and_then(Option::as_ref)
                .map(Outbound::key)
                .ok_or_else(displaced)?;
            let parts = record
                .and_then(|record| layout.parts(record))
                .ok_or_else(displaced)?;
            let associated = &self.associated[*position];
            jobs.push(SealJob {
                key,
                ticket: plan.ticket.take().ok_or_else(displaced)?,
                prefix: associated.prefix(parts.esp_header),
                iv: parts.iv,
                text: parts.text,
                suffix: associated.suffix(),
                tag: parts.tag,
            });
        }
        self.lane_use += seal(&mut jobs).map_err(|error| StageError::new(NAME, error))?;
        self.jobs = SealJob::recycle(jobs);
        Ok(())
    }
}

impl Stage for Protect {
    fn name(&self) -> &str {
        NAME
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.batches += 1;
        self.planned.clear();
        self.associated.clear();
        for index in batch.live() {
            if let Some(association) = batch.work(index).protect()
                && let Err(reason) = self.compose(batch, index, association)
            {
                batch.drop_record(index, reason);
            }
        }
        if self.planned.is_empty() {
            return Ok(());
        }
        self.seal(batch)?;
        for plan in &self.planned {
            plan.encapsulation.finish(batch.record_mut(plan.index));
            batch.reparse(plan.index);
            let work = batch.work(plan.index);
            batch.set_work(plan.index, work.without_association());
        }
        self.protected += self.planned.len() as u64;
        Ok(())
    }

    /// Wipes the keys and gives unused sequence numbers back to the state
    /// file. A stage that has finished protects nothing more.
    fn finish(&mut self) -> Result<(), StageError> {
        let mut settled = Vec::new();
        for (index, slot) in (0..).zip(&mut self.associations) {
            let Some(outbound) = slot.take() else {
                continue;
            };
            self.reports.push(AssociationReport {
                association: index,
                parameters: outbound.parameters().clone(),
                traffic: outbound.traffic(),
            });
            settled.extend(outbound.close());
        }
        Reservations::settle(settled).map_err(|error| StageError::new(NAME, error))
    }
}

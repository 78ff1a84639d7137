//! From packets to ESP packets, a batch at a time.

use std::sync::Arc;

use weir_crypto::{JobFault, LaneUse, SealJob, Ticket, seal, seal_as_made};
use weir_simd::prefetch;
use weir_stream::{Batch, DropReason, EventKind, Stage, StageError, Steering, SteeringRule, Work};

use super::{Defect, LOOK_AHEAD};
use crate::esp::{Associated, Encapsulation, FastEncapsulation, LateChecksum, Layout};
use crate::ledger::{LedgerError, Reservations};
use crate::outbound::{Drawn, Outbound};
use crate::report::AssociationReport;

const NAME: &str = "protect";

/// Padding, trailer and ICV of an ordinary packet are at most 21 bytes.
const MOST_BYTES_BEHIND: usize = 21;

/// Protects the records whose work says so
/// ([`Work::protect`](weir_stream::Work::protect)) by the associations that
/// belong to its shard.
pub struct Protect {
    /// By index; `None` where another shard has it.
    associations: Vec<Option<Outbound>>,
    steering: SteeringRule,
    /// Records of this batch that are to be protected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    /// Those of them that are ordinary.
    ordinary: Vec<Ordinary>,
    /// Bytes of their packets with what goes behind them, at most.
    ordinary_bytes: usize,
    /// All others.
    planned: Vec<Planned>,
    /// Empty between batches.
    jobs: Vec<SealJob<'static>>,
    /// Those of planned packets on their way back; empty between batches.
    tickets: Vec<Ticket>,
    batches: u64,
    /// The batch for which numbers were reserved last.
    reserved_in: u64,
    protected: u64,
    lane_use: LaneUse,
    reports: Vec<AssociationReport>,
    ledger_error: Option<Arc<LedgerError>>,
}

/// A record that has a number and waits to be composed.
struct Ordinary {
    index: u32,
    association: u32,
    associated: Associated,
    /// Taken when the job is made.
    ticket: Option<Ticket>,
    /// Whether the cipher sealed it.
    is_sealed: bool,
}

/// A record that is composed and waits for the cipher.
struct Planned {
    index: u32,
    association: u32,
    /// [`Batch::offset`].
    offset: u32,
    layout: Layout,
    late: Option<LateChecksum>,
    associated: Associated,
    /// Taken when the job is made.
    ticket: Option<Ticket>,
    /// Whether the cipher sealed it.
    is_sealed: bool,
}

impl Protect {
    /// `steering` brings records to the shard of their association.
    pub(crate) fn new(associations: Vec<Option<Outbound>>, steering: SteeringRule) -> Protect {
        Protect {
            associations,
            steering,
            wanted: Vec::new(),
            ordinary: Vec::new(),
            ordinary_bytes: 0,
            planned: Vec::new(),
            jobs: Vec::new(),
            tickets: Vec::new(),
            batches: 0,
            reserved_in: 0,
            protected: 0,
            lane_use: LaneUse::default(),
            reports: Vec::new(),
            ledger_error: None,
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
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.ledger_error.as_deref()
    }

    #[inline]
    fn lacks_reservation(&self, association: u32) -> bool {
        matches!(
            self.associations.get(association as usize),
            Some(Some(outbound)) if outbound.lacks_reservation()
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
        Outbound::reserve_together(of);
    }

    /// Draws a number for an ordinary packet, which is composed when all have
    /// theirs; does nothing for others.
    #[inline]
    fn draw(&mut self, batch: &Batch, index: usize, association: u32) -> Option<()> {
        let slot = self.associations.get_mut(association as usize)?;
        let outbound = slot.as_mut()?;
        let template = outbound.template();
        let link = batch.arrival(index).link;
        let headers = batch.headers(index);
        let packet = FastEncapsulation::plan(template, link, headers)?;
        let ticket = outbound.draw_within_leeway(packet.text_bytes())?;
        let associated = Associated::new(&outbound.template().format, ticket.counter());
        self.ordinary_bytes += headers.end_offset as usize + MOST_BYTES_BEHIND;
        self.ordinary.push(Ordinary {
            index: index as u32,
            association,
            associated,
            ticket: Some(ticket),
            is_sealed: false,
        });
        Some(())
    }

    /// Composes and seals the ordinary packets.
    #[inline(never)]
    fn seal_ordinary(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        let mut enclosures = batch.enclosures(self.ordinary.len(), self.ordinary_bytes);
        let mut jobs = std::mem::take(&mut self.jobs);
        let lanes = seal_as_made(&mut jobs, |jobs| {
            for plan in &mut self.ordinary {
                let index = plan.index as usize;
                let displaced = Defect::Displaced { index };
                let outbound = self
                    .associations
                    .get(plan.association as usize)
                    .and_then(Option::as_ref)
                    .ok_or(displaced)?;
                let template = outbound.template();
                let outer = template.outer.as_ref().ok_or(displaced)?;
                let ticket = plan.ticket.take().ok_or(displaced)?;
                let link = enclosures.arrival(index).link;
                let packet = FastEncapsulation::of(enclosures.headers(index));
                let parts = enclosures
                    .enclose(index, &packet.enclosing(outer))
                    .and_then(|record| {
                        packet.compose(template, outer, link, record, ticket.counter())
                    })
                    .ok_or(displaced)?;
                let job = SealJob {
                    key: outbound.key(),
                    ticket,
                    prefix: plan.associated.prefix(parts.esp_header),
                    iv: parts.iv,
                    text: parts.text,
                    suffix: plan.associated.suffix(),
                    tag: parts.tag,
                };
                jobs.add(job, &mut plan.is_sealed)?;
            }
            Ok::<_, Defect>(())
        });
        self.jobs = SealJob::recycle(jobs);
        match lanes {
            Ok(lanes) => self.lane_use += lanes,
            // Some are not sealed: they are dropped.
            Err(Defect::Unsealed(JobFault::Refused)) => {}
            Err(defect) => return Err(StageError::new(NAME, defect)),
        }
        let outcomes = self
            .ordinary
            .iter()
            .map(|plan| (plan.index, plan.is_sealed));
        self.protected += drop_refused(batch, outcomes);
        Ok(())
    }

    /// Grows and fills in a record, up to encryption.
    #[inline(never)]
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
        let headers = batch.headers(index);
        let end = headers.end_offset as usize;
        let link = batch.arrival(index).link;
        let encapsulation =
            Encapsulation::plan(outbound.template(), link, headers, batch.record(index))?;
        let Drawn {
            ticket,
            is_soft_expired,
        } = outbound
            .draw(encapsulation.text_bytes(), self.batches)
            .map_err(|refusal| {
                if let Some(error) = refusal.ledger {
                    self.ledger_error = Some(error);
                }
                refusal.reason
            })?;
        let template = outbound.template();
        if is_soft_expired {
            let spi = template.format.spi;
            batch.notice(index, EventKind::SoftLifetime { spi });
        }
        let record = batch.open_gap(
            index,
            encapsulation.kept_bytes(),
            encapsulation.front_bytes(),
            end,
            encapsulation.back_bytes(),
        );
        let sequence = ticket.counter();
        encapsulation.compose(template, record, sequence);
        self.planned.push(Planned {
            index: index as u32,
            association,
            offset: batch.offset(index) as u32,
            layout: encapsulation.layout(),
            late: encapsulation.late_checksum(template),
            associated: Associated::new(&template.format, sequence),
            ticket: Some(ticket),
            is_sealed: false,
        });
        Ok(())
    }

    /// Seals the records that are composed already.
    fn seal_planned(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        // It is the order of arrival unless a record outgrew its space.
        if !self.planned.is_sorted_by_key(|plan| plan.offset) {
            self.planned.sort_unstable_by_key(|plan| plan.offset);
        }
        let mut records = batch.records_mut();
        let mut jobs = std::mem::take(&mut self.jobs);
        for plan in &mut self.planned {
            let index = plan.index as usize;
            let displaced = || StageError::new(NAME, Defect::Displaced { index });
            let key = self
                .associations
                .get(plan.association as usize)
                .and_then(Option::as_ref)
                .map(Outbound::key)
                .ok_or_else(displaced)?;
            let parts = records
                .take(index)
                .and_then(|record| plan.layout.parts(record))
                .ok_or_else(displaced)?;
            jobs.push(SealJob {
                key,
                ticket: plan.ticket.take().ok_or_else(displaced)?,
                prefix: plan.associated.prefix(parts.esp_header),
                iv: parts.iv,
                text: parts.text,
                suffix: plan.associated.suffix(),
                tag: parts.tag,
            });
        }
        match seal(&mut jobs) {
            Ok(lanes) => self.lane_use += lanes,
            // Some are not sealed: they are dropped.
            Err(error) if error.fault == JobFault::Refused => {}
            Err(error) => return Err(StageError::new(NAME, error)),
        }
        let mut tickets = std::mem::take(&mut self.tickets);
        tickets.extend(jobs.drain(..).map(|job| job.ticket));
        self.jobs = SealJob::recycle(jobs);
        for (plan, ticket) in self.planned.iter_mut().zip(tickets.drain(..)) {
            plan.is_sealed = ticket.has_sealed();
        }
        self.tickets = tickets;
        let outcomes = self.planned.iter().map(|plan| (plan.index, plan.is_sealed));
        self.protected += drop_refused(batch, outcomes);
        for plan in self.planned.iter().filter(|plan| plan.is_sealed) {
            let index = plan.index as usize;
            if let Some(checksum) = plan.late {
                checksum.set(batch.record_mut(index));
            }
            batch.reparse(index);
        }
        Ok(())
    }
}

/// Drops the records that the cipher refused, and returns how many it sealed.
fn drop_refused(batch: &mut Batch, outcomes: impl Iterator<Item = (u32, bool)>) -> u64 {
    let mut sealed = 0;
    for (index, is_sealed) in outcomes {
        match is_sealed {
            true => sealed += 1,
            false => batch.drop_record(index as usize, DropReason::CipherRefused),
        }
    }
    sealed
}

impl Stage for Protect {
    fn name(&self) -> &str {
        NAME
    }

    fn steering(&self) -> Steering {
        Steering::By(self.steering.clone())
    }

    /// What comes out has the headers of its tunnel.
    fn changes_flows(&self) -> bool {
        true
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.batches += 1;
        self.ordinary.clear();
        self.ordinary_bytes = 0;
        self.planned.clear();
        batch.take_associations(Work::protect, &mut self.wanted);
        for position in 0..self.wanted.len() {
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD)
                && let Some(slot) = self.associations.get(*association as usize)
            {
                prefetch(slot);
            }
            let (index, association) = self.wanted[position];
            let index = index as usize;
            if self.draw(batch, index, association).is_some() {
                continue;
            }
            if self.reserved_in != self.batches && self.lacks_reservation(association) {
                self.reserve_from(position);
            }
            if let Err(reason) = self.compose(batch, index, association) {
                batch.drop_record(index, reason);
            }
        }
        if !self.planned.is_empty() {
            self.seal_planned(batch)?;
        }
        if !self.ordinary.is_empty() {
            self.seal_ordinary(batch)?;
            debug_assert!(
                self.ordinary
                    .iter()
                    .filter(|plan| plan.is_sealed)
                    .all(|plan| batch.is_as_parsed(plan.index as usize)),
                "metadata say what stands in the records"
            );
        }
        Ok(())
    }

    /// Wipes the keys and gives unused sequence numbers back to the
    /// ledger. A stage that has finished protects nothing more.
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

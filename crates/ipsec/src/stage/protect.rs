//! From packets to ESP packets, a batch at a time.

use weir_crypto::{LaneUse, SealJob, Ticket, seal};
use weir_packet::wire::protocol::ESP;
use weir_simd::prefetch;
use weir_stream::{Batch, DropReason, EventKind, Stage, StageError};

use super::{Displaced, LOOK_AHEAD};
use crate::esp::{Associated, Encapsulation, Enclosure, LateChecksum, Layout};
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
    /// Records of this batch that are to be protected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    planned: Vec<Planned>,
    /// Empty between batches.
    jobs: Vec<SealJob<'static>>,
    batches: u64,
    /// The batch for which numbers were reserved last.
    reserved_in: u64,
    protected: u64,
    lane_use: LaneUse,
    reports: Vec<AssociationReport>,
    state_error: Option<StateError>,
}

/// A record that is composed and waits for the cipher.
struct Planned {
    index: u32,
    association: u32,
    /// [`Batch::offset`].
    offset: u32,
    layout: Layout,
    late: Late,
    associated: Associated,
    /// Taken when the job is made.
    ticket: Option<Ticket>,
}

/// What is left to do when a record is sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    Nothing,
    Headers,
    ChecksumAndHeaders(LateChecksum),
}

impl Protect {
    pub(crate) fn new(associations: Vec<Option<Outbound>>) -> Protect {
        Protect {
            associations,
            wanted: Vec::new(),
            planned: Vec::new(),
            jobs: Vec::new(),
            batches: 0,
            reserved_in: 0,
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

    #[inline]
    fn lacks_reservation(&self, association: u32) -> bool {
        matches!(
            self.associations.get(association as usize),
            Some(Some(outbound)) if outbound.lacks_reservation()
        )
    }

    /// Reserves numbers for all associations that the packets of `wanted` from a
    /// position on will ask for some: once a batch, with one writing of the state
    /// file instead of one each.
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

    /// Does what [`compose`](Protect::compose) does for an ordinary packet, and
    /// nothing for others.
    #[inline]
    fn enclose(&mut self, batch: &mut Batch, index: usize, association: u32) -> Option<()> {
        let slot = self.associations.get_mut(association as usize)?;
        let outbound = slot.as_mut()?;
        let headers = batch.headers(index);
        let end = headers.end_offset as usize;
        let link = batch.arrival(index).link;
        let enclosure = Enclosure::plan(outbound.template(), link, headers, batch.record(index))?;
        let ticket = outbound.draw_unasked(enclosure.text_bytes())?;
        let template = outbound.template();
        let record = batch.open_gap(
            index,
            enclosure.kept_bytes(),
            enclosure.front_bytes(),
            end,
            enclosure.back_bytes(),
        );
        let sequence = ticket.counter();
        enclosure.compose(template, record, sequence);
        if let Some(outer) = &template.outer {
            let header_bytes = outer.header_bytes() as u16;
            batch.enclose(index, outer.network(), ESP, header_bytes, outer.flow_hash());
        }
        self.planned.push(Planned {
            index: index as u32,
            association,
            offset: batch.offset(index) as u32,
            layout: enclosure.layout(),
            late: Late::Nothing,
            associated: Associated::new(template, sequence),
            ticket: Some(ticket),
        });
        Some(())
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
                if let Some(error) = refusal.state {
                    self.state_error = Some(*error);
                }
                refusal.reason
            })?;
        let template = outbound.template();
        if is_soft_expired {
            let spi = template.spi;
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
            late: match encapsulation.late_checksum(template) {
                Some(checksum) => Late::ChecksumAndHeaders(checksum),
                None => Late::Headers,
            },
            associated: Associated::new(template, sequence),
            ticket: Some(ticket),
        });
        Ok(())
    }

    /// One call of the cipher for all composed records.
    fn seal(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        // It is the order of arrival unless a record outgrew its room.
        if !self.planned.is_sorted_by_key(|plan| plan.offset) {
            self.planned.sort_unstable_by_key(|plan| plan.offset);
        }
        let mut records = batch.records_mut();
        let mut jobs = std::mem::take(&mut self.jobs);
        for plan in &mut self.planned {
            let layout = plan.layout;
            let displaced = || StageError::new(NAME, Displaced { layout });
            let key = self
                .associations
                .get(plan.association as usize)
                .and_then(Option::as_ref)
                .map(Outbound::key)
                .ok_or_else(displaced)?;
            let parts = records
                .take(plan.index as usize)
                .and_then(|record| layout.parts(record))
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
        self.wanted.clear();
        self.planned.clear();
        let wanted = batch
            .live()
            .filter_map(|index| Some((index as u32, batch.work(index).protect()?)));
        self.wanted.extend(wanted);
        for position in 0..self.wanted.len() {
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD)
                && let Some(slot) = self.associations.get(*association as usize)
            {
                prefetch(slot);
            }
            let (index, association) = self.wanted[position];
            if self.reserved_in != self.batches && self.lacks_reservation(association) {
                self.reserve_from(position);
            }
            let index = index as usize;
            if self.enclose(batch, index, association).is_none()
                && let Err(reason) = self.compose(batch, index, association)
            {
                batch.drop_record(index, reason);
                continue;
            }
            batch.set_work(index, batch.work(index).without_association());
        }
        if self.planned.is_empty() {
            return Ok(());
        }
        self.seal(batch)?;
        for plan in &self.planned {
            let index = plan.index as usize;
            match plan.late {
                Late::Nothing => continue,
                Late::Headers => {}
                Late::ChecksumAndHeaders(checksum) => checksum.set(batch.record_mut(index)),
            }
            batch.reparse(index);
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

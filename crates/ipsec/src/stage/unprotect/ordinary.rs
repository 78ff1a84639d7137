//! One pass over the records before the cipher, in which those that are ordinary go
//! to it, and what becomes of these behind it.

use weir_crypto::{OpenBatch, OpenJob, OpeningKey, open_as_found};
use weir_packet::wire::Fragment;
use weir_select::Tuple;
use weir_simd::prefetch;
use weir_stream::{Batch, DropReason, Extract, Extracts, StageError, Work};

use super::{NAME, Planned, Unprotect, take_in};
use crate::esp::{Associated, FastDecapsulation, Sealed};
use crate::gateway::Databases;
use crate::inbound::{Admitted, Inbound};
use crate::stage::{Defect, LOOK_AHEAD, LOOK_AHEAD_FURTHER};

/// What is known of a record after the pass.
#[derive(Default)]
pub(super) struct Seen {
    fate: Fate,
    /// What follows is of ordinary records only.
    verified: bool,
    packet: FastDecapsulation,
    associated: Associated,
    /// Where the text is decrypted.
    extract: Extract,
    sequence: u64,
}

/// What becomes of a record.
#[derive(Clone, Copy, Default)]
pub(super) enum Fate {
    /// It is ordinary, and was opened.
    #[default]
    Ordinary,
    /// It is the next that is [`Planned`].
    Planned,
    /// It is not worth verifying.
    Refused(DropReason),
}

impl Seen {
    #[inline]
    pub(super) fn fate(&self) -> Fate {
        self.fate
    }

    /// Copies the ciphertext of an admitted ordinary record, and adds it to those
    /// to be opened. `None` where the batch has no space for it.
    #[inline(always)]
    fn open<'a>(
        &'a mut self,
        key: &'a OpeningKey,
        sealed: Sealed<'a>,
        extracts: &mut Extracts<'a>,
        found: &mut OpenBatch<'_, 'a>,
    ) -> Option<()> {
        let (text, extract) = extracts.extract(sealed.link_header, sealed.text)?;
        self.extract = extract;
        let job = OpenJob {
            key,
            prefix: self.associated.prefix(sealed.esp_header),
            iv: sealed.iv,
            text,
            suffix: self.associated.suffix(),
            tag: sealed.tag,
            verified: false,
        };
        found.add(job, &mut self.verified);
        Some(())
    }
}

impl Unprotect {
    /// Asks the windows about the wanted records from a position on, up to the first
    /// whose number is an ESN jump; opens those that are ordinary, plans the others, and
    /// returns the position behind them.
    ///
    /// A jump of the sequence number must be accepted before the numbers behind it are known
    /// ([`Admitted::is_esn_jump`]).
    #[inline(never)]
    pub(super) fn open_ordinary(
        &mut self,
        batch: &mut Batch,
        from: usize,
    ) -> Result<usize, StageError> {
        let wanted = &self.wanted[from..];
        let bytes = wanted
            .iter()
            .map(|(index, _)| batch.headers(*index as usize).end_offset as usize)
            .sum();
        let mut extracts = batch.extracts(wanted.len(), bytes);
        let mut jobs = std::mem::take(&mut self.jobs);
        let mut to = from;
        let lanes = open_as_found(&mut jobs, |found| {
            for ((index, association), seen) in wanted.iter().zip(&mut self.seen[from..]) {
                look_ahead(&self.associations, &self.wanted, to);
                to += 1;
                let inbound = self.associations.get(*association as usize);
                let Some(inbound) = inbound.and_then(Option::as_ref) else {
                    seen.fate = Fate::Refused(DropReason::NoSecurityAssociation);
                    continue;
                };
                let index = *index as usize;
                let displaced = Defect::Displaced { index };
                let row = extracts.row(index).ok_or(displaced)?;
                let format = inbound.format();
                let ordinary =
                    FastDecapsulation::plan(format, row.arrival.link, row.headers, row.record);
                let admitted = match &ordinary {
                    Some((_, sealed)) => inbound.admit(sealed.sequence_low()),
                    None => Planned::new(inbound, *association, index, row, &self.databases).map(
                        |(plan, admitted)| {
                            self.planned.push(plan);
                            admitted
                        },
                    ),
                };
                let Admitted {
                    sequence,
                    is_esn_jump,
                } = match admitted {
                    Ok(admitted) => admitted,
                    Err(reason) => {
                        seen.fate = Fate::Refused(reason);
                        continue;
                    }
                };
                match ordinary {
                    Some((packet, sealed)) => {
                        seen.fate = Fate::Ordinary;
                        seen.sequence = sequence;
                        seen.packet = packet;
                        seen.associated = Associated::new(format, sequence);
                        seen.open(inbound.key(), sealed, &mut extracts, found)
                            .ok_or(displaced)?;
                    }
                    None => seen.fate = Fate::Planned,
                }
                if is_esn_jump {
                    break;
                }
            }
            Ok::<_, Defect>(())
        });
        self.lane_use += lanes.map_err(|defect| StageError::new(NAME, defect))?;
        self.jobs = OpenJob::recycle(jobs);
        Ok(to)
    }
}

/// Prefetches what later packets of `wanted` read of their associations.
#[inline]
fn look_ahead(associations: &[Option<Inbound>], wanted: &[(u32, u32)], position: usize) {
    if let Some((_, association)) = wanted.get(position + LOOK_AHEAD)
        && let Some(slot) = associations.get(*association as usize)
    {
        prefetch(slot);
    }
    if let Some((_, association)) = wanted.get(position + LOOK_AHEAD_FURTHER)
        && let Some(Some(inbound)) = associations.get(*association as usize)
    {
        inbound.look_ahead();
    }
}

impl Unprotect {
    /// Takes in an ordinary record.
    #[inline]
    pub(super) fn release_ordinary(
        &mut self,
        batch: &mut Batch,
        position: usize,
    ) -> Result<(), DropReason> {
        let (seen, (index, association)) = (&self.seen[position], self.wanted[position]);
        if !seen.verified {
            return Err(DropReason::IntegrityFailed);
        }
        let inbound: &mut Inbound = self
            .associations
            .get_mut(association as usize)
            .and_then(Option::as_mut)
            .ok_or(DropReason::NoSecurityAssociation)?;
        let text_bytes = seen.packet.text_bytes();
        let index = index as usize;
        take_in(batch, index, inbound, seen.sequence, text_bytes)?;
        let decapsulated = decapsulate(batch, index, association, seen, &self.databases);
        decapsulated.inspect_err(|_| inbound.refuse(text_bytes))
    }
}

/// Puts what was inside a packet in its place.
#[inline]
fn decapsulate(
    batch: &mut Batch,
    index: usize,
    association: u32,
    seen: &Seen,
    databases: &Databases,
) -> Result<(), DropReason> {
    let arrival = batch.arrival(index);
    let (link, interface) = (arrival.link, arrival.interface);
    let (link_header, text) = batch.extract_mut(&seen.extract).ok_or(DropReason::NoRoom)?;
    let payload_bytes = seen.packet.open(link, link_header, text)?;
    let (headers, record) = batch
        .replace(index, &seen.extract, payload_bytes)
        .ok_or(DropReason::NoRoom)?;
    seen.packet.correct(headers, record)?;
    let tuple = Tuple::from_headers(headers, record, interface);
    // Fragments are looked at on their own.
    if headers.fragment == Fragment::Whole && !databases.spd.accepts(association, &tuple) {
        return Err(DropReason::SelectorMismatch);
    }
    // What was read in the outer header holds no more.
    batch.set_work(index, Work::UNCLASSIFIED);
    Ok(())
}

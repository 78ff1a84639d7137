//! From ESP packets to the packets inside, a batch at a time.

use std::ops::Range;
use std::sync::Arc;

use weir_crypto::{BATCH_PACKETS, OpenBatch, Verdicts};
use weir_ledger::LedgerError;
use weir_packet::file::Block;
use weir_packet::wire::{Fragment, LinkType};
use weir_select::Tuple;
use weir_simd::prefetch;
use weir_stream::{
    Arrival as RecordArrival, BATCH_RECORDS, Batch, BatchLimits, Context, Copies, Disposition,
    Mailbox, RecordCopy, Stage, StageError, Steering, SteeringRule, Vocabulary, VocabularyError,
    Work,
};

use super::slots::Slots;
use super::words::Words;
use super::{LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::change::{Collected, Command};
use crate::databases::{Arrived, Databases, Newest};
use crate::esp::{Arrival, Decapsulation};
use crate::fragments::Fragments;
use crate::inbound::{Admitted, Inbound, InboundAssociation};
use crate::policy::Verdict;
use crate::reason::DropReason;
use crate::report::AssociationReport;
use crate::slots::Tagged;

mod resync;
#[cfg(test)]
mod tests;

const NAME: &str = "unprotect";

/// ESP header and IV are at most as long.
const MAX_HEADER_BYTES: usize = 24;

/// Verifies, decrypts and decapsulates the records whose work says so
/// ([`UNPROTECT`](super::UNPROTECT)) by the associations that belong to its shard.
pub struct Unprotect {
    words: Option<Words>,
    databases: TwoGenerations,
    steering: SteeringRule,
    slots: Slots<Inbound>,
    /// Those that came out of associations.
    fragments: Fragments,
    /// Records of this batch that are to be unprotected, and by which
    /// association.
    wanted: Vec<(u32, u32)>,
    /// What is known of each of them before the cipher has run.
    seen: Vec<Seen>,
    /// Associations whose next packet is tried under other high halves.
    lost: Vec<u32>,
    unprotected: u64,
}

/// The databases of the last two generations: a record is judged by those that it was
/// classified by, also where others have taken their place since.
struct TwoGenerations([Arc<Databases>; 2]);

impl TwoGenerations {
    /// Those of a generation, by its lowest bit.
    #[inline]
    fn of(&self, parity: usize) -> &Arc<Databases> {
        &self.0[parity % 2]
    }

    /// Takes in the next generation, in the place of the one before the last.
    fn add(&mut self, databases: Arc<Databases>) {
        let parity = databases.generation() as usize % 2;
        self.0[parity] = databases;
    }

    fn newest(&self) -> &Arc<Databases> {
        let [one, other] = &self.0;
        let is_later = one.generation().wrapping_sub(other.generation()) == 1;
        if is_later { one } else { other }
    }
}

/// What is known of a record before the cipher has run.
#[derive(Clone, Copy, Default)]
struct Seen {
    fate: Fate,
    /// The lowest bit of the generation that classified it.
    parity: usize,
    /// What follows is of admitted records only.
    decapsulation: Decapsulation,
    /// Where it is decrypted.
    copy: RecordCopy,
    sequence: u64,
}

/// What becomes of a record.
#[derive(Clone, Copy, Default)]
enum Fate {
    /// It is the next of the cipher's packets.
    #[default]
    Admitted,
    /// It is not worth verifying.
    Refused(DropReason),
}

impl Unprotect {
    /// Without associations.
    pub(crate) fn new(databases: Arc<Databases>) -> Unprotect {
        Unprotect {
            words: None,
            steering: databases.inbound_steering(),
            databases: TwoGenerations([Arc::clone(&databases), databases]),
            slots: Slots::default(),
            fragments: Fragments::default(),
            wanted: Vec::new(),
            seen: Vec::new(),
            lost: Vec::new(),
            unprotected: 0,
        }
    }

    /// Puts an association into its slot, in which there is none.
    pub(crate) fn install(&mut self, slot: u32, association: InboundAssociation) {
        self.slots.install(slot, association);
    }

    /// As the stage of a shard whose associations change.
    pub(crate) fn following(
        mut self,
        shard: usize,
        newest: &Arc<Newest>,
        commands: Mailbox<Command<InboundAssociation>>,
        finished: Collected,
    ) -> Unprotect {
        self.slots.follow(shard, commands, finished);
        self.steering = newest.inbound_steering();
        self
    }

    fn take_commands(&mut self) {
        let databases = &mut self.databases;
        let has_changed = (self.slots).take_commands(|expected| databases.add(expected));
        if has_changed {
            let slots = &self.slots;
            self.lost.retain(|slot| slots.get(*slot).is_some());
        }
    }

    /// Packets that were unprotected.
    pub fn unprotected(&self) -> u64 {
        self.unprotected
    }

    /// Why the ledger of replay windows could not be written, the last time that
    /// this happened. Packets were dropped by
    /// [`DropReason::SequenceExhausted`] for it.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.slots.ledger_error()
    }

    /// What each association of this shard did so far.
    pub fn reports(&self) -> Vec<AssociationReport> {
        self.slots.reports()
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
        let databases = self.databases.newest();
        let generation = databases.generation();
        let arrived = databases.classify_inbound(batch.headers(0), batch.record(0), 0);
        let slot = match arrived {
            Arrived::Esp(slot) => slot,
            Arrived::Other(Verdict::Drop(reason)) => return Err(reason),
            Arrived::Other(Verdict::AsFirstFragment) => {
                return Err(DropReason::FirstFragmentMissing);
            }
            Arrived::Other(Verdict::Bypass | Verdict::Protect(_)) => return Ok(None),
        };
        let words = match self.words {
            Some(words) => words,
            // A vocabulary of its own has room for its words.
            None => Words::register(&mut Vocabulary::default()).map_err(|_| DropReason::NoRoom)?,
        };
        let tagged = Tagged::new(slot, generation);
        let work = (batch.work(0)).with_argument(words.unprotect, tagged.argument());
        batch.set_work(0, work);
        self.unprotect(&mut batch, &words);
        match batch.disposition(0) {
            Disposition::Forward => Ok(Some(batch.record(0).to_vec())),
            Disposition::Drop(code) => {
                let reason = words.reasons().reason(code);
                Err(reason.unwrap_or(DropReason::MalformedHeaders))
            }
            Disposition::Held | Disposition::Absorbed | Disposition::HandedOver => {
                Err(DropReason::FirstFragmentMissing)
            }
        }
    }

    /// Unprotects the records of a batch whose work says so.
    fn unprotect(&mut self, batch: &mut Batch, words: &Words) {
        batch.take_work(words.unprotect, &mut self.wanted);
        if self.seen.len() < self.wanted.len() {
            self.seen.resize_with(BATCH_RECORDS, Seen::default);
        }
        for ((_, association), seen) in self.wanted.iter_mut().zip(&mut self.seen) {
            let tagged = Tagged::from_argument(*association);
            *association = tagged.slot();
            seen.parity = tagged.parity();
        }
        if !self.lost.is_empty() {
            self.resynchronize(batch);
        }
        let mut from = 0;
        while from < self.wanted.len() {
            let (to, verdicts) = self.open_from(batch, from);
            self.release(batch, from..to, &verdicts, words);
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
            self.release_fragments(batch, words);
        }
    }

    /// Opens the wanted records from a position on: as many as the cipher takes, and up to the
    /// first whose number is an ESN jump, which must be accepted before the numbers behind it are
    /// known ([`Admitted::is_esn_jump`]). Returns the position behind them, and the verdicts on
    /// those that were admitted.
    #[inline(never)]
    fn open_from(&mut self, batch: &mut Batch, from: usize) -> (usize, Verdicts) {
        let wanted = &self.wanted[from..];
        let bytes: usize = wanted
            .iter()
            .map(|(index, _)| batch.headers(*index as usize).end_offset as usize)
            .sum();
        let (mut copies, memory) =
            batch.copies(wanted.len(), bytes + wanted.len() * MAX_HEADER_BYTES);
        let mut opening = self.slots.keys.batch(memory);
        let mut admitted = 0;
        let mut to = from;
        for ((index, association), seen) in wanted.iter().zip(&mut self.seen[from..]) {
            if admitted == BATCH_PACKETS {
                break;
            }
            look_ahead(&self.slots.rows, &self.wanted, to);
            to += 1;
            let Some(inbound) = self
                .slots
                .rows
                .get(*association as usize)
                .and_then(Option::as_ref)
            else {
                seen.fate = Fate::Refused(DropReason::NoSecurityAssociation);
                continue;
            };
            let ports = self.databases.of(seen.parity).sad.nat_t_ports();
            match seen.admit(inbound, *index as usize, ports, &mut copies, &mut opening) {
                Err(reason) => seen.fate = Fate::Refused(reason),
                Ok(is_esn_jump) => {
                    admitted += 1;
                    if is_esn_jump {
                        break;
                    }
                }
            }
        }
        (to, opening.run())
    }

    /// Takes in what came back from the cipher, in order of arrival.
    fn release(
        &mut self,
        batch: &mut Batch,
        positions: Range<usize>,
        verdicts: &Verdicts,
        words: &Words,
    ) {
        let mut packet = 0;
        for position in positions {
            let spd_of = |position: usize| &self.databases.of(self.seen[position].parity).spd;
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD) {
                spd_of(position + LOOK_AHEAD).look_ahead(*association);
            }
            if let Some((_, association)) = self.wanted.get(position + LOOK_AHEAD_FURTHER) {
                spd_of(position + LOOK_AHEAD_FURTHER).look_ahead_at_selectors(*association);
                // It has left the innermost cache since it was admitted.
                if let Some(row) = self.slots.rows.get(*association as usize) {
                    prefetch(row);
                }
            }
            let outcome = match self.seen[position].fate {
                Fate::Refused(reason) => Err(reason),
                Fate::Admitted => {
                    packet += 1;
                    match verdicts.is_good(packet - 1) {
                        true => self.take_in(batch, position, words),
                        false => Err(DropReason::IntegrityFailed),
                    }
                }
            };
            match outcome {
                Ok(()) => {
                    self.unprotected += 1;
                    let (index, _) = self.wanted[position];
                    if batch.headers(index as usize).fragment != Fragment::Whole {
                        self.check_fragment(batch, position, words);
                    }
                }
                Err(reason) => {
                    let (index, association) = self.wanted[position];
                    if reason == DropReason::IntegrityFailed {
                        self.note_failure(association);
                    }
                    self.slots.note_drop(association, reason);
                    words.drop_record(batch, index as usize, reason);
                }
            }
        }
    }

    /// Holds a fragment that came out of an association to what its datagram may
    /// be: where ports matter, the first fragment says so for all.
    #[cold]
    fn check_fragment(&mut self, batch: &mut Batch, position: usize, words: &Words) {
        let (index, association) = self.wanted[position];
        let index = index as usize;
        let interface = batch.arrival(index).interface;
        let (headers, record) = (batch.headers(index), batch.record(index));
        let spd = &self.databases.of(self.seen[position].parity).spd;
        let verdict = spd.accepts_fragment(association, headers, record, interface);
        let verdict = if verdict == Verdict::AsFirstFragment
            || headers.fragment == Fragment::First && spd.asks_behind_addresses(association)
        {
            (self.fragments).follow_first(batch, index, Some(association), verdict)
        } else {
            Some(verdict)
        };
        if let Some(verdict) = verdict {
            apply(batch, index, verdict, words);
        }
    }

    fn release_fragments(&mut self, batch: &mut Batch, words: &Words) {
        self.fragments.release(batch, |batch, index, verdict| {
            apply(batch, index, verdict, words);
        });
    }

    /// Takes a verified packet into its association, and puts what was inside in its place.
    #[inline]
    fn take_in(
        &mut self,
        batch: &mut Batch,
        position: usize,
        words: &Words,
    ) -> Result<(), DropReason> {
        let (seen, (index, association)) = (&self.seen[position], self.wanted[position]);
        let inbound = (self.slots.get_mut(association)).ok_or(DropReason::NoSecurityAssociation)?;
        let plaintext_bytes = seen.decapsulation.plaintext_bytes() as u64;
        let index = index as usize;
        if inbound.accept(seen.sequence, plaintext_bytes)? {
            let spi = inbound.format().spi;
            words.notice_soft_lifetime(batch, index, spi);
        }
        let databases = self.databases.of(seen.parity);
        let decapsulated = seen.decapsulate(batch, index, association, inbound, databases);
        decapsulated.inspect_err(|_| inbound.refuse(plaintext_bytes))
    }
}

impl Seen {
    /// Has the window decide about a record, copies its ESP packet, and hands that to the
    /// cipher. `Ok(true)` where the packet's number is an ESN jump.
    #[inline(always)]
    fn admit(
        &mut self,
        inbound: &Inbound,
        index: usize,
        nat_t_ports: &[u16],
        copies: &mut Copies<'_>,
        opening: &mut OpenBatch<'_>,
    ) -> Result<bool, DropReason> {
        let format = inbound.format();
        let memory = opening.buffer_mut();
        let row = copies.row(memory, index).ok_or(DropReason::NoRoom)?;
        let arrival = Arrival::find(row.headers, row.record, nat_t_ports)?
            .ok_or(DropReason::MalformedHeaders)?;
        let decapsulation = Decapsulation::plan(format, row.headers, row.record, &arrival)?;
        let Admitted {
            sequence,
            is_esn_jump,
        } = inbound.admit(arrival.sequence_low)?;
        let shape = decapsulation.shape();
        let copy = copies
            .copy(memory, index, &shape)
            .ok_or(DropReason::NoRoom)?;
        let packet = format.descriptor(
            inbound.key(),
            copy.range().start + decapsulation.esp_offset_in_copy(),
            decapsulation.plaintext_bytes(),
        );
        opening
            .push_numbered(packet, sequence)
            .map_err(|_| DropReason::IntegrityFailed)?;
        *self = Seen {
            fate: Fate::Admitted,
            decapsulation,
            copy,
            sequence,
            ..*self
        };
        Ok(is_esn_jump)
    }

    /// Puts what was inside a packet in its place.
    #[inline]
    fn decapsulate(
        &self,
        batch: &mut Batch,
        index: usize,
        association: u32,
        inbound: &Inbound,
        databases: &Databases,
    ) -> Result<(), DropReason> {
        let Seen {
            decapsulation,
            copy,
            ..
        } = self;
        let (link, interface) = (batch.arrival(index).link, batch.arrival(index).interface);
        let (kept_bytes, text) = (decapsulation.kept_bytes(), decapsulation.plaintext());
        let start = text.start;
        let (kept, plaintext) = batch
            .put_in_front(index, kept_bytes, copy, text)
            .ok_or(DropReason::NoRoom)?;
        let format = inbound.format();
        let payload_bytes = decapsulation.unwrap_payload(format, link, kept, plaintext)?;
        let (headers, record) = batch
            .replace(index, copy, start - kept_bytes..start + payload_bytes)
            .ok_or(DropReason::NoRoom)?;
        decapsulation.correct(format, headers, record)?;
        let tuple = Tuple::from_headers(headers, record, interface);
        // Fragments are looked at on their own.
        if headers.fragment == Fragment::Whole && !databases.spd.accepts(association, &tuple) {
            return Err(DropReason::SelectorMismatch);
        }
        // What was read in the outer header holds no more.
        batch.set_work(index, Work::UNCLASSIFIED);
        Ok(())
    }
}

/// Prefetches what later packets of `wanted` read of their associations.
#[inline]
fn look_ahead(rows: &[Option<Inbound>], wanted: &[(u32, u32)], position: usize) {
    if let Some((_, association)) = wanted.get(position + LOOK_AHEAD)
        && let Some(row) = rows.get(*association as usize)
    {
        prefetch(row);
    }
    if let Some((_, association)) = wanted.get(position + LOOK_AHEAD_FURTHER)
        && let Some(Some(inbound)) = rows.get(*association as usize)
    {
        inbound.look_ahead();
    }
}

/// Does to a fragment that came out of an association what was decided about it.
fn apply(batch: &mut Batch, index: usize, verdict: Verdict, words: &Words) {
    match verdict {
        Verdict::Bypass => {}
        Verdict::Drop(reason) => words.drop_record(batch, index, reason),
        Verdict::Protect(_) | Verdict::AsFirstFragment => {
            words.drop_record(batch, index, DropReason::SelectorMismatch);
        }
    }
}

impl Stage for Unprotect {
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

    /// What comes out has the headers that were inside.
    fn changes_flows(&self) -> bool {
        true
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        self.take_commands();
        self.unprotect(batch, &words);
        Ok(())
    }

    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        self.fragments.end();
        self.release_fragments(batch, &words);
        Ok(())
    }

    /// Writes down how far the windows that are kept have come. A stage that has
    /// finished opens nothing more with them.
    fn finish(&mut self) -> Result<(), StageError> {
        let finished = self.slots.finish();
        finished.map_err(|error| StageError::new(NAME, error))
    }
}

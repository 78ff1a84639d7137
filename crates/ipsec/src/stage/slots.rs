//! The associations of a stage, and what happens to them while it runs.

use std::sync::Arc;

use weir_ledger::LedgerError;
use weir_stream::Mailbox;

use crate::change::{Change, Collected, Command, Settled};
use crate::databases::Databases;
use crate::reason::DropReason;
use crate::report::{AssociationReport, Retired};
use crate::sa::Parameters;

/// An association as its stage holds it.
pub(crate) trait Association: Sized {
    /// What it is made of.
    type New;
    /// The keys of the stage.
    type Keys: Default;
    /// What it leaves to the ledger.
    type Left;

    /// Takes it in, and its key among those of the stage.
    fn install(new: Self::New, keys: &mut Self::Keys) -> Self;

    /// Goes on under other parameters: of the same key, suite and kind of sequence numbers.
    fn amend(&mut self, parameters: Arc<Parameters>, keys: &Self::Keys);

    /// What it did so far, in this slot.
    fn report(&self, slot: u32, keys: &Self::Keys) -> AssociationReport;

    /// Counts a packet of this association that was dropped.
    fn note_drop(&mut self, reason: DropReason);

    /// Why the ledger could not be written for it.
    fn ledger_error(&self) -> Option<&Arc<LedgerError>>;

    /// Ends it: its key is wiped.
    fn close(self, keys: &mut Self::Keys) -> Option<Self::Left>;

    /// What another thread writes to the ledger.
    fn settled(left: Self::Left) -> Settled;

    /// Writes it to the ledger. This waits for a disk.
    fn write_down(left: Vec<Self::Left>) -> Result<(), Arc<LedgerError>>;
}

/// The associations of a stage by slot, with their keys.
pub(super) struct Slots<A: Association> {
    /// `None` where another shard has it, or none.
    pub rows: Vec<Option<A>>,
    pub keys: A::Keys,
    /// Changes of a gateway that runs, and the number of this shard.
    commands: Option<(usize, Mailbox<Command<A::New>>)>,
    /// Where its reports go at the end.
    finished: Option<Collected>,
    /// What associations did that were retired.
    retired: Retired,
    /// Why the ledger could not be written, the last time that this happened.
    ledger_error: Option<Arc<LedgerError>>,
}

impl<A: Association> Default for Slots<A> {
    fn default() -> Slots<A> {
        Slots {
            rows: Vec::new(),
            keys: A::Keys::default(),
            commands: None,
            finished: None,
            retired: Retired::default(),
            ledger_error: None,
        }
    }
}

impl<A: Association> Slots<A> {
    /// As those of a shard whose associations change.
    pub fn follow(
        &mut self,
        shard: usize,
        commands: Mailbox<Command<A::New>>,
        finished: Collected,
    ) {
        self.commands = Some((shard, commands));
        self.finished = Some(finished);
    }

    /// Puts an association into its slot, in which there is none.
    pub fn install(&mut self, slot: u32, new: A::New) {
        let at = slot as usize;
        if at >= self.rows.len() {
            self.rows.resize_with(at + 1, || None);
        }
        let association = A::install(new, &mut self.keys);
        if let Some(row) = self.rows.get_mut(at) {
            *row = Some(association);
        }
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&A> {
        self.rows.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut A> {
        self.rows.get_mut(slot as usize)?.as_mut()
    }

    /// Counts a packet that was dropped for its association, if that is here.
    #[cold]
    pub fn note_drop(&mut self, slot: u32, reason: DropReason) {
        if let Some(association) = self.get_mut(slot) {
            association.note_drop(reason);
        }
    }

    /// Carries out the commands that arrived, between two batches, and does not wait for a disk.
    /// `expect` takes in the databases that later packets are classified by. Returns whether
    /// anything has changed.
    #[inline]
    pub fn take_commands(&mut self, mut expect: impl FnMut(Arc<Databases>)) -> bool {
        let mut has_changed = false;
        while let Some((shard, mailbox)) = &mut self.commands
            && let Some(command) = mailbox.take()
        {
            match command {
                Command::Change(changes) => {
                    if let Some(change) = changes.take(*shard) {
                        self.change(change, &mut expect);
                        has_changed = true;
                    }
                }
                Command::Report(collected) => collected.add(self.reports()),
            }
        }
        has_changed
    }

    #[cold]
    fn change(&mut self, change: Change<A::New>, expect: &mut impl FnMut(Arc<Databases>)) {
        if let Some(databases) = change.expected {
            expect(databases);
        }
        for (slot, new) in change.installed {
            self.install(slot, new);
        }
        for (slot, parameters) in change.amended {
            if let Some(Some(association)) = self.rows.get_mut(slot as usize) {
                association.amend(parameters, &self.keys);
            }
        }
        for left in self.retire(change.retired) {
            if let Some(settled) = &change.settled {
                // Where nobody waits for it, what was reserved stays used up, and numbers up to the
                // bound count as seen.
                let _ = settled.send(A::settled(left));
            }
        }
    }

    /// Ends the associations in these slots: their keys are wiped. Returns what they leave to the
    /// ledger.
    fn retire(&mut self, slots: impl IntoIterator<Item = u32>) -> Vec<A::Left> {
        let mut all_left = Vec::new();
        for slot in slots {
            let row = self.rows.get_mut(slot as usize);
            if let Some(association) = row.and_then(Option::take) {
                self.retired.add(association.report(slot, &self.keys));
                if let Some(error) = association.ledger_error() {
                    self.ledger_error = Some(Arc::clone(error));
                }
                all_left.extend(association.close(&mut self.keys));
            }
        }
        all_left
    }

    /// Ends all of them, and writes down how far they have come.
    pub fn finish(&mut self) -> Result<(), Arc<LedgerError>> {
        let left = self.retire(0..self.rows.len() as u32);
        if let Some(finished) = &self.finished {
            finished.add(self.reports());
        }
        A::write_down(left)
    }

    /// What each association did so far, also those that were retired.
    pub fn reports(&self) -> Vec<AssociationReport> {
        let present = (0..).zip(&self.rows);
        let reports =
            present.filter_map(|(slot, row)| Some(row.as_ref()?.report(slot, &self.keys)));
        self.retired.with(reports)
    }

    /// Why the ledger could not be written, the last time that this happened.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        let error = self.rows.iter().flatten().find_map(A::ledger_error);
        error.or(self.ledger_error.as_ref()).map(Arc::as_ref)
    }
}

//! An association that seals: its key, its numbers, its lifetime.

use std::fmt;
use std::sync::Arc;

use weir_crypto::{Exhausted, SealingKey, Ticket};
use weir_stream::DropReason;

use crate::esp::Template;
use crate::ledger::{LedgerError, Progress, Reservations, Shortage};
use crate::lifetime::Usage;
use crate::report::Traffic;
use crate::sa::Parameters;
use crate::sequence;

/// An association in the hands of the shard that it belongs to: what each packet
/// takes from it, and behind a pointer what one packet in many needs.
#[repr(align(64))]
pub(crate) struct Outbound {
    template: Template,
    key: SealingKey,
    /// Number of packets that may be protected before the accounts are consulted.
    leeway: u64,
    /// Bytes that were protected and are not in the accounts yet.
    unaccounted_bytes: u64,
    accounts: Box<Accounts>,
}

/// What an association has used, and how much it may.
struct Accounts {
    /// What [`Outbound::leeway`] was when the accounts were last updated.
    granted: u64,
    parameters: Arc<Parameters>,
    usage: Usage,
    /// `None` where every run repeats the last one's numbers.
    reservations: Option<Reservations>,
    /// The batch in which a reservation failed last; the next batch tries
    /// again.
    failed_in: Option<u64>,
    traffic: Traffic,
}

/// The right to protect one packet.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub ticket: Ticket,
    /// This packet is the first beyond the soft lifetime.
    pub is_soft_expired: bool,
}

/// Why a packet is not protected, and what the ledger has to do with it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub reason: DropReason,
    pub ledger: Option<Arc<LedgerError>>,
}

impl From<DropReason> for Refusal {
    fn from(reason: DropReason) -> Refusal {
        Refusal {
            reason,
            ledger: None,
        }
    }
}

impl Outbound {
    /// An association whose numbers are recorded in a ledger. `used` is how far
    /// its key has come.
    pub fn recorded(
        parameters: Arc<Parameters>,
        mut key: SealingKey,
        reservations: Reservations,
        used: Progress,
    ) -> Outbound {
        let Progress {
            next_sequence,
            bytes,
        } = used;
        key.allow_until(reservations.end().next_sequence);
        let mut outbound = Outbound::unrecorded(parameters, key);
        let accounts = &mut outbound.accounts;
        accounts.usage = Usage::of_sealing(
            accounts.parameters.lifetime,
            accounts.parameters.suite,
            next_sequence.saturating_sub(1),
            bytes,
        );
        accounts.reservations = Some(reservations);
        outbound
    }

    /// An association that starts afresh in every run.
    pub fn unrecorded(parameters: Arc<Parameters>, key: SealingKey) -> Outbound {
        Outbound {
            template: Template::new(&parameters),
            key,
            leeway: 0,
            unaccounted_bytes: 0,
            accounts: Box::new(Accounts {
                granted: 0,
                usage: Usage::of_sealing(parameters.lifetime, parameters.suite, 0, 0),
                parameters,
                reservations: None,
                failed_in: None,
                traffic: Traffic::default(),
            }),
        }
    }

    pub fn parameters(&self) -> &Arc<Parameters> {
        &self.accounts.parameters
    }

    #[inline]
    pub fn template(&self) -> &Template {
        &self.template
    }

    #[inline]
    pub fn key(&self) -> &SealingKey {
        &self.key
    }

    pub fn traffic(&self) -> Traffic {
        self.accounts.traffic.plus(self.unaccounted())
    }

    /// What was protected and is not in the accounts yet.
    fn unaccounted(&self) -> Traffic {
        Traffic {
            packets: self.accounts.granted - self.leeway,
            bytes: self.unaccounted_bytes,
        }
    }

    /// Takes the next sequence number for a packet of `text_bytes`, reserving
    /// more where needed. `batch` counts batches.
    #[inline]
    pub fn draw(&mut self, text_bytes: u64, batch: u64) -> Result<Drawn, Refusal> {
        let is_soft_expired = self.leeway == 0 && self.ask_books(text_bytes, batch)?;
        let ticket = self
            .key
            .next_ticket()
            .map_err(|exhausted| match exhausted {
                Exhausted::Key { .. } => DropReason::LifetimeExpired,
                Exhausted::Reservation { .. } => DropReason::SequenceExhausted,
            })?;
        if self.leeway > 0 {
            self.leeway -= 1;
            self.unaccounted_bytes += text_bytes;
        } else {
            self.accounts.traffic.add(text_bytes);
        }
        Ok(Drawn {
            ticket,
            is_soft_expired,
        })
    }

    /// [`draw`](Outbound::draw) for a packet within the leeway; `None`, and nothing is drawn,
    /// where the accounts must be consulted.
    #[inline]
    pub fn draw_within_leeway(&mut self, text_bytes: u64) -> Option<Ticket> {
        let leeway = self.leeway.checked_sub(1)?;
        let ticket = self.key.next_ticket().ok()?;
        self.leeway = leeway;
        self.unaccounted_bytes += text_bytes;
        Some(ticket)
    }

    /// Finds out how many packets may be protected unasked, or if there is none,
    /// whether one of `text_bytes` may, which is then charged. `Ok(true)` when it
    /// is the first beyond the soft lifetime.
    #[cold]
    fn ask_books(&mut self, text_bytes: u64, batch: u64) -> Result<bool, Refusal> {
        self.settle();
        let accounts = &mut *self.accounts;
        if accounts.usage.is_expired() {
            return Err(DropReason::LifetimeExpired.into());
        }
        let (next, last) = (
            self.key.next_counter(),
            sequence::last(self.template.format.esn),
        );
        if next > last {
            return Err(DropReason::SequenceExhausted.into());
        }
        accounts.reserve(&mut self.key, text_bytes, batch)?;
        self.leeway = accounts.leeway(&self.key).min(last - next);
        accounts.granted = self.leeway;
        if self.leeway > 0 {
            return Ok(false);
        }
        let is_soft_expired = accounts
            .usage
            .charge(text_bytes)
            .map_err(|_| DropReason::LifetimeExpired)?;
        Ok(is_soft_expired)
    }

    /// Whether the next packet must wait for a reservation to be written.
    #[inline]
    pub fn lacks_reservation(&self) -> bool {
        self.leeway == 0 && self.has_none_reserved()
    }

    #[cold]
    fn has_none_reserved(&self) -> bool {
        self.accounts.reservations.is_some()
            && self.key.reserved() == 0
            && !self.accounts.usage.is_expired()
            && self.key.next_counter() <= sequence::last(self.template.format.esn)
    }

    /// Reserves more numbers for several associations in one commit. Where that
    /// fails, each requests its own when its packet comes.
    pub fn reserve_together<'a>(of: impl Iterator<Item = &'a mut Outbound>) {
        let mut keys = Vec::new();
        let mut lacking = Vec::new();
        for outbound in of {
            outbound.settle();
            let used = outbound.accounts.progress(&outbound.key);
            if let Some(reservations) = &mut outbound.accounts.reservations {
                keys.push(&mut outbound.key);
                lacking.push((reservations, used));
            }
        }
        Reservations::provide_together(&mut lacking);
        for (key, (reservations, _)) in keys.into_iter().zip(lacking) {
            key.allow_until(reservations.end().next_sequence);
        }
    }

    /// Updates the accounts.
    fn settle(&mut self) {
        let Traffic { packets, bytes } = self.unaccounted();
        self.unaccounted_bytes = 0;
        let accounts = &mut *self.accounts;
        accounts.granted = self.leeway;
        accounts.usage.book(packets, bytes);
        accounts.traffic = accounts.traffic.plus(Traffic { packets, bytes });
    }

    /// Ends the association: its key is wiped, and what is left of its
    /// reservation may go back.
    pub fn close(mut self) -> Option<(Reservations, Progress)> {
        self.settle();
        let used = self.accounts.progress(&self.key);
        Some((self.accounts.reservations?, used))
    }
}

impl Accounts {
    fn reserve(
        &mut self,
        key: &mut SealingKey,
        text_bytes: u64,
        batch: u64,
    ) -> Result<(), Refusal> {
        let used = self.progress(key);
        let Some(reservations) = &mut self.reservations else {
            key.allow_until(u64::MAX);
            return Ok(());
        };
        if self.failed_in == Some(batch) {
            return Err(DropReason::SequenceExhausted.into());
        }
        match reservations.provide(used, text_bytes) {
            Ok(()) => {
                key.allow_until(reservations.end().next_sequence);
                Ok(())
            }
            Err(Shortage::Pending) => Err(DropReason::ReservationPending.into()),
            Err(Shortage::Failed(error)) => {
                self.failed_in = Some(batch);
                Err(Refusal {
                    reason: DropReason::SequenceExhausted,
                    ledger: Some(error),
                })
            }
        }
    }

    /// How many packets of whatever length meet neither the lifetime nor the
    /// end of what is reserved.
    fn leeway(&self, key: &SealingKey) -> u64 {
        let leeway = self.usage.leeway().min(key.reserved());
        match &self.reservations {
            Some(reservations) => leeway.min(reservations.leeway(self.progress(key))),
            None => leeway,
        }
    }

    fn progress(&self, key: &SealingKey) -> Progress {
        Progress {
            next_sequence: key.next_counter(),
            bytes: self.usage.bytes(),
        }
    }
}

// What each packet takes is fetched ahead of it: three cache lines.
const _: () = assert!(size_of::<Option<Outbound>>() <= 192);

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("parameters", &self.accounts.parameters)
            .field("key", &self.key)
            .field("usage", &self.accounts.usage)
            .finish_non_exhaustive()
    }
}

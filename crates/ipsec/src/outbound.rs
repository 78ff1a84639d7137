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
    /// So many packets may be protected before the books are asked.
    leeway: u64,
    /// Bytes that were protected and are not in the books yet.
    unbooked_bytes: u64,
    books: Box<Books>,
}

/// What an association has used, and how much it may.
struct Books {
    /// What [`Outbound::leeway`] was when the books were brought up to date.
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
        let books = &mut outbound.books;
        books.usage = Usage::of_sealing(
            books.parameters.lifetime,
            books.parameters.suite,
            next_sequence.saturating_sub(1),
            bytes,
        );
        books.reservations = Some(reservations);
        outbound
    }

    /// An association that starts afresh in every run.
    pub fn unrecorded(parameters: Arc<Parameters>, key: SealingKey) -> Outbound {
        Outbound {
            template: Template::new(&parameters),
            key,
            leeway: 0,
            unbooked_bytes: 0,
            books: Box::new(Books {
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
        &self.books.parameters
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
        self.books.traffic.plus(self.unbooked())
    }

    /// What was protected and is not in the books yet.
    fn unbooked(&self) -> Traffic {
        Traffic {
            packets: self.books.granted - self.leeway,
            bytes: self.unbooked_bytes,
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
            self.unbooked_bytes += text_bytes;
        } else {
            self.books.traffic.add(text_bytes);
        }
        Ok(Drawn {
            ticket,
            is_soft_expired,
        })
    }

    /// What [`draw`](Outbound::draw) does for a packet that the books need not
    /// be asked for; `None`, and nothing is drawn, where they must.
    #[inline]
    pub fn draw_unasked(&mut self, text_bytes: u64) -> Option<Ticket> {
        let leeway = self.leeway.checked_sub(1)?;
        let ticket = self.key.next_ticket().ok()?;
        self.leeway = leeway;
        self.unbooked_bytes += text_bytes;
        Some(ticket)
    }

    /// Finds out how many packets may be protected unasked, or if there is none,
    /// whether one of `text_bytes` may, which is then charged. `Ok(true)` when it
    /// is the first beyond the soft lifetime.
    #[cold]
    fn ask_books(&mut self, text_bytes: u64, batch: u64) -> Result<bool, Refusal> {
        self.book();
        let books = &mut *self.books;
        if books.usage.is_expired() {
            return Err(DropReason::LifetimeExpired.into());
        }
        let (next, last) = (
            self.key.next_counter(),
            sequence::last(self.template.format.esn),
        );
        if next > last {
            return Err(DropReason::SequenceExhausted.into());
        }
        books.reserve(&mut self.key, text_bytes, batch)?;
        self.leeway = books.leeway(&self.key).min(last - next);
        books.granted = self.leeway;
        if self.leeway > 0 {
            return Ok(false);
        }
        let is_soft_expired = books
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
        self.books.reservations.is_some()
            && self.key.reserved() == 0
            && !self.books.usage.is_expired()
            && self.key.next_counter() <= sequence::last(self.template.format.esn)
    }

    /// Reserves more numbers for several associations in one commit. Where that
    /// fails, each asks for itself when its packet comes.
    pub fn reserve_together<'a>(of: impl Iterator<Item = &'a mut Outbound>) {
        let mut keys = Vec::new();
        let mut lacking = Vec::new();
        for outbound in of {
            outbound.book();
            let used = outbound.books.progress(&outbound.key);
            if let Some(reservations) = &mut outbound.books.reservations {
                keys.push(&mut outbound.key);
                lacking.push((reservations, used));
            }
        }
        Reservations::provide_together(&mut lacking);
        for (key, (reservations, _)) in keys.into_iter().zip(lacking) {
            key.allow_until(reservations.end().next_sequence);
        }
    }

    /// Brings the books up to date.
    fn book(&mut self) {
        let Traffic { packets, bytes } = self.unbooked();
        self.unbooked_bytes = 0;
        let books = &mut *self.books;
        books.granted = self.leeway;
        books.usage.book(packets, bytes);
        books.traffic = books.traffic.plus(Traffic { packets, bytes });
    }

    /// Ends the association: its key is wiped, and what is left of its
    /// reservation may go back.
    pub fn close(mut self) -> Option<(Reservations, Progress)> {
        self.book();
        let used = self.books.progress(&self.key);
        Some((self.books.reservations?, used))
    }
}

impl Books {
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
            .field("parameters", &self.books.parameters)
            .field("key", &self.key)
            .field("usage", &self.books.usage)
            .finish_non_exhaustive()
    }
}

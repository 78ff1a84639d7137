//! An association that seals: its key, its numbers, its lifetime.

use std::fmt;
use std::sync::Arc;

use weir_crypto::{KeyId, Sealer, SealingKey};
use weir_ledger::{LedgerError, Progress, Reservations, Shortage};

use crate::change::Settled;
use crate::esp::Template;
use crate::lifetime::{LONGEST_TEXT_BYTES, Usage};
use crate::reason::DropReason;
use crate::report::{AssociationReport, Drops, Traffic};
use crate::sa::Parameters;
use crate::sequence;
use crate::stage::Association;

/// An association in the hands of the shard that it belongs to: what each packet
/// takes from it, and behind a pointer what one packet in many needs.
#[repr(align(64))]
pub(crate) struct Outbound {
    template: Template,
    /// Its key in the shard's [`Sealer`].
    key: KeyId,
    /// Packets that were granted and have not drawn their numbers yet: those of a batch.
    undrawn: u32,
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
    /// Why, the last time that this happened.
    ledger_error: Option<Arc<LedgerError>>,
    traffic: Traffic,
    drops: Drops,
}

/// An association that seals, on its way to the shard that it belongs to.
pub(crate) struct OutboundAssociation {
    pub parameters: Arc<Parameters>,
    pub key: SealingKey,
    /// What is reserved in the ledger and how far the key has come; `None` where every run
    /// repeats the last one's numbers.
    pub numbers: Option<(Reservations, Progress)>,
}

impl Association for Outbound {
    type New = OutboundAssociation;
    type Keys = Sealer;
    type Left = (Reservations, Progress);

    fn install(association: OutboundAssociation, sealer: &mut Sealer) -> Outbound {
        let OutboundAssociation {
            parameters,
            mut key,
            numbers,
        } = association;
        let (reservations, used) = numbers.unzip();
        let used = used.map_or(NOTHING_USED, |used| Progress {
            next_sequence: used.next_sequence.saturating_sub(1),
            ..used
        });
        if let Some(reservations) = &reservations {
            key.allow_until(reservations.end().next_sequence);
        }
        Outbound {
            template: Template::new(&parameters),
            key: sealer.add(key),
            undrawn: 0,
            leeway: 0,
            unaccounted_bytes: 0,
            accounts: Box::new(Accounts {
                granted: 0,
                usage: usage(&parameters, used.next_sequence, used.bytes),
                parameters,
                reservations,
                failed_in: None,
                ledger_error: None,
                traffic: Traffic::default(),
                drops: Drops::default(),
            }),
        }
    }

    fn amend(&mut self, parameters: Arc<Parameters>, sealer: &Sealer) {
        self.settle();
        let accounts = &mut *self.accounts;
        if let Some(key) = sealer.key(self.key) {
            let packets = key.next_number().saturating_sub(1);
            accounts.usage = usage(&parameters, packets, accounts.usage.bytes());
        }
        self.template = Template::new(&parameters);
        accounts.parameters = parameters;
        // The next packet consults the accounts.
        self.leeway = 0;
        accounts.granted = 0;
    }

    fn report(&self, slot: u32, sealer: &Sealer) -> AssociationReport {
        let next = self.numbers(sealer).map_or(1, Numbers::next);
        AssociationReport {
            association: slot,
            parameters: Arc::clone(&self.accounts.parameters),
            traffic: self.accounts.traffic.plus(self.unaccounted()),
            sequence: next.saturating_sub(1),
            drops: self.accounts.drops.clone(),
        }
    }

    #[cold]
    fn note_drop(&mut self, reason: DropReason) {
        self.accounts.drops.add(reason, 1);
    }

    fn ledger_error(&self) -> Option<&Arc<LedgerError>> {
        self.accounts.ledger_error.as_ref()
    }

    /// What is left of its reservation may go back.
    fn close(mut self, sealer: &mut Sealer) -> Option<(Reservations, Progress)> {
        self.settle();
        let used = self
            .numbers(sealer)
            .map(|numbers| self.accounts.progress(numbers));
        sealer.remove(self.key);
        Some((self.accounts.reservations?, used?))
    }

    fn settled((reservations, used): (Reservations, Progress)) -> Settled {
        Settled::Sealing(reservations, used)
    }

    fn write_down(left: Vec<(Reservations, Progress)>) -> Result<(), Arc<LedgerError>> {
        Reservations::settle(left)
    }
}

impl Outbound {
    #[inline]
    pub fn template(&self) -> &Template {
        &self.template
    }

    #[inline]
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// What was protected and is not in the accounts yet.
    fn unaccounted(&self) -> Traffic {
        Traffic {
            packets: self.accounts.granted - self.leeway,
            bytes: self.unaccounted_bytes,
        }
    }

    /// Grants protection of a packet of `plaintext_bytes`, if it is within the leeway. The packet
    /// draws its number later in the batch ([`drawn`](Outbound::drawn)).
    #[inline]
    pub fn grant_within_leeway(&mut self, plaintext_bytes: u64) -> bool {
        let Some(leeway) = self.leeway.checked_sub(1) else {
            return false;
        };
        self.leeway = leeway;
        self.unaccounted_bytes += plaintext_bytes;
        self.undrawn += 1;
        true
    }

    /// Grants protection of a packet beyond the leeway, reserving more numbers where needed.
    /// `batch` counts batches. `Ok(true)` when the packet is the first beyond the soft lifetime.
    #[cold]
    pub fn grant(
        &mut self,
        sealer: &mut Sealer,
        plaintext_bytes: u64,
        batch: u64,
    ) -> Result<bool, DropReason> {
        self.settle();
        let key = sealer.key_mut(self.key).ok_or(DropReason::CipherRefused)?;
        let undrawn = self.undrawn.into();
        let accounts = &mut *self.accounts;
        if accounts.usage.is_expired() {
            return Err(DropReason::LifetimeExpired);
        }
        let last = sequence::last(self.template.format.esn);
        let next = Numbers { key, undrawn }.next();
        if next > last {
            return Err(DropReason::SequenceExhausted);
        }
        accounts.reserve(key, undrawn, plaintext_bytes, batch)?;
        let numbers = Numbers { key, undrawn };
        if numbers.reserved() == 0 {
            // There are numbers, but the key may not use them.
            return Err(DropReason::LifetimeExpired);
        }
        self.leeway = accounts.leeway(numbers).min(last - next);
        accounts.granted = self.leeway;
        if self.grant_within_leeway(plaintext_bytes) {
            return Ok(false);
        }
        let is_soft_expired = self
            .accounts
            .usage
            .charge(plaintext_bytes)
            .map_err(|_| DropReason::LifetimeExpired)?;
        self.accounts.traffic.add(plaintext_bytes);
        self.undrawn += 1;
        Ok(is_soft_expired)
    }

    fn numbers<'k>(&self, sealer: &'k Sealer) -> Option<Numbers<'k>> {
        Some(Numbers {
            key: sealer.key(self.key)?,
            undrawn: self.undrawn.into(),
        })
    }

    /// A packet that was granted draws its number now, or is given up.
    #[inline]
    pub fn drawn(&mut self) {
        self.undrawn = self.undrawn.saturating_sub(1);
    }

    /// Whether the next packet must wait for a reservation to be written.
    #[inline]
    pub fn lacks_reservation(&self, sealer: &Sealer) -> bool {
        self.leeway == 0 && self.has_none_reserved(sealer)
    }

    #[cold]
    fn has_none_reserved(&self, sealer: &Sealer) -> bool {
        self.accounts.reservations.is_some()
            && !self.accounts.usage.is_expired()
            && self.numbers(sealer).is_some_and(|key| {
                key.reserved() == 0 && key.next() <= sequence::last(self.template.format.esn)
            })
    }

    /// Reserves more numbers for several associations in one commit. Where that
    /// fails, each requests its own when its packet comes.
    pub fn reserve_together<'a>(of: impl Iterator<Item = &'a mut Outbound>, sealer: &mut Sealer) {
        let mut keys = Vec::new();
        let mut lacking = Vec::new();
        for outbound in of {
            outbound.settle();
            let Some(numbers) = outbound.numbers(sealer) else {
                continue;
            };
            let used = outbound.accounts.progress(numbers);
            if let Some(reservations) = &mut outbound.accounts.reservations {
                keys.push(outbound.key);
                lacking.push((reservations, used));
            }
        }
        Reservations::provide_together(&mut lacking);
        for (key, (reservations, _)) in keys.into_iter().zip(lacking) {
            if let Some(key) = sealer.key_mut(key) {
                key.allow_until(reservations.end().next_sequence);
            }
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
}

/// What a key has used that starts afresh.
const NOTHING_USED: Progress = Progress {
    next_sequence: 0,
    bytes: 0,
};

/// The use of a key that has sealed so many packets and bytes.
fn usage(parameters: &Parameters, packets: u64, bytes: u64) -> Usage {
    Usage::of_sealing(parameters.lifetime, parameters.suite, packets, bytes)
}

/// The numbers of a key, as they will be when all packets that were granted have drawn theirs.
#[derive(Clone, Copy)]
struct Numbers<'k> {
    key: &'k SealingKey,
    undrawn: u64,
}

impl Numbers<'_> {
    fn next(self) -> u64 {
        self.key.next_number().saturating_add(self.undrawn)
    }

    fn reserved(self) -> u64 {
        self.key.reserved().saturating_sub(self.undrawn)
    }
}

impl Accounts {
    fn reserve(
        &mut self,
        key: &mut SealingKey,
        undrawn: u64,
        plaintext_bytes: u64,
        batch: u64,
    ) -> Result<(), DropReason> {
        let used = self.progress(Numbers { key, undrawn });
        let Some(reservations) = &mut self.reservations else {
            key.allow_until(u64::MAX);
            return Ok(());
        };
        if self.failed_in == Some(batch) {
            return Err(DropReason::SequenceExhausted);
        }
        match reservations.provide(used, plaintext_bytes) {
            Ok(()) => {
                key.allow_until(reservations.end().next_sequence);
                Ok(())
            }
            Err(Shortage::Pending) => Err(DropReason::ReservationPending),
            Err(Shortage::Failed(error)) => {
                self.failed_in = Some(batch);
                self.ledger_error = Some(error);
                Err(DropReason::SequenceExhausted)
            }
        }
    }

    /// How many packets of whatever length meet neither the lifetime nor the
    /// end of what is reserved.
    fn leeway(&self, numbers: Numbers<'_>) -> u64 {
        let leeway = self.usage.leeway().min(numbers.reserved());
        match &self.reservations {
            Some(reservations) => {
                let used = self.progress(numbers);
                leeway.min(reservations.leeway(used, LONGEST_TEXT_BYTES))
            }
            None => leeway,
        }
    }

    fn progress(&self, numbers: Numbers<'_>) -> Progress {
        Progress {
            next_sequence: numbers.next(),
            bytes: self.usage.bytes(),
        }
    }
}

// What each packet takes is fetched ahead of it: two cache lines.
const _: () = assert!(size_of::<Option<Outbound>>() <= 128);

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("parameters", &self.accounts.parameters)
            .field("usage", &self.accounts.usage)
            .finish_non_exhaustive()
    }
}

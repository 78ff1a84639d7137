//! An association that seals: its key, its numbers, its lifetime.

use std::fmt;
use std::sync::Arc;

use weir_crypto::{Exhausted, SealingKey, Ticket};
use weir_stream::DropReason;

use crate::lifetime::Usage;
use crate::report::Traffic;
use crate::sa::Parameters;
use crate::sequence;
use crate::state::{Progress, Reservations, StateError};

/// An association in the hands of the shard that it belongs to.
pub(crate) struct Outbound {
    parameters: Arc<Parameters>,
    key: SealingKey,
    usage: Usage,
    /// `None` where numbers need no record: nothing counts on them across
    /// runs.
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

/// Why a packet is not protected, and what the state file has to do with it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub reason: DropReason,
    pub state: Option<StateError>,
}

impl From<DropReason> for Refusal {
    fn from(reason: DropReason) -> Refusal {
        Refusal {
            reason,
            state: None,
        }
    }
}

impl Outbound {
    /// An association whose numbers are recorded in a state file.
    pub fn recorded(
        parameters: Arc<Parameters>,
        key: SealingKey,
        reservations: Reservations,
    ) -> Outbound {
        let Progress {
            next_sequence,
            bytes,
        } = reservations.end();
        let mut outbound = Outbound::unrecorded(parameters, key);
        outbound.usage = Usage::of_sealing(
            outbound.parameters.lifetime,
            outbound.parameters.suite,
            next_sequence.saturating_sub(1),
            bytes,
        );
        outbound.reservations = Some(reservations);
        outbound
    }

    /// An association that starts afresh in every run.
    pub fn unrecorded(parameters: Arc<Parameters>, key: SealingKey) -> Outbound {
        Outbound {
            usage: Usage::of_sealing(parameters.lifetime, parameters.suite, 0, 0),
            parameters,
            key,
            reservations: None,
            failed_in: None,
            traffic: Traffic::default(),
        }
    }

    pub fn parameters(&self) -> &Arc<Parameters> {
        &self.parameters
    }

    pub fn key(&self) -> &SealingKey {
        &self.key
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Takes the next sequence number for a packet of `text_bytes`, reserving
    /// more where needed. `batch` counts batches.
    pub fn draw(&mut self, text_bytes: u64, batch: u64) -> Result<Drawn, Refusal> {
        if self.usage.is_expired() {
            return Err(DropReason::LifetimeExpired.into());
        }
        if self.key.next_counter() > sequence::last(self.parameters.esn) {
            return Err(DropReason::SequenceExhausted.into());
        }
        self.reserve(text_bytes, batch)?;
        let is_soft_expired = self
            .usage
            .charge(text_bytes)
            .map_err(|_| DropReason::LifetimeExpired)?;
        let ticket = self
            .key
            .next_ticket()
            .map_err(|exhausted| match exhausted {
                Exhausted::Key { .. } => DropReason::LifetimeExpired,
                Exhausted::Reservation { .. } => DropReason::SequenceExhausted,
            })?;
        self.traffic.add(text_bytes);
        Ok(Drawn {
            ticket,
            is_soft_expired,
        })
    }

    fn reserve(&mut self, text_bytes: u64, batch: u64) -> Result<(), Refusal> {
        let used = self.progress();
        let Some(reservations) = &mut self.reservations else {
            self.key.allow_until(u64::MAX);
            return Ok(());
        };
        let has_bytes = used.bytes.saturating_add(text_bytes) <= reservations.end().bytes;
        if self.key.reserved() > 0 && has_bytes {
            return Ok(());
        }
        if self.failed_in == Some(batch) {
            return Err(DropReason::SequenceExhausted.into());
        }
        match reservations.extend(used, text_bytes) {
            Ok(()) => {
                self.key.allow_until(reservations.end().next_sequence);
                Ok(())
            }
            Err(error) => {
                self.failed_in = Some(batch);
                Err(Refusal {
                    reason: DropReason::SequenceExhausted,
                    state: Some(error),
                })
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            next_sequence: self.key.next_counter(),
            bytes: self.usage.bytes(),
        }
    }

    /// Ends the association: its key is wiped, and what is left of its
    /// reservation may go back.
    pub fn close(self) -> Option<(Reservations, Progress)> {
        let used = self.progress();
        Some((self.reservations?, used))
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("parameters", &self.parameters)
            .field("key", &self.key)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}

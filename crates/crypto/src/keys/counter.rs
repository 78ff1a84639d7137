//! The counter that keeps a key's nonces apart.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counter values of one key, each handed out once, and none that was not
/// reserved.
#[derive(Debug)]
pub(crate) struct Counter {
    id: KeyId,
    /// The next value to hand out.
    next: u64,
    /// Exclusive: how far the caller has reserved.
    allowed: u64,
    /// Exclusive: how far the limit on packets reaches, over all restarts.
    limit: u64,
}

/// The right to seal one packet under one key with one counter value. Neither
/// `Clone` nor `Copy`; a [`crate::SealJob`] owns it and sealing spends it.
///
/// ```compile_fail,E0599
/// fn twice(ticket: weir_crypto::Ticket) -> [weir_crypto::Ticket; 2] {
///     [ticket.clone(), ticket]
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct Ticket {
    /// When it is spent, what has become of the packet.
    key: KeyId,
    counter: u64,
}

/// Tells the sealing keys of this process apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KeyId(NonZeroU64);

/// A sealing key has no counter value to give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Exhausted {
    /// More may be reserved: [`crate::SealingKey::allow_until`].
    #[error("counter values are reserved up to {end} only: reserve more")]
    Reservation {
        /// The first value that is not reserved.
        end: u64,
    },
    /// The key has protected as many packets as its suite or MAC allows.
    #[error("the key has reached its limit of packets at counter {end}: rekey")]
    Key {
        /// The first value that the key may not use.
        end: u64,
    },
}

impl Counter {
    /// Starts at `first`, the lowest value that was never used under the key, which
    /// may protect `most_packets`: the values below `first` count among them.
    pub(crate) fn new(first: u64, most_packets: u64) -> Counter {
        Counter {
            id: KeyId::unique(),
            next: first,
            allowed: first,
            // ESP counts from 1.
            limit: most_packets.saturating_add(first.min(1)),
        }
    }

    /// Lets values below `end` be used; values once allowed stay allowed.
    pub(crate) fn allow_until(&mut self, end: u64) {
        self.allowed = self.allowed.max(end);
    }

    /// Exclusive: how far values are reserved.
    pub(crate) fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Takes the next value.
    #[inline]
    pub(crate) fn next_ticket(&mut self) -> Result<Ticket, Exhausted> {
        if self.next >= self.limit {
            return Err(Exhausted::Key { end: self.limit });
        }
        if self.next >= self.allowed {
            return Err(Exhausted::Reservation { end: self.allowed });
        }
        let counter = self.next;
        self.next += 1;
        Ok(Ticket {
            key: self.id,
            counter,
        })
    }

    /// The value that [`Counter::next_ticket`] would take.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// How many more tickets the reservation holds.
    #[inline]
    pub(crate) fn reserved(&self) -> u64 {
        self.allowed.min(self.limit).saturating_sub(self.next)
    }

    /// Whether the ticket was drawn here and has not been spent.
    #[inline]
    pub(crate) fn drew(&self, ticket: &Ticket) -> bool {
        ticket.key == self.id
    }
}

impl Ticket {
    /// The counter value, which is also ESP's (extended) sequence number.
    #[inline]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Whether a packet was sealed with it. Where [`crate::seal`] or [`crate::seal_in`]
    /// refused packets, this tells which: their tickets are spent and sealed nothing.
    #[inline]
    pub fn has_sealed(&self) -> bool {
        self.key == KeyId::SEALED
    }

    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        [KeyId::REFUSED, KeyId::PREPARED, KeyId::SEALED].contains(&self.key)
    }

    /// Whether the packet has its IV and not yet its tag.
    #[inline]
    pub(crate) fn is_prepared(&self) -> bool {
        self.key == KeyId::PREPARED
    }

    /// The packet has its IV.
    #[inline]
    pub(crate) fn mark_prepared(&mut self) {
        self.key = KeyId::PREPARED;
    }

    /// The packet has its tag.
    #[inline]
    pub(crate) fn mark_sealed(&mut self) {
        self.key = KeyId::SEALED;
    }

    /// The packet counts as refused from here on, unless it is sealed.
    #[inline]
    pub(crate) fn spend(&mut self) {
        self.key = KeyId::REFUSED;
    }

    /// Moves the ticket out; what stays is spent.
    pub(crate) fn take(&mut self) -> Ticket {
        let spent = Ticket {
            key: KeyId::REFUSED,
            counter: self.counter,
        };
        std::mem::replace(self, spent)
    }
}

impl KeyId {
    // No key has these: 2⁶⁴ - 4 keys are more than a process can make.
    const REFUSED: KeyId = KeyId(NonZeroU64::MAX);
    const PREPARED: KeyId = KeyId::REFUSED.before();
    const SEALED: KeyId = KeyId::PREPARED.before();

    const fn before(self) -> KeyId {
        match NonZeroU64::new(self.0.get() - 1) {
            Some(number) => KeyId(number),
            None => self,
        }
    }

    fn unique() -> KeyId {
        static MADE: AtomicU64 = AtomicU64::new(0);
        KeyId(NonZeroU64::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SP 800-67 counts what is encrypted under a key bundle, whatever restarts between.
    #[test]
    fn a_restart_does_not_renew_the_limit_of_packets() {
        let mut counter = Counter::new(1, 100);
        counter.allow_until(u64::MAX);
        let mut packets = 0;
        while counter.next_ticket().is_ok() {
            packets += 1;
        }
        assert_eq!((packets, counter.next()), (100, 101));

        for first in [101, 102, u64::MAX] {
            let mut counter = Counter::new(first, 100);
            counter.allow_until(u64::MAX);
            assert_eq!(counter.reserved(), 0);
            assert_eq!(counter.next_ticket(), Err(Exhausted::Key { end: 101 }));
        }
        let mut counter = Counter::new(60, 100);
        counter.allow_until(u64::MAX);
        assert_eq!(counter.reserved(), 41);
    }
}

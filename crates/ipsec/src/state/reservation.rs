//! Ranges of sequence numbers, taken from the state file before they are used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_crypto::Suite;

use super::{Fingerprint, Progress, StateError, StateFile};
use crate::lifetime::{LONGEST_TEXT_BYTES, Lifetime};

/// A key, and the association that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyIdentity {
    /// The key.
    pub fingerprint: Fingerprint,
    /// Name of the association, for people.
    pub association: String,
    /// SPI of the association, for people.
    pub spi: u32,
}

/// The reservations of one association in a state file that several share.
#[derive(Debug)]
pub struct Reservations {
    state: Arc<Mutex<StateFile>>,
    identity: KeyIdentity,
    /// How much is reserved at a time.
    step: Progress,
    /// How far it is reserved.
    end: Progress,
}

/// A reservation takes at most one part in so many of a lifetime, so that a
/// crash costs no more.
const LIFETIME_PARTS: u64 = 16;

impl Reservations {
    /// The reservations of a key, `sequences` numbers at a time, or fewer
    /// where the lifetime or the suite's limit is short. Nothing is reserved
    /// yet.
    pub fn new(
        state: &Arc<Mutex<StateFile>>,
        identity: KeyIdentity,
        sequences: u64,
        suite: Suite,
        lifetime: &Lifetime,
    ) -> Reservations {
        let limits = suite.limits();
        let most_packets = lifetime.hard.packets.min(limits.packets.most);
        let most_bytes = lifetime
            .hard
            .bytes
            .min(limits.blocks.most.saturating_mul(limits.block_bytes as u64));
        let sequences = sequences.min(most_packets / LIFETIME_PARTS).max(1);
        let bytes = sequences
            .saturating_mul(LONGEST_TEXT_BYTES)
            .min(most_bytes / LIFETIME_PARTS);
        let end = lock(state).progress(&identity.fingerprint);
        Reservations {
            state: Arc::clone(state),
            identity,
            step: Progress {
                next_sequence: sequences,
                bytes,
            },
            end,
        }
    }

    /// How far the key has come, reserved numbers included.
    pub fn end(&self) -> Progress {
        self.end
    }

    /// How many packets may come after those `used`, of whatever length, before
    /// bytes must be reserved.
    pub fn leeway(&self, used: Progress) -> u64 {
        self.end.bytes.saturating_sub(used.bytes) / LONGEST_TEXT_BYTES
    }

    /// Reserves another range from `next_sequence` on, and bytes for at least
    /// `text_bytes` more than the `bytes` used so far.
    ///
    /// # Errors
    /// The file could not be written: nothing new is reserved.
    pub fn extend(&mut self, used: Progress, text_bytes: u64) -> Result<(), StateError> {
        let end = self.next_end(used, text_bytes);
        lock(&self.state).record([(&self.identity, end)])?;
        self.end = end;
        Ok(())
    }

    /// As [`extend`](Reservations::extend) for several associations of one file,
    /// each with what it has used, in one writing.
    ///
    /// # Errors
    /// The file could not be written: nothing new is reserved for any of them.
    pub fn extend_together(of: &mut [(&mut Reservations, Progress)]) -> Result<(), StateError> {
        let Some((first, _)) = of.first() else {
            return Ok(());
        };
        let state = Arc::clone(&first.state);
        let ends: Vec<Progress> = of
            .iter()
            .map(|(reservations, used)| reservations.next_end(*used, 0))
            .collect();
        let identities = of.iter().map(|(reservations, _)| &reservations.identity);
        lock(&state).record(identities.zip(ends.iter().copied()))?;
        for ((reservations, _), end) in of.iter_mut().zip(ends) {
            reservations.end = end;
        }
        Ok(())
    }

    fn next_end(&self, used: Progress, text_bytes: u64) -> Progress {
        Progress {
            next_sequence: used
                .next_sequence
                .saturating_add(self.step.next_sequence)
                .max(self.end.next_sequence),
            bytes: used
                .bytes
                .saturating_add(self.step.bytes.max(text_bytes))
                .max(self.end.bytes),
        }
    }

    /// Writes back how far associations really came, in one go. Their keys
    /// must be gone: nothing may be sealed with them any more.
    ///
    /// # Errors
    /// The file could not be written; what was reserved stays used up.
    pub fn settle(
        of: impl IntoIterator<Item = (Reservations, Progress)>,
    ) -> Result<(), StateError> {
        let settled: Vec<(Reservations, Progress)> = of.into_iter().collect();
        let Some((first, _)) = settled.first() else {
            return Ok(());
        };
        lock(&first.state).record(
            settled
                .iter()
                .map(|(reservations, used)| (&reservations.identity, *used)),
        )
    }
}

/// A thread that panicked left the file as it was last written.
fn lock(state: &Mutex<StateFile>) -> MutexGuard<'_, StateFile> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

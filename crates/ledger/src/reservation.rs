//! Ranges of sequence numbers, taken from the ledger before they are used.

use std::sync::Arc;

use super::service::{Ledger, Response};
use super::{LedgerError, Progress};

/// The reservations of one key.
#[derive(Debug)]
pub struct Reservations {
    ledger: Arc<Ledger>,
    /// Its key's number there.
    key: u32,
    /// How much is reserved at a time.
    step: Progress,
    /// How far it is reserved.
    end: Progress,
    /// Whether a request for more is pending.
    is_requested: bool,
    /// Why the last request failed.
    failure: Option<Arc<LedgerError>>,
    /// Whether packets wait for the response, or are dropped.
    waits: bool,
    is_settled: bool,
}

impl Drop for Reservations {
    fn drop(&mut self) {
        if !self.is_settled {
            self.ledger.abandon(self.key);
        }
    }
}

/// Why a packet cannot have a number.
#[derive(Clone, Debug)]
pub enum Shortage {
    /// The ledger is being written.
    Pending,
    /// It could not be written.
    Failed(Arc<LedgerError>),
}

impl Reservations {
    /// The reservations of a key, which is reserved up to `end`, `step` at a
    /// time. Where `waits`, packets wait for the ledger. With a step of no bytes, numbers alone
    /// are counted.
    pub fn new(
        ledger: &Arc<Ledger>,
        key: u32,
        step: Progress,
        end: Progress,
        waits: bool,
    ) -> Reservations {
        Reservations {
            ledger: Arc::clone(ledger),
            key,
            step,
            end,
            is_requested: false,
            failure: None,
            waits,
            is_settled: false,
        }
    }

    /// How far the key has come, reserved numbers included.
    pub fn end(&self) -> Progress {
        self.end
    }

    /// How many packets of up to `longest_bytes` may come after those `used` before more should be
    /// requested, or none is left.
    pub fn leeway(&self, used: Progress, longest_bytes: u64) -> u64 {
        let left = self.left(used);
        let kept = match self.is_requested || self.failure.is_some() {
            true => Progress {
                next_sequence: 0,
                bytes: 0,
            },
            false => self.half(),
        };
        let numbers = left.next_sequence.saturating_sub(kept.next_sequence);
        let bytes = left.bytes.saturating_sub(kept.bytes);
        match self.counts_bytes() {
            true => numbers.min(bytes.checked_div(longest_bytes).unwrap_or(u64::MAX)),
            false => numbers,
        }
    }

    /// Ensures that a packet of `plaintext_bytes` may have a number, and requests
    /// the next range where half of this one is used.
    ///
    /// # Errors
    /// None is reserved.
    pub fn provide(&mut self, used: Progress, plaintext_bytes: u64) -> Result<(), Shortage> {
        self.collect();
        if self.is_half_used(used, plaintext_bytes) {
            self.request(used, plaintext_bytes);
        }
        if self.covers(used, plaintext_bytes) {
            return Ok(());
        }
        if self.waits && self.is_requested {
            self.wait();
            if self.covers(used, plaintext_bytes) {
                return Ok(());
            }
        }
        Err(match self.failure.take() {
            Some(error) => Shortage::Failed(error),
            None => Shortage::Pending,
        })
    }

    /// As [`provide`](Reservations::provide) for packets of no bytes of several
    /// keys, each with what it has used, in one commit for each ledger.
    pub fn provide_together(of: &mut [(&mut Reservations, Progress)]) {
        of.sort_by_key(|(reservations, _)| Arc::as_ptr(&reservations.ledger));
        let is_same = |one: &(&mut Reservations, _), other: &(&mut Reservations, _)| {
            Arc::ptr_eq(&one.0.ledger, &other.0.ledger)
        };
        of.chunk_by_mut(is_same)
            .for_each(Reservations::provide_from_one);
    }

    /// The same for keys of one ledger.
    fn provide_from_one(of: &mut [(&mut Reservations, Progress)]) {
        let mut wanted = Vec::new();
        for (reservations, used) in of.iter_mut() {
            reservations.collect();
            if !reservations.is_requested && !reservations.covers(*used, 0) {
                wanted.push((reservations.key, reservations.next_end(*used, 0)));
                reservations.is_requested = true;
            }
        }
        let Some((first, _)) = of.first() else {
            return;
        };
        let (ledger, waits) = (Arc::clone(&first.ledger), first.waits);
        let is_sent = wanted.is_empty() || ledger.request(wanted, waits);
        for (reservations, _) in of {
            if !is_sent {
                // Its packet repeats the request, or has its response.
                reservations.is_requested = false;
                reservations.collect();
            } else if waits {
                reservations.wait();
            }
        }
    }

    /// Writes back how far keys really came, in one commit for each ledger. Their keys
    /// must be gone: nothing may be sealed with them any more.
    ///
    /// # Errors
    /// The ledger could not be written; what was reserved stays used up.
    pub fn settle(
        of: impl IntoIterator<Item = (Reservations, Progress)>,
    ) -> Result<(), Arc<LedgerError>> {
        let mut settled: Vec<(Reservations, Progress)> = of.into_iter().collect();
        settled.sort_by_key(|(reservations, _)| Arc::as_ptr(&reservations.ledger));
        let is_same = |one: &(Reservations, _), other: &(Reservations, _)| {
            Arc::ptr_eq(&one.0.ledger, &other.0.ledger)
        };
        let mut result = Ok(());
        for of_one in settled.chunk_by(is_same) {
            let changed = of_one
                .iter()
                .filter(|(reservations, used)| {
                    reservations.is_requested || reservations.end != *used
                })
                .map(|(reservations, used)| (reservations.key, *used))
                .collect();
            let ended = of_one
                .iter()
                .map(|(reservations, _)| reservations.key)
                .collect();
            if let Some((first, _)) = of_one.first() {
                result = result.and(first.ledger.settle(changed, ended));
            }
        }
        for (reservations, _) in &mut settled {
            reservations.is_settled = true;
        }
        result
    }

    fn counts_bytes(&self) -> bool {
        self.step.bytes > 0
    }

    fn left(&self, used: Progress) -> Progress {
        Progress {
            next_sequence: self.end.next_sequence.saturating_sub(used.next_sequence),
            bytes: self.end.bytes.saturating_sub(used.bytes),
        }
    }

    fn half(&self) -> Progress {
        Progress {
            next_sequence: self.step.next_sequence / 2,
            bytes: self.step.bytes / 2,
        }
    }

    fn is_half_used(&self, used: Progress, plaintext_bytes: u64) -> bool {
        let (left, half) = (self.left(used), self.half());
        let is_short = left.bytes <= half.bytes || left.bytes < plaintext_bytes;
        left.next_sequence <= half.next_sequence || self.counts_bytes() && is_short
    }

    fn covers(&self, used: Progress, plaintext_bytes: u64) -> bool {
        let left = self.left(used);
        left.next_sequence > 0 && (!self.counts_bytes() || left.bytes >= plaintext_bytes)
    }

    fn next_end(&self, used: Progress, plaintext_bytes: u64) -> Progress {
        let step = Progress {
            next_sequence: self.step.next_sequence,
            bytes: self.step.bytes.max(plaintext_bytes),
        };
        used.plus(step).max(self.end)
    }

    fn request(&mut self, used: Progress, plaintext_bytes: u64) {
        let end = self.next_end(used, plaintext_bytes);
        if !self.is_requested && end != self.end {
            self.is_requested = self.ledger.request(vec![(self.key, end)], self.waits);
        }
    }

    /// Takes a response that has arrived.
    fn collect(&mut self) {
        if self.is_requested {
            let response = self.ledger.response(self.key);
            self.take(response);
        }
    }

    fn wait(&mut self) {
        if self.is_requested {
            let response = self.ledger.wait(self.key);
            self.take(response);
        }
    }

    fn take(&mut self, response: Response) {
        match response {
            Response::Pending => {}
            Response::Granted(end) => {
                self.is_requested = false;
                self.failure = None;
                self.end = end;
            }
            Response::Failed(error) => {
                self.is_requested = false;
                self.failure = Some(error);
            }
        }
    }
}

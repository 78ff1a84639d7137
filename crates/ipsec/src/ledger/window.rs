//! How far a receiver has come, written down before a number is accepted.

use std::sync::Arc;

use super::Progress;
use super::reservation::Shortage;
use super::service::{Answer, Ledger};

/// What the ledger says of one receiver: numbers below an end may be accepted,
/// and after a crash all of them count as seen.
#[derive(Debug)]
pub struct SeenBound {
    ledger: Arc<Ledger>,
    /// The window's number there.
    key: u32,
    end: u64,
    is_asked: bool,
    /// Whether packets wait for an answer, or are dropped.
    waits: bool,
}

/// How many numbers a crash costs at most: fewer than for a sender, since the
/// packets that carry them are lost.
const STEP: u64 = 1 << 16;

impl SeenBound {
    /// The bound of a receiver that may accept numbers below `end`.
    pub fn new(ledger: &Arc<Ledger>, key: u32, end: u64, waits: bool) -> SeenBound {
        SeenBound {
            ledger: Arc::clone(ledger),
            key,
            end,
            is_asked: false,
            waits,
        }
    }

    /// Sees to it that `sequence` may be accepted, and asks for the next step
    /// where half of this one is used. Numbers below the one that is returned need
    /// not ask.
    ///
    /// # Errors
    /// It may not.
    pub fn provide(&mut self, sequence: u64) -> Result<u64, Shortage> {
        let mut failure = self.collect(false).err();
        if !self.is_asked && self.end.saturating_sub(sequence) <= STEP / 2 {
            let end = Progress {
                next_sequence: sequence.saturating_add(STEP),
                bytes: 0,
            };
            self.is_asked = self.ledger.ask(vec![(self.key, end)], self.waits);
        }
        if sequence >= self.end && self.waits {
            failure = self.collect(true).err();
        }
        if sequence >= self.end {
            return Err(failure.unwrap_or(Shortage::Pending));
        }
        Ok(match self.is_asked {
            true => self.end,
            false => self.end.saturating_sub(STEP / 2).max(sequence + 1),
        })
    }

    /// Writes back the highest number that each receiver accepted.
    ///
    /// # Errors
    /// The ledger could not be written; numbers up to the end count as seen.
    pub fn settle(
        of: impl IntoIterator<Item = (SeenBound, u64)>,
    ) -> Result<(), Arc<super::LedgerError>> {
        let settled: Vec<(SeenBound, u64)> = of.into_iter().collect();
        let Some((first, _)) = settled.first() else {
            return Ok(());
        };
        let changed = settled
            .iter()
            .map(|(bound, highest)| (bound, highest.saturating_add(1)))
            .filter(|(bound, next_sequence)| bound.is_asked || bound.end != *next_sequence)
            .map(|(bound, next_sequence)| {
                let progress = Progress {
                    next_sequence,
                    bytes: 0,
                };
                (bound.key, progress)
            })
            .collect();
        first.ledger.settle(changed)
    }

    fn collect(&mut self, waits: bool) -> Result<(), Shortage> {
        if !self.is_asked {
            return Ok(());
        }
        let answer = match waits {
            true => self.ledger.wait(self.key),
            false => self.ledger.answer(self.key),
        };
        match answer {
            Answer::Pending => Ok(()),
            Answer::Granted(end) => {
                self.is_asked = false;
                self.end = end.next_sequence;
                Ok(())
            }
            Answer::Failed(error) => {
                self.is_asked = false;
                Err(Shortage::Failed(error))
            }
        }
    }
}

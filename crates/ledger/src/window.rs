//! How far a receiver has come, written down before a number is accepted.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::reservation::Shortage;
use super::service::{Ledger, Response};
use super::{Mark, Progress};

/// What the ledger says of one receiver: numbers below an end may be accepted,
/// and after a crash all of them count as seen.
#[derive(Debug)]
pub struct SeenBound {
    ledger: Arc<Ledger>,
    /// The window's number there.
    key: u32,
    end: u64,
    /// The mark of the window, and the run that it is of; 0 where there is no mark.
    mark: Option<Mark>,
    run: u64,
    is_requested: bool,
    /// How many numbers the next request is for.
    step: Step,
    /// Whether packets wait for the response, or are dropped.
    waits: bool,
    is_settled: bool,
}

impl Drop for SeenBound {
    fn drop(&mut self) {
        if !self.is_settled {
            self.ledger.abandon(self.key);
        }
    }
}

/// How many numbers a receiver requests at a time.
///
/// The numbers of a step count as seen after a crash, and the packets that carry them are lost:
/// a step is as many as arrive within a part of a second, whatever the rate.
#[derive(Clone, Debug)]
pub struct Step {
    numbers: u64,
    /// When the last request was made.
    requested: Option<Instant>,
}

const STEPS: RangeInclusive<u64> = 64..=1 << 20;
const FIRST_STEP: u64 = 64;
/// A step that is used up sooner doubles: commits take milliseconds.
const SHORTEST_STEP: Duration = Duration::from_millis(100);
/// One that lasts longer is halved.
const LONGEST_STEP: Duration = Duration::from_millis(400);

impl Default for Step {
    fn default() -> Step {
        Step {
            numbers: FIRST_STEP,
            requested: None,
        }
    }
}

impl Step {
    /// Half of it: where only this much is left, the next request is made.
    pub fn half(&self) -> u64 {
        self.numbers / 2
    }

    /// Makes it fit the rate at which numbers have come since the last request, and returns it for
    /// another one.
    pub fn adapt(&mut self) -> u64 {
        let now = Instant::now();
        let lasted = self.requested.map(|requested| now - requested);
        self.requested = Some(now);
        self.numbers = match lasted {
            Some(lasted) if lasted < SHORTEST_STEP => self.numbers * 2,
            Some(lasted) if lasted > LONGEST_STEP => self.numbers / 2,
            _ => self.numbers,
        }
        .clamp(*STEPS.start(), *STEPS.end());
        self.numbers
    }
}

impl SeenBound {
    /// How far a receiver may go that has received nothing.
    pub fn first(seen: Progress) -> Progress {
        Progress {
            next_sequence: seen.next_sequence.saturating_add(FIRST_STEP),
            ..seen
        }
    }

    /// The bound of a receiver that may accept numbers below `end`, and the highest one that
    /// counts as seen: that of its mark, where it is of the run that wrote what was `seen`, and
    /// else all of these.
    pub fn new(
        ledger: &Arc<Ledger>,
        key: u32,
        seen: Progress,
        end: u64,
        waits: bool,
        mark: Option<Mark>,
    ) -> (SeenBound, u64) {
        let marked = mark.as_ref().and_then(|mark| mark.highest(seen.bytes));
        let highest = marked
            .unwrap_or(u64::MAX)
            .min(seen.next_sequence.saturating_sub(1));
        let run = match (&mark, marked) {
            (Some(_), Some(_)) => seen.bytes,
            (Some(mark), None) => {
                let run = getrandom::u64().unwrap_or(0);
                mark.begin(run, highest);
                run
            }
            (None, _) => 0,
        };
        let bound = SeenBound {
            ledger: Arc::clone(ledger),
            key,
            end,
            mark: mark.filter(|_| run != 0),
            run,
            is_requested: false,
            step: Step::default(),
            waits,
            is_settled: false,
        };
        (bound, highest)
    }

    /// Where the highest number is to be noted that is accepted.
    pub fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }

    fn request(&mut self, sequence: u64) {
        let end = Progress {
            next_sequence: sequence.saturating_add(self.step.adapt()),
            bytes: self.run,
        };
        self.is_requested = self.ledger.request(vec![(self.key, end)], self.waits);
    }

    /// Ensures that `sequence` may be accepted, and requests the next step
    /// where half of this one is used. Numbers below the one that is returned need
    /// no request.
    ///
    /// # Errors
    /// It may not.
    pub fn provide(&mut self, sequence: u64) -> Result<u64, Shortage> {
        let mut failure = self.collect(false).err();
        if !self.is_requested && self.end.saturating_sub(sequence) <= self.step.half() {
            self.request(sequence);
        }
        if sequence >= self.end && self.waits {
            failure = self.collect(true).err();
            // What was requested before may end in front of a number that stepped ahead.
            if failure.is_none() && sequence >= self.end && !self.is_requested {
                self.request(sequence);
                failure = self.collect(true).err();
            }
        }
        if sequence >= self.end {
            return Err(failure.unwrap_or(Shortage::Pending));
        }
        Ok(match self.is_requested {
            true => self.end,
            false => self.end.saturating_sub(self.step.half()).max(sequence + 1),
        })
    }

    /// Writes back the highest number that each receiver accepted.
    ///
    /// # Errors
    /// The ledger could not be written; numbers up to the end count as seen.
    pub fn settle(
        of: impl IntoIterator<Item = (SeenBound, u64)>,
    ) -> Result<(), Arc<super::LedgerError>> {
        let mut settled: Vec<(SeenBound, u64)> = of.into_iter().collect();
        settled.sort_by_key(|(bound, _)| Arc::as_ptr(&bound.ledger));
        let is_same = |one: &(SeenBound, _), other: &(SeenBound, _)| {
            Arc::ptr_eq(&one.0.ledger, &other.0.ledger)
        };
        let mut result = Ok(());
        for of_one in settled.chunk_by(is_same) {
            let changed = of_one
                .iter()
                .map(|(bound, highest)| (bound, highest.saturating_add(1)))
                .filter(|(bound, next_sequence)| bound.is_requested || bound.end != *next_sequence)
                .map(|(bound, next_sequence)| {
                    let progress = Progress {
                        next_sequence,
                        bytes: bound.run,
                    };
                    (bound.key, progress)
                })
                .collect();
            let ended = of_one.iter().map(|(bound, _)| bound.key).collect();
            if let Some((first, _)) = of_one.first() {
                result = result.and(first.ledger.settle(changed, ended));
            }
        }
        for (bound, _) in &mut settled {
            bound.is_settled = true;
        }
        result
    }

    fn collect(&mut self, waits: bool) -> Result<(), Shortage> {
        if !self.is_requested {
            return Ok(());
        }
        let response = match waits {
            true => self.ledger.wait(self.key),
            false => self.ledger.response(self.key),
        };
        match response {
            Response::Pending => Ok(()),
            Response::Granted(end) => {
                self.is_requested = false;
                self.end = end.next_sequence;
                Ok(())
            }
            Response::Failed(error) => {
                self.is_requested = false;
                Err(Shortage::Failed(error))
            }
        }
    }
}

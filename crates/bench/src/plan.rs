//! Plans of measurements.

use crate::row::Row;
use crate::runner::{self, Benchmark, Progress, RunError};
use crate::suite;

/// The kind of algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subjects {
    /// Suites that seal and open packets.
    Cipher,
    /// MACs that tag and verify messages.
    Mac,
}

/// A series of measurements.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of algorithms.
    pub subjects: Subjects,
    /// Of these, the ones whose names contain one of these texts; all if empty.
    pub algorithms: Vec<String>,
    /// Bytes of payload of the packets; each from 16 to 65,535. Suites with blocks
    /// round up, as padding does.
    pub bytes: Vec<usize>,
    /// Keys of each thread, from 1 to 65,536.
    pub keys: usize,
    /// Threads side by side, from 1 to 256.
    pub threads: usize,
    /// Rounds, from 1 to 10,000; quartiles need several.
    pub rounds: usize,
}

/// A plan that cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// No name contains the text.
    #[error("no algorithm has `{text}` in its name: there are {known}")]
    Algorithm {
        /// As it was given.
        text: String,
        /// All names.
        known: String,
    },
    /// A number is out of its range.
    #[error("{what} may not be {given}: use {least} to {most}")]
    Number {
        /// What the number is of.
        what: &'static str,
        /// As it was given.
        given: usize,
        /// The least that is allowed.
        least: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// The list is empty.
    #[error("no packet size is given")]
    NoBytes,
}

impl Plan {
    /// All algorithms, common sizes, 64 keys, one thread and 11 rounds.
    pub fn new(subjects: Subjects) -> Plan {
        Plan {
            subjects,
            algorithms: Vec::new(),
            bytes: vec![64, 256, 576, 1420, 1536, 9000],
            keys: 64,
            threads: 1,
            rounds: 11,
        }
    }

    /// The names that [`Plan::algorithms`] chooses from.
    pub fn names(subjects: Subjects) -> Vec<String> {
        suite::names(subjects)
    }

    /// Measures. `progress` is called before each round with the progress so far; it
    /// returns whether to go on. If not, sizes that were not finished have no rows.
    ///
    /// # Errors
    /// [`RunError::Plan`] where the plan cannot be carried out, before anything is
    /// measured; else what a kernel refused, which would be a defect.
    pub fn run(&self, progress: impl FnMut(Progress) -> bool) -> Result<Vec<Row>, RunError> {
        let chosen = self.chosen()?;
        let make = |bytes: usize| -> Result<Vec<Benchmark>, RunError> {
            let mut benchmarks = Vec::new();
            for name in &chosen {
                suite::add(name, bytes, self, &mut benchmarks)?;
            }
            Ok(benchmarks)
        };
        runner::run(self, make, progress)
    }

    /// The names of the algorithms that are measured, once the plan is checked.
    fn chosen(&self) -> Result<Vec<String>, PlanError> {
        if self.bytes.is_empty() {
            return Err(PlanError::NoBytes);
        }
        for bytes in &self.bytes {
            within("bytes of a packet", *bytes, 16, 65_535)?;
        }
        within("the number of keys", self.keys, 1, 65_536)?;
        within("the number of threads", self.threads, 1, 256)?;
        within("the number of rounds", self.rounds, 1, 10_000)?;

        let names = Plan::names(self.subjects);
        let has = |name: &String, text: &String| name.contains(text.as_str());
        for text in &self.algorithms {
            if !names.iter().any(|name| has(name, text)) {
                return Err(PlanError::Algorithm {
                    text: text.clone(),
                    known: names.join(", "),
                });
            }
        }
        let is_chosen = |name: &String| {
            self.algorithms.is_empty() || self.algorithms.iter().any(|text| has(name, text))
        };
        Ok(names.into_iter().filter(is_chosen).collect())
    }
}

fn within(what: &'static str, given: usize, least: usize, most: usize) -> Result<(), PlanError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(PlanError::Number {
        what,
        given,
        least,
        most,
    })
}

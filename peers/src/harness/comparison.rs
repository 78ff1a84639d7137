//! Several candidates at one work.

use std::cmp::Ordering::Equal;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use weir_bench::{Candidate, Quartiles, Rounds, Sample, compare};

use super::row::{Row, Verdict};
use super::{PROTOTYPE, WEIR};
use crate::instructions;
use crate::machine::Machine;
use crate::targets::{self, Against, Requirement};

/// Rounds of a comparison.
const ROUNDS: usize = 35;
/// Rounds of a comparison whose samples take long.
const LEAST_ROUNDS: usize = 11;

/// One row to be, of a candidate or of one that is missing.
struct Entry {
    subject: String,
    state: State,
    note: Option<String>,
}

enum State {
    /// Measured: the number of its candidate.
    Candidate(usize),
    /// Missing, and why.
    Missing(String),
    /// Missing because this program was built without it, and what to install.
    NotInstalled(String),
}

/// One work at one size, and the candidates that do it.
pub struct Comparison<'a> {
    pub(super) work: String,
    pub(super) bytes: usize,
    pub(super) keys: &'static str,
    time: Option<Duration>,
    entries: Vec<Entry>,
    candidates: Vec<Candidate<'a, Error>>,
}

impl<'a> Comparison<'a> {
    /// A comparison over packets of `bytes` bytes each, or on average.
    pub fn new(work: &str, bytes: usize, keys: &'static str) -> Comparison<'a> {
        Comparison {
            work: work.to_owned(),
            bytes,
            keys,
            time: None,
            entries: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Has fewer rounds, eleven at least, where all of them would take longer.
    pub fn within(mut self, time: Duration) -> Comparison<'a> {
        self.time = Some(time);
        self
    }

    /// Adds a candidate.
    pub fn add(
        &mut self,
        subject: impl Into<String>,
        take_sample: impl FnMut() -> Result<Sample> + 'a,
    ) {
        let subject = subject.into();
        let candidate = Candidate::new(&subject, take_sample);
        let state = State::Candidate(self.candidates.len());
        self.candidates.push(candidate);
        self.push(subject, state);
    }

    /// Adds a candidate that cannot be measured, and says why.
    pub fn add_missing(&mut self, subject: impl Into<String>, reason: impl Into<String>) {
        self.push(subject.into(), State::Missing(reason.into()));
    }

    /// Adds a candidate that is not installed, and says what to install.
    pub fn add_uninstalled(&mut self, subject: impl Into<String>, package: &str) {
        let reason =
            format!("it was not installed when this was built; Debian's package is {package}");
        self.push(subject.into(), State::NotInstalled(reason));
    }

    fn push(&mut self, subject: String, state: State) {
        let note = instructions::remark(&subject);
        self.entries.push(Entry {
            subject,
            state,
            note,
        });
    }

    /// Adds a note to the candidate that was added last.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.entries.last_mut() {
            last.note = Some(note.into());
        }
    }

    /// Adds a note to the candidate that was added first.
    pub fn note_first(&mut self, note: impl Into<String>) {
        if let Some(first) = self.entries.first_mut() {
            first.note = Some(note.into());
        }
    }

    /// Measures all candidates and returns the rows, in the order in which they were
    /// added.
    pub(super) fn run(&mut self, machine: &Machine) -> Result<Vec<Row>> {
        let rounds = match self.time {
            None => Rounds::exactly(ROUNDS),
            Some(_) => Rounds {
                most: ROUNDS,
                least: LEAST_ROUNDS,
                time: self.time,
            },
        };
        let ns = compare(&mut self.candidates, rounds, |_| true)
            .with_context(|| format!("{}, {} bytes, keys {}", self.work, self.bytes, self.keys))?
            .unwrap_or_default();
        Ok(self.rows(&ns, machine))
    }

    fn rows(&self, ns: &[Vec<f64>], machine: &Machine) -> Vec<Row> {
        let times = self.times(ns);
        let weir = self.entries.iter().position(|it| it.subject == WEIR);
        let rows = self.entries.iter().zip(&times).map(|(entry, own)| {
            let own_ns = Quartiles::of(own);
            let ratio = weir.and_then(|weir| Quartiles::of_ratios(own, times[weir]));
            Row {
                work: self.work.clone(),
                bytes: self.bytes,
                keys: self.keys.to_owned(),
                subject: entry.subject.clone(),
                ns_per_packet: own_ns.map(|ns| ns.median),
                ns_per_packet_quartiles: own_ns.map(Quartiles::outer),
                gbit_per_s: own_ns.map(|ns| self.bytes as f64 * 8.0 / ns.median),
                ratio_to_weir: ratio.map(|ratio| ratio.median),
                ratio_to_weir_quartiles: ratio.map(Quartiles::outer),
                rounds: own.len(),
                targets: match &entry.subject[..] {
                    WEIR => self.verdicts(&times),
                    _ => Vec::new(),
                },
                note: match &entry.state {
                    State::Candidate(_) => entry.note.clone(),
                    State::Missing(reason) | State::NotInstalled(reason) => Some(reason.clone()),
                },
                tier: machine.tier(),
                machine: machine.summary(),
            }
        });
        rows.collect()
    }

    /// The times of every entry, of missing ones none.
    fn times<'b>(&self, ns: &'b [Vec<f64>]) -> Vec<&'b [f64]> {
        let times = self.entries.iter().map(|entry| match entry.state {
            State::Candidate(number) => ns.get(number).map_or(&[][..], Vec::as_slice),
            _ => &[],
        });
        times.collect()
    }

    /// Whether Weir meets the targets of this work. There are none for a run that is
    /// limited to fewer instructions.
    fn verdicts(&self, times: &[&[f64]]) -> Vec<Verdict> {
        if instructions::are_limited() {
            return Vec::new();
        }
        let requirements = targets::of(&self.work, self.bytes, self.keys);
        requirements
            .map(|requirement| self.verdict(requirement, times))
            .collect()
    }

    fn verdict(&self, requirement: &Requirement, times: &[&[f64]]) -> Verdict {
        let Requirement {
            against,
            target,
            decides,
            ..
        } = requirement;
        let other = self.compared_with(*against, times);
        let other_ns = match against {
            Against::Limit(ns, _) => Some(vec![*ns; ROUNDS]),
            _ => other.map(|number| times[number].to_vec()),
        };
        let weir = self.entries.iter().position(|it| it.subject == WEIR);
        let ratio = other_ns
            .zip(weir)
            .and_then(|(other, weir)| target.ratio(times[weir], &other));
        // The best peer may be one that is not installed.
        let is_undecided = matches!(against, Against::BestPeer) && self.lacks_a_peer();
        Verdict {
            against: other.map_or_else(
                || against.to_string(),
                |number| self.entries[number].subject.clone(),
            ),
            target: *target,
            decides: *decides,
            ratio: ratio.map(|ratio| ratio.median),
            ratio_quartiles: ratio.map(Quartiles::outer),
            met: ratio
                .filter(|_| !is_undecided)
                .map(|ratio| target.is_met_by(ratio)),
        }
    }

    fn lacks_a_peer(&self) -> bool {
        let is_lacking = |entry: &Entry| matches!(entry.state, State::NotInstalled(_));
        self.entries.iter().any(is_lacking)
    }

    /// The number of the entry that Weir is compared with.
    fn compared_with(&self, against: Against, times: &[&[f64]]) -> Option<usize> {
        let subject = |number: &usize| self.entries[*number].subject.as_str();
        let mut measured = (0..times.len()).filter(|number| !times[*number].is_empty());
        match against {
            Against::BestPeer => {
                let is_own = |name: &str| name.starts_with(WEIR) || name.starts_with(PROTOTYPE);
                fastest(measured.filter(|number| !is_own(subject(number))), times)
            }
            Against::Named(name) => measured.find(|number| subject(number).starts_with(name)),
            Against::Fastest(names) => {
                let is_named = |subject: &str| names.iter().any(|name| subject.starts_with(name));
                fastest(measured.filter(|number| is_named(subject(number))), times)
            }
            Against::Limit(..) => None,
        }
    }
}

/// The entry with the least median.
fn fastest(numbers: impl Iterator<Item = usize>, times: &[&[f64]]) -> Option<usize> {
    let median = |number: usize| Quartiles::of(times[number]).map(|ns| ns.median);
    numbers.min_by(|one, other| median(*one).partial_cmp(&median(*other)).unwrap_or(Equal))
}

#[cfg(test)]
mod tests {
    use weir_bench::{Target, timed};

    use super::*;

    fn comparison(subjects: &[&str]) -> Comparison<'static> {
        let mut comparison = Comparison::new("adding", 1, "none");
        for subject in subjects {
            comparison.add(*subject, timed(1, || Ok(None)));
        }
        comparison
    }

    fn verdict(
        comparison: &Comparison<'_>,
        times: &[Vec<f64>],
        against: Against,
        target: Target,
    ) -> Verdict {
        let requirement = Requirement::new("adding", None, None, against, target);
        comparison.verdict(&requirement, &comparison.times(times))
    }

    #[test]
    fn targets_are_about_the_candidates_that_they_name() {
        let subjects = [
            WEIR,
            "weir, twice",
            "slow 1.0",
            "fast 2.0",
            "c-prototype, short",
        ];
        let comparison = comparison(&subjects);
        let ramp = |from: f64| (0..5).map(|step| from + f64::from(step)).collect();
        let times = [
            vec![1.0; 5],
            vec![1.5; 5],
            ramp(7.0),
            ramp(3.0),
            vec![0.5; 5],
        ];
        let verdict = |against, target| verdict(&comparison, &times, against, target);
        let at_least = Target::SpeedAtLeast;
        let met = verdict(Against::BestPeer, at_least(6.0));
        let expected = Verdict {
            against: "fast 2.0".to_owned(),
            target: at_least(6.0),
            decides: true,
            ratio: Some(5.0),
            ratio_quartiles: Some([4.0, 6.0]),
            met: Some(true),
        };
        assert_eq!(met, expected);
        let is_met = |against, target| verdict(against, target).met;
        assert_eq!(is_met(Against::BestPeer, at_least(6.01)), Some(false));
        assert_eq!(is_met(Against::Named("slow"), at_least(10.0)), Some(true));
        let either = Against::Fastest(&["slow", "fast"]);
        assert_eq!(is_met(either, at_least(6.01)), Some(false));
        assert_eq!(
            is_met(Against::Fastest(&["slow"]), at_least(10.0)),
            Some(true)
        );
        let prototype = Against::Named(PROTOTYPE);
        assert_eq!(is_met(prototype, Target::TimeAtMost(2.0)), Some(true));
        assert_eq!(is_met(prototype, Target::TimeAtMost(1.9)), Some(false));
        let limit = verdict(Against::Limit(1.5, "an instant"), at_least(1.5));
        assert_eq!((limit.ratio, limit.met), (Some(1.5), Some(true)));
        let missing = verdict(Against::Named("absent"), at_least(0.1));
        assert_eq!((missing.ratio, missing.met), (None, None));
    }

    #[test]
    fn no_peer_is_the_best_while_one_is_not_installed() {
        let mut comparison = comparison(&[WEIR, "slow 1.0"]);
        comparison.add_uninstalled("fast", "fast-dev");
        let times = [vec![1.0], vec![2.0]];
        let target = Target::SpeedAtLeast(1.0);
        let best = verdict(&comparison, &times, Against::BestPeer, target);
        assert_eq!((best.ratio, best.met), (Some(2.0), None));
        let named = verdict(&comparison, &times, Against::Named("slow"), target);
        assert_eq!(named.met, Some(true));
    }
}

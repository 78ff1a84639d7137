//! Several subjects at one kind of work, round after round.

use std::cmp::Ordering::Equal;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use weir_bench::Quartiles;

use super::WEIR;
use super::row::{Row, Verdict};
use crate::bars::{self, Against, Bar};

/// Rounds of a contest. In each, every subject has one turn.
const ROUNDS: usize = 35;
/// Rounds of a contest whose turns are long.
const LEAST_ROUNDS: usize = 11;

/// What a turn came to.
#[derive(Clone, Copy, Default)]
pub struct Lap {
    /// Packets processed.
    pub packets: u64,
    /// Time that took.
    pub elapsed: Duration,
    /// What must be the same for all subjects; `None` where a subject cannot
    /// tell.
    pub result: Option<u64>,
}

/// A subject's turn.
pub type Turn<'a> = Box<dyn FnMut() -> Result<Lap> + 'a>;

/// A turn of so many packets that is timed from start to end.
pub fn timed<'a>(
    packets: u64,
    mut work: impl FnMut() -> Result<Option<u64>> + 'a,
) -> impl FnMut() -> Result<Lap> + 'a {
    move || {
        let start = Instant::now();
        let result = work()?;
        Ok(Lap {
            packets,
            elapsed: start.elapsed(),
            result,
        })
    }
}

struct Entrant<'a> {
    subject: String,
    /// Or why there is no such subject here.
    turn: Result<Turn<'a>, String>,
    /// It could take part if it were installed.
    absent: bool,
    note: Option<String>,
}

/// One kind of work, and who is to do it.
pub struct Contest<'a> {
    pub(super) work: String,
    pub(super) bytes: usize,
    pub(super) keys: &'static str,
    /// Rounds that would take longer are left out, down to [`LEAST_ROUNDS`].
    most_time: Option<Duration>,
    entrants: Vec<Entrant<'a>>,
}

impl<'a> Contest<'a> {
    /// A contest over packets of `bytes` bytes each, or on average.
    pub fn new(work: &str, bytes: usize, keys: &'static str) -> Contest<'a> {
        Contest {
            work: work.to_owned(),
            bytes,
            keys,
            most_time: None,
            entrants: Vec::new(),
        }
    }

    /// Has fewer rounds, eleven at least, where all of them would take longer.
    pub fn within(mut self, most_time: Duration) -> Contest<'a> {
        self.most_time = Some(most_time);
        self
    }

    /// Adds a subject.
    pub fn enter(&mut self, subject: impl Into<String>, turn: impl FnMut() -> Result<Lap> + 'a) {
        self.entrants.push(Entrant {
            subject: subject.into(),
            turn: Ok(Box::new(turn)),
            absent: false,
            note: None,
        });
    }

    /// Adds a subject that cannot take part, and says why.
    pub fn miss(&mut self, subject: impl Into<String>, reason: impl Into<String>) {
        self.entrants.push(Entrant {
            subject: subject.into(),
            turn: Err(reason.into()),
            absent: false,
            note: None,
        });
    }

    /// Adds a subject that is not installed, and says what to install.
    pub fn absent(&mut self, subject: impl Into<String>, package: &str) {
        self.entrants.push(Entrant {
            subject: subject.into(),
            turn: Err(format!(
                "it was not here when this was built; Debian's package is {package}"
            )),
            absent: true,
            note: None,
        });
    }

    /// Says something about the subject that was added last.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.entrants.last_mut() {
            last.note = Some(note.into());
        }
    }

    /// Says something about the subject that was added first.
    pub fn note_first(&mut self, note: impl Into<String>) {
        if let Some(first) = self.entrants.first_mut() {
            first.note = Some(note.into());
        }
    }

    /// Has everybody take turns, and returns what came out, entrant by entrant.
    pub(super) fn run(&mut self, machine: &str) -> Result<Vec<Row>> {
        let times = self.times()?;
        let weir = self.entrants.iter().position(|it| it.subject == WEIR);
        let rows = self.entrants.iter().zip(&times).map(|(entrant, own)| {
            let ns = Quartiles::of(own);
            let ratio = weir.and_then(|weir| Quartiles::of_ratios(own, &times[weir]));
            let is_weir = entrant.subject == WEIR;
            Row {
                work: self.work.clone(),
                bytes: self.bytes,
                keys: self.keys.to_owned(),
                subject: entrant.subject.clone(),
                ns_per_packet: ns.map(|ns| ns.median),
                ns_per_packet_quartiles: ns.map(Quartiles::outer),
                gbit_per_s: ns.map(|ns| self.bytes as f64 * 8.0 / ns.median),
                ratio_to_weir: ratio.map(|ratio| ratio.median),
                ratio_to_weir_quartiles: ratio.map(Quartiles::outer),
                rounds: own.len(),
                bars: if is_weir {
                    self.verdicts(&times)
                } else {
                    Vec::new()
                },
                note: entrant
                    .turn
                    .as_ref()
                    .err()
                    .or(entrant.note.as_ref())
                    .cloned(),
                machine: machine.to_owned(),
            }
        });
        Ok(rows.collect())
    }

    /// Times of every entrant in every round, in nanoseconds per packet; none
    /// for those that are missing.
    fn times(&mut self) -> Result<Vec<Vec<f64>>> {
        let start = Instant::now();
        self.warm_up()?;
        let round = start.elapsed();
        let rounds = match self.most_time {
            None => ROUNDS,
            Some(most) => {
                let fitting = most.as_nanos() / round.as_nanos().max(1);
                (fitting as usize).clamp(LEAST_ROUNDS, ROUNDS)
            }
        };
        let count = self.entrants.len();
        let mut times = vec![Vec::with_capacity(ROUNDS); count];
        for round in 0..rounds {
            for step in 0..count {
                // Whoever comes first in a round is another one each time.
                let number = (round + step) % count;
                let Ok(turn) = &mut self.entrants[number].turn else {
                    continue;
                };
                let lap = turn()?;
                times[number].push(lap.elapsed.as_nanos() as f64 / lap.packets as f64);
            }
        }
        Ok(times)
    }

    /// Whether the bars of this work are met in these times.
    fn verdicts(&self, times: &[Vec<f64>]) -> Vec<Verdict> {
        let bars = bars::of(&self.work, self.bytes, self.keys);
        bars.map(|bar| self.verdict(bar, times)).collect()
    }

    fn verdict(&self, bar: &Bar, times: &[Vec<f64>]) -> Verdict {
        let subject = |number: usize| self.entrants[number].subject.as_str();
        let measured = |number: &usize| !times[*number].is_empty();
        let mut others = (0..times.len()).filter(measured);
        let mut rival_is_absent = false;
        let other = match bar.against {
            Against::BestPeer => {
                rival_is_absent = self.entrants.iter().any(|entrant| entrant.absent);
                best(
                    others.filter(|number| !subject(*number).starts_with(WEIR)),
                    times,
                )
            }
            Against::Named(name) => others.find(|number| subject(*number).starts_with(name)),
            Against::BestForm(name) => best(
                others.filter(|number| subject(*number).starts_with(name)),
                times,
            ),
            Against::Limit(..) => None,
        };
        let rival_times = match bar.against {
            Against::Limit(ns, _) => Some(vec![ns; ROUNDS]),
            _ => other.map(|number| times[number].clone()),
        };
        let weir = (0..times.len()).find(|number| subject(*number) == WEIR);
        let ratio = rival_times
            .zip(weir)
            .and_then(|(rival, weir)| Quartiles::of_ratios(&rival, &times[weir]));
        Verdict {
            against: other.map_or(bar.against.to_string(), |number| subject(number).to_owned()),
            at_least: bar.at_least,
            ratio: ratio.map(|ratio| ratio.median),
            ratio_quartiles: ratio.map(Quartiles::outer),
            met: ratio
                .filter(|_| !rival_is_absent)
                .map(|ratio| bar.at_least <= ratio.median),
        }
    }

    /// One turn each, whose results are compared.
    fn warm_up(&mut self) -> Result<()> {
        let mut first: Option<(String, u64)> = None;
        for entrant in &mut self.entrants {
            let Ok(turn) = &mut entrant.turn else {
                continue;
            };
            let Some(result) = turn()?.result else {
                continue;
            };
            match &first {
                None => first = Some((entrant.subject.clone(), result)),
                Some((_, expected)) if *expected == result => {}
                Some((other, expected)) => bail!(
                    "{}, {} bytes: {} comes to {result:#x}, {other} to {expected:#x}",
                    self.work,
                    self.bytes,
                    entrant.subject
                ),
            }
        }
        Ok(())
    }
}

/// Who of these has the least median.
fn best(numbers: impl Iterator<Item = usize>, times: &[Vec<f64>]) -> Option<usize> {
    let median = |number: usize| Quartiles::of(&times[number]).map(|ns| ns.median);
    numbers.min_by(|one, other| median(*one).partial_cmp(&median(*other)).unwrap_or(Equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_that_disagree_are_not_compared() {
        let mut contest = Contest::new("adding", 1, "none");
        contest.enter("one", timed(1, || Ok(Some(2))));
        contest.enter("silent", timed(1, || Ok(None)));
        contest.miss("absent", "it is not here");
        assert!(contest.warm_up().is_ok());
        contest.enter("other", timed(1, || Ok(Some(3))));
        assert!(contest.warm_up().is_err());
    }

    #[test]
    fn a_bar_is_met_that_lies_at_or_below_the_median() {
        let mut contest = Contest::new("adding", 1, "none");
        for subject in [WEIR, "weir, twice", "slow 1.0", "absent", "fast 2.0"] {
            contest.enter(subject, timed(1, || Ok(None)));
        }
        let ramp = |from: f64| (0..5).map(|step| from + f64::from(step)).collect();
        let times: [Vec<f64>; 5] = [vec![1.0; 5], vec![1.5; 5], ramp(7.0), vec![], ramp(3.0)];
        let verdict = |against, at_least| {
            let bar = Bar::new(at_least, against, "adding", None, None);
            contest.verdict(&bar, &times)
        };
        let met = verdict(Against::BestPeer, 5.0);
        let expected = Verdict {
            against: "fast 2.0".to_owned(),
            at_least: 5.0,
            ratio: Some(5.0),
            ratio_quartiles: Some([4.0, 6.0]),
            met: Some(true),
        };
        assert_eq!(met, expected);
        assert_eq!(verdict(Against::BestPeer, 5.01).met, Some(false));
        assert_eq!(verdict(Against::Named("slow"), 9.0).met, Some(true));
        assert_eq!(verdict(Against::BestForm("slow"), 9.0).met, Some(true));
        assert_eq!(verdict(Against::BestForm("slow"), 9.01).met, Some(false));
        let limit = verdict(Against::Limit(1.5, "an instant"), 1.5);
        assert_eq!((limit.ratio, limit.met), (Some(1.5), Some(true)));
        let below = verdict(Against::Limit(0.5, "less than it takes"), 1.0);
        assert_eq!((below.ratio, below.met), (Some(0.5), Some(false)));
        let missing = verdict(Against::Named("absent"), 0.1);
        assert_eq!((missing.ratio, missing.met), (None, None));
    }

    #[test]
    fn no_bar_is_met_while_a_peer_is_not_installed() {
        let mut contest = Contest::new("adding", 1, "none");
        contest.enter(WEIR, timed(1, || Ok(None)));
        contest.enter("slow 1.0", timed(1, || Ok(None)));
        contest.absent("fast", "fast-dev");
        let bar = Bar::new(1.0, Against::BestPeer, "adding", None, None);
        let verdict = contest.verdict(&bar, &[vec![1.0], vec![2.0], vec![]]);
        assert_eq!((verdict.ratio, verdict.met), (Some(2.0), None));
    }
}

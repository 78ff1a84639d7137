//! Contests: several subjects at one kind of work, round after round.

use std::cmp::Ordering::Equal;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::bars::{self, Against, Bar};
use crate::machine::Machine;

/// Rounds of a contest. In each, every subject has one turn.
const ROUNDS: usize = 35;

/// Name of the subject that all others are compared with.
pub const WEIR: &str = "weir";

/// Weir at the opposite work, where one bar is about both.
pub const SEALING: &str = "weir, sealing them";

/// What a sketch cannot do without.
pub const FLOOR: &str = "counter adds alone";

/// Weir's sketches at keys of one word.
pub const SHORT_KEYS: &str = "weir, keys of 32 bits";

/// Weir's sketches on one core.
pub const ONE_SHARD: &str = "weir, one shard";

/// Weir with a tag of one word, which tags of several are compared with.
pub const ONE_WORD: &str = "weir, one word of tag";

/// What one subject needed for one kind of work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Kind of work, as in `aes-128-gcm`.
    pub work: String,
    /// Bytes of a packet.
    pub bytes: usize,
    /// How many keys there were, as in `few`, `4096`, `new`; `none` for work without.
    pub keys: String,
    /// `weir`, or a peer's name and version.
    pub subject: String,
    /// Median over the rounds; absent where the subject could not take part.
    pub ns_per_packet: Option<f64>,
    /// Lower and upper quartile.
    pub ns_per_packet_quartiles: Option<[f64; 2]>,
    /// Bits of packets per nanosecond, at the median time.
    pub gbit_per_s: Option<f64>,
    /// The subject's time by Weir's in the same round, as a median: above 1,
    /// Weir is the faster one.
    pub ratio_to_weir: Option<f64>,
    /// Lower and upper quartile of these.
    pub ratio_to_weir_quartiles: Option<[f64; 2]>,
    /// Rounds measured.
    pub rounds: usize,
    /// On Weir's row, what was promised of this work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<Verdict>,
    /// What to know about the row, as why the subject is missing.
    pub note: Option<String>,
    /// Processor and software that the row was measured with.
    pub machine: String,
}

/// Whether a promise was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Who Weir is compared with: a subject, as its row calls it.
    pub against: String,
    /// How many times as fast as that Weir should be.
    pub at_least: f64,
    /// How many times as fast it is, as a median; absent where there is nobody
    /// to compare with.
    pub ratio: Option<f64>,
    /// Lower and upper quartile of that.
    pub ratio_quartiles: Option<[f64; 2]>,
    /// The bar lies at or below the upper quartile; absent where a peer that
    /// might be the best one is not installed.
    pub met: Option<bool>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bar {} x {}: ",
            bars::factor(self.at_least),
            self.against
        )?;
        f.write_str(match self.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "undecided, for want of a peer",
        })?;
        match (self.ratio, self.ratio_quartiles) {
            (Some(ratio), Some([lower, upper])) => {
                write!(f, ", {ratio:.2} ({lower:.2}-{upper:.2})")
            }
            _ => Ok(()),
        }
    }
}

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
    work: String,
    bytes: usize,
    keys: &'static str,
    entrants: Vec<Entrant<'a>>,
}

impl<'a> Contest<'a> {
    /// A contest over packets of `bytes` bytes each, or on average.
    pub fn new(work: &str, bytes: usize, keys: &'static str) -> Contest<'a> {
        Contest {
            work: work.to_owned(),
            bytes,
            keys,
            entrants: Vec::new(),
        }
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

    /// Times of every entrant in every round, in nanoseconds per packet; none
    /// for those that are missing.
    fn run(&mut self) -> Result<Vec<Vec<f64>>> {
        self.warm_up()?;
        let count = self.entrants.len();
        let mut times = vec![Vec::with_capacity(ROUNDS); count];
        for round in 0..ROUNDS {
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
                .map(|ratio| bar.at_least <= ratio.upper),
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

/// Runs contests, prints what came out, and keeps the rows.
pub struct Scoreboard {
    machine: String,
    only: Option<String>,
    rows: Vec<Row>,
}

impl Scoreboard {
    /// An empty one, for contests in whose `WORK/BYTES/KEYS` a text occurs.
    pub fn new(machine: &Machine, only: Option<String>) -> Scoreboard {
        Scoreboard {
            machine: machine.summary(),
            only,
            rows: Vec::new(),
        }
    }

    /// All rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether a contest is wanted.
    pub fn wants(&self, work: &str, bytes: usize, keys: &str) -> bool {
        let name = format!("{work}/{bytes}/{keys}");
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Runs one contest, if it is wanted.
    pub fn run(&mut self, mut contest: Contest<'_>) -> Result<()> {
        if !self.wants(&contest.work, contest.bytes, contest.keys) {
            return Ok(());
        }
        let times = contest.run()?;
        println!(
            "\n{}, packets of {} bytes, keys: {}",
            contest.work, contest.bytes, contest.keys
        );
        println!(
            "  {:44} {:>24} {:>9} {:>9}  {:>22}",
            "", "ns per packet", "M/s", "Gbit/s", "time by Weir's"
        );
        let weir = contest
            .entrants
            .iter()
            .position(|entrant| entrant.subject == WEIR);
        let mut verdicts = contest.verdicts(&times);
        for (entrant, own) in contest.entrants.iter().zip(&times) {
            let ns = Quartiles::of(own);
            let ratio = weir.and_then(|weir| Quartiles::of_ratios(own, &times[weir]));
            let gbit_per_s = ns.map(|ns| contest.bytes as f64 * 8.0 / ns.median);
            let missing = entrant.turn.as_ref().err();
            let bars = if entrant.subject == WEIR {
                std::mem::take(&mut verdicts)
            } else {
                Vec::new()
            };
            match (ns, gbit_per_s, ratio) {
                (Some(ns), Some(gbit_per_s), Some(ratio)) => println!(
                    "  {:44} {:>8.1} ({:>6.1}-{:>6.1}) {:>9.1} {:>9.2}  {:>6.2} ({:>5.2}-{:>5.2})",
                    entrant.subject,
                    ns.median,
                    ns.lower,
                    ns.upper,
                    1e3 / ns.median,
                    gbit_per_s,
                    ratio.median,
                    ratio.lower,
                    ratio.upper,
                ),
                _ => println!(
                    "  {:44} missing: {}",
                    entrant.subject,
                    missing.map_or("no times", String::as_str)
                ),
            }
            if let Some(note) = &entrant.note {
                println!("  {:44}   {note}", "");
            }
            for verdict in &bars {
                println!("  {:44}   {verdict}", "");
            }
            self.rows.push(Row {
                work: contest.work.clone(),
                bytes: contest.bytes,
                keys: contest.keys.to_owned(),
                subject: entrant.subject.clone(),
                ns_per_packet: ns.map(|ns| ns.median),
                ns_per_packet_quartiles: ns.map(Quartiles::outer),
                gbit_per_s,
                ratio_to_weir: ratio.map(|ratio| ratio.median),
                ratio_to_weir_quartiles: ratio.map(Quartiles::outer),
                rounds: own.len(),
                bars,
                note: missing.or(entrant.note.as_ref()).cloned(),
                machine: self.machine.clone(),
            });
        }
        Ok(())
    }
}

/// Median and quartiles, interpolated between neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Quartiles {
    lower: f64,
    median: f64,
    upper: f64,
}

impl Quartiles {
    /// Of any order of values; `None` of none.
    fn of(values: &[f64]) -> Option<Quartiles> {
        if values.is_empty() {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (below, above) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            below + (above - below) * place.fract()
        };
        Some(Quartiles {
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
        })
    }

    /// Of how many times as long as the others these took, round by round.
    fn of_ratios(these: &[f64], others: &[f64]) -> Option<Quartiles> {
        let ratios = these.iter().zip(others).map(|(this, other)| this / other);
        Quartiles::of(&ratios.collect::<Vec<f64>>())
    }

    fn outer(self) -> [f64; 2] {
        [self.lower, self.upper]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_eleven_lie_between_neighbours() {
        let values = [11.0, 1.0, 10.0, 2.0, 9.0, 3.0, 8.0, 4.0, 7.0, 5.0, 6.0];
        let expected = Quartiles {
            lower: 3.5,
            median: 6.0,
            upper: 8.5,
        };
        assert_eq!(Quartiles::of(&values), Some(expected));
        assert_eq!(Quartiles::of(&[]), None);
    }

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
    fn a_bar_is_met_that_lies_at_or_below_the_upper_quartile() {
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
        let met = verdict(Against::BestPeer, 6.0);
        let expected = Verdict {
            against: "fast 2.0".to_owned(),
            at_least: 6.0,
            ratio: Some(5.0),
            ratio_quartiles: Some([4.0, 6.0]),
            met: Some(true),
        };
        assert_eq!(met, expected);
        assert_eq!(verdict(Against::BestPeer, 6.01).met, Some(false));
        assert_eq!(verdict(Against::Named("slow"), 9.5).met, Some(true));
        assert_eq!(verdict(Against::BestForm("slow"), 9.5).met, Some(true));
        assert_eq!(verdict(Against::BestForm("slow"), 10.5).met, Some(false));
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

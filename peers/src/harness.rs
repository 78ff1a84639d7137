//! Contests: several subjects at one kind of work, round after round.

use std::time::Instant;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::machine::Machine;

/// Rounds of a contest. In each, every subject has one turn.
const ROUNDS: usize = 11;

/// Name of the subject that all others are compared with.
pub const WEIR: &str = "weir";

/// What one subject needed for one kind of work.
#[derive(Clone, Debug, Serialize)]
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
    /// What to know about the row, as why the subject is missing.
    pub note: Option<String>,
    /// Processor and software that the row was measured with.
    pub machine: String,
}

/// A subject's turn: all packets once. What it returns must be the same for
/// all subjects; `None` where the subject cannot tell.
pub type Turn<'a> = Box<dyn FnMut() -> Result<Option<u64>> + 'a>;

struct Entrant<'a> {
    subject: String,
    /// Or why there is no such subject here.
    turn: Result<Turn<'a>, String>,
    note: Option<String>,
}

/// One kind of work, and who is to do it.
pub struct Contest<'a> {
    work: String,
    bytes: usize,
    keys: &'static str,
    /// Packets of one turn.
    packets: u64,
    entrants: Vec<Entrant<'a>>,
}

impl<'a> Contest<'a> {
    /// A contest over `packets` packets a turn of `bytes` bytes each.
    pub fn new(work: &str, bytes: usize, keys: &'static str, packets: u64) -> Contest<'a> {
        Contest {
            work: work.to_owned(),
            bytes,
            keys,
            packets,
            entrants: Vec::new(),
        }
    }

    /// Adds a subject.
    pub fn enter(
        &mut self,
        subject: impl Into<String>,
        turn: impl FnMut() -> Result<Option<u64>> + 'a,
    ) {
        self.entrants.push(Entrant {
            subject: subject.into(),
            turn: Ok(Box::new(turn)),
            note: None,
        });
    }

    /// Adds a subject that cannot take part, and says why.
    pub fn miss(&mut self, subject: impl Into<String>, reason: impl Into<String>) {
        self.entrants.push(Entrant {
            subject: subject.into(),
            turn: Err(reason.into()),
            note: None,
        });
    }

    /// Says something about the subject that was added last.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.entrants.last_mut() {
            last.note = Some(note.into());
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
                let start = Instant::now();
                turn()?;
                let ns = start.elapsed().as_nanos() as f64;
                times[number].push(ns / self.packets as f64);
            }
        }
        Ok(times)
    }

    /// One turn each, whose results are compared.
    fn warm_up(&mut self) -> Result<()> {
        let mut first: Option<(String, u64)> = None;
        for entrant in &mut self.entrants {
            let Ok(turn) = &mut entrant.turn else {
                continue;
            };
            let Some(result) = turn()? else {
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

/// Runs contests, prints what came out, and keeps the rows.
pub struct Scoreboard {
    machine: String,
    rows: Vec<Row>,
}

impl Scoreboard {
    /// An empty one.
    pub fn new(machine: &Machine) -> Scoreboard {
        Scoreboard {
            machine: machine.summary(),
            rows: Vec::new(),
        }
    }

    /// All rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Runs one contest.
    pub fn run(&mut self, mut contest: Contest<'_>) -> Result<()> {
        let times = contest.run()?;
        println!(
            "\n{}, packets of {} bytes, keys: {}",
            contest.work, contest.bytes, contest.keys
        );
        println!(
            "  {:44} {:>24} {:>9}  {:>22}",
            "", "ns per packet", "Gbit/s", "time by Weir's"
        );
        let weir = contest
            .entrants
            .iter()
            .position(|entrant| entrant.subject == WEIR);
        for (entrant, own) in contest.entrants.iter().zip(&times) {
            let ratios: Vec<f64> = match weir {
                Some(weir) => own
                    .iter()
                    .zip(&times[weir])
                    .map(|(own, weir)| own / weir)
                    .collect(),
                None => Vec::new(),
            };
            let ns = Quartiles::of(own);
            let ratio = Quartiles::of(&ratios);
            let gbit_per_s = ns.map(|ns| contest.bytes as f64 * 8.0 / ns.median);
            let missing = entrant.turn.as_ref().err();
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
                note: missing.or(entrant.note.as_ref()).cloned(),
                machine: self.machine.clone(),
            });
            match (ns, gbit_per_s, ratio) {
                (Some(ns), Some(gbit_per_s), Some(ratio)) => println!(
                    "  {:44} {:>8.1} ({:>6.1}-{:>6.1}) {:>9.2}  {:>6.2} ({:>5.2}-{:>5.2})",
                    entrant.subject,
                    ns.median,
                    ns.lower,
                    ns.upper,
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
        let mut contest = Contest::new("adding", 1, "none", 1);
        contest.enter("one", || Ok(Some(2)));
        contest.enter("silent", || Ok(None));
        contest.miss("absent", "it is not here");
        assert!(contest.warm_up().is_ok());
        contest.enter("other", || Ok(Some(3)));
        assert!(contest.warm_up().is_err());
    }
}

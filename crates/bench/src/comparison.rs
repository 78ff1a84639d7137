//! Candidates measured in interleaved rounds.

use std::time::{Duration, Instant};

/// What a candidate needed for one sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Packets processed.
    pub packets: u64,
    /// Time that they took.
    pub elapsed: Duration,
    /// A checksum of the results, which all candidates must agree on; `None`
    /// where a candidate cannot tell.
    pub checksum: Option<u64>,
}

impl Sample {
    /// Nanoseconds per packet.
    pub fn ns_per_packet(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.packets as f64
    }
}

/// The parts of a sample, each timed by itself, so that those during which the thread
/// was interrupted can be left out: on a busy machine, a millisecond in which another
/// thread runs is longer than all other parts together.
#[derive(Debug, Default)]
pub struct SampleParts {
    parts: Vec<(u64, Duration)>,
}

impl SampleParts {
    /// A part counts as interrupted if it took more than this multiple of the median
    /// time per packet. Caches and clock change times by less.
    const INTERRUPTED: f64 = 3.0;

    /// Adds a part.
    pub fn push(&mut self, packets: u64, elapsed: Duration) {
        self.parts.push((packets, elapsed));
    }

    /// The sample of all parts that were not interrupted. Removes the parts.
    pub fn take_sample(&mut self) -> Sample {
        let ns = |(packets, elapsed): &(u64, Duration)| {
            elapsed.as_nanos() as f64 / (*packets).max(1) as f64
        };
        self.parts
            .sort_unstable_by(|one, other| ns(one).total_cmp(&ns(other)));
        let median = self.parts.get(self.parts.len() / 2).map_or(0.0, ns);
        let mut sample = Sample::default();
        for part in self.parts.drain(..) {
            if ns(&part) <= Self::INTERRUPTED * median {
                sample.packets += part.0;
                sample.elapsed += part.1;
            }
        }
        sample
    }
}

/// A function that takes a sample of `packets` packets by timing `work` from start
/// to end. `work` returns the checksum of the sample.
pub fn timed<'a, E>(
    packets: u64,
    mut work: impl FnMut() -> Result<Option<u64>, E> + 'a,
) -> impl FnMut() -> Result<Sample, E> + 'a {
    move || {
        let start = Instant::now();
        let checksum = work()?;
        Ok(Sample {
            packets,
            elapsed: start.elapsed(),
            checksum,
        })
    }
}

/// Something that is measured beside others.
pub struct Candidate<'a, E> {
    /// Its name, for errors.
    name: String,
    take_sample: Box<dyn FnMut() -> Result<Sample, E> + 'a>,
}

impl<'a, E> Candidate<'a, E> {
    /// A candidate of this name; `take_sample` does the work once.
    pub fn new(
        name: impl Into<String>,
        take_sample: impl FnMut() -> Result<Sample, E> + 'a,
    ) -> Candidate<'a, E> {
        Candidate {
            name: name.into(),
            take_sample: Box::new(take_sample),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// How many rounds a comparison has.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds where no time is set.
    pub most: usize,
    /// Rounds however long they take.
    pub least: usize,
    /// Rounds beyond `least` that would take longer are left out.
    pub time: Option<Duration>,
}

impl Rounds {
    /// This many.
    pub fn exactly(count: usize) -> Rounds {
        Rounds {
            most: count,
            least: count,
            time: None,
        }
    }

    /// The number of rounds where one round takes this long.
    fn count(&self, round: Duration) -> usize {
        let Some(time) = self.time else {
            return self.most;
        };
        let fitting = time.as_nanos() / round.as_nanos().max(1);
        usize::try_from(fitting)
            .unwrap_or(usize::MAX)
            .clamp(self.least, self.most)
    }
}

/// Two candidates came to different results.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{candidate} comes to {found:#x}, {reference} to {expected:#x}")]
pub struct Disagreement {
    /// The candidate that differs.
    pub candidate: String,
    /// Its checksum.
    pub found: u64,
    /// The first candidate that has a checksum.
    pub reference: String,
    /// Its checksum.
    pub expected: u64,
}

/// Measures candidates in interleaved rounds: in each, every candidate takes one
/// sample, so that a change of the machine's state affects all of them alike. Each
/// round begins with another candidate. A first round, which is not counted, warms
/// the caches and compares the checksums.
///
/// Returns the nanoseconds per packet of each candidate's samples, in the order of
/// the rounds. `before_round` is called with the number of rounds done; where it
/// returns `false`, the comparison ends without result.
///
/// # Errors
/// [`Disagreement`] where checksums differ, and the errors of the candidates.
pub fn compare<E: From<Disagreement>>(
    candidates: &mut [Candidate<'_, E>],
    rounds: Rounds,
    mut before_round: impl FnMut(usize) -> bool,
) -> Result<Option<Vec<Vec<f64>>>, E> {
    let start = Instant::now();
    warm_up(candidates)?;
    let count = rounds.count(start.elapsed());
    let mut ns = vec![Vec::with_capacity(count); candidates.len()];
    for round in 0..count {
        if !before_round(round) {
            return Ok(None);
        }
        for step in 0..candidates.len() {
            let number = (round + step) % candidates.len();
            let sample = (candidates[number].take_sample)()?;
            ns[number].push(sample.ns_per_packet());
        }
    }
    Ok(Some(ns))
}

/// Takes one sample of each, and compares their checksums.
fn warm_up<E: From<Disagreement>>(candidates: &mut [Candidate<'_, E>]) -> Result<(), E> {
    let mut first: Option<(String, u64)> = None;
    for candidate in candidates {
        let Some(found) = (candidate.take_sample)()?.checksum else {
            continue;
        };
        match &first {
            None => first = Some((candidate.name.clone(), found)),
            Some((_, expected)) if *expected == found => {}
            Some((reference, expected)) => {
                return Err(E::from(Disagreement {
                    candidate: candidate.name.clone(),
                    found,
                    reference: reference.clone(),
                    expected: *expected,
                }));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, checksum: Option<u64>) -> Candidate<'static, Disagreement> {
        Candidate::new(name, timed(1, move || Ok(checksum)))
    }

    #[test]
    fn candidates_that_disagree_are_not_compared() {
        let agreeing = &mut [candidate("one", Some(2)), candidate("silent", None)];
        let ns = compare(agreeing, Rounds::exactly(3), |_| true).expect("samples");
        let ns = ns.expect("all rounds");
        assert_eq!(ns.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);

        let other = &mut [candidate("one", Some(2)), candidate("other", Some(3))];
        let error = compare(other, Rounds::exactly(3), |_| true).expect_err("other results");
        assert_eq!(error.to_string(), "other comes to 0x3, one to 0x2");
    }

    #[test]
    fn each_round_begins_with_another_candidate() {
        let order = std::cell::RefCell::new(Vec::new());
        let mut candidates: Vec<Candidate<'_, Disagreement>> = (0..3)
            .map(|number| {
                let order = &order;
                let note = timed(1, move || {
                    order.borrow_mut().push(number);
                    Ok(None)
                });
                Candidate::new(number.to_string(), note)
            })
            .collect();
        compare(&mut candidates, Rounds::exactly(2), |_| true).expect("samples");
        assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2, 1, 2, 0]);
    }

    #[test]
    fn a_comparison_can_be_ended() {
        let candidates = &mut [candidate("one", None)];
        let ns = compare(candidates, Rounds::exactly(3), |done| done < 2);
        assert_eq!(ns, Ok(None));
    }

    #[test]
    fn interrupted_parts_do_not_count() {
        let mut parts = SampleParts::default();
        for ns in [100, 110, 90, 5_000, 105] {
            parts.push(10, Duration::from_nanos(ns));
        }
        parts.push(1, Duration::from_nanos(25));
        let sample = parts.take_sample();
        assert_eq!(
            (sample.packets, sample.elapsed),
            (41, Duration::from_nanos(430))
        );
        assert_eq!(parts.take_sample().packets, 0);
        parts.push(1, Duration::from_nanos(7));
        assert_eq!(parts.take_sample().ns_per_packet(), 7.0);
    }

    #[test]
    fn rounds_fit_their_time() {
        let rounds = Rounds {
            most: 35,
            least: 11,
            time: Some(Duration::from_millis(100)),
        };
        let count = |ms| rounds.count(Duration::from_millis(ms));
        assert_eq!([count(1), count(5), count(50), count(0)], [35, 20, 11, 35]);
        assert_eq!(Rounds::exactly(7).count(Duration::from_secs(9)), 7);
    }
}

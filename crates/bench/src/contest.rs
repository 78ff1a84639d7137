//! Rounds, in which each subject has one turn.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use weir_crypto::{Exhausted, JobError, KeyError};

use crate::cycles::ns_per_cycle;
use crate::plan::{Plan, PlanError};
use crate::quartiles::Quartiles;
use crate::row::Row;

/// A turn lasts about so long, so that it is long beside what the clock and the
/// scheduler do.
const TURN: Duration = Duration::from_millis(2);

/// How far the work has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Rounds done, of all sizes.
    pub done: usize,
    /// Rounds there are, of all sizes.
    pub of: usize,
}

/// Why nothing came out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key was refused.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// A key's counter came to its end.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// A batch was refused.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A packet that was sealed a moment ago did not verify.
    #[error("{algorithm}: an authentic packet was refused, which is a defect")]
    Refused {
        /// Whose packet.
        algorithm: String,
    },
    /// A thread ended before its work.
    #[error("a thread of the benchmark panicked, which is a defect")]
    Thread,
}

/// Something that works on a batch of packets again and again.
pub(crate) trait Worker: Send {
    /// Packets of a batch.
    fn packets(&self) -> usize;

    /// One batch; returns the time that counts.
    fn pass(&mut self) -> Result<Duration, RunError>;
}

/// An algorithm in one mode, with a worker for each thread.
pub(crate) struct Entrant {
    pub(crate) algorithm: String,
    pub(crate) mode: &'static str,
    pub(crate) workers: Vec<Box<dyn Worker>>,
}

/// A worker that does something, and one that undoes or checks what it did.
pub(crate) type Pair = (Box<dyn Worker>, Box<dyn Worker>);

/// Enters an algorithm in both of its modes, with a pair of workers, of which
/// each is told its number, for each thread.
pub(crate) fn enter_both(
    algorithm: &str,
    [first, second]: [&'static str; 2],
    threads: usize,
    pair: impl Fn(u64) -> Result<Pair, RunError>,
    entrants: &mut Vec<Entrant>,
) -> Result<(), RunError> {
    let pairs: Vec<Pair> = (0..threads as u64).map(pair).collect::<Result<_, _>>()?;
    let (firsts, seconds) = pairs.into_iter().unzip();
    for (mode, workers) in [(first, firsts), (second, seconds)] {
        entrants.push(Entrant {
            algorithm: algorithm.to_owned(),
            mode,
            workers,
        });
    }
    Ok(())
}

/// Measures at each size those whom `make` enters for it.
pub(crate) fn run(
    plan: &Plan,
    make: impl Fn(usize) -> Result<Vec<Entrant>, RunError>,
    mut progress: impl FnMut(Progress) -> bool,
) -> Result<Vec<Row>, RunError> {
    let of = plan.bytes.len() * plan.rounds;
    let mut done = 0;
    let mut rows = Vec::new();
    for &bytes in &plan.bytes {
        let mut entrants = make(bytes)?;
        let passes = entrants.iter_mut().map(passes_of_a_turn);
        let passes: Vec<u32> = passes.collect::<Result<_, _>>()?;
        let mut ns = vec![Vec::new(); entrants.len()];
        let mut cycle_ns = Vec::new();
        for round in 0..plan.rounds {
            if !progress(Progress { done, of }) {
                return Ok(rows);
            }
            cycle_ns.extend(ns_per_cycle());
            for step in 0..entrants.len() {
                // Whoever comes first in a round is another one each time.
                let number = (round + step) % entrants.len();
                ns[number].push(turn(&mut entrants[number], passes[number])?);
            }
            done += 1;
        }
        let cycle_ns = Quartiles::of(&cycle_ns).map(|ns| ns.median);
        for (entrant, ns) in entrants.iter().zip(&ns) {
            rows.extend(Quartiles::of(ns).map(|ns| row(plan, entrant, bytes, ns, cycle_ns)));
        }
    }
    progress(Progress { done, of });
    Ok(rows)
}

/// How many batches fit a turn; the first batch, which meets cold caches, is not
/// asked.
fn passes_of_a_turn(entrant: &mut Entrant) -> Result<u32, RunError> {
    let mut once = Duration::ZERO;
    for worker in &mut entrant.workers {
        worker.pass()?;
        once = once.max(worker.pass()?);
    }
    let passes = TURN.as_nanos().div_ceil(once.as_nanos().max(1));
    Ok(u32::try_from(passes).unwrap_or(u32::MAX))
}

/// Nanoseconds per packet of the thread that needed longest.
fn turn(entrant: &mut Entrant, passes: u32) -> Result<f64, RunError> {
    let packets = f64::from(passes) * entrant.workers.first().map_or(0, |w| w.packets()) as f64;
    let longest = match &mut entrant.workers[..] {
        [worker] => passes_of(worker.as_mut(), passes)?,
        workers => side_by_side(workers, passes)?,
    };
    Ok(longest.as_nanos() as f64 / packets)
}

fn passes_of(worker: &mut dyn Worker, passes: u32) -> Result<Duration, RunError> {
    let mut elapsed = Duration::ZERO;
    for _ in 0..passes {
        elapsed += worker.pass()?;
    }
    Ok(elapsed)
}

/// All workers at once, each on a thread of its own.
fn side_by_side(workers: &mut [Box<dyn Worker>], passes: u32) -> Result<Duration, RunError> {
    let start = Barrier::new(workers.len());
    thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                scope.spawn(|| {
                    start.wait();
                    passes_of(worker.as_mut(), passes)
                })
            })
            .collect();
        let mut longest = Duration::ZERO;
        for thread in threads {
            longest = longest.max(thread.join().map_err(|_| RunError::Thread)??);
        }
        Ok(longest)
    })
}

fn row(plan: &Plan, entrant: &Entrant, bytes: usize, ns: Quartiles, cycle_ns: Option<f64>) -> Row {
    Row {
        algorithm: entrant.algorithm.clone(),
        mode: entrant.mode,
        level: weir_simd::tier().name(),
        bytes,
        keys: plan.keys,
        threads: plan.threads,
        gbit_per_s: (8 * bytes * plan.threads) as f64 / ns.median,
        ns_per_packet: ns.median,
        ns_per_packet_quartiles: [ns.lower, ns.upper],
        cycles_per_byte: cycle_ns.map(|cycle_ns| ns.median / cycle_ns / bytes as f64),
        rounds: plan.rounds,
    }
}

/// The time that `work` takes.
pub(crate) fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

//! Algorithms measured by a plan.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use weir_crypto::{KeyError, Refusal, Suite};

use crate::comparison::{Candidate, Disagreement, Rounds, Sample, compare};
use crate::cycles::ns_per_cycle;
use crate::plan::{Plan, PlanError};
use crate::quartiles::Quartiles;
use crate::row::Row;

/// About how long a sample takes: long beside the clock's resolution and the
/// scheduler's interruptions.
const SAMPLE_TIME: Duration = Duration::from_millis(2);

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Rounds done, of all sizes.
    pub done: usize,
    /// Rounds there are, of all sizes.
    pub of: usize,
}

/// Why a plan has no rows.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A key was refused.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// A packet was not taken into a batch.
    #[error(transparent)]
    Packet(#[from] Refusal),
    /// A packet was not sealed, or did not verify a moment after it was.
    #[error("{algorithm}: an authentic packet was refused, which is a defect")]
    Refused {
        /// Whose packet.
        algorithm: String,
    },
    /// Two algorithms that must agree do not.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
    /// A thread ended before its work.
    #[error("a thread of the benchmark panicked, which is a defect")]
    Thread,
}

impl RunError {
    /// A packet of `suite` was refused.
    pub(crate) fn defect(suite: Suite) -> RunError {
        RunError::Refused {
            algorithm: suite.name(),
        }
    }
}

/// Something that works on a batch of packets again and again.
pub(crate) trait Worker: Send {
    /// Packets of a batch.
    fn packets(&self) -> usize;

    /// Works on one batch; returns the time that counts.
    fn pass(&mut self) -> Result<Duration, RunError>;
}

/// An algorithm in one mode, with a worker for each thread.
pub(crate) struct Benchmark {
    pub(crate) algorithm: String,
    pub(crate) mode: &'static str,
    pub(crate) workers: Vec<Box<dyn Worker>>,
}

/// A worker that does something, and one that reverses or checks it.
pub(crate) type Pair = (Box<dyn Worker>, Box<dyn Worker>);

/// Adds an algorithm in both of its modes, with a pair of workers for each thread.
/// `pair` is called with the number of the thread.
pub(crate) fn add_both(
    algorithm: &str,
    [first, second]: [&'static str; 2],
    threads: usize,
    pair: impl Fn(u64) -> Result<Pair, RunError>,
    benchmarks: &mut Vec<Benchmark>,
) -> Result<(), RunError> {
    let pairs: Vec<Pair> = (0..threads as u64).map(pair).collect::<Result<_, _>>()?;
    let (firsts, seconds) = pairs.into_iter().unzip();
    for (mode, workers) in [(first, firsts), (second, seconds)] {
        benchmarks.push(Benchmark {
            algorithm: algorithm.to_owned(),
            mode,
            workers,
        });
    }
    Ok(())
}

/// Measures, at each size, the algorithms that `make` returns for it.
pub(crate) fn run(
    plan: &Plan,
    make: impl Fn(usize) -> Result<Vec<Benchmark>, RunError>,
    mut progress: impl FnMut(Progress) -> bool,
) -> Result<Vec<Row>, RunError> {
    let of = plan.bytes.len() * plan.rounds;
    let mut rows = Vec::new();
    for (size, &bytes) in plan.bytes.iter().enumerate() {
        let mut benchmarks = make(bytes)?;
        let candidates = benchmarks.iter_mut().map(candidate);
        let mut candidates = candidates.collect::<Result<Vec<_>, _>>()?;
        let mut cycle_ns = Vec::new();
        let ns = compare(&mut candidates, Rounds::exactly(plan.rounds), |round| {
            let done = size * plan.rounds + round;
            cycle_ns.extend(ns_per_cycle());
            progress(Progress { done, of })
        })?;
        drop(candidates);
        let Some(ns) = ns else {
            return Ok(rows);
        };
        let cycle_ns = Quartiles::of(&cycle_ns).map(|ns| ns.median);
        for (benchmark, ns) in benchmarks.iter().zip(&ns) {
            rows.extend(Quartiles::of(ns).map(|ns| row(plan, benchmark, bytes, ns, cycle_ns)));
        }
    }
    progress(Progress { done: of, of });
    Ok(rows)
}

/// The candidate whose sample is as many batches as fit [`SAMPLE_TIME`].
fn candidate(benchmark: &mut Benchmark) -> Result<Candidate<'_, RunError>, RunError> {
    let passes = passes_of_a_sample(benchmark)?;
    let packets = benchmark.workers.first().map_or(0, |w| w.packets()) as u64;
    let workers = &mut benchmark.workers;
    Ok(Candidate::new(&benchmark.algorithm, move || {
        Ok(Sample {
            packets: u64::from(passes) * packets,
            elapsed: longest_time(workers, passes)?,
            checksum: None,
        })
    }))
}

/// How many batches fit a sample, by the second batch: the first one meets cold
/// caches.
fn passes_of_a_sample(benchmark: &mut Benchmark) -> Result<u32, RunError> {
    let mut once = Duration::ZERO;
    for worker in &mut benchmark.workers {
        worker.pass()?;
        once = once.max(worker.pass()?);
    }
    let passes = SAMPLE_TIME.as_nanos().div_ceil(once.as_nanos().max(1));
    Ok(u32::try_from(passes).unwrap_or(u32::MAX))
}

/// The time of the thread that needed longest.
fn longest_time(workers: &mut [Box<dyn Worker>], passes: u32) -> Result<Duration, RunError> {
    match workers {
        [worker] => passes_of(worker.as_mut(), passes),
        workers => on_threads(workers, passes),
    }
}

fn passes_of(worker: &mut dyn Worker, passes: u32) -> Result<Duration, RunError> {
    let mut elapsed = Duration::ZERO;
    for _ in 0..passes {
        elapsed += worker.pass()?;
    }
    Ok(elapsed)
}

/// All workers at the same time, each on its own thread.
fn on_threads(workers: &mut [Box<dyn Worker>], passes: u32) -> Result<Duration, RunError> {
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

fn row(
    plan: &Plan,
    benchmark: &Benchmark,
    bytes: usize,
    ns: Quartiles,
    cycle_ns: Option<f64>,
) -> Row {
    Row {
        algorithm: benchmark.algorithm.clone(),
        mode: benchmark.mode,
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

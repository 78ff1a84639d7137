//! Accounts of a run: every record, every drop, how long it took.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::arrival::Arrival;
use crate::disposition::{DropCode, DropReason, MAX_DROP_REASONS};
use crate::latency::{Latencies, LatencyMeter};
use crate::vocabulary::Vocabulary;
use crate::word::Word;

/// What is known of received records besides their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrivalTally {
    pub wire_bytes: u64,
    pub time_implausible: u64,
    pub clock_jumps: u64,
    pub length_implausible: u64,
}

impl ArrivalTally {
    #[inline(always)]
    pub fn note(&mut self, arrival: &Arrival) {
        self.wire_bytes += u64::from(arrival.wire_bytes);
        if arrival.is_unusual() {
            self.note_unusual(arrival);
        }
    }

    #[cold]
    fn note_unusual(&mut self, arrival: &Arrival) {
        self.time_implausible += u64::from(arrival.is_time_implausible());
        self.clock_jumps += u64::from(arrival.is_clock_jump);
        self.length_implausible += u64::from(arrival.is_length_implausible);
    }

    pub fn add(&mut self, other: &ArrivalTally) {
        self.wire_bytes += other.wire_bytes;
        self.time_implausible += other.time_implausible;
        self.clock_jumps += other.clock_jumps;
        self.length_implausible += other.length_implausible;
    }
}

/// The accounts of one batch.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub packets: u64,
    pub bytes: u64,
    pub arrivals: ArrivalTally,
    pub created: u64,
    pub forwarded: u64,
    pub forwarded_bytes: u64,
    /// By code. Those without a bit in `dropped` are 0.
    drops: [u64; MAX_DROP_REASONS],
    dropped: u128,
    pub held: u64,
    pub released: u64,
    pub absorbed: u64,
    pub events: u64,
    /// Records that came from another shard in the middle of the pipeline.
    pub taken_over: u64,
    /// Records that went to another shard there.
    pub handed_over: u64,
    pub batches: u64,
}

/// Counters of a tally besides those of drops.
pub(crate) const COUNTS: usize = 16;

/// A code is a bit of `Tally::dropped`.
const _: () = assert!(MAX_DROP_REASONS == u128::BITS as usize);

impl Tally {
    /// Counts records that were dropped.
    #[inline]
    pub fn add_drops(&mut self, code: DropCode, records: u64) {
        self.drops[code.index()] += records;
        self.dropped |= 1 << code.index();
    }

    /// The codes for which records were dropped, with their numbers.
    #[inline]
    pub fn drops_by_code(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut left = self.dropped;
        std::iter::from_fn(move || {
            let code = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (code < MAX_DROP_REASONS).then(|| (code, self.drops[code]))
        })
    }

    /// Empties the accounts. Most of the drops are zero already.
    pub fn reset(&mut self) {
        let mut left = self.dropped;
        while left != 0 {
            self.drops[left.trailing_zeros() as usize] = 0;
            left &= left - 1;
        }
        self.dropped = 0;
        (self.packets, self.bytes, self.arrivals) = (0, 0, ArrivalTally::default());
        (self.created, self.absorbed) = (0, 0);
        (self.forwarded, self.forwarded_bytes) = (0, 0);
        (self.held, self.released) = (0, 0);
        (self.taken_over, self.handed_over) = (0, 0);
        (self.events, self.batches) = (0, 0);
    }

    /// All counters but those of drops, for meters.
    #[inline]
    pub fn counts(&self) -> [u64; COUNTS] {
        [
            self.packets,
            self.bytes,
            self.arrivals.wire_bytes,
            self.arrivals.time_implausible,
            self.arrivals.clock_jumps,
            self.arrivals.length_implausible,
            self.created,
            self.forwarded,
            self.forwarded_bytes,
            self.held,
            self.released,
            self.absorbed,
            self.events,
            self.taken_over,
            self.handed_over,
            self.batches,
        ]
    }

    /// The accounts with these counters.
    pub fn of_counts(counts: [u64; COUNTS], drops: [u64; MAX_DROP_REASONS]) -> Tally {
        let [
            packets,
            bytes,
            wire_bytes,
            time_implausible,
            clock_jumps,
            length_implausible,
            created,
            forwarded,
            forwarded_bytes,
            held,
            released,
            absorbed,
            events,
            taken_over,
            handed_over,
            batches,
        ] = counts;
        Tally {
            packets,
            bytes,
            arrivals: ArrivalTally {
                wire_bytes,
                time_implausible,
                clock_jumps,
                length_implausible,
            },
            created,
            forwarded,
            forwarded_bytes,
            drops,
            dropped: u128::MAX,
            held,
            released,
            absorbed,
            events,
            taken_over,
            handed_over,
            batches,
        }
    }

    /// Adds the accounts of others.
    fn add(&mut self, other: &Tally) {
        let (mine, theirs) = (self.counts(), other.counts());
        let mut drops = self.drops;
        for (sum, drops) in drops.iter_mut().zip(&other.drops) {
            *sum += drops;
        }
        *self = Tally::of_counts(std::array::from_fn(|at| mine[at] + theirs[at]), drops);
    }

    /// Records that came to their end here, as far as none was made or held.
    pub fn ended(&self) -> u64 {
        (self.packets + self.taken_over).saturating_sub(self.handed_over)
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            packets: 0,
            bytes: 0,
            arrivals: ArrivalTally::default(),
            created: 0,
            forwarded: 0,
            forwarded_bytes: 0,
            drops: [0; MAX_DROP_REASONS],
            dropped: 0,
            held: 0,
            released: 0,
            absorbed: 0,
            events: 0,
            taken_over: 0,
            handed_over: 0,
            batches: 0,
        }
    }
}

/// The accounts of a run, or of one shard of it.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// What the counters of drops count.
    vocabulary: Arc<Vocabulary>,
    tally: Tally,
    latencies: Latencies,
    elapsed: Duration,
}

impl Statistics {
    /// Accounts of nothing, for a pipeline with this vocabulary.
    pub(crate) fn new(vocabulary: &Arc<Vocabulary>) -> Statistics {
        Statistics {
            vocabulary: Arc::clone(vocabulary),
            tally: Tally::default(),
            latencies: Latencies::none(),
            elapsed: Duration::ZERO,
        }
    }

    /// What meters show.
    pub(crate) fn read(
        vocabulary: &Arc<Vocabulary>,
        tally: Tally,
        latency: &LatencyMeter,
        elapsed: Duration,
    ) -> Statistics {
        let mut latencies = Latencies::none();
        latencies.add_meter(latency);
        Statistics {
            vocabulary: Arc::clone(vocabulary),
            tally,
            latencies,
            elapsed,
        }
    }

    /// Adds the accounts of another thread, or of another pipeline with the same vocabulary,
    /// that ran at the same time.
    pub(crate) fn merge(&mut self, other: &Statistics) {
        self.tally.add(&other.tally);
        self.latencies.add(&other.latencies);
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// Records received from sources.
    pub fn packets(&self) -> u64 {
        self.tally.packets
    }

    /// Bytes of the received records, as far as they were captured.
    pub fn bytes(&self) -> u64 {
        self.tally.bytes
    }

    /// Bytes that the received records had on the wire.
    pub fn wire_bytes(&self) -> u64 {
        self.tally.arrivals.wire_bytes
    }

    /// Records whose timestamps were not believed ([`CaptureClock`](crate::CaptureClock)).
    pub fn time_implausible(&self) -> u64 {
        self.tally.arrivals.time_implausible
    }

    /// Jumps of the stream's clock by more than its reach.
    pub fn clock_jumps(&self) -> u64 {
        self.tally.arrivals.clock_jumps
    }

    /// Records with a length on the wire above that of the longest packet.
    pub fn length_implausible(&self) -> u64 {
        self.tally.arrivals.length_implausible
    }

    /// Records made by stages.
    pub fn created(&self) -> u64 {
        self.tally.created
    }

    /// Records that went out.
    pub fn forwarded(&self) -> u64 {
        self.tally.forwarded
    }

    /// Bytes of the records that went out.
    pub fn forwarded_bytes(&self) -> u64 {
        self.tally.forwarded_bytes
    }

    /// Records that stages still hold.
    pub fn held(&self) -> u64 {
        self.tally.held.saturating_sub(self.tally.released)
    }

    /// Records consumed by stages.
    pub fn absorbed(&self) -> u64 {
        self.tally.absorbed
    }

    /// Records between two workers: handed over by one, and not yet taken by the other. The counters
    /// of workers are read one after the other, so that it may be negative in a snapshot; the law
    /// holds exactly all the same, `packets + created = forwarded + drops + held + absorbed +
    /// between_workers`.
    pub fn between_workers(&self) -> i64 {
        self.tally.handed_over as i64 - self.tally.taken_over as i64
    }

    /// Events noticed.
    pub fn events(&self) -> u64 {
        self.tally.events
    }

    /// Batches run.
    pub fn batches(&self) -> u64 {
        self.tally.batches
    }

    /// Records dropped for one reason.
    pub fn drops(&self, reason: impl DropReason) -> u64 {
        let code = self.vocabulary.code_of(reason);
        code.map_or(0, |code| self.tally.drops[code.index()])
    }

    /// The reasons for which records were dropped, with their numbers.
    pub fn drops_by_reason(&self) -> impl Iterator<Item = (&'static Word, u64)> {
        self.vocabulary
            .drop_reason_words()
            .map(|(code, word)| (word, self.tally.drops[code.index()]))
            .filter(|(_, count)| *count > 0)
    }

    /// Time from the first batch to the end of the last.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Received bits per nanosecond, of the captured bytes.
    pub fn gbit_per_s(&self) -> f64 {
        let ns = self.elapsed.as_nanos() as f64;
        if ns == 0.0 {
            0.0
        } else {
            self.tally.bytes as f64 * 8.0 / ns
        }
    }

    /// Time that a record spent in the pipeline at a quantile of `0.0..=1.0`,
    /// from the moment its batch was filled, in nanoseconds; good to one part
    /// in a hundred.
    pub fn latency_ns(&self, quantile: f64) -> u64 {
        self.latencies.quantile(quantile)
    }

    /// Checks that no record was lost or counted twice.
    ///
    /// # Errors
    /// The accounts that do not balance.
    pub fn check_conservation(&self) -> Result<(), Conservation> {
        let conservation = self.conservation();
        match conservation.balances() {
            true => Ok(()),
            false => Err(conservation),
        }
    }

    /// The same at the end of a run, when no record is on its way between two threads.
    pub(crate) fn check_conservation_at_end(&self) -> Result<(), Conservation> {
        let conservation = self.conservation();
        match conservation.handed_over == conservation.taken_over {
            true => self.check_conservation(),
            false => Err(conservation),
        }
    }

    fn conservation(&self) -> Conservation {
        let tally = &self.tally;
        Conservation {
            packets: tally.packets,
            created: tally.created,
            forwarded: tally.forwarded,
            drops: tally.drops.iter().sum(),
            held: tally.held,
            released: tally.released,
            absorbed: tally.absorbed,
            taken_over: tally.taken_over,
            handed_over: tally.handed_over,
        }
    }
}

/// What a run has read: the counters that its reports begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadCounters {
    /// Packets read.
    pub packets: u64,
    /// Their bytes, as far as they were captured.
    pub bytes: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Packets that came to a live port but for which it had no space: ports count them, not
    /// pipelines.
    pub missed: u64,
    /// Packets whose timestamps were not believed.
    pub time_implausible: u64,
    /// Jumps of the stream's clock by more than an hour.
    pub clock_jumps: u64,
    /// Packets said to have been longer than any packet can be.
    pub length_implausible: u64,
}

impl From<&Statistics> for ReadCounters {
    fn from(statistics: &Statistics) -> ReadCounters {
        ReadCounters {
            packets: statistics.packets(),
            bytes: statistics.bytes(),
            wire_bytes: statistics.wire_bytes(),
            missed: 0,
            time_implausible: statistics.time_implausible(),
            clock_jumps: statistics.clock_jumps(),
            length_implausible: statistics.length_implausible(),
        }
    }
}

/// Both sides of the conservation law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the names are those of the law")]
pub struct Conservation {
    pub packets: u64,
    pub created: u64,
    pub forwarded: u64,
    pub drops: u64,
    pub held: u64,
    pub released: u64,
    pub absorbed: u64,
    pub taken_over: u64,
    pub handed_over: u64,
}

impl Conservation {
    fn balances(&self) -> bool {
        let came = self.packets + self.created + self.released + self.taken_over;
        let went = self.forwarded + self.drops + self.held + self.absorbed + self.handed_over;
        came == went
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "records were lost or counted twice: packets {} + created {} + released {} + taken \
             over {} is not forwarded {} + drops {} + held {} + absorbed {} + handed over {}",
            self.packets,
            self.created,
            self.released,
            self.taken_over,
            self.forwarded,
            self.drops,
            self.held,
            self.absorbed,
            self.handed_over
        )
    }
}

//! Accounts of a run: every record, every drop, how long it took.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::arrival::Arrival;
use crate::disposition::{DropReason, MAX_DROP_REASONS};
use crate::vocabulary::Vocabulary;
use crate::word::Word;

/// Latencies above this are recorded as this: one minute.
const MAX_LATENCY_NS: u64 = 60_000_000_000;

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
    pub drops: [u64; MAX_DROP_REASONS],
    pub held: u64,
    pub released: u64,
    pub absorbed: u64,
    pub events: u64,
    /// Records that came from another shard in the middle of the pipeline.
    pub taken_over: u64,
    /// Records that went to another shard there.
    pub handed_over: u64,
}

impl Tally {
    /// Records that came to their end here, as far as none was made or held.
    fn ended(&self) -> u64 {
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
            held: 0,
            released: 0,
            absorbed: 0,
            events: 0,
            taken_over: 0,
            handed_over: 0,
        }
    }
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.arrivals.add(&other.arrivals);
        self.created += other.created;
        self.forwarded += other.forwarded;
        self.forwarded_bytes += other.forwarded_bytes;
        for (sum, drops) in self.drops.iter_mut().zip(&other.drops) {
            *sum += drops;
        }
        self.held += other.held;
        self.released += other.released;
        self.absorbed += other.absorbed;
        self.events += other.events;
        self.taken_over += other.taken_over;
        self.handed_over += other.handed_over;
    }
}

/// The accounts of a run, or of one shard of it.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// What the counters of drops count.
    vocabulary: Arc<Vocabulary>,
    tally: Tally,
    batches: u64,
    latency_ns: Histogram<u64>,
    elapsed: Duration,
}

impl Statistics {
    /// Accounts of nothing, for a pipeline with this vocabulary.
    pub(crate) fn new(vocabulary: &Arc<Vocabulary>) -> Statistics {
        // Two significant digits over a minute: bounds that cannot be wrong.
        let latency_ns = Histogram::new_with_bounds(1, MAX_LATENCY_NS, 2)
            .unwrap_or_else(|_| unreachable!("1 < one minute, 2 <= 5 digits"));
        Statistics {
            vocabulary: Arc::clone(vocabulary),
            tally: Tally::default(),
            batches: 0,
            latency_ns,
            elapsed: Duration::ZERO,
        }
    }

    pub(crate) fn add_batch(&mut self, tally: &Tally, latency_ns: u64) {
        self.batches += 1;
        self.add_handed_over(tally, latency_ns);
    }

    /// Adds the accounts of a batch whose records went on in others.
    pub(crate) fn add_handed_over(&mut self, tally: &Tally, latency_ns: u64) {
        self.tally.add(tally);
        let ended = tally.ended();
        if ended > 0 {
            self.latency_ns
                .saturating_record_n(latency_ns.clamp(1, MAX_LATENCY_NS), ended);
        }
    }

    pub(crate) fn set_elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// Adds the accounts of another shard, or of another pipeline with the same vocabulary,
    /// that ran at the same time.
    pub(crate) fn merge(&mut self, other: &Statistics) {
        self.tally.add(&other.tally);
        self.batches += other.batches;
        // Histograms of equal bounds always add up.
        let _ = self.latency_ns.add(&other.latency_ns);
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

    /// Events noticed.
    pub fn events(&self) -> u64 {
        self.tally.events
    }

    /// Batches run.
    pub fn batches(&self) -> u64 {
        self.batches
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
        self.latency_ns.value_at_quantile(quantile)
    }

    /// Checks that no record was lost or counted twice.
    ///
    /// # Errors
    /// The accounts that do not balance.
    pub fn check_conservation(&self) -> Result<(), Conservation> {
        let tally = &self.tally;
        let conservation = Conservation {
            packets: tally.packets,
            created: tally.created,
            forwarded: tally.forwarded,
            drops: tally.drops.iter().sum(),
            held: tally.held,
            released: tally.released,
            absorbed: tally.absorbed,
        };
        if conservation.balances() {
            Ok(())
        } else {
            Err(conservation)
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
}

impl Conservation {
    fn balances(&self) -> bool {
        self.released <= self.held
            && self.packets + self.created + self.released
                == self.forwarded + self.drops + self.held + self.absorbed
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "records were lost or counted twice: packets {} + created {} + released {} is not \
             forwarded {} + drops {} + held {} + absorbed {}",
            self.packets,
            self.created,
            self.released,
            self.forwarded,
            self.drops,
            self.held,
            self.absorbed
        )
    }
}

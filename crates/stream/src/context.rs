//! Time, as stages are given it.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What a stage is given with every batch ([`Stage::process`](crate::Stage::process)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Time of the monotonic clock when the batch was filled, in nanoseconds since
    /// some moment in this process: for durations, the same clock in all threads.
    pub now_ns: u64,
    /// Time of the system's clock then, in nanoseconds since 1970; it may be set
    /// back or forward while the process runs.
    pub wall_ns: u64,
    /// How many batches the worker ran before this one.
    pub batch_sequence: u64,
    /// Whether packets are processed as they arrive, not read from a file.
    pub is_live: bool,
}

impl Context {
    /// The time that a live stream has reached, in nanoseconds since 1970, also where no
    /// packet says so. `None` for a file, whose time is that of its records
    /// ([`Arrival::clock_ns`](crate::Arrival::clock_ns)).
    ///
    /// A live stage is called at least every 10 ms, with an empty batch where there are no
    /// packets. It ends intervals and timeouts by this time.
    pub fn stream_ns(&self) -> Option<u64> {
        self.is_live.then_some(self.wall_ns)
    }
}

/// The system's clock is read again after this time: it may have been set.
const SYNCHRONISED_EVERY_NS: u64 = 1_000_000;

/// The two clocks of a thread.
#[derive(Debug)]
pub(crate) struct Clock {
    epoch: Instant,
    /// Both clocks when they were read together.
    synchronised_ns: u64,
    wall_ns: u64,
    is_live: bool,
    /// Batches that the thread has run.
    batches: u64,
}

impl Clock {
    pub fn start(is_live: bool) -> Clock {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        let epoch = *EPOCH.get_or_init(Instant::now);
        Clock {
            epoch,
            synchronised_ns: since(epoch),
            wall_ns: wall_ns(),
            is_live,
            batches: 0,
        }
    }

    /// The time of the monotonic clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        since(self.epoch)
    }

    /// The context of the next batch, where it is filled at `now_ns`.
    #[inline]
    pub fn context(&mut self, now_ns: u64) -> Context {
        let mut passed_ns = now_ns.saturating_sub(self.synchronised_ns);
        if passed_ns >= SYNCHRONISED_EVERY_NS {
            (self.synchronised_ns, self.wall_ns) = (now_ns, wall_ns());
            passed_ns = 0;
        }
        Context {
            now_ns,
            wall_ns: self.wall_ns + passed_ns,
            batch_sequence: self.batches,
            is_live: self.is_live,
        }
    }

    /// The same, and the batch is counted.
    #[inline]
    pub fn next_context(&mut self, now_ns: u64) -> Context {
        let cx = self.context(now_ns);
        self.batches += 1;
        cx
    }
}

fn since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn wall_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_advance_together() {
        let (mut clock, mut of_file) = (Clock::start(true), Clock::start(false));
        let start_ns = clock.now_ns();
        let first = clock.next_context(start_ns);
        assert_eq!(first.stream_ns(), Some(first.wall_ns));
        assert!(first.wall_ns > 1_700_000_000_000_000_000);
        let second = clock.context(start_ns + 1_000);
        assert_eq!(second.wall_ns - first.wall_ns, 1_000);
        assert_eq!((first.batch_sequence, second.batch_sequence), (0, 1));
        assert_eq!(of_file.context(start_ns).stream_ns(), None);
        // Read again, not derived.
        let late = clock.context(start_ns + 3_600_000_000_000);
        assert!(late.wall_ns.abs_diff(first.wall_ns) < 3_600_000_000_000);
    }
}

//! Moments between batches, in which several stages are changed at once.
//!
//! Each stage takes a change between two batches, but a batch passes several stages, and its
//! records may go on with another worker. A change to more than one stage is therefore posted while
//! no record is under way: every packet meets all of it or nothing of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// What the workers of a live pipeline stop at, for a moment, while stages are changed. Received
/// packets wait in the ports meanwhile. Clones belong to the same pipeline.
///
/// ```
/// use weir_stream::Live;
///
/// let live = Live::new(2, |_worker, _path| Ok(Vec::new()));
/// let boundary = live.boundary();
/// let mut is_changed = false;
/// assert!(boundary.change(|| is_changed = true));
/// assert!(is_changed);
/// ```
#[derive(Clone, Debug)]
pub struct Boundary {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Of each worker, locked while it has records.
    gates: Vec<Gate>,
    /// Whether a change waits: workers receive nothing meanwhile.
    is_requested: AtomicBool,
    /// Batches on their way from one worker to another.
    parcels: AtomicUsize,
    /// Changes come one after the other.
    changing: Mutex<()>,
    /// How often workers have arrived at the end.
    arrived: AtomicUsize,
}

/// Workers lock their gates for every batch: no two of them in one cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gate(Mutex<()>);

/// How long a change waits for a worker that stands still, and the others with it.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long both sides wait before they check again.
const PAUSE: Duration = Duration::from_micros(20);

impl Boundary {
    pub(crate) fn of(workers: usize) -> Boundary {
        Boundary {
            shared: Arc::new(Shared {
                gates: (0..workers).map(|_| Gate::default()).collect(),
                is_requested: AtomicBool::new(false),
                parcels: AtomicUsize::new(0),
                changing: Mutex::new(()),
                arrived: AtomicUsize::new(0),
            }),
        }
    }

    /// Runs `change` while no worker has a record, and returns true: every packet meets all of it or
    /// nothing of it. Records that stages hold stay held, and go on after the change.
    ///
    /// `change` must be short, and wait for no worker: all of them wait for it. Where a worker does not
    /// come to the end of its batch within a second, `change` runs all the same, and the result is
    /// false: that batch may meet a part of it.
    pub fn change(&self, change: impl FnOnce()) -> bool {
        let shared = &*self.shared;
        let changing = shared.changing.lock();
        let _changing = changing.unwrap_or_else(PoisonError::into_inner);
        shared.is_requested.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + PATIENCE;
        let mut gates = shared.close();
        while gates.is_none() && Instant::now() < deadline {
            thread::sleep(PAUSE);
            gates = shared.close();
        }
        let changed = catch_unwind(AssertUnwindSafe(change));
        // Workers receive again, whatever has happened.
        shared.is_requested.store(false, Ordering::Relaxed);
        changed.unwrap_or_else(|panic| resume_unwind(panic));
        gates.is_some()
    }

    /// A worker begins to work with records, until it drops what this returns.
    #[inline]
    pub(super) fn work(&self, worker: usize) -> MutexGuard<'_, ()> {
        let gate = self.shared.gates[worker].0.lock();
        gate.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a worker must not receive: a change waits. Read inside [`Boundary::work`].
    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.shared.is_requested.load(Ordering::Relaxed)
    }

    /// Gives a change that waits a moment to find all gates open.
    pub(super) fn pause(&self) {
        thread::sleep(PAUSE);
    }

    /// A batch leaves for another worker.
    pub(super) fn send_parcel(&self) {
        self.shared.parcels.fetch_add(1, Ordering::Relaxed);
    }

    /// A batch that came from another worker is done with, or has found no space.
    pub(super) fn end_parcel(&self) {
        self.shared.parcels.fetch_sub(1, Ordering::Relaxed);
    }

    /// A worker has come to the next part of the end.
    pub(super) fn arrive(&self) {
        self.shared.arrived.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all workers have come to a part of the end, by its number.
    pub(super) fn all_have_arrived(&self, part: usize) -> bool {
        self.shared.arrived.load(Ordering::Acquire) >= self.shared.gates.len() * (part + 1)
    }

    /// A worker does not come: nobody is to wait for it.
    pub(crate) fn leave(&self) {
        self.shared
            .arrived
            .fetch_max(usize::MAX / 2, Ordering::AcqRel);
    }
}

impl Shared {
    /// The gates of all workers, if none of them has records.
    fn close(&self) -> Option<Vec<MutexGuard<'_, ()>>> {
        let gates = self.gates.iter().map(|gate| match gate.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        let gates = gates.collect::<Option<_>>();
        // With all gates held, the count includes every parcel that was sent.
        gates.filter(|_| self.parcels.load(Ordering::Relaxed) == 0)
    }
}

//! Merges the intervals of all shards and reports them.
//!
//! A meter that starts its next interval puts the finished one into a queue and takes
//! cleared memory for the next. The collector's thread does everything else, so that the end
//! of an interval does not delay packets (figure 6.5 of the thesis: the update of one
//! interval overlaps with the processing of previous ones).
//!
//! ```text
//!   Meter ──┐  part of interval t                    ┌── reports
//!   Meter ──┼─────────▶ queue ─▶ merge ─▶ report ──▶─┼── observer
//!   Meter ──┘                                        └── alarms, where a stage takes them
//!     ▲                            │
//!     └────── cleared memory ◀─────┘
//! ```
//!
//! The queue is bounded, and so is memory where an observer takes the reports. Where
//! intervals end faster than they can be reported, meters wait; no packet is lost.

use std::any::Any;
use std::mem;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::change::Alarm;
use crate::config::{ConfigError, Plan};
use crate::contents::Sketched;
use crate::merger::Merger;
use crate::report::{IntervalPart, IntervalReport};

/// Parts in the queue, for each shard.
const QUEUE_PARTS: usize = 8;

/// Takes every report as soon as it is made, in the collector's thread.
pub type Observer = Box<dyn FnMut(IntervalReport) + Send>;

/// Merges the shards' intervals and reports those that every shard has passed.
///
/// Memory holds the intervals between the slowest shard and the fastest, a few
/// that wait in a queue, and, without an [`Observer`], the reports that were not
/// taken yet.
#[derive(Clone, Debug)]
pub struct Collector {
    queue: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// What meters and the collector's thread share.
#[derive(Debug)]
struct Shared {
    ready: Mutex<Vec<IntervalReport>>,
    /// Those of the reports so far, in their order, where a stage takes them.
    alarms: Mutex<Option<Vec<Alarm>>>,
    /// Meters that have not come to their end.
    running: AtomicUsize,
    /// Cleared memory for intervals to come.
    spares: Mutex<Vec<Sketched>>,
    spares_max: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
enum Message {
    /// A shard's part of an interval, if it has one, and the interval that the
    /// shard has reached (`u64::MAX` at its end).
    Part {
        shard: usize,
        part: Option<Box<IntervalPart>>,
        reached: u64,
    },
    /// Report open intervals, too, then acknowledge.
    Finish(SyncSender<()>),
}

impl Collector {
    /// A collector for `shards` meters, its thread running.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        shards: usize,
        observer: Option<Observer>,
    ) -> Result<Collector, ConfigError> {
        let (queue, parts) = sync_channel(QUEUE_PARTS * shards);
        let shared = Arc::new(Shared {
            ready: Mutex::default(),
            alarms: Mutex::default(),
            running: AtomicUsize::new(shards),
            spares: Mutex::default(),
            spares_max: shards + 1,
            thread: Mutex::default(),
        });
        let worker = Worker {
            merger: Merger::new(plan, shards)?,
            // The thread ends when the last meter and collector are gone.
            shared: Arc::clone(&shared),
            observer,
        };
        let thread = Builder::new()
            .name("measure".to_owned())
            .spawn(move || worker.work(&parts))
            .map_err(|error| ConfigError::Thread(error.kind()))?;
        *locked(&shared.thread) = Some(thread);
        Ok(Collector { queue, shared })
    }

    /// The reports of intervals that all shards have passed and that are ready,
    /// in order, each given once; none where an observer takes them.
    pub fn take_ready(&self) -> Vec<IntervalReport> {
        mem::take(&mut *locked(&self.shared.ready))
    }

    /// The same, with the intervals that are still open. To be called when all
    /// meters are finished ([`crate::Meter::finish`]); waits until all is done.
    ///
    /// # Panics
    /// The collector's thread panicked.
    pub fn finish(&self) -> Vec<IntervalReport> {
        self.report_all();
        self.take_ready()
    }

    fn report_all(&self) {
        let (done, wait) = sync_channel(1);
        let is_sent = self.queue.send(Message::Finish(done)).is_ok();
        if !is_sent || wait.recv().is_err() {
            self.resume_panic();
        }
    }

    /// Keeps alarms from now on until they are taken.
    pub(crate) fn keep_alarms(&self) {
        locked(&self.shared.alarms).get_or_insert_default();
    }

    /// The alarms since the last call, in the order of their intervals.
    pub(crate) fn take_alarms(&self) -> Vec<Alarm> {
        let mut alarms = locked(&self.shared.alarms);
        alarms.as_mut().map(mem::take).unwrap_or_default()
    }

    /// To be called once by each meter, when it has submitted its last part: the
    /// last of them waits for all reports, and gets the alarms that nobody has
    /// taken.
    pub(crate) fn leave(&self) -> Vec<Alarm> {
        // What the others did comes before what the last one sees.
        if self.shared.running.fetch_sub(1, Ordering::AcqRel) > 1 {
            return Vec::new();
        }
        self.report_all();
        self.take_alarms()
    }

    /// Takes a shard's part of an interval and the interval that the shard has
    /// reached; returns memory for reuse, if there is any.
    pub(crate) fn submit(
        &self,
        shard: usize,
        part: Option<IntervalPart>,
        reached: u64,
    ) -> Option<Sketched> {
        let message = Message::Part {
            shard,
            part: part.map(Box::new),
            reached,
        };
        if self.queue.send(message).is_err() {
            self.resume_panic();
        }
        locked(&self.shared.spares).pop()
    }

    /// The collector's thread ends before its collectors only by a panic, which
    /// continues in the thread that waits for it.
    fn resume_panic(&self) {
        let panic: Option<Box<dyn Any + Send>> = locked(&self.shared.thread)
            .take()
            .and_then(|thread| thread.join().err());
        resume_unwind(panic.unwrap_or_else(|| Box::new("the collector's thread is gone")));
    }
}

/// Nothing is left half-done under these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector's thread.
struct Worker {
    merger: Merger,
    shared: Arc<Shared>,
    observer: Option<Observer>,
}

impl Worker {
    fn work(mut self, parts: &Receiver<Message>) {
        for message in parts {
            match message {
                Message::Part {
                    shard,
                    part,
                    reached,
                } => {
                    if let Some(part) = part {
                        self.merger.merge(*part);
                    }
                    self.merger.reach(shard, reached);
                    self.publish();
                }
                Message::Finish(done) => {
                    self.merger.finish();
                    self.publish();
                    // The caller may have given up waiting.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Hands out what is ready, and memory that is no longer needed.
    fn publish(&mut self) {
        let reports = self.merger.take_ready();
        if let Some(kept) = &mut *locked(&self.shared.alarms) {
            kept.extend(reports.iter().flat_map(|report| report.alarms.clone()));
        }
        match &mut self.observer {
            Some(observer) => reports.into_iter().for_each(observer),
            None => locked(&self.shared.ready).extend(reports),
        }
        let mut spares = locked(&self.shared.spares);
        while let Some(spare) = self.merger.take_spare() {
            if spares.len() < self.shared.spares_max {
                spares.push(spare);
            }
        }
    }
}

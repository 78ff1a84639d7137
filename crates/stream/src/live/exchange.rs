//! Records on their way from one worker to another.
//!
//! Every pair of workers has a queue in each direction, with one sender and one receiver. The
//! records are copied into batches that go back to their sender when they are done with.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::boundary::Boundary;
use super::waker::{Wakened, Waker, waker};
use crate::batch::Batch;
use crate::ring::{RingReceiver, RingSender, ring};

/// Batches that may be under way between two workers.
const PARCELS: usize = 16;

/// Records for another worker.
pub(super) struct Parcel {
    pub path: usize,
    /// The segment that the records go on with.
    pub segment: usize,
    pub batch: Batch,
}

/// The ends of the queues by which a worker is joined to the others.
pub(super) struct Exchange {
    /// By the number of the worker; nothing for this one.
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Incoming>,
    /// What wakes this worker; there is nobody to do so where it is the only one.
    pub wakened: Option<Wakened>,
    /// The one of the others that is looked at first, for each its turn.
    first: usize,
    /// Where parcels are counted.
    boundary: Boundary,
}

/// To one of the others.
struct Outgoing {
    parcels: RingSender<Parcel>,
    returned: RingReceiver<Batch>,
    waker: Waker,
    /// Records that were put together.
    open: Option<Batch>,
}

/// From one of the others.
struct Incoming {
    parcels: RingReceiver<Parcel>,
    returned: RingSender<Batch>,
}

impl Exchange {
    /// The parts of all workers.
    pub fn between(workers: usize, boundary: &Boundary) -> io::Result<Vec<Exchange>> {
        let alone = |_| Exchange {
            outgoing: Vec::new(),
            incoming: Vec::new(),
            wakened: None,
            first: 0,
            boundary: boundary.clone(),
        };
        let mut all: Vec<Exchange> = (0..workers).map(alone).collect();
        if workers == 1 {
            return Ok(all);
        }
        for to in 0..workers {
            let (waker, wakened) = waker()?;
            all[to].wakened = Some(wakened);
            for from in 0..workers {
                let outgoing = (from != to).then(|| {
                    let (parcels, incoming) = ring(PARCELS);
                    let (give_back, returned) = ring(PARCELS);
                    all[to].incoming.push(Incoming {
                        parcels: incoming,
                        returned: give_back,
                    });
                    Outgoing {
                        parcels,
                        returned,
                        waker: waker.clone(),
                        open: None,
                    }
                });
                all[from].outgoing.push(outgoing);
            }
        }
        Ok(all)
    }

    /// Whether there are other workers.
    pub fn has_others(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// How many workers there are, where there are others.
    pub fn workers(&self) -> usize {
        self.outgoing.len()
    }

    /// Puts a record aside for another worker. False, and nothing has changed, where that is
    /// this one.
    pub fn put(
        &mut self,
        to: usize,
        batch: &Batch,
        index: usize,
        new: impl FnOnce() -> Batch,
    ) -> bool {
        let Some(Some(outgoing)) = self.outgoing.get_mut(to) else {
            return false;
        };
        let returned = &outgoing.returned;
        let open = (outgoing.open).get_or_insert_with(|| match returned.try_receive() {
            Some(mut batch) => {
                batch.clear();
                batch
            }
            None => new(),
        });
        open.set_interfaces(batch.interfaces());
        // A batch has space for the records of another one.
        open.take_over(batch, index).is_ok()
    }

    /// Sends what was put aside on its way. What finds no space is given to `full`.
    pub fn send(&mut self, path: usize, segment: usize, mut full: impl FnMut(Batch)) {
        for outgoing in self.outgoing.iter_mut().flatten() {
            let Some(batch) = outgoing.open.take() else {
                continue;
            };
            let parcel = Parcel {
                path,
                segment,
                batch,
            };
            self.boundary.send_parcel();
            match outgoing.parcels.try_send(parcel) {
                Ok(()) => outgoing.waker.wake(),
                Err(parcel) => {
                    self.boundary.end_parcel();
                    full(parcel.batch);
                }
            }
        }
    }

    /// The next records that came from others, with the number of the sender.
    pub fn take(&mut self) -> Option<(usize, Parcel)> {
        let senders = self.incoming.len();
        for offset in 0..senders {
            let sender = (self.first + offset) % senders;
            if let Some(parcel) = self.incoming[sender].parcels.try_receive() {
                self.first = sender + 1;
                return Some((sender, parcel));
            }
        }
        None
    }

    /// Gives a batch back to where it came from, when it is done with.
    pub fn give_back(&mut self, sender: usize, batch: Batch) {
        self.boundary.end_parcel();
        // One that finds no space is one too many.
        let _ = self.incoming[sender].returned.try_send(batch);
    }
}

/// Where workers wait for each other at the end.
pub(super) struct Rendezvous {
    workers: usize,
    arrived: AtomicUsize,
    /// A worker will never arrive.
    is_broken: AtomicBool,
}

impl Rendezvous {
    pub fn of(workers: usize) -> Rendezvous {
        Rendezvous {
            workers,
            arrived: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Arrives for the `round`-th time, from 0 on, and does `meanwhile` until all others have.
    pub fn meet(&self, round: usize, mut meanwhile: impl FnMut()) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = self.workers * (round + 1);
        while self.arrived.load(Ordering::Acquire) < all && !self.is_broken.load(Ordering::Acquire)
        {
            meanwhile();
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Says that a worker does not come any more.
    pub fn leave(&self) {
        self.is_broken.store(true, Ordering::Release);
    }
}

//! Records on their way from one worker to another, where a segment needs them there.

use std::io;

use weir_port::{Sleeper, Waker, sleeper};

use super::boundary::Boundary;
use super::parcel::Parcel;
use super::path::PathOfWorker;
use super::rounds::{AtShard, ToShards};
use crate::batch::Batch;
use crate::disposition::DropCode;
use crate::pool::Pool;
use crate::ring::{RingReceiver, RingSender, ring};

/// Batches that may be under way between two workers.
const PARCELS: usize = 16;

/// The ends by which a worker is joined to the others.
pub(crate) enum Exchange {
    /// There is nobody else.
    Alone,
    /// All workers give to all in step, and wait for each other: the order of arrival is kept.
    InStep(ToShards, AtShard),
    /// Records go to others when they come, as far as there is space, and nobody waits.
    Rings(Rings),
}

/// A queue to every other worker and one from each, with one sender and one receiver. Records
/// are copied: a frame belongs to the pool of its port.
pub(crate) struct Rings {
    /// By the number of the worker; nothing for this one.
    to: Vec<Option<Outgoing>>,
    from: Vec<RingReceiver<Parcel>>,
    pub sleeper: Sleeper,
    /// The one of the others that is looked at first, for each its turn.
    first: usize,
    /// Where parcels are counted.
    boundary: Boundary,
    /// Why records are dropped for which there is no space.
    full: DropCode,
}

/// To one of the others.
struct Outgoing {
    parcels: RingSender<Parcel>,
    waker: Waker,
    /// Records that were put together.
    open: Option<Batch>,
}

impl Exchange {
    /// The parts of workers between ports.
    pub fn by_rings(
        workers: usize,
        boundary: &Boundary,
        full: DropCode,
    ) -> io::Result<Vec<Exchange>> {
        if workers == 1 {
            return Ok(vec![Exchange::Alone]);
        }
        let (mut wakers, mut all) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (waker, sleeper) = sleeper()?;
            wakers.push(waker);
            all.push(Rings {
                to: Vec::new(),
                from: Vec::new(),
                sleeper,
                first: 0,
                boundary: boundary.clone(),
                full,
            });
        }
        for from in 0..workers {
            for (to, waker) in wakers.iter().enumerate() {
                let outgoing = (from != to).then(|| {
                    let (parcels, receiver) = ring(PARCELS);
                    all[to].from.push(receiver);
                    Outgoing {
                        parcels,
                        waker: waker.clone(),
                        open: None,
                    }
                });
                all[from].to.push(outgoing);
            }
        }
        Ok(all.into_iter().map(Exchange::Rings).collect())
    }

    /// The next records that came from others.
    pub fn take(&mut self) -> Option<Parcel> {
        let Exchange::Rings(rings) = self else {
            return None;
        };
        let senders = rings.from.len();
        let first = rings.first;
        let mut order = (0..senders).map(|offset| (first + offset) % senders);
        order.find_map(|sender| {
            let parcel = rings.from[sender].try_receive()?;
            rings.first = sender + 1;
            Some(parcel)
        })
    }
}

impl Rings {
    /// Sends the records of a batch to the workers that a segment of a path needs them on. Those
    /// that stay are left in it, and those for which there is no space are dropped.
    pub fn send(
        &mut self,
        path: &mut PathOfWorker,
        segment: usize,
        batch: &mut Batch,
        pool: &mut Pool,
    ) {
        let workers = path.plan.segments[segment]
            .rule
            .shards(batch, self.to.len());
        for index in batch.live() {
            if let Some(Some(outgoing)) = self.to.get_mut(usize::from(workers[index])) {
                let open = outgoing.open.get_or_insert_with(|| pool.take());
                open.set_interfaces(batch.interfaces());
                // A batch has space for the records of another one.
                if open.take_over(batch, index).is_ok() {
                    batch.hand_over(index);
                }
            }
        }
        for outgoing in self.to.iter_mut().flatten() {
            let Some(batch) = outgoing.open.take() else {
                continue;
            };
            self.boundary.send_parcel();
            let parcel = Parcel {
                segment,
                ..Parcel::new(vec![batch], path.number, 0)
            };
            let Err(parcel) = outgoing.parcels.try_send(parcel) else {
                outgoing.waker.wake();
                continue;
            };
            self.boundary.end_parcel();
            for mut batch in parcel.batches {
                batch.drop_live(self.full, |_, _| true);
                path.meter.add(batch.settle_accounts());
                pool.put(batch);
            }
        }
    }
}

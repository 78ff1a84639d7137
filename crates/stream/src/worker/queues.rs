//! The queues of a worker.

use std::sync::Arc;
use std::time::Duration;

use weir_port::{Rx, Tx};

use super::parcel::Parcel;
use super::shared::Plan;
use crate::batch::{Batch, Ingress};
use crate::context::Clock;
use crate::egress::MAX_PORTS;
use crate::pool::Pool;
use crate::queue_meter::{QueueMeter, QueueReading};

/// The ends of a port, one of each per queue.
pub struct LivePort {
    /// Its name, for events and reports.
    pub name: String,
    /// Queue *q* goes to worker *q*, modulo the number of workers.
    pub rx: Vec<Box<dyn Rx>>,
    /// One for each worker, or none where nothing is sent.
    pub tx: Vec<Box<dyn Tx>>,
    /// Whether both directions of every flow come by one receive queue.
    pub keeps_flows: bool,
}

pub(crate) struct RxQueue {
    pub rx: Box<dyn Rx>,
    /// Number of its port.
    port: u16,
    path: usize,
    plan: Arc<Plan>,
    max_wait: Duration,
    /// Number of the next record.
    next: u64,
    pub meter: Arc<QueueMeter>,
}

pub(crate) struct TxQueue {
    pub tx: Box<dyn Tx>,
    pub meter: Arc<QueueMeter>,
}

impl RxQueue {
    /// A batch of what has arrived, if that is something. It waits for more until it is full or
    /// `max_wait` has passed.
    pub fn receive(&mut self, pool: &mut Pool, clock: &Clock) -> Option<Parcel> {
        let mut batch = pool.take();
        self.fill(&mut batch);
        if batch.is_empty() {
            pool.put(batch);
            return None;
        }
        let mut now_ns = clock.now_ns();
        let closes_ns = now_ns + self.max_wait.as_nanos() as u64;
        while now_ns < closes_ns && batch.room() != (0, 0) {
            self.rx.wait(Duration::from_nanos(closes_ns - now_ns));
            self.fill(&mut batch);
            now_ns = clock.now_ns();
        }
        Some(Parcel {
            is_here: self.plan.is_steered,
            ..Parcel::new(vec![batch], self.path, now_ns)
        })
    }

    fn fill(&mut self, batch: &mut Batch) {
        let ingress = Ingress {
            interface: self.port,
            egress: self.plan.egress,
        };
        self.next += batch.fill(&mut *self.rx, ingress, self.next) as u64;
    }

    /// Renews the reading; returns it where the state has changed.
    pub fn renew(&mut self) -> Option<QueueReading> {
        let counters = self.rx.counters();
        self.meter.renew(Some(counters), None, self.rx.state())
    }
}

impl TxQueue {
    /// As for receive queues.
    pub fn renew(&mut self) -> Option<QueueReading> {
        let counters = self.tx.counters();
        self.meter.renew(None, Some(counters), self.tx.state())
    }
}

/// The receive queues of a worker, and its send queues by the number of the port.
pub(crate) type Queues = (Vec<RxQueue>, Vec<Option<TxQueue>>);

/// Gives every worker its queues, where the paths come from these ports. A receive queue without a
/// path is dropped.
pub(crate) fn share_out(
    ports: Vec<LivePort>,
    from: &[usize],
    plans: &[Arc<Plan>],
    max_wait: Duration,
    workers: usize,
) -> Vec<Queues> {
    let mut all: Vec<Queues> = (0..workers).map(|_| (Vec::new(), Vec::new())).collect();
    for (number, port) in ports.into_iter().enumerate().take(MAX_PORTS) {
        let path = from.iter().position(|from| *from == number);
        for (queue, rx) in port.rx.into_iter().enumerate() {
            let Some(path) = path else {
                break;
            };
            all[queue % workers].0.push(RxQueue {
                rx,
                port: number as u16,
                path,
                plan: Arc::clone(&plans[path]),
                max_wait,
                next: 0,
                meter: QueueMeter::new(&port.name, queue),
            });
        }
        let mut tx = port.tx.into_iter().enumerate();
        for (_, of_worker) in &mut all {
            of_worker.push(tx.next().map(|(queue, tx)| TxQueue {
                tx,
                meter: QueueMeter::new(&port.name, queue),
            }));
        }
    }
    all
}

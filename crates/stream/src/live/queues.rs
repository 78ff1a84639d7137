//! The queues of a worker.

use std::sync::Arc;

use weir_port::{Rx, Tx};

use super::plan::Plan;
use crate::batch::Ingress;
use crate::egress::MAX_PORTS;
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

pub(super) struct RxQueue {
    pub rx: Box<dyn Rx>,
    pub path: usize,
    pub ingress: Ingress,
    /// Number of the next record.
    pub next: u64,
    meter: Arc<QueueMeter>,
}

pub(super) struct TxQueue {
    pub tx: Box<dyn Tx>,
    meter: Arc<QueueMeter>,
}

/// The queues of one worker.
pub(super) struct Queues {
    pub rx: Vec<RxQueue>,
    /// By the number of the port.
    pub tx: Vec<Option<TxQueue>>,
}

impl Queues {
    pub fn meters(&self) -> Vec<Arc<QueueMeter>> {
        let rx = self.rx.iter().map(|queue| Arc::clone(&queue.meter));
        let tx = self.tx.iter().flatten();
        rx.chain(tx.map(|queue| Arc::clone(&queue.meter))).collect()
    }

    /// The MTUs of all ports, by their numbers. One that is not known limits nothing.
    pub fn mtus_bytes(&self) -> Arc<[usize]> {
        let of = |queue: &Option<TxQueue>| match queue.as_ref().map(|queue| queue.tx.mtu_bytes()) {
            None | Some(0) => usize::MAX,
            Some(mtu_bytes) => mtu_bytes,
        };
        self.tx.iter().map(of).collect()
    }

    /// Renews all readings, and reports every state that has changed.
    pub fn renew(&mut self, mut changed: impl FnMut(QueueReading)) {
        for queue in &mut self.rx {
            let counters = queue.rx.counters();
            let renewed = (queue.meter).renew(Some(counters), None, queue.rx.state());
            renewed.into_iter().for_each(&mut changed);
        }
        for TxQueue { tx, meter } in self.tx.iter_mut().flatten() {
            let counters = tx.counters();
            let renewed = meter.renew(None, Some(counters), tx.state());
            renewed.into_iter().for_each(&mut changed);
        }
    }
}

/// Gives every worker its queues. A receive queue without a path is dropped.
pub(super) fn share_out(ports: Vec<LivePort>, plans: &[Plan], workers: usize) -> Vec<Queues> {
    let none = || Queues {
        rx: Vec::new(),
        tx: Vec::new(),
    };
    let mut all: Vec<Queues> = (0..workers).map(|_| none()).collect();
    for (number, port) in ports.into_iter().enumerate().take(MAX_PORTS) {
        let path = plans.iter().position(|plan| plan.path.from == number);
        for (queue, rx) in port.rx.into_iter().enumerate() {
            let Some(path) = path else {
                break;
            };
            all[queue % workers].rx.push(RxQueue {
                rx,
                path,
                ingress: Ingress {
                    interface: number as u16,
                    egress: plans[path].path.egress,
                },
                next: 0,
                meter: QueueMeter::new(&port.name, queue),
            });
        }
        let mut tx = port.tx.into_iter().enumerate();
        for queues in &mut all {
            queues.tx.push(tx.next().map(|(queue, tx)| TxQueue {
                tx,
                meter: QueueMeter::new(&port.name, queue),
            }));
        }
    }
    all
}

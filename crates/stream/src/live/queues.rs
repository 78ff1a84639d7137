//! The queues of a worker, and what they have counted.

use std::sync::{Arc, Mutex, PoisonError};

use weir_port::{PortState, Rx, RxCounters, Tx, TxCounters};

use super::{LivePort, Plan};
use crate::batch::Ingress;
use crate::egress::MAX_PORTS;

/// What a queue of a port has counted, as far as its worker has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReading {
    /// Name of the port.
    pub port: String,
    /// Number of the queue in the port.
    pub queue: usize,
    /// What it has received, of a receive queue.
    pub rx: Option<RxCounters>,
    /// What it has sent, of a send queue.
    pub tx: Option<TxCounters>,
    /// Whether packets pass.
    pub state: PortState,
}

/// A reading that its worker renews.
#[derive(Debug)]
pub(crate) struct QueueMeter(Mutex<QueueReading>);

impl QueueMeter {
    fn new(port: &str, queue: usize) -> Arc<QueueMeter> {
        Arc::new(QueueMeter(Mutex::new(QueueReading {
            port: port.to_owned(),
            queue,
            rx: None,
            tx: None,
            state: PortState::Up,
        })))
    }

    pub fn read(&self) -> QueueReading {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Renews the counters; returns the reading where the state is another one.
    fn renew(
        &self,
        rx: Option<RxCounters>,
        tx: Option<TxCounters>,
        state: &PortState,
    ) -> Option<QueueReading> {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (reading.rx, reading.tx) = (rx, tx);
        let is_other = reading.state != *state;
        if is_other {
            reading.state.clone_from(state);
        }
        is_other.then(|| reading.clone())
    }
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

    /// Renews all readings, and tells of every state that is another one.
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

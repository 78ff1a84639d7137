//! What the queues of ports have counted, for readers in other threads.

use std::sync::{Arc, Mutex, PoisonError};

use weir_port::{PortState, RxCounters, TxCounters};

/// What a queue of a port has counted, as of its worker's last update.
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
    pub fn new(port: &str, queue: usize) -> Arc<QueueMeter> {
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

    /// Renews the counters; returns the reading where the state has changed.
    pub fn renew(
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

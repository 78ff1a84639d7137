//! What workers hand to the owner of a live pipeline.

use std::time::Duration;

use crate::arrival::Arrival;
use crate::queue_meter::QueueReading;

/// A packet for the thread that controls a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPacket {
    /// The packet, from its link header on.
    pub bytes: Box<[u8]>,
    /// When and where it came.
    pub arrival: Arrival,
    /// Number of the path that it came by.
    pub path: usize,
}

/// What happened to workers and ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveReport {
    /// A stage has panicked or returned an error. The records of its batch, and those that the
    /// path's stages held, are dropped; the stages are made again after the pause.
    StageFailed {
        /// Number of the worker.
        worker: usize,
        /// Number of the path.
        path: usize,
        /// The error or the message of the panic.
        message: String,
        /// How long the path's records are dropped.
        pause: Duration,
    },
    /// A port's state has changed.
    PortChanged {
        /// What was read from the queue.
        reading: QueueReading,
    },
}

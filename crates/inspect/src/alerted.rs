//! The sink that keeps the packets of flows that raised alerts.

mod flows;
mod order;

use std::sync::Arc;

use serde::Serialize;
use weir_capture::CaptureSink;
use weir_packet::file::{Block, Interface, Writer};
use weir_stream::{BATCH_RECORDS, Batch, BatchLimits, Context, Disposition, Stage, StageError};

use flows::AlertedFlows;
use order::{ArrivalOrder, KeptRecord};

use crate::words::ALERT;

const NAME: &str = "alerted packets";

/// Most flows whose later packets are written. One more takes the place of the
/// one that raised its first alert longest ago.
pub const MAX_ALERTED_FLOWS: usize = 1 << 16;

/// Most bytes of records that wait for those before them on other shards.
pub const MAX_WAITING_BYTES: usize = 64 << 20;

/// What [`AlertedPackets`] wrote, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AlertedStatistics {
    /// Packets written.
    pub packets: u64,
    /// Flows whose later packets were no longer written, because more than
    /// [`MAX_ALERTED_FLOWS`] raised alerts.
    pub flows_forgotten: u64,
    /// Packets that may stand before earlier ones, because more than
    /// [`MAX_WAITING_BYTES`] waited.
    pub packets_early: u64,
}

/// A sink that writes, to a capture, every record that raised an alert and the
/// later ones of the same flow, in either direction: between the same addresses
/// and ports by the same protocol, also inside of tunnels. Records are written
/// in order of arrival, whatever the number of shards.
///
/// Fragments have no ports: of a datagram that raised an alert when it was put
/// together, the fragment that completed it is written.
pub struct AlertedPackets {
    flows: AlertedFlows,
    order: ArrivalOrder,
    statistics: AlertedStatistics,
    /// Those of the batch that knew most of them.
    interfaces: Arc<[Interface]>,
    /// Records on their way to the capture.
    batch: Batch,
    capture: CaptureSink,
}

impl AlertedPackets {
    /// A sink into an opened capture.
    pub fn new(writer: Writer) -> AlertedPackets {
        AlertedPackets {
            flows: AlertedFlows::new(MAX_ALERTED_FLOWS),
            order: ArrivalOrder::new(MAX_WAITING_BYTES),
            statistics: AlertedStatistics::default(),
            interfaces: Arc::new([]),
            batch: Batch::new(BatchLimits::default()),
            capture: CaptureSink::new(writer),
        }
    }

    /// What was written so far.
    pub fn statistics(&self) -> AlertedStatistics {
        AlertedStatistics {
            flows_forgotten: self.flows.forgotten(),
            packets_early: self.order.released_early(),
            ..self.statistics
        }
    }

    fn take_in(&mut self, batch: &Batch) {
        let mut alerts = (batch.events().iter())
            .filter(|event| event.kind.is(&ALERT))
            .peekable();
        for index in 0..batch.len() {
            let number = batch.number(index);
            let mut is_kept = self.flows.holds_one_of(batch, index);
            while let Some(alert) = alerts.next_if(|alert| alert.arrival <= Some(number)) {
                self.flows.add(&alert.flow);
                is_kept |= alert.arrival == Some(number);
            }
            if is_kept && batch.disposition(index) == Disposition::Forward {
                self.order.keep(
                    number,
                    KeptRecord {
                        arrival: *batch.arrival(index),
                        bytes: batch.record(index).into(),
                    },
                );
            }
            self.order.note(number);
        }
    }

    /// Writes what need not wait any longer.
    fn write(&mut self) -> Result<(), StageError> {
        loop {
            let mut block = Vec::new();
            let mut records = Vec::new();
            while records.len() < BATCH_RECORDS
                && let Some(KeptRecord { arrival, bytes }) = self.order.release()
            {
                records.push((block.len() as u32, bytes.len() as u32, arrival));
                block.extend_from_slice(&bytes);
            }
            if records.is_empty() {
                return Ok(());
            }
            self.statistics.packets += records.len() as u64;
            self.batch.clear();
            self.batch.set_interfaces(&self.interfaces);
            let block = Arc::new(Block::from(block));
            (self.batch.receive(&block, 0, records))
                .map_err(|error| StageError::new(NAME, error))?;
            (self.capture).process(&mut self.batch, &mut Context::default())?;
        }
    }
}

impl Stage for AlertedPackets {
    fn name(&self) -> &str {
        NAME
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        // A batch of another shard may know fewer interfaces than were seen.
        if batch.interfaces().len() > self.interfaces.len() {
            self.interfaces = Arc::clone(batch.interfaces());
        }
        self.take_in(batch);
        self.write()
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.order.end();
        let written = self.write();
        written.and(self.capture.finish())
    }
}

#[cfg(test)]
mod tests;

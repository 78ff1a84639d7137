//! How records leave a worker: by ports, to the thread that controls the pipeline, or not at all.

use weir_port::TxCounters;

use super::reason::FrameDrop;
use super::worker::Worker;
use crate::arrival::Arrival;
use crate::batch::Batch;
use crate::egress::Egress;

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

impl Worker {
    /// Lets the live records of a batch leave, and its events; counts what became of all.
    pub(super) fn leave(&mut self, path: usize, batch: &mut Batch) {
        let (ports, to_control) = batch.egresses();
        if to_control {
            self.give_to_control(path, batch);
        }
        let mut not_sent = NotSent::default();
        let mut left = ports;
        while left != 0 {
            let port = left.trailing_zeros() as usize;
            left &= left - 1;
            let egress = Egress::port(port);
            match self.queues.tx.get_mut(port) {
                Some(Some(queue)) => {
                    let before = queue.tx.counters();
                    let (_, bytes) = batch.send(&mut *queue.tx, egress);
                    not_sent.add(&before, &queue.tx.counters(), bytes);
                }
                _ => {
                    let down = self.shared.codes.code(FrameDrop::PortDown);
                    for index in batch.live() {
                        if batch.egress(index) == egress {
                            batch.drop_record(index, down);
                        }
                    }
                }
            }
        }
        let now_ns = self.clock.now_ns();
        let wall_ns = self.clock.context(now_ns).wall_ns;
        let tally = batch.settle_accounts();
        for (reason, packets) in not_sent.by_reason {
            if packets > 0 {
                tally.add_drops(self.shared.codes.code(reason), packets);
                tally.forwarded = tally.forwarded.saturating_sub(packets);
            }
        }
        tally.forwarded_bytes = tally.forwarded_bytes.saturating_sub(not_sent.bytes);
        self.meter.add(tally);
        let ended = tally.ended();
        self.paths[path].held += tally.held;
        self.paths[path].held -= tally.released.min(self.paths[path].held);
        if let (Some(last), true) = (batch.len().checked_sub(1), ended > 0) {
            // The first and the last record stand for the two halves of the batch.
            let of = |index| wall_ns.saturating_sub(batch.arrival(index).timestamp_ns);
            self.meter.add_latency(of(0), ended / 2);
            self.meter.add_latency(of(last), ended - ended / 2);
        }
        if !batch.events().is_empty() {
            let events = batch.take_events();
            let count = events.len() as u64;
            if self.shared.events.try_send(events).is_err() {
                self.shared.events.count_lost(count);
            }
        }
    }

    fn give_to_control(&mut self, path: usize, batch: &mut Batch) {
        let full = self.shared.codes.code(FrameDrop::ControlFull);
        for index in batch.live() {
            if batch.egress(index) != Egress::CONTROL {
                continue;
            }
            let packet = ControlPacket {
                bytes: batch.record(index).into(),
                arrival: *batch.arrival(index),
                path,
            };
            if self.shared.control.try_send(packet).is_err() {
                batch.drop_record(index, full);
            }
        }
    }
}

/// Records that ports did not take.
struct NotSent {
    by_reason: [(FrameDrop, u64); 4],
    bytes: u64,
}

impl Default for NotSent {
    fn default() -> NotSent {
        let reasons = [
            FrameDrop::OutputFull,
            FrameDrop::PortDown,
            FrameDrop::ExceedsMtu,
            FrameDrop::OutputRefused,
        ];
        NotSent {
            by_reason: reasons.map(|reason| (reason, 0)),
            bytes: 0,
        }
    }
}

impl NotSent {
    /// Adds what a port counted while it was given so many bytes.
    fn add(&mut self, before: &TxCounters, after: &TxCounters, bytes: u64) {
        let refused = |counters: &TxCounters| counters.refused + counters.too_short;
        let counts = [
            after.no_space - before.no_space,
            after.port_down - before.port_down,
            after.too_long - before.too_long,
            refused(after) - refused(before),
        ];
        for ((_, sum), count) in self.by_reason.iter_mut().zip(counts) {
            *sum += count;
        }
        self.bytes += bytes.saturating_sub(after.sent_bytes - before.sent_bytes);
    }
}

//! How records leave a worker: by ports, to the thread that controls the pipeline, or not at all.

use weir_port::TxCounters;

use super::plan::Shared;
use super::queues::TxQueue;
use super::reason::FrameDrop;
use super::report::ControlPacket;
use crate::batch::Batch;
use crate::egress::Egress;
use crate::statistics::Tally;

/// Lets the live records of a batch leave. Returns the accounts of what became of all.
pub(super) fn leave<'batch>(
    shared: &Shared,
    tx: &mut [Option<TxQueue>],
    path: usize,
    batch: &'batch mut Batch,
) -> &'batch mut Tally {
    let (ports, to_control) = batch.egresses();
    if to_control {
        give_to_control(shared, path, batch);
    }
    let mut not_sent = not_taken(&TxCounters::default());
    let mut bytes_not_sent = 0;
    let mut left = ports;
    while left != 0 {
        let port = left.trailing_zeros() as usize;
        left &= left - 1;
        let egress = Egress::port(port);
        match tx.get_mut(port) {
            Some(Some(queue)) => {
                let before = queue.tx.counters();
                let bytes = batch.send(&mut *queue.tx, egress);
                let after = queue.tx.counters();
                let counts = not_taken(&after).into_iter().zip(not_taken(&before));
                for ((_, sum), ((_, after), (_, before))) in not_sent.iter_mut().zip(counts) {
                    *sum += after - before;
                }
                bytes_not_sent += bytes.saturating_sub(after.sent_bytes - before.sent_bytes);
            }
            _ => {
                let down = shared.codes.code(FrameDrop::PortDown);
                for index in batch.live() {
                    if batch.egress(index) == egress {
                        batch.drop_record(index, down);
                    }
                }
            }
        }
    }
    let tally = batch.settle_accounts();
    for (reason, packets) in not_sent {
        if packets > 0 {
            tally.add_drops(shared.codes.code(reason), packets);
            tally.forwarded = tally.forwarded.saturating_sub(packets);
        }
    }
    tally.forwarded_bytes = tally.forwarded_bytes.saturating_sub(bytes_not_sent);
    tally
}

fn give_to_control(shared: &Shared, path: usize, batch: &mut Batch) {
    let full = shared.codes.code(FrameDrop::ControlFull);
    for index in batch.live() {
        if batch.egress(index) != Egress::CONTROL {
            continue;
        }
        let packet = ControlPacket {
            bytes: batch.record(index).into(),
            arrival: *batch.arrival(index),
            path,
        };
        if shared.control.try_send(packet).is_err() {
            batch.drop_record(index, full);
        }
    }
}

/// What a port has not taken so far, by reason.
fn not_taken(counters: &TxCounters) -> [(FrameDrop, u64); 4] {
    [
        (FrameDrop::OutputFull, counters.no_space),
        (FrameDrop::PortDown, counters.port_down),
        (FrameDrop::ExceedsMtu, counters.too_long),
        (
            FrameDrop::OutputRefused,
            counters.refused + counters.too_short,
        ),
    ]
}

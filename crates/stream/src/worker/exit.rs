//! How records leave a worker: by ports, to the thread that controls the run, to other workers, or
//! not at all.

use std::sync::Arc;

use weir_port::TxCounters;

use super::parcel::Parcel;
use super::path::PathOfWorker;
use super::queues::TxQueue;
use super::reason::FrameDrop;
use super::report::ControlPacket;
use super::rounds::ToShards;
use super::shared::SharedLive;
use crate::batch::Batch;
use crate::context::Clock;
use crate::egress::Egress;
use crate::ring::RingSender;

pub(crate) enum Exit {
    /// Their way ends here.
    Settled,
    /// To all shards, from the worker that reads the source.
    Shards(ToShards),
    /// To the worker that runs the sinks.
    Sinks(RingSender<Parcel>),
    /// By ports.
    Ports(Ports),
}

/// The send queues of a worker.
pub(crate) struct Ports {
    /// By the number of the port.
    pub tx: Vec<Option<TxQueue>>,
    mtus_bytes: Arc<[usize]>,
}

impl Ports {
    pub fn new(tx: Vec<Option<TxQueue>>) -> Ports {
        let mut ports = Ports {
            tx,
            mtus_bytes: Arc::new([]),
        };
        ports.read_mtus();
        ports
    }

    /// Reads the MTUs of all ports. One that is not known limits nothing.
    pub fn read_mtus(&mut self) {
        let of = |queue: &Option<TxQueue>| match queue.as_ref().map(|queue| queue.tx.mtu_bytes()) {
            None | Some(0) => usize::MAX,
            Some(mtu_bytes) => mtu_bytes,
        };
        self.mtus_bytes = self.tx.iter().map(of).collect();
    }

    /// Tells a batch of what its records come and leave by.
    #[inline]
    pub fn describe(&self, live: &SharedLive, batch: &mut Batch) {
        batch.set_interfaces(&live.interfaces);
        batch.set_mtus_bytes(&self.mtus_bytes);
    }

    /// Lets the live records of a batch leave, and its events; counts what became of all.
    pub fn send(
        &mut self,
        live: &SharedLive,
        path: &mut PathOfWorker,
        batch: &mut Batch,
        clock: &mut Clock,
    ) {
        let (ports, to_control) = batch.egresses();
        if to_control {
            give_to_control(live, path.number, batch);
        }
        let mut not_sent = not_taken(&TxCounters::default());
        let mut bytes_not_sent = 0;
        let mut left = ports;
        while left != 0 {
            let port = left.trailing_zeros() as usize;
            left &= left - 1;
            let egress = Egress::port(port);
            match self.tx.get_mut(port) {
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
                    let down = live.codes.code(FrameDrop::PortDown);
                    batch.drop_live(down, |batch, index| batch.egress(index) == egress);
                }
            }
        }
        let tally = batch.settle_accounts();
        for (reason, packets) in not_sent {
            if packets > 0 {
                tally.add_drops(live.codes.code(reason), packets);
                tally.forwarded = tally.forwarded.saturating_sub(packets);
            }
        }
        tally.forwarded_bytes = tally.forwarded_bytes.saturating_sub(bytes_not_sent);
        path.count(tally);
        let ended = tally.ended();
        if let (Some(last), true) = (batch.len().checked_sub(1), ended > 0) {
            // The first and the last record stand for the two halves of the batch.
            let wall_ns = clock.context(clock.now_ns()).wall_ns;
            let of = |index| wall_ns.saturating_sub(batch.arrival(index).timestamp_ns);
            path.meter.add_latency(of(0), ended / 2);
            path.meter.add_latency(of(last), ended - ended / 2);
        }
        if !batch.events().is_empty() {
            let events = batch.take_events();
            let count = events.len() as u64;
            if live.events.try_send(events).is_err() {
                live.events.count_lost(count);
            }
        }
    }
}

fn give_to_control(live: &SharedLive, path: usize, batch: &mut Batch) {
    let full = live.codes.code(FrameDrop::ControlFull);
    for index in batch.live() {
        if batch.egress(index) != Egress::CONTROL {
            continue;
        }
        let packet = ControlPacket {
            bytes: batch.record(index).into(),
            arrival: *batch.arrival(index),
            path,
        };
        if live.control.try_send(packet).is_err() {
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

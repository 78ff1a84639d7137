//! Weir's engine between the same ports: a worker that parses every packet, finds its flow, counts
//! it and sends it on.

use std::fs;
use std::thread;
use std::time::Duration;

use weir_port::{Rx, Tx};
use weir_stream::{Batch, Context, Egress, Live, LivePort, Stage, StageError};

use crate::ports;
use crate::run::Run;

pub fn xdp(from: &str, to: &str, run: &Run) -> u64 {
    let (rx, tx) = ports::open_xdp_pair(from, to);
    forward(rx, tx, run)
}

pub fn packet(from: &str, to: &str, run: &Run) -> u64 {
    let (rx, tx) = ports::open_packet_pair(from, to);
    forward(rx, tx, run)
}

fn forward(rx: impl Rx + 'static, tx: impl Tx + 'static, run: &Run) -> u64 {
    let live = Live::new(1, |_worker, _path| Ok(vec![Box::new(Counter::default())]))
        .port(LivePort {
            name: "from".to_owned(),
            rx: vec![Box::new(rx)],
            tx: Vec::new(),
            keeps_flows: true,
        })
        .port(LivePort {
            name: "to".to_owned(),
            rx: Vec::new(),
            tx: vec![Box::new(tx)],
            keeps_flows: true,
        })
        .path(0, Egress::port(1))
        .cpus(vec![1]);
    let running = live.start().expect("the worker starts");
    while worker_cpu_ns().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    run.begin_at(worker_cpu_ns().expect("a worker"));
    while !run.is_over() {
        thread::sleep(Duration::from_millis(5));
    }
    run.end_at(worker_cpu_ns().expect("a worker"));
    running.stop_flag().stop();
    let outcome = running.join().expect("the accounts balance");
    outcome.statistics.forwarded()
}

/// Counts packets and bytes, and packets that belong to a flow.
#[derive(Default)]
struct Counter {
    packets: u64,
    bytes: u64,
    of_flows: u64,
}

impl Stage for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn wants_flow_keys(&self) -> bool {
        true
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            self.packets += 1;
            self.bytes += u64::from(batch.captured_bytes(index));
            self.of_flows += u64::from(batch.flow_key(index).is_some());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StageError> {
        std::hint::black_box((self.packets, self.bytes, self.of_flows));
        Ok(())
    }
}

/// CPU time of the worker's thread, as the scheduler accounts for it: exact while it sleeps.
fn worker_cpu_ns() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    tasks.flatten().find_map(|task| {
        let comm = fs::read_to_string(task.path().join("comm")).ok()?;
        if comm.trim_end() != "weir-worker-0" {
            return None;
        }
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    })
}

//! Live pipelines between ports in memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use weir_port::{
    FrameLayout, FramePool, Frames, MemoryRx, MemoryTx, Outgoing, Rx, Tx, memory_queue,
};

use super::*;
use crate::batch::{Batch, HeldRecord};
use crate::context::Context;
use crate::ring::Received;
use crate::statistics::Statistics;
use crate::vocabulary::VocabularyError;
use crate::{Commands, EventKind, LiveReport, Mailbox, Steering, SteeringRule, Word};

mod control;
mod failures;
mod workers;

/// Nothing in these tests takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

fn pool() -> FramePool {
    FramePool::new(FrameLayout::default()).expect("memory")
}

/// The outer ends of a port in memory: what it is sent, and what comes out of it.
struct Outside {
    to_port: Vec<MemoryTx>,
    from_port: Vec<MemoryRx>,
    frames: Frames,
}

/// A port with so many queues in each direction, whose send queues hold `capacity` packets.
fn port(name: &str, queues: usize, capacity: usize) -> (LivePort, Outside) {
    let pool = pool();
    let (to_port, rx): (Vec<_>, Vec<_>) = (0..queues)
        .map(|_| memory_queue(&pool, 1 << 16, 1500))
        .unzip();
    let (tx, from_port): (Vec<_>, Vec<_>) = (0..queues)
        .map(|_| memory_queue(&pool, capacity, 1500))
        .unzip();
    let port = LivePort {
        name: name.to_owned(),
        rx: rx.into_iter().map(|rx| Box::new(rx) as _).collect(),
        tx: tx.into_iter().map(|tx| Box::new(tx) as _).collect(),
        keeps_flows: true,
    };
    let outside = Outside {
        to_port,
        from_port,
        frames: Frames::default(),
    };
    (port, outside)
}

impl Outside {
    fn send(&mut self, queue: usize, packets: &[Vec<u8>]) {
        let packets: Vec<Outgoing<'_>> = packets.iter().map(|p| Outgoing::from(&p[..])).collect();
        for packets in packets.chunks(256) {
            let sent = self.to_port[queue].send(&mut self.frames, packets);
            assert_eq!(sent, packets.len());
        }
    }

    /// What has come out of a queue so far: the numbers of packets.
    fn receive(&mut self, queue: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while self.from_port[queue].fill(&mut self.frames, 256) > 0 {
            numbers.extend(self.frames.packets().map(|packet| number(packet.bytes)));
            self.frames.clear();
        }
        numbers
    }

    /// Waits until so many packets have come out of all queues; the numbers of each queue.
    fn receive_all(&mut self, count: usize) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); self.from_port.len()];
        wait_until(|| {
            for (queue, numbers) in all.iter_mut().enumerate() {
                numbers.extend(self.receive(queue));
            }
            all.iter().map(Vec::len).sum::<usize>() >= count
        });
        all
    }
}

/// Ethernet frames of IPv4 and UDP, of flows by their numbers modulo `flows`.
fn packets(numbers: std::ops::Range<u32>, flows: u32) -> Vec<Vec<u8>> {
    let packet = |number: u32| {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
        frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        frame.extend((number % flows).to_be_bytes()[2..].iter());
        frame.extend([0, 53, 0, 26, 0, 0]);
        frame.extend(number.to_be_bytes());
        frame.resize(60, 0);
        frame
    };
    numbers.map(packet).collect()
}

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[42..46].try_into().expect("four bytes"))
}

#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "waited in vain");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Every snapshot balances until `condition` holds.
#[track_caller]
fn balanced_until(running: &Running, mut condition: impl FnMut(&Statistics) -> bool) {
    wait_until(|| {
        let snapshot = running.meters().snapshot().expect("balanced");
        let drops: u64 = snapshot.drops_by_reason().map(|(_, count)| count).sum();
        let settled = snapshot.forwarded() + drops + snapshot.held() + snapshot.absorbed();
        let came = snapshot.packets() + snapshot.created();
        assert_eq!(came as i64, settled as i64 + snapshot.between_workers());
        condition(&snapshot)
    });
}

fn stop(running: Running) -> Statistics {
    running.stop_flag().stop();
    running.join().expect("a run").statistics
}

fn no_stages(_worker: usize, _path: usize) -> Result<Vec<Box<dyn Stage>>, StageError> {
    Ok(Vec::new())
}

/// A stage that is a function.
struct Does<F>(F);

impl<F: FnMut(&mut Batch, &mut Context) -> Result<(), StageError> + Send + 'static> Stage
    for Does<F>
{
    fn name(&self) -> &str {
        "does"
    }
    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        (self.0)(batch, cx)
    }
}

fn does<F>(function: F) -> Box<dyn Stage>
where
    F: FnMut(&mut Batch, &mut Context) -> Result<(), StageError> + Send + 'static,
{
    Box::new(Does(function))
}

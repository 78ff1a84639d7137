//! A queue of packets in memory: two ports for tests.

use std::collections::VecDeque;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::frames::{FramePool, Frames};
use crate::port::{Arrival, DownReason, Fit, LinkLayer, Offload, Outgoing, PortState, fit, now_ns};
use crate::port::{Rx, RxCounters, Tx, TxCounters};

/// A port that sends to another one in memory. The queue between them holds up to `packets`;
/// they are received into frames of `pool`.
pub fn memory_queue(pool: &FramePool, packets: usize, mtu_bytes: usize) -> (MemoryTx, MemoryRx) {
    let queue = Arc::new(Queue {
        waiting: Mutex::default(),
        changed: Condvar::new(),
    });
    let tx = MemoryTx {
        queue: Arc::clone(&queue),
        capacity: packets,
        mtu_bytes,
        state: PortState::Up,
        counters: TxCounters::default(),
    };
    let rx = MemoryRx {
        queue,
        pool: pool.clone(),
        state: PortState::Up,
        received: 0,
    };
    (tx, rx)
}

struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    packets: VecDeque<Stored>,
    tx_gone: bool,
    rx_gone: bool,
}

struct Stored {
    bytes: Vec<u8>,
    arrival: Arrival,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a queue in memory that sends.
pub struct MemoryTx {
    queue: Arc<Queue>,
    capacity: usize,
    mtu_bytes: usize,
    state: PortState,
    counters: TxCounters,
}

impl Tx for MemoryTx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize {
        let sent_before = self.counters.sent;
        let arrival_ns = now_ns();
        let mut waiting = self.queue.lock();
        if waiting.rx_gone {
            self.state = removed();
        }
        for packet in packets {
            let (bytes, offload) = (packet.bytes(frames), packet.offload(frames));
            let counter = match fit(bytes, offload, LinkLayer::Ethernet, self.mtu_bytes) {
                Fit::TooLong => &mut self.counters.too_long,
                Fit::TooShort => &mut self.counters.too_short,
                Fit::Fits if waiting.rx_gone => &mut self.counters.port_down,
                Fit::Fits if waiting.packets.len() >= self.capacity => &mut self.counters.no_space,
                Fit::Fits => {
                    waiting
                        .packets
                        .push_back(stored(bytes, offload, arrival_ns));
                    self.counters.sent_bytes += bytes.len() as u64;
                    &mut self.counters.sent
                }
            };
            *counter += 1;
        }
        self.queue.changed.notify_all();
        (self.counters.sent - sent_before) as usize
    }

    fn flush(&mut self, timeout: Duration) -> bool {
        let waiting = self.queue.lock();
        let result = self
            .queue
            .changed
            .wait_timeout_while(waiting, timeout, |waiting| {
                !waiting.packets.is_empty() && !waiting.rx_gone
            });
        let (waiting, _) = result.unwrap_or_else(PoisonError::into_inner);
        waiting.packets.is_empty()
    }

    fn headroom_bytes(&self) -> usize {
        0
    }

    fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    fn state(&mut self) -> &PortState {
        &self.state
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl Drop for MemoryTx {
    fn drop(&mut self) {
        self.queue.lock().tx_gone = true;
        self.queue.changed.notify_all();
    }
}

fn stored(bytes: &[u8], offload: Offload, arrival_ns: u64) -> Stored {
    Stored {
        bytes: bytes.to_vec(),
        arrival: Arrival {
            arrival_ns,
            wire_bytes: bytes.len() as u32,
            offload,
        },
    }
}

/// The end of a queue in memory that receives.
pub struct MemoryRx {
    queue: Arc<Queue>,
    pool: FramePool,
    state: PortState,
    received: u64,
}

impl Rx for MemoryRx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn pool(&self) -> &FramePool {
        &self.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let mut waiting = self.queue.lock();
        let count = limit.min(waiting.packets.len());
        let count = frames.reserve(&self.pool, count);
        for stored in waiting.packets.drain(..count) {
            // There is a frame for each: they are reserved.
            frames.push(&stored.bytes, stored.arrival);
        }
        self.queue.changed.notify_all();
        self.received += count as u64;
        count
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        let waiting = self.queue.lock();
        let result = self
            .queue
            .changed
            .wait_timeout_while(waiting, timeout, |waiting| {
                waiting.packets.is_empty() && !waiting.tx_gone
            });
        let (waiting, _) = result.unwrap_or_else(PoisonError::into_inner);
        if waiting.tx_gone && waiting.packets.is_empty() {
            self.state = removed();
        }
        &self.state
    }

    #[cfg(unix)]
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn state(&self) -> &PortState {
        &self.state
    }

    fn counters(&mut self) -> RxCounters {
        RxCounters {
            received: self.received,
            ..RxCounters::default()
        }
    }
}

impl Drop for MemoryRx {
    fn drop(&mut self) {
        self.queue.lock().rx_gone = true;
        self.queue.changed.notify_all();
    }
}

fn removed() -> PortState {
    PortState::Down {
        reason: DownReason::Removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::FrameLayout;

    fn pool(frames: u32) -> FramePool {
        let layout = FrameLayout {
            frames,
            ..FrameLayout::default()
        };
        FramePool::new(layout).expect("memory")
    }

    fn first_bytes(frames: &Frames) -> Vec<u8> {
        frames.packets().map(|packet| packet.bytes[0]).collect()
    }

    #[test]
    fn packets_arrive_in_order_and_losses_are_counted() {
        let (mut tx, mut rx) = memory_queue(&pool(8), 2, 100);
        let mut frames = Frames::default();
        let packets: [&[u8]; 5] = [&[1; 60], &[2; 115], &[3; 13], &[4; 114], &[5; 60]];
        assert_eq!(tx.send(&mut frames, &packets.map(Outgoing::from)), 2);
        assert!(!tx.flush(Duration::ZERO));
        assert_eq!(rx.fill(&mut frames, 64), 2);
        assert_eq!(first_bytes(&frames), [1, 4]);
        assert!(tx.flush(Duration::ZERO));
        assert_eq!(rx.fill(&mut frames, 64), 0);
        assert_eq!(rx.counters().received, 2);
        let counters = tx.counters();
        assert_eq!((counters.sent, counters.sent_bytes), (2, 174));
        assert_eq!((counters.too_long, counters.too_short), (1, 1));
        assert_eq!(counters.no_space, 1);
    }

    #[test]
    fn packets_wait_for_free_frames() {
        let pool = pool(3);
        let (mut tx, mut rx) = memory_queue(&pool, 8, 100);
        let packets: [&[u8]; 5] = [&[1; 60], &[2; 60], &[3; 60], &[4; 60], &[5; 60]];
        let mut frames = Frames::default();
        tx.send(&mut frames, &packets.map(Outgoing::from));
        assert_eq!((rx.fill(&mut frames, 2), rx.fill(&mut frames, 64)), (2, 1));
        assert_eq!(rx.fill(&mut frames, 64), 0);
        assert_eq!(first_bytes(&frames), [1, 2, 3]);
        // From frame to frame.
        let (mut onward, mut last) = memory_queue(&pool, 8, 100);
        let all = [2, 0, 1].map(Outgoing::Frame);
        assert_eq!(onward.send(&mut frames, &all), 3);
        frames.clear();
        assert_eq!(rx.fill(&mut frames, 64), 2);
        assert_eq!(first_bytes(&frames), [4, 5]);
        frames.clear();
        assert_eq!(last.fill(&mut frames, 64), 3);
        assert_eq!(first_bytes(&frames), [3, 1, 2]);
    }

    #[test]
    fn an_end_that_goes_away_is_a_state() {
        let mut frames = Frames::default();
        let packet = Outgoing::from(&[1; 60][..]);
        let (mut tx, mut rx) = memory_queue(&pool(8), 2, 100);
        tx.send(&mut frames, &[packet]);
        drop(tx);
        assert!(rx.wait(Duration::from_secs(60)).is_up());
        assert_eq!(rx.fill(&mut frames, 64), 1);
        assert_eq!(rx.wait(Duration::from_secs(60)), &removed());

        let (mut tx, rx) = memory_queue(&pool(8), 2, 100);
        drop(rx);
        assert_eq!(tx.send(&mut frames, &[packet]), 0);
        assert_eq!((tx.counters().port_down, tx.state()), (1, &removed()));
    }
}

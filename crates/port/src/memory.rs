//! A queue of packets in memory: two ports for tests.

use std::collections::{VecDeque, vec_deque};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::port::{ChecksumState, DownReason, Fit, Packet, PortState, fit};
use crate::port::{Rx, RxCounters, Tx, TxCounters};

/// A port that sends to another one in memory. The queue between them holds up to `packets`.
pub fn memory_queue(packets: usize, mtu_bytes: usize) -> (MemoryTx, MemoryRx) {
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
        lent: VecDeque::new(),
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
    arrival_ns: u64,
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
    fn send(&mut self, packets: &[&[u8]]) -> usize {
        let sent_before = self.counters.sent;
        let arrival_ns = now_ns();
        let mut waiting = self.queue.lock();
        if waiting.rx_gone {
            self.state = removed();
        }
        for packet in packets {
            let counter = match fit(packet, self.mtu_bytes) {
                Fit::TooLong => &mut self.counters.too_long,
                Fit::TooShort => &mut self.counters.too_short,
                Fit::Fits if waiting.rx_gone => &mut self.counters.port_down,
                Fit::Fits if waiting.packets.len() >= self.capacity => &mut self.counters.no_space,
                Fit::Fits => {
                    waiting.packets.push_back(Stored {
                        bytes: packet.to_vec(),
                        arrival_ns,
                    });
                    self.counters.sent_bytes += packet.len() as u64;
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

    fn state(&self) -> &PortState {
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

/// The end of a queue in memory that receives.
pub struct MemoryRx {
    queue: Arc<Queue>,
    lent: VecDeque<Stored>,
    state: PortState,
    received: u64,
}

impl Rx for MemoryRx {
    type Packets<'a> = MemoryPackets<'a>;

    fn fill(&mut self) -> MemoryPackets<'_> {
        self.lent = mem::take(&mut self.queue.lock().packets);
        self.queue.changed.notify_all();
        self.received += self.lent.len() as u64;
        MemoryPackets {
            stored: self.lent.iter(),
        }
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        self.lent.clear();
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

/// Packets lent by a [`MemoryRx`].
pub struct MemoryPackets<'a> {
    stored: vec_deque::Iter<'a, Stored>,
}

impl<'a> Iterator for MemoryPackets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        let stored = self.stored.next()?;
        Some(Packet {
            bytes: &stored.bytes,
            wire_bytes: stored.bytes.len() as u32,
            arrival_ns: stored.arrival_ns,
            checksum: ChecksumState::Unknown,
        })
    }
}

fn removed() -> PortState {
    PortState::Down {
        reason: DownReason::Removed,
    }
}

fn now_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_in_order_and_losses_are_counted() {
        let (mut tx, mut rx) = memory_queue(2, 100);
        let packets: [&[u8]; 5] = [&[1; 60], &[2; 115], &[3; 13], &[4; 114], &[5; 60]];
        assert_eq!(tx.send(&packets), 2);
        assert!(!tx.flush(Duration::ZERO));
        let received: Vec<u8> = rx.fill().map(|packet| packet.bytes[0]).collect();
        assert_eq!(received, [1, 4]);
        assert!(tx.flush(Duration::ZERO));
        assert_eq!(rx.fill().count(), 0);
        assert_eq!(rx.counters().received, 2);
        let counters = tx.counters();
        assert_eq!((counters.sent, counters.sent_bytes), (2, 174));
        assert_eq!((counters.too_long, counters.too_short), (1, 1));
        assert_eq!(counters.no_space, 1);
    }

    #[test]
    fn an_end_that_goes_away_is_a_state() {
        let (mut tx, mut rx) = memory_queue(2, 100);
        tx.send(&[&[1; 60]]);
        drop(tx);
        assert!(rx.wait(Duration::from_secs(60)).is_up());
        assert_eq!(rx.fill().count(), 1);
        assert_eq!(rx.wait(Duration::from_secs(60)), &removed());

        let (mut tx, rx) = memory_queue(2, 100);
        drop(rx);
        assert_eq!(tx.send(&[&[1; 60]]), 0);
        assert_eq!((tx.counters().port_down, tx.state()), (1, &removed()));
    }
}

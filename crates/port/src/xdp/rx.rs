//! Receiving from a queue.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::attached::Shared;
use super::{Queue, XdpMode, XdpStatistics};
use crate::frames::{FramePool, Frames};
use crate::port::{LinkLayer, PortState, Rx, RxCounters, now_ns};
use crate::sys::Readiness;
use crate::sys::region::Token;
use crate::sys::xdp::RxHalf;
use crate::watch::{EXAMINED_EVERY, failed};

/// A port that receives from one queue of an interface; see [`open_xdp`](super::open_xdp).
pub struct XdpRx {
    queue: Queue<RxHalf>,
    /// When the interface is to be looked at again.
    due: Instant,
    /// Empty frames on their way to the kernel.
    empty: Vec<Token>,
    received: u64,
    malformed: u64,
    /// What earlier sockets counted.
    before: XdpStatistics,
}

impl XdpRx {
    pub(super) fn new(shared: Arc<Shared>, queue: usize, pool: FramePool) -> XdpRx {
        XdpRx {
            queue: Queue::new(shared, queue, pool),
            due: Instant::now() + EXAMINED_EVERY,
            empty: Vec::new(),
            received: 0,
            malformed: 0,
            before: XdpStatistics::default(),
        }
    }

    /// Whether the driver reads and writes frames directly, without a copy by the kernel.
    pub fn is_zero_copy(&self) -> bool {
        self.queue.half.as_ref().is_some_and(RxHalf::is_zero_copy)
    }

    /// Where the interface hands packets over, while it is there.
    pub fn mode(&self) -> Option<XdpMode> {
        self.queue.shared.mode()
    }

    /// What the kernel counted, by reason.
    pub fn statistics(&self) -> XdpStatistics {
        let half = self.queue.half.as_ref();
        let now = half.and_then(|half| half.statistics().ok());
        sum(self.before, now.unwrap_or_default())
    }

    fn examine(&mut self, now: bool) {
        self.due = Instant::now() + EXAMINED_EVERY;
        if let Some(half) = self.queue.follow(now) {
            let counted = half.statistics().unwrap_or_default();
            self.before = sum(self.before, counted);
        }
    }

    /// Gives the kernel frames for those that it filled.
    fn refill(&mut self) {
        if let Some(half) = &mut self.queue.half {
            let missing = half.missing();
            if missing > 0 {
                self.queue.pool.take(missing, &mut self.empty);
                half.refill(&mut self.empty);
                half.wake();
            }
        }
    }
}

impl Rx for XdpRx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn pool(&self) -> &FramePool {
        &self.queue.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let Some(half) = &mut self.queue.half else {
            return 0;
        };
        if !half.is_ready() || !frames.accepts(&self.queue.pool) {
            self.refill();
            return 0;
        }
        frames.adopt(&self.queue.pool);
        let before = frames.len();
        // The kernel gives no time.
        let arrival_ns = now_ns();
        self.malformed += half.receive(limit, |token, start, end| {
            frames.push_token(token, start, end, arrival_ns);
        });
        let count = frames.len() - before;
        self.received += count as u64;
        self.refill();
        count
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        self.refill();
        let timeout = match self.queue.state {
            PortState::Up => timeout,
            PortState::Down { .. } => timeout.min(EXAMINED_EVERY),
        };
        let waited = match &self.queue.half {
            Some(half) if half.is_ready() => Ok(Readiness::Ready),
            Some(half) => half.wait(timeout),
            None => {
                thread::sleep(timeout);
                Ok(Readiness::NotYet)
            }
        };
        match waited {
            // The loss of a carrier brings no event.
            Ok(Readiness::Ready | Readiness::NotYet) if Instant::now() < self.due => {}
            Ok(Readiness::Failed) => self.examine(true),
            Ok(_) => self.examine(false),
            Err(error) => {
                self.queue.state = failed(&error);
                thread::sleep(timeout.min(EXAMINED_EVERY));
            }
        }
        &self.queue.state
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.queue.half.as_ref().map(|half| half.as_fd())
    }

    fn state(&self) -> &PortState {
        &self.queue.state
    }

    fn counters(&mut self) -> RxCounters {
        let statistics = self.statistics();
        RxCounters {
            received: self.received,
            missed: statistics.rx_dropped + statistics.rx_ring_full,
            malformed: self.malformed,
        }
    }
}

impl Drop for XdpRx {
    fn drop(&mut self) {
        self.queue.pool.give(self.empty.drain(..));
    }
}

fn sum(one: XdpStatistics, other: XdpStatistics) -> XdpStatistics {
    XdpStatistics {
        rx_dropped: one.rx_dropped + other.rx_dropped,
        rx_ring_full: one.rx_ring_full + other.rx_ring_full,
        fill_ring_empty: one.fill_ring_empty + other.fill_ring_empty,
        invalid: one.invalid + other.invalid,
    }
}

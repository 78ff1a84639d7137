//! Receiving what the kernel sends to a TUN device.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use super::device::Queue;
use super::header;
use crate::frames::{FramePool, Frames};
use crate::port::{Arrival, LinkLayer, PortState, Rx, RxCounters, now_ns};
use crate::sys::Readiness;
use crate::watch::{EXAMINED_EVERY, failed};

/// A port that receives from one queue of a TUN device; see [`open_tun`](super::open_tun).
pub struct TunRx {
    queue: Queue,
    pool: FramePool,
    received: u64,
    malformed: u64,
}

impl TunRx {
    pub(super) fn new(queue: Queue, pool: FramePool) -> TunRx {
        TunRx {
            queue,
            pool,
            received: 0,
            malformed: 0,
        }
    }

    /// Packets that the kernel dropped because nobody received them, of all queues of the
    /// device since it was made. There is no count for each.
    fn device_drops(&self) -> u64 {
        // This file is of the network namespace of the thread.
        let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        drops_of(&text, self.queue.device().name())
    }
}

impl Rx for TunRx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ip
    }

    fn pool(&self) -> &FramePool {
        &self.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let limit = frames.reserve(&self.pool, limit);
        let arrival_ns = now_ns();
        let mut added = 0;
        let mut ended = None;
        while added < limit && ended.is_none() {
            let mut is_malformed = false;
            let pushed = frames.try_push(|space| {
                let mut description = header::Header::default();
                match self.queue.handle.read(&mut description, space) {
                    Err(error) => {
                        ended = Some(error);
                        None
                    }
                    Ok(bytes) => {
                        // What fills the space may be cut.
                        let is_whole = bytes < space.len();
                        let packet = space.get_mut(..bytes).filter(|_| is_whole);
                        let offload = packet.and_then(|packet| header::read(&description, packet));
                        is_malformed = offload.is_none();
                        let arrival = Arrival {
                            arrival_ns,
                            wire_bytes: bytes as u32,
                            offload: offload?,
                        };
                        Some((bytes, arrival))
                    }
                }
            });
            self.malformed += u64::from(is_malformed);
            added += usize::from(pushed.is_some());
        }
        self.received += added as u64;
        match ended {
            Some(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Some(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(error) => self.queue.state = failed(&error),
            None => {}
        }
        added
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        let timeout = match self.queue.state {
            PortState::Up => timeout,
            PortState::Down { .. } => timeout.min(EXAMINED_EVERY),
        };
        match self.queue.handle.wait(timeout) {
            Ok(Readiness::Ready | Readiness::NotYet) if !self.queue.is_due() => {}
            Ok(Readiness::Ready | Readiness::NotYet) => self.queue.follow(false),
            // The descriptor of a device that is gone is always ready, with an error.
            Ok(Readiness::Failed) | Err(_) => {
                thread::sleep(timeout.min(EXAMINED_EVERY));
                self.queue.follow(true);
            }
        }
        &self.queue.state
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.handle.as_fd())
    }

    fn state(&self) -> &PortState {
        &self.queue.state
    }

    fn counters(&mut self) -> RxCounters {
        RxCounters {
            received: self.received,
            missed: match self.queue.number() {
                0 => self.device_drops(),
                _ => 0,
            },
            malformed: self.malformed,
        }
    }
}

/// The packets that a device dropped on their way out, in the words of /proc/net/dev.
fn drops_of(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| {
        let (found, counts) = line.split_once(':')?;
        (found.trim() == name).then_some(counts)
    });
    // Eight counts of what came in, then bytes, packets, errors, drops.
    let drops = line.and_then(|counts| counts.split_whitespace().nth(11));
    drops.and_then(|drops| drops.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_by_name() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n    \
            lo:     100       1    2    3    4     5          6         7      200       8    9   10    0\n \
            tun1:   0 0 0 0 0 0 0 0 5 6 7 88 0 0 0 0\n";
        assert_eq!(drops_of(text, "lo"), 10);
        assert_eq!(drops_of(text, "tun1"), 88);
        assert_eq!(drops_of(text, "tun"), 0);
        assert_eq!(drops_of("tun: 1", "tun"), 0);
    }
}

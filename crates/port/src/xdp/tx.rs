//! Sending to a queue.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Queue;
use super::attached::Shared;
use crate::frames::{FramePool, Frames};
use crate::port::{Fit, LinkLayer, Outgoing, PortState, Tx, TxCounters, fit};
use crate::sys::region::Token;
use crate::sys::xdp::TxHalf;
use crate::watch::{EXAMINED_EVERY, failed};

/// A port that sends to one queue of an interface; see [`open_xdp`](super::open_xdp). Packets in
/// frames of its own pool are sent as they lie there; others are copied into frames of the pool.
pub struct XdpTx {
    queue: Queue<TxHalf>,
    /// When the interface is to be looked at again.
    due: Instant,
    /// Frames for copies, and those whose packet was sent.
    spare: Vec<Token>,
    counters: TxCounters,
}

impl XdpTx {
    pub(super) fn new(shared: Arc<Shared>, queue: usize, pool: FramePool) -> XdpTx {
        XdpTx {
            queue: Queue::new(shared, queue, pool),
            due: Instant::now() + EXAMINED_EVERY,
            spare: Vec::new(),
            counters: TxCounters::default(),
        }
    }

    fn examine(&mut self) {
        self.due = Instant::now() + EXAMINED_EVERY;
        // What the old socket did not send is lost with its interface.
        if let Some(half) = self.queue.follow(false) {
            let lost = half.in_flight() as u64;
            let lost = lost.min(self.counters.sent);
            self.counters.sent -= lost;
            self.counters.port_down += lost;
        }
    }

    /// Gives the frames whose packets were sent back to the pool.
    fn reap(&mut self) {
        if let Some(half) = &mut self.queue.half {
            half.reap(&mut self.spare);
        }
        self.queue.pool.give(self.spare.drain(..));
    }

    /// Has the kernel send what is in the ring. Returns whether it took some.
    fn push(&mut self) -> bool {
        let Some(half) = &mut self.queue.half else {
            return false;
        };
        let before = half.in_flight();
        let mut pending = usize::MAX;
        loop {
            match half.push() {
                Ok(0) => break,
                // It takes no more at the moment.
                Ok(left) if left >= pending => break,
                Ok(left) => pending = left,
                Err(error) => {
                    self.queue.state = failed(&error);
                    self.due = Instant::now();
                    break;
                }
            }
        }
        half.reap(&mut self.spare);
        half.in_flight() < before
    }

    /// Examines the interface where that was some time ago.
    fn look_after(&mut self) {
        if Instant::now() >= self.due {
            self.examine();
        }
    }

    /// Waits a bounded time until there is space for a packet.
    fn make_space(&mut self, patience: &mut u32) -> bool {
        loop {
            match &self.queue.half {
                Some(half) if half.free() > 0 => return true,
                Some(_) if self.queue.state.is_up() => {}
                _ => return false,
            }
            if self.push() {
                continue;
            }
            if *patience == 0 {
                return false;
            }
            *patience -= 1;
            self.counters.retries += 1;
            thread::sleep(RETRIED_AFTER);
        }
    }

    /// A copy of a packet in a frame of the pool.
    fn copied(&mut self, bytes: &[u8]) -> Result<(Token, u32, u32), Refusal> {
        let pool = &self.queue.pool;
        let start = pool.headroom_bytes();
        let end = start + bytes.len();
        if end > pool.frame_bytes() {
            return Err(Refusal::TooLong);
        }
        if self.spare.is_empty() {
            pool.take(COPIES, &mut self.spare);
        }
        let mut token = self.spare.pop().ok_or(Refusal::NoSpace)?;
        let to = pool.region().bytes_mut(&mut token, start..end);
        to.copy_from_slice(bytes);
        Ok((token, start as u32, end as u32))
    }

    /// Puts one packet into the ring.
    fn put(
        &mut self,
        frames: &mut Frames,
        packet: Outgoing<'_>,
        patience: &mut u32,
    ) -> Result<usize, Refusal> {
        let bytes = packet.bytes(frames);
        let mtu_bytes = self.queue.mtu_bytes;
        match fit(
            bytes,
            packet.offload(frames),
            LinkLayer::Ethernet,
            mtu_bytes,
        ) {
            Fit::TooLong => return Err(Refusal::TooLong),
            Fit::TooShort => return Err(Refusal::TooShort),
            Fit::Fits => {}
        }
        if !self.queue.state.is_up() || self.queue.half.is_none() {
            return Err(Refusal::PortDown);
        }
        if !self.make_space(patience) {
            return Err(match self.queue.state.is_up() {
                true => Refusal::NoSpace,
                false => Refusal::PortDown,
            });
        }
        let own = match packet {
            Outgoing::Frame(index) if frames.is_of(&self.queue.pool) => frames.take_token(index),
            _ => None,
        };
        let (token, start, end) = match own {
            Some(placed) => placed,
            None => self.copied(packet.bytes(frames))?,
        };
        let Some(half) = &mut self.queue.half else {
            self.spare.push(token);
            return Err(Refusal::PortDown);
        };
        match half.put(token, start, end) {
            Ok(()) => Ok((end - start) as usize),
            Err(token) => {
                self.spare.push(token);
                Err(Refusal::NoSpace)
            }
        }
    }
}

/// Why a packet is not sent.
enum Refusal {
    TooLong,
    TooShort,
    NoSpace,
    PortDown,
}

impl Tx for XdpTx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize {
        let sent_before = self.counters.sent;
        self.look_after();
        self.reap();
        let mut patience = PATIENCE;
        for packet in packets {
            let counter = match self.put(frames, *packet, &mut patience) {
                Ok(bytes) => {
                    self.counters.sent_bytes += bytes as u64;
                    &mut self.counters.sent
                }
                Err(Refusal::TooLong) => &mut self.counters.too_long,
                Err(Refusal::TooShort) => &mut self.counters.too_short,
                Err(Refusal::NoSpace) => &mut self.counters.no_space,
                Err(Refusal::PortDown) => &mut self.counters.port_down,
            };
            *counter += 1;
        }
        self.push();
        (self.counters.sent - sent_before) as usize
    }

    fn flush(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            self.push();
            self.reap();
            match &self.queue.half {
                None => return true,
                Some(half) if half.in_flight() == 0 => return true,
                Some(_) if Instant::now() >= deadline => return false,
                Some(_) => thread::sleep(RETRIED_AFTER),
            }
        }
    }

    fn headroom_bytes(&self) -> usize {
        0
    }

    fn mtu_bytes(&self) -> usize {
        self.queue.mtu_bytes
    }

    fn state(&mut self) -> &PortState {
        self.look_after();
        &self.queue.state
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl Drop for XdpTx {
    fn drop(&mut self) {
        self.queue.pool.give(self.spare.drain(..));
    }
}

/// Frames taken from the pool at once for copies.
const COPIES: usize = 64;
/// How often one call of `send` waits for space. After that it drops.
const PATIENCE: u32 = 100;
const RETRIED_AFTER: Duration = Duration::from_micros(100);

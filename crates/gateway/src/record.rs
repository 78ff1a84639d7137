//! Packets of an interface that are recorded.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing::info;
use weir_port::{FrameLayout, FramePool, Frames, InterfaceRx, PortState, Rx, RxOptions};
use weir_stream::StopFlag;

use crate::error::{Error, Result};
use crate::recording::Recording;

/// Packets on their way from an interface to a recording.
pub struct Recorder<'a> {
    /// The name of the interface.
    pub interface: &'a str,
    /// Where packets come from.
    pub rx: &'a mut InterfaceRx,
    /// Where they lie meanwhile.
    pub frames: Frames,
    /// Where they go.
    pub recording: &'a mut Recording,
    /// Bytes of each packet that are kept.
    pub snap_bytes: usize,
    /// Packets after which it ends.
    pub count: Option<u64>,
    /// When it ends.
    pub until: Option<Instant>,
    /// What was received, for others to read.
    pub counts: &'a Counts,
    /// Ends it.
    pub stop: &'a StopFlag,
    /// Begins the next file, or opens the capture again if it was moved away.
    pub reopen: &'a AtomicBool,
}

/// What was received so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Packets.
    pub packets: AtomicU64,
    /// Their bytes that are kept.
    pub bytes: AtomicU64,
    /// Their bytes on the wire.
    pub wire_bytes: AtomicU64,
}

impl Recorder<'_> {
    /// Opens an interface to be recorded, and memory for its packets.
    ///
    /// # Errors
    /// The interface does not exist or may not be opened.
    pub fn receive_from(interface: &str, options: RxOptions) -> Result<(InterfaceRx, Frames)> {
        let pool = FramePool::new(FRAMES).map_err(Error::running)?;
        let rx = InterfaceRx::open(interface, &pool, options).map_err(Error::configuration)?;
        Ok((rx, Frames::of(&pool)))
    }

    /// Records until something ends it. An interface that goes down or is removed is waited for.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn run(mut self) -> Result {
        let mut state = PortState::Up;
        let mut flush_at = Instant::now() + FLUSHED_EVERY;
        while !self.stop.is_stopped() {
            let received = self.take()?;
            if self.is_counted_out() {
                break;
            }
            let now = Instant::now();
            if self.until.is_some_and(|until| now >= until) {
                break;
            }
            if now >= flush_at {
                self.recording.flush()?;
                flush_at = now + FLUSHED_EVERY;
            }
            if self.reopen.swap(false, Ordering::Relaxed) {
                self.recording.reopen()?;
            }
            let rotate_at = self.recording.rotate_by_clock()?;
            if received {
                continue;
            }
            if self.recording.is_live() {
                self.recording.flush()?;
            }
            let due = [Some(flush_at), rotate_at, self.until];
            let due = due.into_iter().flatten().min().unwrap_or(flush_at);
            let timeout = due.saturating_duration_since(now).min(LONGEST_WAIT);
            let found = self.rx.wait(timeout);
            if *found != state {
                state = found.clone();
                info!("{} is {state}", self.interface);
            }
        }
        Ok(())
    }

    /// Writes packets that have arrived. Returns whether there were some.
    fn take(&mut self) -> Result<bool> {
        let limit = self.left().min(u64::from(FRAMES.frames)) as usize;
        self.frames.clear();
        let received = self.rx.fill(&mut self.frames, limit);
        for packet in self.frames.packets() {
            // What is received counts, whether it can be written or not.
            let bytes = packet.bytes.len().min(self.snap_bytes) as u64;
            self.counts.packets.fetch_add(1, Ordering::Relaxed);
            self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
            let wire_bytes = u64::from(packet.arrival.wire_bytes);
            self.counts
                .wire_bytes
                .fetch_add(wire_bytes, Ordering::Relaxed);
            self.recording.write(&packet, self.snap_bytes)?;
        }
        Ok(received > 0)
    }

    /// Packets that are still wanted.
    fn left(&self) -> u64 {
        let packets = self.counts.packets.load(Ordering::Relaxed);
        let count = self.count.unwrap_or(u64::MAX);
        count.saturating_sub(packets)
    }

    fn is_counted_out(&self) -> bool {
        self.left() == 0
    }
}

/// Packets that are written at once, each of any length.
const FRAMES: FrameLayout = FrameLayout {
    frames: 256,
    frame_bytes: 64 * 1024 + 4096,
    headroom_bytes: 0,
};
const FLUSHED_EVERY: Duration = Duration::from_secs(1);
/// A signal may come to another thread: it is noticed within this time.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

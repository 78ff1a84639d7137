//! Memory that is cut into frames of one size.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sys::region::{Region, Token};

/// How a pool is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLayout {
    /// How many frames it has.
    pub frames: u32,
    /// Bytes of a frame: 2,048 or 4,096 where an AF_XDP port uses the pool, 65,536 + 4,096
    /// where a TUN port with segmentation offload does.
    pub frame_bytes: usize,
    /// Bytes in front of each packet that ports leave free.
    pub headroom_bytes: usize,
}

impl Default for FrameLayout {
    /// 4,096 frames of 4 KiB, of which 128 bytes are headroom: for Ethernet ports of any kind.
    fn default() -> FrameLayout {
        FrameLayout {
            frames: 4096,
            frame_bytes: 4096,
            headroom_bytes: 128,
        }
    }
}

/// Memory for packets, cut into frames of one size. Ports and [`Frames`](super::Frames) take
/// frames out of it and give them back. Clones are the same pool.
#[derive(Clone)]
pub struct FramePool {
    region: Arc<Region>,
    shared: Arc<Shared>,
}

struct Shared {
    headroom_bytes: usize,
    /// Frames that nobody uses. The last one that came is the first to go: it may be in a cache.
    free: Mutex<Vec<Token>>,
}

impl FramePool {
    /// # Errors
    /// The frames are empty or not longer than their headroom, or the memory is not available.
    pub fn new(layout: FrameLayout) -> io::Result<FramePool> {
        let FrameLayout {
            frames,
            frame_bytes,
            headroom_bytes,
        } = layout;
        // A place in a frame is a number of 32 bits.
        if headroom_bytes >= frame_bytes || u32::try_from(frame_bytes).is_err() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (region, free) = Region::allocate(frames, frame_bytes)?;
        let free = Mutex::new(free);
        Ok(FramePool {
            region: Arc::new(region),
            shared: Arc::new(Shared {
                headroom_bytes,
                free,
            }),
        })
    }

    /// How many frames the pool has.
    pub fn frames(&self) -> usize {
        self.region.frames() as usize
    }

    /// How many of them nobody uses at the moment.
    pub fn free_frames(&self) -> usize {
        self.free().len()
    }

    /// Bytes of a frame, its headroom included.
    pub fn frame_bytes(&self) -> usize {
        self.region.frame_bytes()
    }

    /// Bytes in front of each packet that ports leave free.
    pub fn headroom_bytes(&self) -> usize {
        self.shared.headroom_bytes
    }

    /// Whether both are one pool.
    pub fn is_same(&self, other: &FramePool) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Moves up to `count` free frames to the end of `tokens`.
    pub(crate) fn take(&self, count: usize, tokens: &mut Vec<Token>) {
        let mut free = self.free();
        let start = free.len().saturating_sub(count);
        tokens.extend(free.drain(start..));
    }

    /// Takes frames back.
    pub(crate) fn give(&self, tokens: impl IntoIterator<Item = Token>) {
        let mut tokens = tokens.into_iter().peekable();
        if tokens.peek().is_some() {
            self.free().extend(tokens);
        }
    }

    fn free(&self) -> MutexGuard<'_, Vec<Token>> {
        let free = self.shared.free.lock();
        free.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FramePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramePool")
            .field("frames", &self.frames())
            .field("free_frames", &self.free_frames())
            .field("frame_bytes", &self.frame_bytes())
            .field("headroom_bytes", &self.headroom_bytes())
            .finish()
    }
}

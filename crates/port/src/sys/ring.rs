//! The ring of blocks that the kernel fills and this process reads (TPACKET_V3).

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many blocks a ring has and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockGeometry {
    pub block_bytes: usize,
    pub blocks: usize,
}

/// The mapped ring of a packet socket. Each block belongs to the kernel or to this process, as
/// the status word at its beginning says. It is unmapped when dropped.
pub struct Ring {
    base: NonNull<u8>,
    geometry: BlockGeometry,
}

// SAFETY: the mapping belongs to the process, not to a thread. It is written through `&mut self`
// only.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring that was requested of `socket` with this geometry.
    ///
    /// # Errors
    /// Those of the operating system; a geometry that cannot be, before it is asked.
    pub fn map(socket: BorrowedFd<'_>, geometry: BlockGeometry) -> io::Result<Ring> {
        let BlockGeometry {
            block_bytes,
            blocks,
        } = geometry;
        let length = block_bytes
            .checked_mul(blocks)
            .filter(|length| *length > 0 && isize::try_from(*length).is_ok());
        let is_aligned = block_bytes % align_of::<libc::tpacket_block_desc>() == 0;
        let (Some(length), true) = (length, is_aligned && block_bytes >= DESCRIPTOR_BYTES) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory in use.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { base, geometry })
    }

    pub fn blocks(&self) -> usize {
        self.geometry.blocks
    }

    /// Whether block `index` belongs to this process.
    ///
    /// # Panics
    /// There is no such block.
    pub fn is_ready(&self, index: usize) -> bool {
        self.status(index).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The bytes of block `index`, if it belongs to this process.
    ///
    /// # Panics
    /// There is no such block.
    pub fn block(&self, index: usize) -> Option<&[u8]> {
        if !self.is_ready(index) {
            return None;
        }
        let start = self.block_start(index);
        // SAFETY: `start` is the first of `block_bytes` mapped bytes, all of which the kernel
        // initialised. The kernel does not write to a block until its status is set to the
        // kernel's, which only `release` does; that takes `&mut self`, so that no slice of any
        // block lives then. This process writes to no block otherwise.
        Some(unsafe { slice::from_raw_parts(start.as_ptr(), self.geometry.block_bytes) })
    }

    /// Gives block `index` to the kernel.
    ///
    /// # Panics
    /// There is no such block.
    pub fn release(&mut self, index: usize) {
        let status = self.status(index);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    fn block_start(&self, index: usize) -> NonNull<u8> {
        assert!(index < self.geometry.blocks, "no block {index}");
        // SAFETY: `index` is below the number of blocks, so that the offset lies in the mapping,
        // whose length `map` verified to fit an `isize`.
        unsafe { self.base.add(index * self.geometry.block_bytes) }
    }

    fn status(&self, index: usize) -> &AtomicU32 {
        let start = self.block_start(index);
        // SAFETY: a block is not shorter than its descriptor, in which the status lies, and is
        // aligned for it: mappings begin at a page, and `map` refuses other lengths. It is valid
        // as long as `self`. In this process it is accessed atomically, or read through a slice of
        // `block` while nobody writes it; the kernel's own accesses are single words.
        unsafe { start.add(STATUS_OFFSET).cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let length = self.geometry.block_bytes * self.geometry.blocks;
        // SAFETY: `map` made this mapping with this length, and no slice of it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), length) };
    }
}

const DESCRIPTOR_BYTES: usize = size_of::<libc::tpacket_block_desc>();
const STATUS_OFFSET: usize =
    offset_of!(libc::tpacket_block_desc, hdr) + offset_of!(libc::tpacket_hdr_v1, block_status);

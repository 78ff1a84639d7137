//! Rings of one producer and one consumer, one of which is the kernel.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a ring is mapped from.
pub struct Area {
    pub page_offset: u64,
    pub offsets: libc::xdp_ring_offset,
    /// A power of two.
    pub entries: u32,
}

/// A ring that this process writes to.
pub struct Producer<T> {
    mapped: Mapped<T>,
    /// Entries written so far.
    written: u32,
    /// Entries that the kernel had read when it was asked last.
    consumed: u32,
}

/// A ring that this process reads from.
pub struct Consumer<T> {
    mapped: Mapped<T>,
    /// Entries read so far.
    read: u32,
    /// Entries that the kernel had written when it was asked last.
    produced: u32,
}

impl<T: Copy> Producer<T> {
    /// # Safety
    /// `area` is a ring of `T` of this socket whose consumer is the kernel, and is mapped once.
    ///
    /// # Errors
    /// Those of the operating system.
    pub unsafe fn map(socket: BorrowedFd<'_>, area: Area) -> io::Result<Producer<T>> {
        Ok(Producer {
            // SAFETY: the caller's promise.
            mapped: unsafe { Mapped::new(socket, area) }?,
            written: 0,
            consumed: 0,
        })
    }

    pub fn entries(&self) -> usize {
        self.mapped.entries as usize
    }

    /// Writes the next entry, which the kernel does not see yet. Returns whether there was space.
    #[inline]
    pub fn put(&mut self, entry: T) -> bool {
        if self.written.wrapping_sub(self.consumed) >= self.mapped.entries {
            self.consumed = self.mapped.consumer().load(Ordering::Acquire);
            if self.written.wrapping_sub(self.consumed) >= self.mapped.entries {
                return false;
            }
        }
        let place = self.mapped.entry(self.written);
        // SAFETY: `place` is that of an entry in the mapping. The kernel reads entries between its
        // count and the published one only. This one is not among them: fewer than all are
        // between the count that it had and the next entry, and its count only grows.
        unsafe { place.write(entry) };
        self.written = self.written.wrapping_add(1);
        true
    }

    /// Shows the kernel what was written.
    pub fn publish(&mut self) {
        let written = self.written;
        self.mapped.producer().store(written, Ordering::Release);
    }

    /// Entries that the kernel has not read.
    pub fn pending(&self) -> usize {
        let consumed = self.mapped.consumer().load(Ordering::Acquire);
        self.written.wrapping_sub(consumed).min(self.mapped.entries) as usize
    }

    pub fn needs_wakeup(&self) -> bool {
        self.mapped.needs_wakeup()
    }
}

impl<T: Copy> Consumer<T> {
    /// # Safety
    /// `area` is a ring of `T` of this socket whose producer is the kernel, and is mapped once.
    /// All bytes are a valid `T`.
    ///
    /// # Errors
    /// Those of the operating system.
    pub unsafe fn map(socket: BorrowedFd<'_>, area: Area) -> io::Result<Consumer<T>> {
        Ok(Consumer {
            // SAFETY: the caller's promise.
            mapped: unsafe { Mapped::new(socket, area) }?,
            read: 0,
            produced: 0,
        })
    }

    /// Whether something was written and not read.
    pub fn is_ready(&self) -> bool {
        self.mapped.producer().load(Ordering::Relaxed) != self.read
    }

    /// Reads the next entry, if there is one.
    #[inline]
    pub fn next(&mut self) -> Option<T> {
        if self.read == self.produced {
            self.produced = self.mapped.producer().load(Ordering::Acquire);
            if self.read == self.produced {
                return None;
            }
        }
        let place = self.mapped.entry(self.read);
        self.read = self.read.wrapping_add(1);
        // SAFETY: `place` is that of an entry in the mapping. The kernel wrote the entry before it
        // advanced its count, which is acquired above, and does not write to it until `release`.
        // Any bytes are a `T`, also where the kernel's count is wrong.
        Some(unsafe { place.read() })
    }

    /// Gives the space of what was read back to the kernel.
    pub fn release(&mut self) {
        self.mapped.consumer().store(self.read, Ordering::Release);
    }
}

/// The memory of a ring; unmapped when dropped.
struct Mapped<T> {
    base: NonNull<u8>,
    bytes: usize,
    offsets: libc::xdp_ring_offset,
    entries: u32,
    kind: PhantomData<T>,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl<T: Send> Send for Mapped<T> {}

impl<T> Mapped<T> {
    /// # Safety
    /// As of [`Producer::map`].
    unsafe fn new(socket: BorrowedFd<'_>, area: Area) -> io::Result<Mapped<T>> {
        let Area {
            page_offset,
            offsets,
            entries,
        } = area;
        let entries_bytes = (entries as usize).checked_mul(size_of::<T>());
        let start = usize::try_from(offsets.desc).ok();
        let bytes = start
            .zip(entries_bytes)
            .and_then(|(start, bytes)| start.checked_add(bytes));
        let words = [offsets.producer, offsets.consumer, offsets.flags];
        // Offsets are the kernel's; what they must be for the accesses below is verified once.
        let are_words = words
            .iter()
            .all(|offset| offset % 4 == 0 && offset.saturating_add(4) <= offsets.desc);
        let is_aligned = offsets.desc % align_of::<T>() as u64 == 0;
        let (Some(bytes), true) = (bytes, are_words && is_aligned && entries.is_power_of_two())
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory in use.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                page_offset as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapped {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            bytes,
            offsets,
            entries,
            kind: PhantomData,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    fn needs_wakeup(&self) -> bool {
        let flags = self.word(self.offsets.flags).load(Ordering::Relaxed);
        flags & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: `new` verified that the three offsets are those of aligned words in front of
        // the entries, in the mapping, which lives as long as `self`. They are accessed
        // atomically only, here and in the kernel.
        unsafe { self.base.add(offset as usize).cast::<AtomicU32>().as_ref() }
    }

    /// The place of an entry by its count.
    fn entry(&self, count: u32) -> NonNull<T> {
        let index = (count & (self.entries - 1)) as usize;
        // SAFETY: `new` mapped `entries` of `T` from an aligned offset on, and the index is
        // below that number.
        unsafe {
            self.base
                .add(self.offsets.desc as usize)
                .cast::<T>()
                .add(index)
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: `new` made this mapping with this length, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

//! Memory between unmapped pages, for tests: a kernel that reads or writes one byte
//! beyond a buffer ends the test program with SIGSEGV.
//!
//! ```text
//!            Side::End                          Side::Begin
//! ┌──────────┬──────────────┬──────────┐ ┌──────────┬──────────────┬──────────┐
//! │ unmapped │     [buffer] │ unmapped │ │ unmapped │ [buffer]     │ unmapped │
//! └──────────┴──────────────┴──────────┘ └──────────┴──────────────┴──────────┘
//! ```
//!
//! A test program makes [`GuardedAllocator`] its global allocator. What a thread
//! allocates while it runs [`guarded`] is placed so, whatever it is: packets, keys in
//! the form of a kernel, columns of sketches. A `Vec` is tight where its capacity is its
//! length. Memory that was freed is unmapped, so that its use is found too.
//!
//! ```
//! use weir_guard::{GuardedAllocator, Side, guarded};
//!
//! #[global_allocator]
//! static ALLOCATOR: GuardedAllocator = GuardedAllocator;
//!
//! let bytes = guarded(Side::End, || vec![7u8; 100]);
//! assert!(bytes.as_ptr_range().end.addr().is_multiple_of(4096));
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread::panicking;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// The end of a buffer that lies at an unmapped page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The page in front of the first byte is unmapped.
    Begin,
    /// The page behind the last byte is unmapped.
    End,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::Begin, Side::End];
}

/// The system's allocator, but for what is allocated while [`guarded`] runs.
pub struct GuardedAllocator;

/// Runs `work`. What this thread allocates meanwhile lies at an unmapped page on `side`,
/// up to an alignment that is larger than the size's. It may live longer.
pub fn guarded<T>(side: Side, work: impl FnOnce() -> T) -> T {
    /// Goes back to what was before, also after a panic.
    struct Restore(Option<Side>);

    impl Drop for Restore {
        fn drop(&mut self) {
            SIDE.set(self.0);
        }
    }

    let _restore = Restore(SIDE.replace(Some(side)));
    work()
}

thread_local! {
    static SIDE: Cell<Option<Side>> = const { Cell::new(None) };
}

/// At least a page of any processor of the architecture.
const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") {
    1 << 12
} else {
    1 << 16
};

/// Addresses for all allocations of a program; none is used twice.
const REGION_BYTES: usize = 1 << 38;

/// Addresses that nothing can be read from or written to.
const UNMAPPED: MapFlags = MapFlags::PRIVATE.union(MapFlags::NORESERVE);

/// Where the addresses begin, once they are taken.
static REGION: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// How many of them are used; the first page is unmapped.
static USED_BYTES: AtomicUsize = AtomicUsize::new(PAGE_BYTES);

// SAFETY: memory comes from the system's allocator, or it is a part of the region that
// no one else has, of the layout's size and alignment, readable and writable until it is
// given back. Nothing unwinds.
unsafe impl GlobalAlloc for GuardedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match SIDE.try_with(Cell::get) {
            // What a panic prints is no subject of a test, and takes much memory.
            Ok(Some(side)) if layout.align() <= PAGE_BYTES && !panicking() => place(side, layout),
            // SAFETY: the caller's.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_in_region(at) {
            // SAFETY: the caller gives back what `place` made of this layout.
            unsafe { retire(at, layout) }
        } else {
            // SAFETY: the caller's; it came from there.
            unsafe { System.dealloc(at, layout) }
        }
    }
}

/// Whole pages of a layout.
fn span(layout: Layout) -> usize {
    layout.size().max(1).next_multiple_of(PAGE_BYTES)
}

/// Null where there is no memory.
fn place(side: Side, layout: Layout) -> *mut u8 {
    let Some(region) = region() else {
        return ptr::null_mut();
    };
    let bytes = span(layout);
    // The page behind stays unmapped; it is the one in front of the next.
    let offset = USED_BYTES.fetch_add(bytes + PAGE_BYTES, Ordering::Relaxed);
    if offset + bytes + PAGE_BYTES > REGION_BYTES {
        return ptr::null_mut();
    }
    let pages = region.as_ptr().wrapping_add(offset);
    let access = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: these pages of the region are this allocation's alone.
    if unsafe { mprotect(pages.cast::<c_void>(), bytes, access) }.is_err() {
        return ptr::null_mut();
    }
    let room = match side {
        Side::Begin => 0,
        Side::End => (bytes - layout.size()) & !(layout.align() - 1),
    };
    pages.wrapping_add(room)
}

/// # Safety
/// `place` returned `at` for this layout, and nobody uses it any more.
unsafe fn retire(at: *mut u8, layout: Layout) {
    let pages = at.wrapping_sub(at.addr() % PAGE_BYTES).cast::<c_void>();
    // A new mapping, which the kernel merges with its neighbours: pages that only lost their
    // access stay mappings of their own, of which a process can have some ten thousand. What
    // fails here leaves the pages mapped, which costs memory and a check.
    // SAFETY: the caller's; the allocation begins within the first of its pages.
    let _ = unsafe {
        mmap_anonymous(
            pages,
            span(layout),
            ProtFlags::empty(),
            UNMAPPED | MapFlags::FIXED,
        )
    };
}

fn is_in_region(at: *mut u8) -> bool {
    let region = REGION.load(Ordering::Acquire);
    !region.is_null() && (region.addr()..region.addr() + REGION_BYTES).contains(&at.addr())
}

/// The region, which the first caller takes.
fn region() -> Option<NonNull<u8>> {
    if let Some(region) = NonNull::new(REGION.load(Ordering::Acquire)) {
        return Some(region);
    }
    // A processor's own pages may be smaller, and a mapping begins at any of them.
    let mapped_bytes = REGION_BYTES + PAGE_BYTES;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let mapped =
        unsafe { mmap_anonymous(ptr::null_mut(), mapped_bytes, ProtFlags::empty(), UNMAPPED) };
    let mapped: *mut u8 = mapped.ok()?.cast();
    let region = mapped.wrapping_add(mapped.align_offset(PAGE_BYTES));
    match REGION.compare_exchange(ptr::null_mut(), region, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => NonNull::new(region),
        Err(others) => {
            // SAFETY: another thread was faster, and nobody knows of this mapping.
            let _ = unsafe { munmap(mapped.cast(), mapped_bytes) };
            NonNull::new(others)
        }
    }
}

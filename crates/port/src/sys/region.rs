//! Memory that is cut into frames of one size, and who owns each.
//!
//! A [`Token`] is the ownership of one frame: there is one per frame, it cannot be cloned, and
//! bytes are reached through it only.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

/// Page-aligned memory of `frames` times `frame_bytes`. It is freed when dropped; tokens that
/// are left then are of no use any more.
pub struct Region {
    base: NonNull<u8>,
    layout: Layout,
    frame_bytes: usize,
    frames: u32,
    /// Differs from that of every other region of this process.
    id: u32,
}

/// The ownership of one frame of one region.
#[derive(Debug)]
pub struct Token {
    region: u32,
    index: u32,
}

// SAFETY: the memory belongs to the region, not to a thread. Bytes are reached with a token
// only, and each frame has one token.
unsafe impl Send for Region {}
// SAFETY: as above. A shared region gives `&mut` access to a frame with `&mut` access to the
// frame's only token.
unsafe impl Sync for Region {}

impl Region {
    /// Memory for `frames` frames, filled with zeros, and the tokens of all of them.
    ///
    /// # Errors
    /// Nothing is to be cut, or the memory is not available.
    pub fn allocate(frames: u32, frame_bytes: usize) -> io::Result<(Region, Vec<Token>)> {
        let bytes = frame_bytes.checked_mul(frames as usize);
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, PAGE_BYTES).ok());
        let layout = layout.filter(|layout| layout.size() > 0);
        let layout = layout.ok_or(io::ErrorKind::InvalidInput)?;
        // No number is given twice.
        let next = |id: u32| id.checked_add(1);
        let id = NEXT_ID.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let id = id.map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: the layout has a size that is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) });
        let region = Region {
            base: base.ok_or(io::ErrorKind::OutOfMemory)?,
            layout,
            frame_bytes,
            frames,
            id,
        };
        let tokens = (0..frames).map(|index| Token { region: id, index });
        Ok((region, tokens.collect()))
    }

    pub fn frames(&self) -> u32 {
        self.frames
    }

    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Part of a frame.
    ///
    /// # Panics
    /// The token is of another region, or the frame has no such part.
    #[inline]
    pub fn bytes<'a>(&'a self, token: &'a Token, part: Range<usize>) -> &'a [u8] {
        let start = self.start(token, &part);
        // SAFETY: `start` verified that the part lies in the frame of the token, all of whose
        // bytes were initialised at first. `&Token` excludes `&mut Token`, through which alone
        // the frame is written; a token that the kernel may write by is owned by `Lent`.
        unsafe { slice::from_raw_parts(start.as_ptr(), part.len()) }
    }

    /// Part of a frame, to be written.
    ///
    /// # Panics
    /// The token is of another region, or the frame has no such part.
    #[inline]
    pub fn bytes_mut<'a>(&'a self, token: &'a mut Token, part: Range<usize>) -> &'a mut [u8] {
        let start = self.start(token, &part);
        // SAFETY: as in `bytes`. The token is the only one of its frame, and frames do not
        // overlap: `&mut` access to it excludes all other access to these bytes.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), part.len()) }
    }

    #[inline]
    fn start(&self, token: &Token, part: &Range<usize>) -> NonNull<u8> {
        assert!(token.region == self.id, "a frame of another region");
        assert!(
            part.start <= part.end && part.end <= self.frame_bytes,
            "{part:?} of a frame of {} bytes",
            self.frame_bytes
        );
        // SAFETY: tokens of this region have an index below `frames`, and the part begins in
        // the frame or at its end, so that the offset lies in the memory or at its end.
        unsafe {
            self.base
                .add(token.index as usize * self.frame_bytes + part.start)
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: `allocate` got the memory with this layout. Slices borrow the region.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

static NEXT_ID: AtomicU32 = AtomicU32::new(0);
/// What AF_XDP requires of registered memory.
const PAGE_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_do_not_overlap() {
        let (region, mut tokens) = Region::allocate(5, 192).expect("memory");
        assert_eq!(region.frames(), 5);
        for (number, token) in tokens.iter_mut().enumerate() {
            assert!(region.bytes(token, 0..192).iter().all(|byte| *byte == 0));
            region.bytes_mut(token, 0..192).fill(number as u8 + 1);
        }
        for (number, token) in tokens.iter().enumerate() {
            let expected = [number as u8 + 1; 192];
            assert_eq!(region.bytes(token, 0..192), expected);
            assert!(region.bytes(token, 192..192).is_empty());
        }
        // Two frames are written side by side.
        let [one, other, ..] = &mut tokens[..] else {
            panic!("two tokens");
        };
        let one = region.bytes_mut(one, 100..192);
        let other = region.bytes_mut(other, 0..92);
        one.copy_from_slice(other);
        other.fill(9);
        assert_eq!((one, other), (&mut [2; 92][..], &mut [9; 92][..]));
    }

    #[test]
    fn frames_go_to_other_threads() {
        let (region, tokens) = Region::allocate(8, 64).expect("memory");
        std::thread::scope(|scope| {
            for (number, mut token) in tokens.into_iter().enumerate() {
                let region = &region;
                scope.spawn(move || {
                    let byte = number as u8;
                    region.bytes_mut(&mut token, 0..64).fill(byte);
                    assert_eq!(region.bytes(&token, 0..64), [byte; 64]);
                });
            }
        });
    }

    #[test]
    fn no_part_lies_outside_of_its_frame() {
        let (region, tokens) = Region::allocate(2, 64).expect("memory");
        let (other, _) = Region::allocate(2, 64).expect("memory");
        #[allow(clippy::reversed_empty_ranges)]
        for part in [0..65, 64..65, 2..1, usize::MAX..usize::MAX] {
            let read = || region.bytes(&tokens[0], part.clone()).len();
            assert!(std::panic::catch_unwind(read).is_err(), "{part:?}");
        }
        let foreign = || other.bytes(&tokens[0], 0..1).len();
        assert!(std::panic::catch_unwind(foreign).is_err());
        for (frames, bytes) in [(0, 64), (64, 0), (u32::MAX, usize::MAX)] {
            assert!(Region::allocate(frames, bytes).is_err());
        }
    }
}

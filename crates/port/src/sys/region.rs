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

    /// Where the memory begins, for the kernel: frames follow each other from there on.
    #[cfg(target_os = "linux")]
    pub fn address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
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

/// Frames of one region that belong to somebody who knows them by number only: the kernel.
#[cfg(target_os = "linux")]
pub struct Lent {
    region: u32,
    frames: u32,
    /// A bit per frame.
    bits: Vec<u64>,
    count: usize,
}

#[cfg(target_os = "linux")]
impl Lent {
    /// Nothing of a region.
    pub fn new(region: &Region) -> Lent {
        Lent {
            region: region.id,
            frames: region.frames,
            bits: vec![0; region.frames.div_ceil(64) as usize],
            count: 0,
        }
    }

    /// How many frames are lent.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes a frame and returns its number.
    ///
    /// # Panics
    /// The token is of another region.
    pub fn lend(&mut self, token: Token) -> u32 {
        assert!(token.region == self.region, "a frame of another region");
        self.bits[token.index as usize / 64] |= 1 << (token.index % 64);
        self.count += 1;
        token.index
    }

    /// Gives a frame back; nothing where no such frame is lent.
    pub fn take_back(&mut self, index: u32) -> Option<Token> {
        let word = self.bits.get_mut(index as usize / 64)?;
        let bit = 1 << (index % 64);
        if *word & bit == 0 {
            return None;
        }
        *word &= !bit;
        self.count -= 1;
        let region = self.region;
        Some(Token { region, index })
    }

    /// Gives all frames back.
    pub fn take_all(&mut self) -> Vec<Token> {
        (0..self.frames)
            .filter_map(|index| self.take_back(index))
            .collect()
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_lent_comes_back_once() {
        let (region, mut tokens) = Region::allocate(130, 64).expect("memory");
        let mut lent = Lent::new(&region);
        let mut token = tokens.pop().expect("a token");
        region.bytes_mut(&mut token, 0..64).fill(7);
        let index = lent.lend(token);
        assert_eq!((index, lent.count()), (129, 1));
        for other in [0, 128, 130, 191, 192, u32::MAX] {
            assert!(lent.take_back(other).is_none(), "{other}");
        }
        let token = lent.take_back(index).expect("the frame");
        assert_eq!(region.bytes(&token, 0..64), [7; 64]);
        assert!(lent.take_back(index).is_none());
        lent.lend(token);
        lent.lend(tokens.remove(3));
        let indices: Vec<u32> = lent.take_all().iter().map(|token| token.index).collect();
        assert_eq!((indices, lent.count()), (vec![3, 129], 0));
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

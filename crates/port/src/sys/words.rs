//! Words of a file, shared by all processes that map it, which outlive each of them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// The first words of a file, mapped. What is stored in them is in the file at once, and stays
/// there however the process ends; on a file system in memory it costs no more than a store.
///
/// Nobody may cut the file short while it is mapped: who then reaches for a word gets SIGBUS.
pub struct SharedWords {
    base: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for SharedWords {}
// SAFETY: words are reached by shared references only, as atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `words` words of a file that is open for reading and writing.
    ///
    /// # Errors
    /// The file is shorter, or the operating system refuses.
    pub fn map(file: &File, words: usize) -> io::Result<SharedWords> {
        let bytes = words.checked_mul(size_of::<AtomicU64>());
        let bytes = bytes.filter(|bytes| *bytes > 0 && isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or(io::ErrorKind::InvalidInput)?;
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory in use.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedWords { base, words })
    }

    /// A word.
    ///
    /// # Panics
    /// There are not so many.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words, "no word {index}");
        // SAFETY: the index is below the number of words that `map` mapped, at the beginning of a
        // page, which aligns them. Any bytes are a valid word; it is accessed atomically only, by
        // this process and others, and the mapping lives as long as `self`.
        unsafe { self.base.add(index).as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        let bytes = self.words * size_of::<AtomicU64>();
        // SAFETY: `map` made this mapping with this length, and no reference into it outlives
        // `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn what_is_stored_is_in_the_file() {
        let path = std::env::temp_dir().join(format!("weir-words-{}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let file = file.expect("a file");
        std::fs::remove_file(&path).expect("removed");
        assert!(SharedWords::map(&file, 3).is_err(), "it is too short");
        assert!(SharedWords::map(&file, 0).is_err());
        assert!(SharedWords::map(&file, usize::MAX).is_err());
        file.set_len(24).expect("longer");
        let words = SharedWords::map(&file, 3).expect("mapped");
        words.word(2).store(7, Relaxed);
        drop(words);
        let again = SharedWords::map(&file, 3).expect("mapped");
        assert_eq!(again.word(2).load(Relaxed), 7);
        assert_eq!(again.word(0).load(Relaxed), 0);
        assert!(std::panic::catch_unwind(|| again.word(3).load(Relaxed)).is_err());
    }
}

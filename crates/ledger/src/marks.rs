//! Marks: the highest number that each kept window has accepted, in memory that outlives the
//! process but not the machine.
//!
//! ```text
//!  /run/weir/ID.marks    ID of the ledger; a file system in memory
//!  word 0, 1             version and boot: a file of another boot counts for nothing
//!  word 512 + 2 SLOT     the run that the next word is of
//!  word 513 + 2 SLOT     the highest number that it accepted
//! ```
//!
//! The ledger says for each window which run has written its bound, by a random number. A mark is
//! believed where it is of the same run: then nobody has accepted a number since without raising
//! it. In all other cases the bound holds, so that a mark that is lost, old or of another machine
//! costs packets and never lets one in twice.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use nix::fcntl::{FallocateFlags, fallocate};
use sha2::{Digest, Sha256};
use weir_port::SharedWords;

use super::place;
use super::store::CAPACITY;

/// The marks of one ledger.
pub struct Marks {
    file: File,
    words: SharedWords,
}

/// The mark of one window.
#[derive(Clone)]
pub struct Mark {
    marks: Arc<Marks>,
    slot: u32,
}

const VERSION: u64 = 1;
const FIRST_SLOT: usize = 512;
const WORDS: usize = FIRST_SLOT + 2 * CAPACITY as usize;
const WORD_BYTES: usize = size_of::<u64>();

impl Marks {
    /// The marks of the ledger `id` in a directory, which is created where it is missing. None
    /// where there is no such memory: bounds hold then.
    pub fn open(directory: &Path, id: &[u8; 16]) -> Option<Arc<Marks>> {
        let mut builder = DirBuilder::new();
        match builder.mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        // Nobody else can change it.
        place::exists(directory).ok().filter(|exists| *exists)?;
        let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let file = place::open_or_create(&directory.join(name + ".marks")).ok()?;
        file.lock().ok()?;
        let marks = Marks::map(file);
        let marks = marks.ok()?;
        marks.file.unlock().ok()?;
        Some(Arc::new(marks))
    }

    fn map(file: File) -> io::Result<Marks> {
        let bytes = (WORDS * WORD_BYTES) as u64;
        // Other lengths are of no version, and longer files are cut short by nobody.
        if file.metadata()?.len() < bytes {
            file.set_len(bytes)?;
        }
        reserve(&file, 0, 2)?;
        let words = SharedWords::map(&file, WORDS)?;
        let boot = boot()?;
        if (words.word(0).load(Relaxed), words.word(1).load(Relaxed)) != (VERSION, boot) {
            // No process of this boot has it open: it would have written so.
            words.word(0).store(0, Relaxed);
            file.set_len(0)?;
            file.set_len(bytes)?;
            reserve(&file, 0, 2)?;
            words.word(1).store(boot, Relaxed);
            words.word(0).store(VERSION, Release);
        }
        Ok(Marks { file, words })
    }

    /// The mark of the window in a slot. None where there is no memory for it.
    pub fn of(self: &Arc<Marks>, slot: u32) -> Option<Mark> {
        let first = FIRST_SLOT + 2 * slot as usize;
        // Memory that is missing when a packet comes would end the process.
        (first + 2 <= WORDS).then_some(())?;
        reserve(&self.file, first, 2).ok()?;
        Some(Mark {
            marks: Arc::clone(self),
            slot,
        })
    }
}

impl Mark {
    /// The highest number that `run` accepted, if the mark is of that run.
    pub fn highest(&self, run: u64) -> Option<u64> {
        (run != 0 && self.run().load(Acquire) == run).then(|| self.number().load(Relaxed))
    }

    /// Begins a run, in which numbers up to `highest` count as seen.
    pub fn begin(&self, run: u64, highest: u64) {
        self.run().store(0, Release);
        self.number().store(highest, Release);
        self.run().store(run, Release);
    }

    /// Notes the highest number that was accepted.
    #[inline]
    pub fn set(&self, highest: u64) {
        self.number().store(highest, Release);
    }

    fn run(&self) -> &std::sync::atomic::AtomicU64 {
        self.marks.words.word(FIRST_SLOT + 2 * self.slot as usize)
    }

    #[inline]
    fn number(&self) -> &std::sync::atomic::AtomicU64 {
        self.marks
            .words
            .word(FIRST_SLOT + 2 * self.slot as usize + 1)
    }
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mark")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// Makes sure that there is memory for words.
fn reserve(file: &File, first: usize, count: usize) -> io::Result<()> {
    let [offset, bytes] = [first, count].map(|words| (words * WORD_BYTES) as i64);
    Ok(fallocate(
        file,
        FallocateFlags::FALLOC_FL_KEEP_SIZE,
        offset,
        bytes,
    )?)
}

/// Which boot of the machine this is.
fn boot() -> io::Result<u64> {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id")?;
    let digest = Sha256::digest(&id);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    Ok(u64::from_le_bytes(first))
}

//! Where capture bytes come from: a file, a pipe or standard input,
//! decompressed on the way.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::zstd::ZstdReader;
use super::{BLOCK_BYTES, CaptureError, is_standard_stream, unbuffered};

/// A byte stream with its name and its progress.
pub(super) struct Input {
    name: String,
    bytes: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    compression: Option<Compression>,
    /// More may come later (a pipe): the available bytes are read without waiting for more.
    live: bool,
    /// The pipe itself, to poll for available bytes.
    pipe: Option<File>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    fn detect(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] => Some(Compression::Zstd),
            // A skippable frame in front, as parallel compressors write.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Compression::Zstd),
            _ => None,
        }
    }
}

impl Input {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let standard = is_standard_stream(path);
        let name = if standard {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let opened = if standard {
            unbuffered(io::stdin())
        } else {
            File::open(path)
        };
        let metadata = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = metadata.map_err(|source| CaptureError::Io {
            file: name.clone(),
            offset: 0,
            action: "opening",
            source,
        })?;
        let total_bytes = metadata.is_file().then_some(metadata.len());
        let pipe = match total_bytes {
            Some(_) => None,
            // Without a second handle, reading waits as long as it takes.
            None => file.try_clone().ok(),
        };
        let input = Self::new(name, Box::new(file), total_bytes)?;
        Ok(Input {
            pipe: pipe.filter(|_| input.live),
            ..input
        })
    }

    /// Takes bytes from anywhere.
    pub fn from_read(name: &str, input: Box<dyn Read + Send>) -> Result<Self, CaptureError> {
        Self::new(name.to_owned(), input, None)
    }

    fn new(
        name: String,
        input: Box<dyn Read + Send>,
        total_bytes: Option<u64>,
    ) -> Result<Self, CaptureError> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut counted = Counted {
            inner: input,
            bytes_read: Arc::clone(&bytes_read),
        };
        let mut magic = Vec::with_capacity(4);
        let looked = (&mut counted).take(4).read_to_end(&mut magic);
        if let Err(source) = looked {
            return Err(CaptureError::Io {
                file: name,
                offset: magic.len() as u64,
                action: "reading",
                source,
            });
        }
        let compression = Compression::detect(&magic);
        let whole = Cursor::new(magic).chain(counted);
        let bytes: Box<dyn Read + Send> = match compression {
            None => Box::new(whole),
            Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(buffered(whole))),
            Some(Compression::Zstd) => Box::new(ZstdReader::new(buffered(whole))),
        };
        Ok(Input {
            name,
            bytes,
            bytes_read,
            total_bytes,
            compression,
            live: total_bytes.is_none() && compression.is_none(),
            pipe: None,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes taken from the underlying file, compressed if it is.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Size of the underlying file, if it is a regular one.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Waits until a read would return at once, `patience` at most. False if
    /// it would still wait. Only pipes are waited for.
    pub fn wait(&self, patience: Duration) -> bool {
        let Some(pipe) = &self.pipe else {
            return true;
        };
        let mut polled = [PollFd::new(pipe, PollFlags::IN)];
        let timeout = Timespec::try_from(patience).ok();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(ready) => ready > 0,
            // A signal, which may be meant to end the wait.
            Err(rustix::io::Errno::INTR) => false,
            // The read that follows says what is wrong.
            Err(_) => true,
        }
    }
}

impl Read for Input {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(target)
    }
}

fn buffered<R: Read>(compressed: R) -> BufReader<R> {
    BufReader::with_capacity(BLOCK_BYTES, compressed)
}

/// Counts what passes.
struct Counted {
    inner: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(target)?;
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

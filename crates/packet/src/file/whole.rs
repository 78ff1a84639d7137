//! Files that appear when they are whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{is_standard_stream, unbuffered};

/// An output that appears under its name when [`Self::finish`] is called;
/// dropped before, it leaves nothing behind and what had the name is as it
/// was. Standard output, pipes and devices are written in place. Writes are
/// not buffered.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    /// Present unless the output is written in place.
    temporary: Option<Temporary>,
}

impl WholeFile {
    /// Opens an output; `-` is standard output. A file is written under a
    /// temporary name in the same folder; of a link, the target is replaced.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        let in_place = |file| WholeFile {
            file,
            temporary: None,
        };
        if is_standard_stream(path) {
            return unbuffered(io::stdout()).map(in_place);
        }
        let target = match path.metadata() {
            Ok(existing) if existing.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(existing) if !existing.is_file() => {
                return OpenOptions::new().write(true).open(path).map(in_place);
            }
            Ok(_) => path.canonicalize()?,
            Err(_) => path.to_owned(),
        };
        let (file, temporary) = Temporary::beside(target)?;
        Ok(WholeFile {
            file,
            temporary: Some(temporary),
        })
    }

    /// Whether what is written goes straight to standard output, a pipe or a
    /// device, where somebody may be waiting for it.
    pub fn is_live(&self) -> bool {
        self.temporary.is_none()
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// Those of the operating system; the file is then gone.
    pub fn finish(self) -> io::Result<()> {
        self.temporary.map_or(Ok(()), Temporary::put_in_place)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file under a temporary name; removed when dropped.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    target: PathBuf,
    in_place: bool,
}

impl Temporary {
    fn beside(target: PathBuf) -> io::Result<(File, Temporary)> {
        let Some(name) = target.file_name() else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let mut last_error = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..NAME_ATTEMPTS {
            let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
            let mut temporary_name = OsString::from(".");
            temporary_name.push(name);
            temporary_name.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = target.with_file_name(temporary_name);
            match File::create_new(&path) {
                Ok(file) => {
                    let temporary = Temporary {
                        path,
                        target,
                        in_place: false,
                    };
                    return Ok((file, temporary));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last_error = error,
                Err(error) => return Err(error),
            }
        }
        Err(last_error)
    }

    fn put_in_place(mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.in_place = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.in_place {
            // Nobody is left to tell if this fails too.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Tells this process's temporary files apart.
static NEXT_TEMPORARY: AtomicU32 = AtomicU32::new(0);

/// A name may be taken by what a killed process of the same number left.
const NAME_ATTEMPTS: usize = 16;

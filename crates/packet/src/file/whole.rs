//! Output files that replace their target atomically.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{is_standard_stream, unbuffered};

/// An output that appears under its name when [`Self::finish`] is called. If it is dropped
/// before, nothing is left and a previous file of that name is unchanged. Standard output,
/// pipes and devices are written in place, and so are files of [`Self::create_in_place`]. Writes
/// are not buffered.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    place: Place,
}

/// Where what is written goes.
#[derive(Debug)]
enum Place {
    /// To a file under another name.
    Temporary(Temporary),
    /// To a file under its name.
    Named,
    /// To standard output, a pipe or a device.
    Stream,
}

impl WholeFile {
    /// Opens an output; `-` is standard output. A file is written under a
    /// temporary name in the same folder; of a link, the target is replaced.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        if let Some(stream) = Self::stream(path)? {
            return Ok(stream);
        }
        let target = match path.metadata() {
            Ok(_) => path.canonicalize()?,
            Err(_) => path.to_owned(),
        };
        let (file, temporary) = Temporary::beside(target)?;
        Ok(WholeFile {
            file,
            place: Place::Temporary(temporary),
        })
    }

    /// The same, but a file is written under its name, so that it can be read meanwhile. What
    /// had the name before is lost.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create_in_place(path: &Path) -> io::Result<WholeFile> {
        if let Some(stream) = Self::stream(path)? {
            return Ok(stream);
        }
        Ok(WholeFile {
            file: File::create(path)?,
            place: Place::Named,
        })
    }

    /// Standard output, a pipe or a device, if the path names one.
    fn stream(path: &Path) -> io::Result<Option<WholeFile>> {
        let file = match path.metadata() {
            _ if is_standard_stream(path) => unbuffered(io::stdout())?,
            Ok(existing) if existing.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(existing) if !existing.is_file() => OpenOptions::new().write(true).open(path)?,
            _ => return Ok(None),
        };
        let place = Place::Stream;
        Ok(Some(WholeFile { file, place }))
    }

    /// Whether data goes directly to standard output, a pipe or a device, where a reader
    /// may be waiting for it.
    pub fn is_live(&self) -> bool {
        matches!(self.place, Place::Stream)
    }

    /// Whether it is a file that is written under its name.
    pub fn is_in_place(&self) -> bool {
        matches!(self.place, Place::Named)
    }

    /// Cuts a file that is written under its name behind its first `bytes`, after a write of
    /// which only a part was done. What is written next comes there.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn cut(&mut self, bytes: u64) -> io::Result<()> {
        match self.place {
            Place::Named => {
                self.file.set_len(bytes)?;
                self.file.seek(SeekFrom::Start(bytes)).map(|_| ())
            }
            Place::Temporary(_) | Place::Stream => Ok(()),
        }
    }

    /// Puts the file in place. After a power failure its name stands for the
    /// whole file or for what had the name before, never for a part. A file written in place is
    /// synced.
    ///
    /// # Errors
    /// Those of the operating system; the file is then gone unless it was written in place.
    pub fn finish(self) -> io::Result<()> {
        match self.place {
            Place::Stream => Ok(()),
            Place::Named => self.file.sync_data(),
            Place::Temporary(temporary) => temporary.put_in_place(&self.file, &mut System),
        }
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
        remove_stale(&target, name);
        let mut last_error = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..NAME_ATTEMPTS {
            let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
            let mut temporary_name = OsString::from(".");
            temporary_name.push(name);
            temporary_name.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = target.with_file_name(temporary_name);
            match File::create_new(&path) {
                Ok(file) => {
                    // Held as long as the file is open: others can detect that it is in use.
                    // A file system without locks leaves them in doubt, and the file alone.
                    let _ = file.try_lock();
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

    /// The data must reach the disk before the name does, and the name is safe
    /// once the folder is synced.
    fn put_in_place(mut self, file: &File, disk: &mut impl Disk) -> io::Result<()> {
        disk.sync_data(file)?;
        disk.rename(&self.path, &self.target)?;
        self.in_place = true;
        let folder = self.target.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        disk.sync_folder(folder.unwrap_or(Path::new(".")))
    }
}

/// Removes what writers of this file that were killed left behind: temporary files that
/// nobody has locked for a minute.
fn remove_stale(target: &Path, name: &OsStr) {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return;
    };
    for entry in entries.flatten() {
        if is_temporary_of(&entry.file_name(), name)
            && let Ok(file) = File::open(entry.path())
            && let Ok(modified) = file.metadata().and_then(|data| data.modified())
            && modified.elapsed().is_ok_and(|age| age >= STALE_AFTER)
            && file.try_lock().is_ok()
        {
            // Where this fails, the file stays as it was left.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file's name is one that a temporary file of the output `name` has.
fn is_temporary_of(temporary: &OsStr, name: &OsStr) -> bool {
    let number = temporary
        .as_encoded_bytes()
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_prefix(name.as_encoded_bytes()))
        .and_then(|rest| rest.strip_prefix(b"."))
        .and_then(|rest| rest.strip_suffix(b".tmp"));
    number.is_some_and(|number| {
        let mut parts = number.split(|byte| *byte == b'-');
        let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        parts.clone().count() == 2 && parts.all(is_number)
    })
}

/// Younger temporary files are left alone: their writer may not have locked them yet.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// What the operating system does to put a file in place, in the order of the
/// calls.
trait Disk {
    fn sync_data(&mut self, file: &File) -> io::Result<()>;
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    fn sync_folder(&mut self, folder: &Path) -> io::Result<()>;
}

struct System;

impl Disk for System {
    fn sync_data(&mut self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            // A folder that may be written to but not read, or a file system
            // that does not sync folders: the file is in place.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.in_place {
            // A second failure cannot be reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the names of this process's temporary files unique.
static NEXT_TEMPORARY: AtomicU32 = AtomicU32::new(0);

/// A name may be taken by what a killed process of the same number left.
const NAME_ATTEMPTS: usize = 16;

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_killed_writers_left_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let old = SystemTime::now() - Duration::from_secs(3600);
        let leave = |name: &str, modified: SystemTime| {
            let file = File::create(path(name)).expect("a file");
            file.set_modified(modified).expect("a time");
            file
        };
        leave(".out.pcap.4711-0.tmp", old);
        let in_use = leave(".out.pcap.4712-0.tmp", old);
        in_use.try_lock().expect("a lock");
        leave(".out.pcap.4713-0.tmp", SystemTime::now());
        let others = [
            ".out.pcap.tmp",
            ".out.pcap.1-x.tmp",
            ".in.pcap.1-0.tmp",
            "out.pcap.1-0.tmp",
        ];
        for name in others {
            leave(name, old);
        }
        let whole = WholeFile::create(&path("out.pcap")).expect("created");
        assert!(!path(".out.pcap.4711-0.tmp").exists());
        for name in [".out.pcap.4712-0.tmp", ".out.pcap.4713-0.tmp"]
            .iter()
            .chain(&others)
        {
            assert!(path(name).exists(), "{name}");
        }
        whole.finish().expect("in place");
    }

    #[test]
    fn what_is_written_in_place_stands_there_at_once_and_can_be_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.bin");
        fs::write(&path, b"something longer").expect("a file");
        let mut output = WholeFile::create_in_place(&path).expect("created");
        assert!(output.is_in_place() && !output.is_live());
        output.write_all(b"seven by").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"seven by");
        output.cut(3).expect("cut");
        output.write_all(b"en").expect("written");
        output.finish().expect("synced");
        assert_eq!(fs::read(&path).expect("a file"), b"seven");
    }

    /// Does what the system does and notes the calls; fails at one of them.
    struct Noted {
        calls: Vec<String>,
        fails_at: usize,
    }

    impl Noted {
        fn call(&mut self, call: String) -> io::Result<()> {
            self.calls.push(call);
            match self.calls.len() == self.fails_at {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        }
    }

    fn name(path: &Path) -> String {
        let name = path.file_name().expect("a name");
        name.to_string_lossy().into_owned()
    }

    impl Disk for Noted {
        fn sync_data(&mut self, file: &File) -> io::Result<()> {
            self.call(format!("sync {} bytes", file.metadata()?.len()))?;
            System.sync_data(file)
        }

        fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
            assert!(name(from).ends_with(".tmp"));
            self.call(format!("rename to {}", name(to)))?;
            System.rename(from, to)
        }

        fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
            self.call(format!("sync folder {}", name(folder)))?;
            System.sync_folder(folder)
        }
    }

    #[test]
    fn data_are_synced_before_the_name_and_the_folder_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("sub/out.bin");
        fs::create_dir(folder.path().join("sub")).expect("a folder");
        for fails_at in 0..=2 {
            let mut whole = WholeFile::create(&target).expect("created");
            whole.write_all(b"seven by").expect("written");
            let mut disk = Noted {
                calls: Vec::new(),
                fails_at,
            };
            let Place::Temporary(temporary) = whole.place else {
                panic!("no temporary file");
            };
            let put = temporary.put_in_place(&whole.file, &mut disk);
            let calls = ["sync 8 bytes", "rename to out.bin", "sync folder sub"];
            if fails_at == 0 {
                put.expect("in place");
                assert_eq!(disk.calls, calls);
                assert_eq!(fs::read(&target).expect("a file"), b"seven by");
                fs::remove_file(&target).expect("removed");
            } else {
                put.expect_err("a failure");
                assert_eq!(disk.calls, calls[..fails_at]);
                let left = fs::read_dir(folder.path().join("sub")).expect("a folder");
                assert_eq!(left.count(), 0, "nothing is left behind");
            }
        }
    }
}

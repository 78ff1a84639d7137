//! Captures that grow while they are recorded: one file, or one after the other.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde::Serialize;
use weir_packet::file::{Interface, Writer};
use weir_port::Packet;

use crate::captures;
use crate::error::{Error, Result};

/// When the next file begins, and how many are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Most bytes of a file.
    pub bytes: Option<u64>,
    /// Longest time that a file takes.
    pub period: Option<Duration>,
    /// How many files are kept.
    pub keep: Option<u32>,
}

impl Rotation {
    /// Whether there is more than one file.
    pub fn is_wanted(&self) -> bool {
        self.bytes.is_some() || self.period.is_some()
    }
}

/// One file of a recording.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedFile {
    /// Its path.
    pub file: String,
    /// Packets in it.
    pub packets: u64,
    /// Its size.
    pub bytes: u64,
}

/// Most files of which a report has a row.
const LISTED_FILES: usize = 1000;

/// A recording under way.
pub struct Recording {
    path: PathBuf,
    interface: Interface,
    rotation: Rotation,
    current: Current,
    numbers: Option<Numbers>,
    /// Files that are complete, the newest last.
    finished: VecDeque<RecordedFile>,
    finished_total: u64,
    /// Packets in them.
    finished_packets: u64,
}

/// The file that is being written.
struct Current {
    path: PathBuf,
    writer: Writer,
    /// What stands under its name, where that is a file.
    identity: Option<(u64, u64)>,
    begun: Instant,
    packets: u64,
}

/// The numbers of a rotation's files.
struct Numbers {
    next: u64,
    /// Those of existing files, where some are to be removed.
    kept: VecDeque<u64>,
}

impl Recording {
    /// Creates the first file.
    pub fn create(path: &Path, interface: Interface, rotation: Rotation) -> Result<Recording> {
        let mut numbers = None;
        let mut first = path.to_owned();
        if rotation.is_wanted() {
            if is_stream(path) {
                return Err(Error::configuration(anyhow!(
                    "{}: only files can be rotated: leave out --rotate-bytes and --rotate-seconds",
                    path.display()
                )));
            }
            let mut found = Numbers::of_existing(path)?;
            first = found.take(path);
            numbers = Some(found);
        } else if rotation.keep.is_some() {
            return Err(Error::configuration(anyhow!(
                "--keep is for rotated files: add --rotate-bytes or --rotate-seconds"
            )));
        }
        let mut recording = Recording {
            path: path.to_owned(),
            current: Current::create(&first, &interface)?,
            interface,
            rotation,
            numbers,
            finished: VecDeque::new(),
            finished_total: 0,
            finished_packets: 0,
        };
        recording.remove_old()?;
        Ok(recording)
    }

    /// Appends at most `snap_bytes` bytes of a packet.
    pub fn write(&mut self, packet: &Packet<'_>, snap_bytes: usize) -> Result {
        let bytes = &packet.bytes[..packet.bytes.len().min(snap_bytes)];
        let file_bytes = self.current.writer.offset() + (bytes.len() + RECORD_BYTES) as u64;
        if self.current.packets > 0 && self.rotation.bytes.is_some_and(|limit| file_bytes > limit) {
            self.begin_next()?;
        }
        self.current
            .writer
            .write(
                0,
                packet.arrival.arrival_ns,
                packet.arrival.wire_bytes,
                bytes,
            )
            .map_err(Error::running)?;
        self.current.packets += 1;
        Ok(())
    }

    /// Whether a reader may be waiting for each packet.
    pub fn is_live(&self) -> bool {
        self.current.writer.is_live()
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result {
        self.current.writer.flush().map_err(Error::running)
    }

    /// Begins the next file where its time has come. Returns when that will be.
    pub fn rotate_by_clock(&mut self) -> Result<Option<Instant>> {
        let Some(period) = self.rotation.period else {
            return Ok(None);
        };
        if self.current.begun.elapsed() >= period {
            self.begin_next()?;
        }
        Ok(self.current.begun.checked_add(period))
    }

    /// Begins the next file of a rotation, or the same one again if it was moved away.
    pub fn reopen(&mut self) -> Result {
        let existing = identity(self.current.path.metadata());
        let is_moved = self.current.identity.is_some() && existing != self.current.identity;
        match self.numbers.is_some() || is_moved {
            true => self.begin_next(),
            false => self.flush(),
        }
    }

    /// Completes the last file.
    pub fn finish(mut self) -> (Recorded, Result) {
        // A failure must not hide what was written before it.
        let flushed = self.flush();
        let (packets, rows) = self.counts();
        let recorded = Recorded {
            files_total: self.finished_total + 1,
            written: packets,
            files: rows,
        };
        let finished = match flushed {
            Ok(()) => self.current.writer.finish().map_err(Error::running),
            Err(failure) => Err(failure),
        };
        (recorded, finished.map(|_| ()))
    }

    /// Packets in files, and a row for each file.
    fn counts(&self) -> (u64, Vec<RecordedFile>) {
        let current = self.current.row();
        let packets = self.finished_packets + current.packets;
        let mut rows: Vec<RecordedFile> = self.finished.iter().cloned().collect();
        rows.push(current);
        (packets, rows)
    }

    fn begin_next(&mut self) -> Result {
        self.flush()?;
        let path = match &mut self.numbers {
            Some(numbers) => numbers.take(&self.path),
            None => self.path.clone(),
        };
        let next = Current::create(&path, &self.interface).map_err(Error::while_running)?;
        let row = self.current.row();
        let finished = std::mem::replace(&mut self.current, next);
        finished.writer.finish().map_err(Error::running)?;
        self.finished_total += 1;
        self.finished_packets += row.packets;
        self.finished.push_back(row);
        if self.finished.len() >= LISTED_FILES {
            self.finished.pop_front();
        }
        self.remove_old()
    }

    fn remove_old(&mut self) -> Result {
        let (Some(numbers), Some(keep)) = (&mut self.numbers, self.rotation.keep) else {
            return Ok(());
        };
        while numbers.kept.len() > keep as usize
            && let Some(number) = numbers.kept.pop_front()
        {
            let path = numbered(&self.path, number);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error)
                        .with_context(|| format!("cannot remove {}", path.display()))
                        .map_err(Error::running);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a recording left.
pub struct Recorded {
    /// Packets in its files.
    pub written: u64,
    /// The newest files.
    pub files: Vec<RecordedFile>,
    /// All of them.
    pub files_total: u64,
}

impl Current {
    fn create(path: &Path, interface: &Interface) -> Result<Current> {
        let mut writer = captures::create_in_place(path)?;
        writer.add_interface(interface).map_err(Error::running)?;
        Ok(Current {
            path: path.to_owned(),
            identity: identity(path.metadata()),
            writer,
            begun: Instant::now(),
            packets: 0,
        })
    }

    /// What is in the file.
    fn row(&self) -> RecordedFile {
        RecordedFile {
            file: self.path.display().to_string(),
            packets: self.writer.written_records(),
            bytes: self.writer.written_bytes(),
        }
    }
}

impl Numbers {
    /// Those of the files that exist, in order.
    fn of_existing(path: &Path) -> Result<Numbers> {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))
            .map_err(Error::configuration)?;
        let mut kept: Vec<u64> = entries
            .flatten()
            .filter_map(|entry| number_of(path, Path::new(&entry.file_name())))
            .collect();
        kept.sort_unstable();
        Ok(Numbers {
            next: kept.last().map_or(1, |last| last.saturating_add(1)),
            kept: kept.into(),
        })
    }

    /// The path of the next file.
    fn take(&mut self, path: &Path) -> PathBuf {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.kept.push_back(number);
        numbered(path, number)
    }
}

/// The path with a number in front of its ending.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number:06}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The number in a file's name, if [`numbered`] makes that name.
fn number_of(path: &Path, name: &Path) -> Option<u64> {
    let name = name.file_name()?;
    let mut rest = name.as_encoded_bytes();
    rest = rest.strip_prefix(path.file_stem()?.as_encoded_bytes())?;
    rest = rest.strip_prefix(b".")?;
    if let Some(ending) = path.extension() {
        rest = rest.strip_suffix(ending.as_encoded_bytes())?;
        rest = rest.strip_suffix(b".")?;
    }
    let number = str::from_utf8(rest).ok()?.parse().ok()?;
    (numbered(path, number).file_name() == Some(name)).then_some(number)
}

/// Whether the path names standard output, a pipe or a device.
fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|existing| !existing.is_file())
}

/// Device and number of a file.
fn identity(metadata: io::Result<Metadata>) -> Option<(u64, u64)> {
    let file = metadata.ok().filter(Metadata::is_file)?;
    Some((file.dev(), file.ino()))
}

/// Most bytes that a format adds to a packet.
const RECORD_BYTES: usize = 32 + 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_front_of_the_ending() {
        let path = Path::new("folder/live.pcapng");
        assert_eq!(numbered(path, 7), Path::new("folder/live.000007.pcapng"));
        assert_eq!(numbered(Path::new("live"), 7), Path::new("live.000007"));
        let number = |name: &str| number_of(path, Path::new(name));
        assert_eq!(number("live.000007.pcapng"), Some(7));
        assert_eq!(number("live.1234567.pcapng"), Some(1_234_567));
        for name in [
            "live.7.pcapng",
            "live.pcapng",
            "live.+00007.pcapng",
            "live.000007.pcap",
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}

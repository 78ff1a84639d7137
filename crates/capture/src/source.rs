//! Capture files as the source of a pipeline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_packet::file::{CaptureError, Interface, Reader, RecordEntry};
use weir_stream::{Arrival, Batch, CaptureClock, Context, Stage, StageError};

/// How far a source has come, for a progress bar in another thread.
#[derive(Debug, Default)]
pub struct Progress {
    packets: AtomicU64,
    bytes_read: AtomicU64,
}

impl Progress {
    /// Records read so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Bytes of the file (compressed, if it is) read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
}

/// Interfaces of all files together; [`Arrival::interface`] numbers them.
const MAX_INTERFACES: usize = 1 << 16;

/// An idle pipe gives an empty batch after this time: often enough for stages that
/// write once a second, and for the end of the run.
const PATIENCE: Duration = Duration::from_millis(100);

/// Reads capture files, one after the other, as one stream.
///
/// Of a pipe, a batch takes what is there, and does not wait to be full.
///
/// A file that is cut short or broken is read as far as it is whole; the rest
/// of the files still follow; [`faults`](CaptureSource::faults) has what was wrong.
pub struct CaptureSource {
    readers: Box<dyn Iterator<Item = Result<Reader, CaptureError>> + Send>,
    current: Option<CurrentFile>,
    interfaces: Arc<[Interface]>,
    entries: Vec<RecordEntry>,
    number: u64,
    clock: CaptureClock,
    faults: Vec<CaptureError>,
    progress: Arc<Progress>,
    bytes_of_finished_files: u64,
}

/// The outcome of a read.
enum Given {
    Records,
    /// A pipe that is still open had nothing.
    Nothing,
    End,
}

struct CurrentFile {
    reader: Reader,
    /// Index in `interfaces` of the file's first interface.
    first_interface: usize,
}

impl CaptureSource {
    /// A source over opened captures.
    pub fn new(readers: Vec<Reader>) -> CaptureSource {
        CaptureSource::opening(readers.into_iter().map(Ok))
    }

    /// A source over captures that are opened one after the other. One that
    /// cannot be opened is a fault, and the next follows.
    pub fn opening(
        readers: impl Iterator<Item = Result<Reader, CaptureError>> + Send + 'static,
    ) -> CaptureSource {
        CaptureSource {
            readers: Box::new(readers),
            current: None,
            interfaces: Arc::new([]),
            entries: Vec::new(),
            number: 0,
            clock: CaptureClock::new(),
            faults: Vec::new(),
            progress: Arc::default(),
            bytes_of_finished_files: 0,
        }
    }

    /// Counts that grow while the source is read.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// What was wrong with the files, in their order.
    pub fn faults(&self) -> &[CaptureError] {
        &self.faults
    }

    /// Takes the next file where none is open. False at the end.
    fn open_next(&mut self) -> bool {
        while self.current.is_none() {
            match self.readers.next() {
                Some(Ok(reader)) => {
                    self.clock.begin_capture();
                    self.current = Some(CurrentFile {
                        reader,
                        first_interface: self.interfaces.len(),
                    });
                }
                Some(Err(fault)) => self.faults.push(fault),
                None => return false,
            }
        }
        true
    }

    fn close_current(&mut self) {
        if let Some(file) = self.current.take() {
            self.bytes_of_finished_files += file.reader.bytes_read();
        }
    }

    /// Reads one block's worth of records into the batch.
    fn fill_from_block(&mut self, batch: &mut Batch) -> Given {
        let Some(file) = &mut self.current else {
            return Given::End;
        };
        let (records, bytes) = batch.room();
        self.entries.clear();
        let patience = if batch.is_empty() {
            PATIENCE
        } else {
            Duration::ZERO
        };
        file.reader.set_patience(Some(patience));
        let block = match file.reader.fill(records, bytes, &mut self.entries) {
            Ok(Some(block)) => block,
            Ok(None) => return Given::End,
            Err(fault) => {
                self.faults.push(fault);
                return Given::End;
            }
        };
        if self.entries.is_empty() {
            return Given::Nothing;
        }
        if file.first_interface + file.reader.interfaces().len() > MAX_INTERFACES {
            self.faults.push(CaptureError::TooManyInterfaces {
                file: file.reader.name().to_owned(),
                offset: file.reader.bytes_read(),
                limit: MAX_INTERFACES as u32,
            });
            return Given::End;
        }
        let known = self.interfaces.len() - file.first_interface;
        if known < file.reader.interfaces().len() {
            self.interfaces = self
                .interfaces
                .iter()
                .chain(&file.reader.interfaces()[known..])
                .cloned()
                .collect();
        }
        batch.set_interfaces(&self.interfaces);
        let clock = &mut self.clock;
        let records = self.entries.iter().map(|entry| {
            let interface = file.first_interface + entry.interface as usize;
            let mut arrival = Arrival {
                timestamp_ns: entry.timestamp_ns,
                wire_bytes: entry.wire_bytes,
                interface: interface as u16,
                link: self.interfaces[interface].link,
                ..Arrival::default()
            };
            clock.stamp(&mut arrival);
            (entry.offset, entry.captured_bytes, arrival)
        });
        let received = batch.receive(&block, self.number, records);
        // `fill` was limited to the room that there is.
        debug_assert_eq!(received, Ok(self.entries.len()));
        self.number += self.entries.len() as u64;
        Given::Records
    }
}

impl Stage for CaptureSource {
    fn name(&self) -> &str {
        "capture source"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        batch.set_interfaces(&self.interfaces);
        while batch.room().0 > 0 {
            if !self.open_next() {
                batch.mark_last();
                break;
            }
            match self.fill_from_block(batch) {
                Given::Records => {}
                Given::Nothing => break,
                Given::End => self.close_current(),
            }
        }
        let in_current = self.current.as_ref().map_or(0, |f| f.reader.bytes_read());
        self.progress.packets.store(self.number, Ordering::Relaxed);
        self.progress
            .bytes_read
            .store(self.bytes_of_finished_files + in_current, Ordering::Relaxed);
        Ok(())
    }
}

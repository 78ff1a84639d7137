//! Capture files as sources and sinks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_packet::file::{CaptureError, Interface, Reader, RecordEntry, Writer};

use super::{Stage, StageError};
use crate::arrival::{Arrival, CaptureClock};
use crate::batch::Batch;
use crate::context::Context;

/// How far a source has come, for whoever draws a progress bar in another
/// thread.
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

/// An idle pipe gives an empty batch after so long: often enough for whoever
/// writes once a second or asks for the end of the run.
const PATIENCE: Duration = Duration::from_millis(100);

/// What was written to a pipe leaves after this time at the latest.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Reads capture files, one after the other, as one stream.
///
/// Of a pipe, a batch takes what is there, and does not wait to be full.
///
/// A file that is cut short or broken is read as far as it is whole; the rest
/// of the files still follow, and [`faults`](CaptureSource::faults) tells.
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

/// What a file gave.
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

    /// A source over captures that are opened when their turn comes. One that
    /// cannot be is a fault, and the next follows.
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

    /// A handle that shows how far the source has come.
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
        // `fill` was asked for no more than there is room for.
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

/// Writes what arrives to a capture file, interfaces and times kept. Standard
/// output and pipes are flushed every second.
pub struct CaptureSink {
    /// Gone when it has finished or failed.
    writer: Option<Writer>,
    /// The writer's number of each interface of the batches.
    written_interfaces: Vec<u32>,
    bytes_written: u64,
    /// Whether the file waits for [`CaptureSink::put_in_place`].
    is_held: bool,
    flushed: Instant,
}

impl CaptureSink {
    /// A sink into an opened writer.
    pub fn new(writer: Writer) -> CaptureSink {
        CaptureSink {
            writer: Some(writer),
            written_interfaces: Vec::new(),
            bytes_written: 0,
            is_held: false,
            flushed: Instant::now(),
        }
    }

    /// A sink that leaves it to its owner whether the file appears: it does with
    /// [`CaptureSink::put_in_place`], and leaves nothing behind when it is dropped. Pipes
    /// and devices are written as the records come.
    pub fn holding(writer: Writer) -> CaptureSink {
        CaptureSink {
            is_held: true,
            ..CaptureSink::new(writer)
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// The file could not be written; it is gone.
    pub fn put_in_place(&mut self) -> Result<(), StageError> {
        if let Some(writer) = self.writer.take() {
            self.bytes_written = writer
                .finish()
                .map_err(|error| StageError::new("capture sink", error))?;
        }
        Ok(())
    }

    /// Size of the finished file.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    fn write(&mut self, batch: &Batch) -> Result<(), CaptureError> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        // A batch of another shard may know fewer interfaces than were seen.
        let new = batch.interfaces().get(self.written_interfaces.len()..);
        for interface in new.unwrap_or_default() {
            let number = writer.add_interface(interface)?;
            self.written_interfaces.push(number);
        }
        for index in batch.live() {
            let arrival = batch.arrival(index);
            let interface = self.written_interfaces[usize::from(arrival.interface)];
            let record = batch.record(index);
            let wire_bytes = arrival.wire_bytes.max(record.len() as u32);
            writer.write(interface, arrival.timestamp_ns, wire_bytes, record)?;
        }
        if writer.is_live() && self.flushed.elapsed() >= FLUSH_EVERY {
            writer.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }
}

impl Stage for CaptureSink {
    fn name(&self) -> &str {
        "capture sink"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.write(batch).map_err(|error| {
            // Half a capture is not put in place.
            self.writer = None;
            StageError::new("capture sink", error)
        })
    }

    fn finish(&mut self) -> Result<(), StageError> {
        let is_live = self.writer.as_ref().is_some_and(Writer::is_live);
        match self.is_held && !is_live {
            true => Ok(()),
            false => self.put_in_place(),
        }
    }
}

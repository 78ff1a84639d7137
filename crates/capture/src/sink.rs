//! A capture file as a sink.

use std::time::{Duration, Instant};

use weir_packet::file::{CaptureError, Writer};
use weir_stream::{Batch, Context, Stage, StageError};

/// What was written to a pipe leaves after this time at the latest.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

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

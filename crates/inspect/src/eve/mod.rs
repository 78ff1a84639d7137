//! Events as lines of JSON in the layout of Suricata's EVE log.
//!
//! ```text
//!  stage ── AlertMembers, AnomalyMembers, … ──► Event::members
//!  sink  ── Line: what every event says of its packet, and behind it these members
//! ```

mod alert;
mod anomaly;
mod line;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_packet::file::Interface;
use weir_stream::{Batch, Context, Event, EventKind, Stage, StageError};

pub(crate) use alert::AlertMembers;
pub(crate) use anomaly::AnomalyMembers;
use line::Line;

const NAME: &str = "eve";

/// Lines are on disk after this time at the latest, as long as batches come.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A sink that writes every event of the batches that pass as a line of JSON, whose
/// `event_type` is the name of its kind.
///
/// Lines are written in place as they come, and flushed every second and at
/// the end. A write that fails ends the run.
pub struct EveWriter {
    output: BufWriter<Box<dyn Write + Send>>,
    is_written: fn(EventKind) -> bool,
    /// Where it goes, for messages.
    place: String,
    reopened: Option<(PathBuf, Arc<AtomicBool>)>,
    line: Vec<u8>,
    flushed: Instant,
}

impl EveWriter {
    /// A writer into an opened file or another stream.
    pub fn new(output: impl Write + Send + 'static) -> EveWriter {
        EveWriter {
            output: BufWriter::with_capacity(64 << 10, Box::new(output)),
            is_written: |_| true,
            place: "alerts".to_owned(),
            reopened: None,
            line: Vec::new(),
            flushed: Instant::now(),
        }
    }

    /// A writer that appends to a file. Whenever `reopen` is set, as by a
    /// handler of SIGHUP, it closes the file and opens the path again, so that
    /// logs can be rotated by renaming.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub fn append_to(path: &Path, reopen: Arc<AtomicBool>) -> io::Result<EveWriter> {
        let mut writer = EveWriter::new(open(path)?);
        writer.place = path.display().to_string();
        writer.reopened = Some((path.to_owned(), reopen));
        Ok(writer)
    }

    /// The same for a part of what is noticed.
    #[must_use]
    pub fn only(mut self, is_written: fn(EventKind) -> bool) -> EveWriter {
        self.is_written = is_written;
        self
    }

    /// Writes one more document as a line, as the summary of a run, and
    /// flushes.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn write_document(&mut self, document: &impl Serialize) -> Result<(), StageError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, document)
            .map_err(io::Error::from)
            .and_then(|()| {
                self.line.push(b'\n');
                self.output.write_all(&self.line)
            })
            .and_then(|()| self.output.flush())
            .map_err(|error| self.failed(error))
    }

    /// Writes events that come without a batch, as those of a live pipeline do, flushes where a
    /// second has passed, and opens the file again where that was requested. To be called
    /// without events, too.
    ///
    /// # Errors
    /// An event could not be written; it is lost.
    pub fn write_events(
        &mut self,
        events: &[Event],
        interfaces: &[Interface],
    ) -> Result<(), StageError> {
        self.write(events, interfaces)
            .map_err(|error| self.failed(error))
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// Lines could not be written.
    pub fn flush(&mut self) -> Result<(), StageError> {
        self.output.flush().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> StageError {
        StageError::new(&self.place, error)
    }

    fn write_event(&mut self, event: &Event, interfaces: &[Interface]) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Line::new(event, interfaces))?;
        if let Some(members) = &event.members {
            self.line.pop();
            self.line.push(b',');
            self.line.extend_from_slice(members.as_bytes());
            self.line.push(b'}');
        }
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }

    fn write(&mut self, events: &[Event], interfaces: &[Interface]) -> io::Result<()> {
        self.reopen_where_asked()?;
        for event in events {
            if (self.is_written)(event.kind) {
                self.write_event(event, interfaces)?;
            }
        }
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.output.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    fn reopen_where_asked(&mut self) -> io::Result<()> {
        if let Some((path, reopen)) = &self.reopened
            && reopen.swap(false, Ordering::Relaxed)
        {
            self.output.flush()?;
            *self.output.get_mut() = Box::new(open(path)?);
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Stage for EveWriter {
    fn name(&self) -> &str {
        NAME
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.write_events(batch.events(), batch.interfaces())
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.flush()
    }
}

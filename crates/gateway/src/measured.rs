//! Where reports of intervals go as soon as they are made.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use tracing::warn;
use weir_export::{Metrics, ParquetWriter};
use weir_measure::change::Alarm;
use weir_measure::{IntervalReport, Observer, Value};
use weir_packet::file::{WholeFile, require_folder_of};
use weir_stream::StopFlag;

use crate::error::{Error, Result};
use crate::files::{begin_file, replace_file, unless_gone};
use crate::reopen::Reopen;

/// A file of metrics is not written more often than this.
pub const METRICS_EVERY: Duration = Duration::from_secs(1);

/// What was requested.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// A JSON line per interval.
    pub json_lines: Option<&'a Path>,
    /// A Parquet table of all intervals.
    pub parquet: Option<&'a Path>,
    /// A file of metrics.
    pub prometheus: Option<&'a Path>,
}

impl<'a> Places<'a> {
    /// All places.
    pub fn paths(self) -> impl Iterator<Item = &'a Path> {
        [self.json_lines, self.parquet, self.prometheus]
            .into_iter()
            .flatten()
    }
}

/// The outputs of measurements. All measurements of a run may share them.
#[derive(Clone)]
pub struct Outputs {
    shared: Arc<Mutex<Open>>,
    stop: StopFlag,
    /// Whether a failure is logged and the run goes on.
    goes_on: bool,
}

struct Open {
    json_lines: Option<LineLog>,
    parquet: Option<(PathBuf, ParquetWriter<WholeFile>)>,
    metrics: Metrics,
    prometheus: Option<MetricsFile>,
    /// The first failure. Nothing is written after it.
    failure: Option<Error>,
}

impl Outputs {
    /// Opens what was requested, before the work is done, so that a wrong path
    /// is known early. A failure later on raises `stop`.
    ///
    /// # Errors
    /// A place where nothing can be written.
    pub fn open(
        places: Places<'_>,
        key: &str,
        unit: Value,
        stop: &StopFlag,
        reopen: &Reopen,
    ) -> Result<Outputs> {
        let parquet = places.parquet.map(|path| -> Result<_> {
            let file = whole_file(path)?;
            let writer = ParquetWriter::new(file, key, unit).map_err(Error::configuration)?;
            Ok((path.to_owned(), writer))
        });
        let metrics = Metrics::new(key, unit);
        let open = Open {
            json_lines: places
                .json_lines
                .map(|path| LineLog::open(path, reopen))
                .transpose()?,
            parquet: parquet.transpose()?,
            prometheus: places
                .prometheus
                .map(|path| MetricsFile::open(path, &metrics))
                .transpose()?,
            metrics,
            failure: None,
        };
        Ok(Outputs {
            shared: Arc::new(Mutex::new(open)),
            stop: stop.clone(),
            goes_on: false,
        })
    }

    /// Lets the run go on where a report cannot be written; the report is lost and that is logged.
    #[must_use]
    pub fn going_on(self) -> Outputs {
        Outputs {
            goes_on: true,
            ..self
        }
    }

    /// Writes every report here as soon as it is made, then gives it to `next`,
    /// without its sketches, which are large.
    pub fn observer(
        &self,
        mut next: impl FnMut(IntervalReport) -> Result + Send + 'static,
    ) -> Observer {
        let outputs = self.clone();
        Box::new(move |mut report| {
            let mut open = outputs.lock();
            if open.failure.is_some() {
                return;
            }
            let written = open.write(&report);
            report.sketches = None;
            let written = match written {
                Err(error) if outputs.goes_on => {
                    warn!("{error}: an interval is not written");
                    Ok(())
                }
                written => written,
            };
            if let Err(failure) = written.and_then(|()| next(report)) {
                open.failure = Some(failure);
                outputs.stop.stop();
            }
        })
    }

    /// Completes the files.
    ///
    /// # Errors
    /// The first failure there was.
    pub fn finish(&self) -> Result {
        let mut open = self.lock();
        if let Some(failure) = open.failure.take() {
            return Err(failure);
        }
        if let Some((path, writer)) = open.parquet.take() {
            let writing = || format!("cannot write {}", path.display());
            let file = writer
                .finish()
                .with_context(writing)
                .map_err(Error::running)?;
            file.finish()
                .with_context(writing)
                .map_err(Error::running)?;
        }
        let open = &mut *open;
        if let Some(file) = &mut open.prometheus {
            file.write(&open.metrics)?;
        }
        Ok(())
    }

    /// The metrics of all intervals so far, in OpenMetrics text.
    pub fn metrics(&self) -> String {
        self.lock().metrics.text()
    }

    /// A panic under the lock ends the run.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn write(&mut self, report: &IntervalReport) -> Result {
        self.metrics.observe(report);
        if let Some(log) = &mut self.json_lines {
            log.write(report)?;
        }
        if let Some((path, writer)) = &mut self.parquet {
            writer
                .write(report)
                .with_context(|| format!("cannot write {}", path.display()))
                .map_err(Error::running)?;
        }
        if let Some(file) = &mut self.prometheus {
            file.renew(&self.metrics)?;
        }
        Ok(())
    }
}

/// Intervals that the report of a run has.
const RECENT_INTERVALS: usize = 100;

/// Alarms that the report of a run has.
const RECENT_ALARMS: usize = 1000;

/// The newest intervals and alarms of a measurement that may go on for ever.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// The newest intervals.
    pub intervals: VecDeque<IntervalReport>,
    /// All that there were.
    pub intervals_total: u64,
    /// The newest alarms.
    pub alarms: VecDeque<Alarm>,
    /// All that there were.
    pub alarms_total: u64,
}

impl Recent {
    /// Adds a report, and forgets the oldest ones.
    pub fn note(&mut self, report: IntervalReport) {
        self.intervals_total += 1;
        self.alarms_total += report.alarms.len() as u64;
        self.alarms.extend(report.alarms.iter().cloned());
        self.intervals.push_back(report);
        self.forget();
    }

    /// Adds what another direction measured.
    pub fn append(&mut self, mut other: Recent) {
        self.intervals_total += other.intervals_total;
        self.alarms_total += other.alarms_total;
        self.alarms.append(&mut other.alarms);
        self.intervals.append(&mut other.intervals);
    }

    fn forget(&mut self) {
        let old = self.intervals.len().saturating_sub(RECENT_INTERVALS);
        self.intervals.drain(..old);
        let old = self.alarms.len().saturating_sub(RECENT_ALARMS);
        self.alarms.drain(..old);
    }
}

/// A measurement's newest reports, while it runs.
#[derive(Clone, Debug, Default)]
pub struct SharedRecent(Arc<Mutex<Recent>>);

impl SharedRecent {
    /// Adds a report.
    pub fn note(&self, report: IntervalReport) {
        self.lock().note(report);
    }

    /// The reports, which are forgotten here.
    pub fn take(&self) -> Recent {
        mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file, or standard output, that a JSON line is appended to for each
/// interval.
struct LineLog {
    path: PathBuf,
    output: Box<dyn Write + Send>,
    reopen: Option<Arc<AtomicBool>>,
}

impl LineLog {
    fn open(path: &Path, reopen: &Reopen) -> Result<LineLog> {
        if path == Path::new("-") {
            return Ok(LineLog {
                path: path.to_owned(),
                output: Box::new(io::stdout()),
                reopen: None,
            });
        }
        require_folder_of(path).map_err(Error::configuration)?;
        let file = append_to(path)
            .with_context(|| format!("cannot append to {}", path.display()))
            .map_err(Error::configuration)?;
        Ok(LineLog {
            path: path.to_owned(),
            output: Box::new(file),
            reopen: Some(reopen.flag()),
        })
    }

    fn write(&mut self, report: &IntervalReport) -> Result {
        let mut line = serde_json::to_vec(report)
            .context("cannot write JSON")
            .map_err(Error::running)?;
        line.push(b'\n');
        self.append(&line)
            .with_context(|| format!("cannot append to {}", self.path.display()))
            .map_err(Error::running)
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(reopen) = &self.reopen
            && reopen.swap(false, Ordering::Relaxed)
        {
            self.output = Box::new(append_to(&self.path)?);
        }
        unless_gone(
            self.output
                .write_all(line)
                .and_then(|()| self.output.flush()),
        )
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// A file that always holds the newest metrics, whole.
struct MetricsFile {
    path: PathBuf,
    written: Instant,
}

impl MetricsFile {
    fn open(path: &Path, metrics: &Metrics) -> Result<MetricsFile> {
        begin_file(path, metrics.text().as_bytes())?;
        Ok(MetricsFile {
            path: path.to_owned(),
            written: Instant::now(),
        })
    }

    fn renew(&mut self, metrics: &Metrics) -> Result {
        match self.written.elapsed() >= METRICS_EVERY {
            true => self.write(metrics),
            false => Ok(()),
        }
    }

    fn write(&mut self, metrics: &Metrics) -> Result {
        self.written = Instant::now();
        replace_file(&self.path, metrics.text().as_bytes())
    }
}

fn whole_file(path: &Path) -> Result<WholeFile> {
    require_folder_of(path).map_err(Error::configuration)?;
    WholeFile::create(path)
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Error::configuration)
}

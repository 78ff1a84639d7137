//! Metrics of an inspection while it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use weir_export::InspectMetrics;
use weir_inspect::LiveRules;

use crate::error::{Error, Result};
use crate::files::{begin_file, replace_file};
use crate::measured::METRICS_EVERY;

/// Keeps a file of metrics up to date until it is finished.
pub struct MetricsFile {
    /// Hung up to end the thread.
    stop: Sender<()>,
    thread: JoinHandle<Result>,
}

impl MetricsFile {
    /// Writes the file at once, so that a wrong path is known early, and every
    /// second from now on.
    pub fn start(path: &Path, rules: &Arc<LiveRules>) -> Result<MetricsFile> {
        Ok(BegunMetricsFile::create(path, rules)?.start())
    }

    /// Writes the last counts; returns the first failure there was.
    pub fn finish(self) -> Result {
        drop(self.stop);
        let done = self.thread.join();
        done.unwrap_or_else(|_| Err(Error::running(anyhow!("the metrics were not written"))))
    }
}

/// A file of metrics whose thread is still to be started.
pub(crate) struct BegunMetricsFile {
    path: PathBuf,
    rules: Arc<LiveRules>,
    metrics: InspectMetrics,
}

impl BegunMetricsFile {
    /// Writes the file, so that a wrong path is known early.
    pub fn create(path: &Path, rules: &Arc<LiveRules>) -> Result<BegunMetricsFile> {
        let metrics = InspectMetrics::default();
        begin_file(path, metrics.text().as_bytes())?;
        Ok(BegunMetricsFile {
            path: path.to_owned(),
            rules: Arc::clone(rules),
            metrics,
        })
    }

    /// Writes it again every second from now on.
    pub fn start(self) -> MetricsFile {
        let BegunMetricsFile {
            path,
            rules,
            mut metrics,
        } = self;
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            loop {
                let waited = stopped.recv_timeout(METRICS_EVERY);
                metrics.observe(&rules.snapshot());
                replace_file(&path, metrics.text().as_bytes())?;
                if waited == Err(RecvTimeoutError::Disconnected) {
                    return Ok(());
                }
            }
        });
        MetricsFile { stop, thread }
    }
}

//! Captures whose packets are sent to an interface.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tracing::{debug, info};
use weir_packet::file::{CaptureError, Interface, Reader};
use weir_packet::wire::LinkType;
use weir_port::{Frames, InterfaceTx, Outgoing, PortState, Tx, TxCounters, TxOptions};
use weir_stream::StopFlag;

use crate::error::{Error, Result};
use crate::pace::{Pace, Rate};

/// Opens a capture whose packets can be sent.
fn open(path: &Path) -> Result<Reader> {
    let mut reader = Reader::open(path).map_err(Error::configuration)?;
    reader.set_patience(Some(LONGEST_WAIT));
    require_ethernet(path, reader.interfaces())?;
    debug!("reading {}", path.display());
    Ok(reader)
}

fn require_ethernet(path: &Path, interfaces: &[Interface]) -> Result {
    let mut links = interfaces.iter().map(|interface| interface.link);
    match links.find(|link| *link != LinkType::Ethernet) {
        None => Ok(()),
        Some(link) => Err(Error::configuration(anyhow!(
            "{}: its packets have link type {link:?} (DLT {}); only Ethernet captures can be sent",
            path.display(),
            link.dlt()
        ))),
    }
}

/// Why sending ended early.
enum Ended {
    /// The capture is cut short or damaged.
    Capture(CaptureError),
    Failed(Error),
}

/// A capture that is sent to an interface.
pub struct Sender {
    input: PathBuf,
    interface: String,
    /// The capture, until it is sent for the first time.
    reader: Option<Reader>,
    total_bytes: Option<u64>,
    tx: InterfaceTx,
    stop: StopFlag,
    counts: Arc<SenderCounts>,
    pace: Pace,
    /// The interface's state that was reported last.
    state: PortState,
    loops_wanted: u64,
    packets: u64,
    incomplete: u64,
    loops: u64,
    /// Bytes that were read in earlier loops.
    bytes_before: u64,
}

/// How far it has come, for others to read.
#[derive(Debug, Default)]
pub struct SenderCounts {
    /// Bytes of the capture that were read.
    pub bytes_read: AtomicU64,
    /// Packets that were read.
    pub packets: AtomicU64,
}

/// What became of a capture that was sent.
#[derive(Debug)]
pub struct Sent {
    /// Packets that were read.
    pub packets: u64,
    /// Packets that were longer on the wire than they are in the capture.
    pub incomplete: u64,
    /// How often the whole capture was sent.
    pub loops: u64,
    /// Jumps of the capture's clock that were not waited for.
    pub clock_jumps: u64,
    /// What the interface accepted and what it did not.
    pub counters: TxCounters,
    /// Whether the capture ends inside a packet.
    pub truncated: bool,
}

impl Sender {
    /// Opens a capture and the interface that its packets go to, `loops` times, at the times of
    /// the capture unless there is a rate.
    ///
    /// # Errors
    /// The capture cannot be read or has no Ethernet headers; the interface cannot be opened.
    pub fn open(
        input: &Path,
        interface: &str,
        rate: Option<Rate>,
        loops: u64,
        stop: &StopFlag,
    ) -> Result<Sender> {
        if loops > 1 && input == Path::new("-") {
            return Err(Error::configuration(anyhow!(
                "standard input can be sent once only: give a file for --loop"
            )));
        }
        let reader = open(input)?;
        let tx = InterfaceTx::open(interface, TxOptions::default());
        Ok(Sender {
            input: input.to_owned(),
            interface: interface.to_owned(),
            total_bytes: (reader.total_bytes()).and_then(|bytes| bytes.checked_mul(loops)),
            reader: Some(reader),
            tx: tx.map_err(Error::configuration)?,
            stop: stop.clone(),
            counts: Arc::default(),
            pace: Pace::new(rate),
            state: PortState::Up,
            loops_wanted: loops,
            packets: 0,
            incomplete: 0,
            loops: 0,
            bytes_before: 0,
        })
    }

    /// Bytes that are to be read, where the capture has a size.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Counts that grow while packets are sent.
    pub fn counts(&self) -> Arc<SenderCounts> {
        Arc::clone(&self.counts)
    }

    /// Sends until the end, or until the stop flag is raised. An interface that goes down drops
    /// packets, which are counted.
    ///
    /// # Errors
    /// The capture is cut short, damaged, or goes on without Ethernet headers.
    pub fn run(mut self) -> (Sent, Result) {
        let ended = match self.reader.take() {
            Some(reader) => self.send_loops(reader),
            None => Ok(()),
        };
        self.tx.flush(DRAINED_WITHIN);
        let sent = Sent {
            packets: self.packets,
            incomplete: self.incomplete,
            loops: self.loops,
            clock_jumps: self.pace.clock_jumps(),
            counters: self.tx.counters(),
            truncated: matches!(&ended, Err(Ended::Capture(error)) if error.is_truncation()),
        };
        let result = ended.map_err(|ended| match ended {
            Ended::Capture(error) => Error::running(error),
            Ended::Failed(error) => error,
        });
        (sent, result)
    }

    fn send_loops(&mut self, mut reader: Reader) -> Result<(), Ended> {
        loop {
            self.send_all(&mut reader)?;
            if self.stop.is_stopped() {
                return Ok(());
            }
            self.loops += 1;
            if self.loops == self.loops_wanted {
                return Ok(());
            }
            self.bytes_before += reader.bytes_read();
            reader = open(&self.input).map_err(Ended::Failed)?;
            self.pace.begin_again();
        }
    }

    /// Sends a capture from where it is to its end, or until a signal.
    fn send_all(&mut self, reader: &mut Reader) -> Result<(), Ended> {
        let mut records = Vec::new();
        while !self.stop.is_stopped() {
            let filled = reader.fill(RECORDS, MAX_BATCH_BYTES, &mut records);
            let Some(block) = filled.map_err(Ended::Capture)? else {
                return Ok(());
            };
            require_ethernet(&self.input, reader.interfaces()).map_err(Ended::Failed)?;
            let mut batch: Vec<Outgoing<'_>> = Vec::with_capacity(records.len());
            for record in &records {
                if let Some(due) = self.pace.next(record.timestamp_ns, Instant::now())
                    && due > Instant::now()
                {
                    self.send(&mut batch);
                    self.sleep_until(due);
                    if self.stop.is_stopped() {
                        return Ok(());
                    }
                }
                self.packets += 1;
                self.incomplete += u64::from(record.captured_bytes < record.wire_bytes);
                batch.push(record.bytes(&block).into());
            }
            self.send(&mut batch);
            records.clear();
            let bytes_read = self.bytes_before + reader.bytes_read();
            self.counts.bytes_read.store(bytes_read, Ordering::Relaxed);
        }
        Ok(())
    }

    fn send(&mut self, batch: &mut Vec<Outgoing<'_>>) {
        self.tx.send(&mut Frames::default(), batch);
        batch.clear();
        self.counts.packets.store(self.packets, Ordering::Relaxed);
        if *self.tx.state() != self.state {
            self.state = self.tx.state().clone();
            info!("{} is {}", self.interface, self.state);
        }
    }

    /// Sleeps, but not beyond a signal.
    fn sleep_until(&self, due: Instant) {
        while !self.stop.is_stopped() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LONGEST_WAIT));
        }
    }
}

/// Records that are read at once.
const RECORDS: usize = 256;
const MAX_BATCH_BYTES: usize = 512 * 1024;
/// A signal is noticed within this time.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// How long the last packets may take to leave the interface.
const DRAINED_WITHIN: Duration = Duration::from_secs(1);

//! `weir replay`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde::Serialize;
use weir_console::output::{self, keep_apart};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome, messages, table};
use weir_packet::file::{CaptureError, Interface, Reader};
use weir_packet::wire::LinkType;
use weir_port::{Frames, InterfaceTx, Outgoing, PortState, Tx, TxCounters, TxOptions};
use weir_stream::StopFlag;

use crate::cli::Replay;
use crate::pace::Pace;
use crate::signals;

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    packets: u64,
    sent: u64,
    sent_bytes: u64,
    drops: BTreeMap<&'static str, u64>,
    retries: u64,
    incomplete: u64,
    loops: u64,
    clock_jumps: u64,
    seconds: f64,
    packets_per_s: f64,
    gbit_per_s: f64,
    truncated: bool,
    interrupted: bool,
}

/// How far it has come, as the progress bar sees it.
#[derive(Default)]
struct Progress {
    bytes_read: AtomicU64,
    packets: AtomicU64,
}

pub fn replay(arguments: &Replay) -> Outcome<ExitCode> {
    let outputs: Vec<&Path> = arguments.common.json.as_deref().into_iter().collect();
    keep_apart(&[&arguments.input], &outputs)?;
    if arguments.loops > 1 && arguments.input == Path::new("-") {
        return Err(Failure::usage(anyhow!(
            "standard input can be sent once only: give a file for --loop"
        )));
    }
    let reader = open(&arguments.input)?;
    let tx = InterfaceTx::open(&arguments.interface, TxOptions::default());
    let tx = tx.map_err(Failure::usage)?;
    let json = output::Document::asked_for(&arguments.common)?;

    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let progress = Arc::new(Progress::default());
    let total_bytes = reader.total_bytes();
    let total_bytes = total_bytes.and_then(|bytes| bytes.checked_mul(arguments.loops));
    let bar = Bar::watch(Extent::of_captures(total_bytes), arguments.common.quiet, {
        let progress = Arc::clone(&progress);
        move || Place {
            position: progress.bytes_read.load(Ordering::Relaxed),
            packets: progress.packets.load(Ordering::Relaxed),
            ..Place::default()
        }
    });
    let started = Instant::now();
    let mut sending = Sending {
        arguments,
        tx,
        stop: &stop,
        progress: &progress,
        pace: Pace::new(arguments.rate),
        state: PortState::Up,
        packets: 0,
        incomplete: 0,
        loops: 0,
        bytes_before: 0,
    };
    let ended = sending.run(reader);
    sending.tx.flush(DRAINED_WITHIN);
    let seconds = started.elapsed().as_secs_f64();
    drop(bar);

    let counters = sending.tx.counters();
    let document = Document {
        packets: sending.packets,
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        drops: drops(&counters),
        retries: counters.retries,
        incomplete: sending.incomplete,
        loops: sending.loops,
        clock_jumps: sending.pace.clock_jumps(),
        seconds,
        packets_per_s: counters.sent as f64 / seconds,
        gbit_per_s: counters.sent_bytes as f64 * 8e-9 / seconds,
        truncated: matches!(&ended, Err(Ended::Capture(error)) if error.is_truncation()),
        interrupted: stop.is_stopped(),
    };
    let reported = json.map_or(Ok(()), |json| json.write("replay", &document));
    if !arguments.common.quiet {
        messages::show(&summary(arguments, &document));
    }
    if document.incomplete > 0 {
        messages::warning(format_args!(
            "{} packets were captured in part only and sent so",
            table::count(document.incomplete)
        ));
    }
    match ended {
        Ok(()) => {}
        Err(Ended::Capture(error)) => return Err(Failure::running(error)),
        Err(Ended::Failed(failure)) => return Err(failure),
    }
    reported?;
    if document.sent == 0 && document.packets > 0 && !document.interrupted {
        return Err(Failure::running(anyhow!(
            "no packet was sent: {}",
            reasons(&document.drops)
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a capture whose packets can be sent.
fn open(path: &Path) -> Outcome<Reader> {
    let mut reader = Reader::open(path).map_err(Failure::usage)?;
    reader.set_patience(Some(LONGEST_WAIT));
    require_ethernet(path, reader.interfaces())?;
    messages::detail(format_args!("reading {}", path.display()));
    Ok(reader)
}

fn require_ethernet(path: &Path, interfaces: &[Interface]) -> Outcome {
    let mut links = interfaces.iter().map(|interface| interface.link);
    match links.find(|link| *link != LinkType::Ethernet) {
        None => Ok(()),
        Some(link) => Err(Failure::usage(anyhow!(
            "{}: its packets have link type {link:?} (DLT {}); only Ethernet captures can be sent",
            path.display(),
            link.dlt()
        ))),
    }
}

/// Packets that were not sent, by reason.
fn drops(counters: &TxCounters) -> BTreeMap<&'static str, u64> {
    let all = [
        ("too_long", counters.too_long),
        ("too_short", counters.too_short),
        ("no_space", counters.no_space),
        ("port_down", counters.port_down),
        ("refused", counters.refused),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn reasons(drops: &BTreeMap<&'static str, u64>) -> String {
    let each = drops.iter();
    let each = each.map(|(reason, count)| format!("{} {reason}", table::count(*count)));
    each.collect::<Vec<_>>().join(", ")
}

fn summary(arguments: &Replay, document: &Document) -> String {
    let dropped = match document.drops.is_empty() {
        true => String::new(),
        false => format!(", dropped {}", reasons(&document.drops)),
    };
    format!(
        "{}: {} packets sent, {}, {:.1} s, {} packets/s{dropped}{}\n",
        arguments.interface,
        table::count(document.sent),
        table::bytes(document.sent_bytes),
        document.seconds,
        table::count(document.packets_per_s as u64),
        if document.interrupted {
            ", interrupted"
        } else {
            ""
        }
    )
}

/// Why sending ended early.
enum Ended {
    /// The capture is cut short or damaged.
    Capture(CaptureError),
    Failed(Failure),
}

/// Packets on their way from the capture to the interface.
struct Sending<'a> {
    arguments: &'a Replay,
    tx: InterfaceTx,
    stop: &'a StopFlag,
    progress: &'a Progress,
    pace: Pace,
    /// The interface's state that was reported last.
    state: PortState,
    packets: u64,
    /// Packets that were longer on the wire than they are in the capture.
    incomplete: u64,
    /// How often the whole capture was sent.
    loops: u64,
    /// Bytes that were read in earlier loops.
    bytes_before: u64,
}

impl Sending<'_> {
    fn run(&mut self, mut reader: Reader) -> Result<(), Ended> {
        loop {
            self.send_all(&mut reader)?;
            if self.stop.is_stopped() {
                return Ok(());
            }
            self.loops += 1;
            if self.loops == self.arguments.loops {
                return Ok(());
            }
            self.bytes_before += reader.bytes_read();
            reader = open(&self.arguments.input).map_err(Ended::Failed)?;
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
            require_ethernet(&self.arguments.input, reader.interfaces()).map_err(Ended::Failed)?;
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
            self.progress
                .bytes_read
                .store(bytes_read, Ordering::Relaxed);
        }
        Ok(())
    }

    fn send(&mut self, batch: &mut Vec<Outgoing<'_>>) {
        self.tx.send(&mut Frames::default(), batch);
        batch.clear();
        self.progress.packets.store(self.packets, Ordering::Relaxed);
        if *self.tx.state() != self.state {
            self.state = self.tx.state().clone();
            messages::notice(format_args!(
                "{} is {}",
                self.arguments.interface, self.state
            ));
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

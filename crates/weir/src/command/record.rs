//! `weir record`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_console::output::{self, keep_apart};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome, messages, table};
use weir_packet::file::Interface;
use weir_packet::wire::LinkType;
use weir_port::{FrameLayout, FramePool, Frames, InterfaceRx, Rx, RxOptions};
use weir_stream::StopFlag;

use crate::cli::Record;
use crate::recording::{RecordedFile, Recording, Rotation};
use crate::{signals, values};

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    packets: u64,
    bytes: u64,
    wire_bytes: u64,
    missed: u64,
    malformed: u64,
    unwritten: u64,
    files: Vec<RecordedFile>,
    files_total: u64,
    seconds: f64,
    interrupted: bool,
}

/// What was received, as the progress bar sees it too.
#[derive(Default)]
struct Counts {
    packets: AtomicU64,
    bytes: AtomicU64,
    wire_bytes: AtomicU64,
}

pub fn record(arguments: &Record) -> Outcome<ExitCode> {
    let rotation = Rotation {
        bytes: arguments.rotate_bytes,
        period: arguments.rotate_seconds.map(values::seconds).transpose()?,
        keep: arguments.keep,
    };
    let limit = arguments.seconds.map(values::seconds).transpose()?;
    let outputs = [
        Some(arguments.output.as_path()),
        arguments.common.json.as_deref(),
    ];
    keep_apart(&[], &outputs.into_iter().flatten().collect::<Vec<_>>())?;
    let options = RxOptions {
        promiscuous: !arguments.no_promiscuous,
        ..RxOptions::default()
    };
    let pool = FramePool::new(FRAMES).map_err(Failure::running)?;
    let rx = InterfaceRx::open(&arguments.interface, &pool, options);
    let mut rx = rx.map_err(Failure::usage)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let interface = Interface {
        snap_bytes: arguments.snaplen,
        name: Some(arguments.interface.clone()),
        ..Interface::new(LinkType::Ethernet)
    };
    let mut recording = Recording::create(&arguments.output, interface, rotation)?;

    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let reopen = signals::reopen_flag()?;
    let counts = Arc::new(Counts::default());
    let bar = Bar::watch(Extent::Open, arguments.common.quiet, {
        let counts = Arc::clone(&counts);
        move || Place {
            position: counts.bytes.load(Ordering::Relaxed),
            packets: counts.packets.load(Ordering::Relaxed),
            ..Place::default()
        }
    });
    let started = Instant::now();
    let ended = Receiving {
        arguments,
        rx: &mut rx,
        frames: Frames::of(&pool),
        recording: &mut recording,
        counts: &counts,
        stop: &stop,
        reopen: &reopen,
        until: limit.and_then(|limit| started.checked_add(limit)),
    }
    .run();
    drop(bar);
    let (recorded, finished) = recording.finish();
    let received = rx.counters();
    let packets = counts.packets.load(Ordering::Relaxed);
    let document = Document {
        packets,
        bytes: counts.bytes.load(Ordering::Relaxed),
        wire_bytes: counts.wire_bytes.load(Ordering::Relaxed),
        missed: received.missed,
        malformed: received.malformed,
        unwritten: packets - recorded.written.min(packets),
        files: recorded.files,
        files_total: recorded.files_total,
        seconds: started.elapsed().as_secs_f64(),
        interrupted: stop.is_stopped(),
    };
    // Counts are reported also where writing failed; that failure is the one to tell.
    let reported = json.map_or(Ok(()), |json| json.write("record", &document));
    if !arguments.common.quiet {
        messages::show(&summary(arguments, &document));
    }
    ended.and(finished).and(reported)?;
    Ok(ExitCode::SUCCESS)
}

fn summary(arguments: &Record, document: &Document) -> String {
    let mut line = format!(
        "{}: {} packets, {}, {} missed, {:.1} s",
        arguments.output.display(),
        table::count(document.packets),
        table::bytes(document.bytes),
        table::count(document.missed),
        document.seconds,
    );
    for (count, what) in [
        (document.malformed, "malformed"),
        (document.unwritten, "not written"),
    ] {
        if count > 0 {
            line += &format!(", {} {what}", table::count(count));
        }
    }
    if document.files_total > 1 {
        line += &format!(", {} files", table::count(document.files_total));
    }
    if document.interrupted {
        line += ", interrupted";
    }
    line + "\n"
}

/// Packets on their way from the interface to the capture.
struct Receiving<'a> {
    arguments: &'a Record,
    rx: &'a mut InterfaceRx,
    frames: Frames,
    recording: &'a mut Recording,
    counts: &'a Counts,
    stop: &'a StopFlag,
    reopen: &'a AtomicBool,
    until: Option<Instant>,
}

impl Receiving<'_> {
    /// Records until something ends it.
    fn run(mut self) -> Outcome {
        let mut state = weir_port::PortState::Up;
        let mut flush_at = Instant::now() + FLUSHED_EVERY;
        while !self.stop.is_stopped() {
            let received = self.take()?;
            if self.is_counted_out() {
                break;
            }
            let now = Instant::now();
            if self.until.is_some_and(|until| now >= until) {
                break;
            }
            if now >= flush_at {
                self.recording.flush()?;
                flush_at = now + FLUSHED_EVERY;
            }
            if self.reopen.swap(false, Ordering::Relaxed) {
                self.recording.reopen()?;
            }
            let rotate_at = self.recording.rotate_by_clock()?;
            if received {
                continue;
            }
            if self.recording.is_live() {
                self.recording.flush()?;
            }
            let due = [Some(flush_at), rotate_at, self.until];
            let due = due.into_iter().flatten().min().unwrap_or(flush_at);
            let timeout = due.saturating_duration_since(now).min(LONGEST_WAIT);
            let found = self.rx.wait(timeout);
            if *found != state {
                state = found.clone();
                messages::notice(format_args!("{} is {state}", self.arguments.interface));
            }
        }
        Ok(())
    }

    /// Writes packets that have arrived. Returns whether there were some.
    fn take(&mut self) -> Outcome<bool> {
        let snap_bytes = self.arguments.snaplen as usize;
        let limit = self.left().min(u64::from(FRAMES.frames)) as usize;
        self.frames.clear();
        let received = self.rx.fill(&mut self.frames, limit);
        for packet in self.frames.packets() {
            // What is received counts, whether it can be written or not.
            let bytes = packet.bytes.len().min(snap_bytes) as u64;
            self.counts.packets.fetch_add(1, Ordering::Relaxed);
            self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
            let wire_bytes = u64::from(packet.arrival.wire_bytes);
            self.counts
                .wire_bytes
                .fetch_add(wire_bytes, Ordering::Relaxed);
            self.recording.write(&packet, snap_bytes)?;
        }
        Ok(received > 0)
    }

    /// Packets that are still wanted.
    fn left(&self) -> u64 {
        let packets = self.counts.packets.load(Ordering::Relaxed);
        let count = self.arguments.count.unwrap_or(u64::MAX);
        count.saturating_sub(packets)
    }

    fn is_counted_out(&self) -> bool {
        self.left() == 0
    }
}

/// Packets that are written at once, each of any length.
const FRAMES: FrameLayout = FrameLayout {
    frames: 256,
    frame_bytes: 64 * 1024 + 4096,
    headroom_bytes: 0,
};
const FLUSHED_EVERY: Duration = Duration::from_secs(1);
/// A signal may come to another thread: it is noticed within this time.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

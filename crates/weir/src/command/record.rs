//! `weir record`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;
use weir_console::output::{self, keep_apart};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Outcome, messages, table};
use weir_gateway::config::seconds;
use weir_gateway::{Counts, RecordedFile, Recorder, Recording, Reopen, Rotation};
use weir_packet::file::Interface;
use weir_packet::wire::LinkType;
use weir_port::{Rx, RxOptions};
use weir_stream::StopFlag;

use crate::cli::Record;
use crate::failure::failure;
use crate::sandbox::{self, Reach};
use crate::{privileges, signals};

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

pub fn record(arguments: &Record) -> Outcome<ExitCode> {
    privileges::keep_those_of_ports()?;
    let rotation = Rotation {
        bytes: arguments.rotate_bytes,
        period: arguments
            .rotate_seconds
            .map(seconds)
            .transpose()
            .map_err(failure)?,
        keep: arguments.keep,
    };
    let limit = arguments
        .seconds
        .map(seconds)
        .transpose()
        .map_err(failure)?;
    let outputs = [
        Some(arguments.output.as_path()),
        arguments.common.json.as_deref(),
    ];
    keep_apart(&[], &outputs.into_iter().flatten().collect::<Vec<_>>())?;
    let options = RxOptions {
        promiscuous: !arguments.no_promiscuous,
        ..RxOptions::default()
    };
    let opened = Recorder::receive_from(&arguments.interface, options);
    let (mut rx, frames) = opened.map_err(failure)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let interface = Interface {
        snap_bytes: arguments.snaplen,
        name: Some(arguments.interface.clone()),
        ..Interface::new(LinkType::Ethernet)
    };
    let mut recording =
        Recording::create(&arguments.output, interface, rotation).map_err(failure)?;

    sandbox::confine_files(&Reach {
        outputs: outputs.into_iter().flatten().map(Path::to_owned).collect(),
        ..Reach::default()
    })?;
    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let reopen = Reopen::default();
    signals::on_reopen({
        let reopen = reopen.clone();
        move || reopen.request()
    })?;
    let counts = Arc::new(Counts::default());
    let bar = Bar::watch(Extent::Open, arguments.common.quiet, {
        let counts = Arc::clone(&counts);
        move || Place {
            position: counts.bytes.load(Ordering::Relaxed),
            packets: counts.packets.load(Ordering::Relaxed),
            ..Place::default()
        }
    });
    sandbox::confine_calls()?;
    let started = Instant::now();
    let ended = Recorder {
        interface: &arguments.interface,
        rx: &mut rx,
        frames,
        recording: &mut recording,
        snap_bytes: arguments.snaplen as usize,
        count: arguments.count,
        until: limit.and_then(|limit| started.checked_add(limit)),
        counts: &counts,
        stop: &stop,
        reopen: &reopen.flag(),
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
    // Counts are reported also where writing failed; that failure is the one to report.
    let reported = json.map_or(Ok(()), |json| json.write("record", &document));
    if !arguments.common.quiet {
        messages::show(&summary(arguments, &document));
    }
    ended.and(finished).map_err(failure).and(reported)?;
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

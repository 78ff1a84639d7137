//! `weir replay`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::output::{self, keep_apart};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome, messages, table};
use weir_gateway::Sender;
use weir_port::TxCounters;
use weir_stream::StopFlag;

use crate::cli::Replay;
use crate::failure::failure;
use crate::sandbox::{self, Reach};
use crate::{privileges, signals};

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

pub fn replay(arguments: &Replay) -> Outcome<ExitCode> {
    privileges::keep_those_of_ports()?;
    let outputs: Vec<&Path> = arguments.common.json.as_deref().into_iter().collect();
    keep_apart(&[&arguments.input], &outputs)?;
    let stop = StopFlag::default();
    let sender = Sender::open(
        &arguments.input,
        &arguments.interface,
        arguments.rate,
        arguments.loops,
        &stop,
    )
    .map_err(failure)?;
    let json = output::Document::asked_for(&arguments.common)?;

    sandbox::confine_files(&Reach {
        inputs: vec![arguments.input.clone()],
        outputs: outputs.into_iter().map(Path::to_owned).collect(),
        ..Reach::default()
    })?;
    signals::stop_on_interrupt(&stop)?;
    let counts = sender.counts();
    let extent = Extent::of_captures(sender.total_bytes());
    let bar = Bar::watch(extent, arguments.common.quiet, move || Place {
        position: counts.bytes_read.load(Ordering::Relaxed),
        packets: counts.packets.load(Ordering::Relaxed),
        ..Place::default()
    });
    sandbox::confine_calls()?;
    let started = Instant::now();
    let (sent, ended) = sender.run();
    let seconds = started.elapsed().as_secs_f64();
    drop(bar);

    let counters = &sent.counters;
    let document = Document {
        packets: sent.packets,
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        drops: drops(counters),
        retries: counters.retries,
        incomplete: sent.incomplete,
        loops: sent.loops,
        clock_jumps: sent.clock_jumps,
        seconds,
        packets_per_s: counters.sent as f64 / seconds,
        gbit_per_s: counters.sent_bytes as f64 * 8e-9 / seconds,
        truncated: sent.truncated,
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
    ended.map_err(failure)?;
    reported?;
    if document.sent == 0 && document.packets > 0 && !document.interrupted {
        return Err(Failure::running(anyhow!(
            "no packet was sent: {}",
            reasons(&document.drops)
        )));
    }
    Ok(ExitCode::SUCCESS)
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

//! `weir bench`: how fast ciphers and MACs are here.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use weir_bench::{Plan, Row, RunError, Subjects};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome, messages, output, table};
use weir_stream::StopFlag;

use crate::cli::{Bench, BenchSuite};
use crate::signals;

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    rows: Vec<Row>,
    /// Whether a signal ended it before its last round; sizes that were not
    /// finished have no rows then.
    interrupted: bool,
}

pub fn bench(arguments: &Bench) -> Outcome<ExitCode> {
    let plan = Plan {
        subjects: match arguments.suite {
            BenchSuite::Cipher => Subjects::Cipher,
            BenchSuite::Mac => Subjects::Mac,
        },
        algorithms: arguments.algorithm.clone(),
        bytes: arguments.bytes.clone(),
        keys: arguments.keys,
        threads: arguments.threads,
        rounds: arguments.rounds,
    };
    let json = output::Document::asked_for(&arguments.common)?;
    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let done = Arc::new(AtomicU64::new(0));
    let rounds = (plan.bytes.len() as u64).saturating_mul(plan.rounds as u64);
    let bar = Bar::watch(Extent::Parts(rounds), arguments.common.quiet, {
        let done = Arc::clone(&done);
        move || Place {
            position: done.load(Ordering::Relaxed),
            ..Place::default()
        }
    });
    let rows = plan.run(|progress| {
        done.store(progress.done as u64, Ordering::Relaxed);
        !stop.is_stopped()
    });
    drop(bar);
    let rows = rows.map_err(|error| match error {
        RunError::Plan(error) => Failure::usage(error),
        error => Failure::running(error),
    })?;

    let document = Document {
        rows,
        interrupted: stop.is_stopped(),
    };

    if let Some(json) = json {
        json.write("bench", &document)?;
    }
    if arguments.common.shows_tables() {
        output::write_stdout(tables(&document.rows).as_bytes())?;
        if document.interrupted {
            messages::show("interrupted: sizes that were not finished are missing\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A table for each size.
fn tables(rows: &[Row]) -> String {
    let sizes = rows.chunk_by(|one, other| one.bytes == other.bytes);
    sizes.map(table_of_size).collect()
}

fn table_of_size(rows: &[Row]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let title = format!(
        "{} bytes, {} keys, {} thread{}, tier {}, medians of {} rounds",
        table::count(first.bytes as u64),
        table::count(first.keys as u64),
        first.threads,
        if first.threads == 1 { "" } else { "s" },
        first.level,
        first.rounds
    );
    let cells = |row: &Row| {
        let [lower, upper] = row.ns_per_packet_quartiles;
        vec![
            row.algorithm.clone(),
            row.mode.to_owned(),
            format!("{:.1}", row.ns_per_packet),
            format!("{lower:.1}-{upper:.1}"),
            format!("{:.2}", row.gbit_per_s),
            row.cycles_per_byte
                .map_or("-".to_owned(), |cycles| format!("{cycles:.2}")),
        ]
    };
    table::table(
        &title,
        &[
            "algorithm",
            "mode",
            "ns per packet",
            "quartiles",
            "Gbit/s",
            "cycles per byte",
        ],
        &[2, 3, 4, 5],
        rows.iter().map(cells).collect(),
    )
}

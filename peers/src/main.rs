//! Weir beside its peers: the same work on the same input, in one run.
//!
//! Each kind of work has a module that prepares the input, checks that all
//! candidates come to the same result, and adds them to a [`harness::Comparison`].
//! The harness measures them in interleaved rounds, so that a change of the machine's
//! state affects all of them alike, and stores the times as rows.
//!
//! ```text
//!  capture   reading a capture file from the page cache
//!  headers   headers and flow keys of packets in memory
//!  cipher    packets encrypted and tagged, verified and decrypted
//!  matching  patterns of rules found in payloads
//!  sketch    sums per key in Count-Min and K-ary sketches
//!  mac       messages tagged
//! ```
//!
//! [`targets`] lists the targets of Weir, and its rows say whether they are met.
//! [`instructions`] limits all candidates to the instructions of a CPU tier.
//! [`table`] prints the tables of docs/speed.md from the rows.

#![deny(unsafe_code)]

mod capture;
mod cipher;
mod harness;
mod headers;
mod instructions;
mod mac;
mod machine;
mod matching;
mod numbers;
mod sketch;
mod table;
mod targets;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};

use harness::{Recorder, Row};
use instructions::Limit;
use machine::Machine;

/// Measures Weir and its peers at the same work and prints the times side by side.
#[derive(Parser)]
struct Arguments {
    /// The file of the rows, as JSON; with `--table` one file or several.
    #[arg(default_value = "out/peers.json")]
    files: Vec<PathBuf>,
    /// Works to measure; all of them where none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    work: Vec<Work>,
    /// Of these, the comparisons whose WORK/BYTES/KEYS contains this text, as in
    /// aes-128-gcm/64/new.
    #[arg(long)]
    only: Option<String>,
    /// Limits Weir and its peers to the instructions of this tier.
    #[arg(long, value_enum)]
    tier: Option<Limit>,
    /// Measures nothing: prints the tables of docs/speed.md from the rows in FILES.
    #[arg(long, conflicts_with_all = ["work", "only", "tier"])]
    table: bool,
    #[command(flatten)]
    matching: matching::Options,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Capture,
    Headers,
    Cipher,
    Matching,
    Sketch,
    Mac,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.table {
        print_tables(&arguments.files)?;
        return Ok(ExitCode::SUCCESS);
    }
    let [path] = &arguments.files[..] else {
        bail!("rows of a measurement go to one file");
    };
    if let Some(limit) = arguments.tier
        && !limit.is_active()
    {
        let status = limit.restart()?;
        return Ok(match status.success() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    measure(&arguments, path)?;
    Ok(ExitCode::SUCCESS)
}

fn print_tables(paths: &[PathBuf]) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read {}: run `make peers` first", path.display()))?;
        let of_file: Vec<Row> = serde_json::from_str(&text)
            .with_context(|| format!("{} has no rows", path.display()))?;
        rows.extend(of_file);
    }
    print!("{}", table::markdown(&rows));
    Ok(())
}

fn measure(arguments: &Arguments, path: &Path) -> Result<()> {
    let machine = Machine::detect();
    println!("{machine}");
    let works = match &arguments.work[..] {
        [] => Work::value_variants(),
        named => named,
    };
    let mut recorder = Recorder::new(machine, arguments.only.clone());
    for work in works {
        match work {
            Work::Capture => capture::measure(&mut recorder)?,
            Work::Headers => headers::measure(&mut recorder)?,
            Work::Cipher => cipher::measure(&mut recorder)?,
            Work::Matching => matching::measure(&mut recorder, &arguments.matching)?,
            Work::Sketch => sketch::measure(&mut recorder)?,
            Work::Mac => mac::measure(&mut recorder)?,
        }
    }
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    serde_json::to_writer_pretty(BufWriter::new(file), recorder.rows())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("{} rows in {}", recorder.rows().len(), path.display());
    Ok(())
}

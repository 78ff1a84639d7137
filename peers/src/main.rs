//! Weir beside its peers: the same work on the same input, in one run.
//!
//! Each kind of work has a file that prepares the input, checks that all
//! subjects come to the same result, and enters them in a [`harness::Contest`].
//! The harness runs them in turn, round after round, so that whatever else the
//! machine does meets all of them alike, and makes rows of their times.
//!
//! ```text
//!  capture   reading a capture file from the page cache
//!  headers   headers and flow keys of packets in memory
//!  cipher    packets encrypted and tagged, verified and decrypted
//!  matching  contents of rules found in payloads
//!  sketch    sums per key in Count-Min and K-ary sketches
//!  mac       messages tagged
//! ```
//!
//! What Weir promises of a work is a bar in [`bars`]: Weir's row says whether it
//! is met. [`table`] makes the tables of docs/speed.md of the rows.

#![deny(unsafe_code)]

mod bars;
mod capture;
mod cipher;
mod harness;
mod headers;
mod mac;
mod machine;
mod matching;
mod numbers;
mod sketch;
mod table;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use harness::{Row, Scoreboard};

/// Measures Weir and its peers at the same work and prints the times side by side.
#[derive(Parser)]
struct Arguments {
    /// Where the rows go, as JSON.
    #[arg(default_value = "out/peers.json")]
    output: PathBuf,
    /// The works to measure; all of them where none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    work: Vec<Work>,
    /// Of these, what has this text in WORK/BYTES/KEYS, as in
    /// aes-128-gcm/64/new.
    #[arg(long)]
    only: Option<String>,
    /// Measures nothing: prints the tables of docs/speed.md from the rows in OUTPUT.
    #[arg(long, conflicts_with_all = ["work", "only"])]
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

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let path = &arguments.output;
    if arguments.table {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read {}: run `make peers` first", path.display()))?;
        let rows: Vec<Row> = serde_json::from_str(&text)
            .with_context(|| format!("{} holds no rows", path.display()))?;
        print!("{}", table::markdown(&rows));
        return Ok(());
    }
    let machine = machine::Machine::ask();
    println!("{machine}");
    let works = match &arguments.work[..] {
        [] => Work::value_variants(),
        named => named,
    };
    let mut scoreboard = Scoreboard::new(&machine, arguments.only);
    for work in works {
        match work {
            Work::Capture => capture::measure(&mut scoreboard)?,
            Work::Headers => headers::measure(&mut scoreboard)?,
            Work::Cipher => cipher::measure(&mut scoreboard)?,
            Work::Matching => matching::measure(&mut scoreboard, &arguments.matching)?,
            Work::Sketch => sketch::measure(&mut scoreboard)?,
            Work::Mac => mac::measure(&mut scoreboard)?,
        }
    }
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    serde_json::to_writer_pretty(BufWriter::new(file), scoreboard.rows())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("{} rows in {}", scoreboard.rows().len(), path.display());
    Ok(())
}

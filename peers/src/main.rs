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
//!  seal      encrypting and tagging packets
//! ```

#![forbid(unsafe_code)]

mod capture;
mod harness;
mod headers;
mod machine;
mod seal;

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use harness::Scoreboard;

/// Measures Weir and its peers at the same work and prints the times side by side.
#[derive(Parser)]
struct Arguments {
    /// Where the rows go, as JSON.
    #[arg(default_value = "out/peers.json")]
    output: PathBuf,
    /// The works to measure; all of them where none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    work: Vec<Work>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Capture,
    Headers,
    Seal,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let machine = machine::Machine::ask();
    println!("{machine}");
    let works = match &arguments.work[..] {
        [] => Work::value_variants(),
        named => named,
    };
    let mut scoreboard = Scoreboard::new(&machine);
    for work in works {
        match work {
            Work::Capture => capture::measure(&mut scoreboard)?,
            Work::Headers => headers::measure(&mut scoreboard)?,
            Work::Seal => seal::measure(&mut scoreboard)?,
        }
    }
    let path = &arguments.output;
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    serde_json::to_writer_pretty(BufWriter::new(file), scoreboard.rows())
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("{} rows in {}", scoreboard.rows().len(), path.display());
    Ok(())
}

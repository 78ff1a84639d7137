//! Arguments that all programs take.

use std::path::PathBuf;

use clap::Args;

use crate::messages::{ColorChoice, LogFormat};

/// How messages on standard error look.
#[derive(Args, Debug)]
#[command(next_help_heading = "Messages")]
pub struct Messages {
    /// Color messages: auto does on a terminal unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: ColorChoice,
    /// Form of messages: text, or json for one object per line.
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
    /// Show more: the version, inputs and outputs as they are opened.
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// What every command takes.
#[derive(Args, Debug)]
pub struct Common {
    /// Write the results as one JSON document to a file, or to standard output ("-").
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print only errors, warnings and requested output.
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl Common {
    /// Whether the tables for people are printed: not when they were declined,
    /// and not when standard output carries JSON.
    pub fn shows_tables(&self) -> bool {
        !self.quiet && self.json.as_deref() != Some("-".as_ref())
    }
}

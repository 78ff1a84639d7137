//! What the programs of Weir have in common on the command line: arguments, exit statuses, messages,
//! progress, tables, JSON documents, manual pages. Scripts rely on all of it.
//!
//! [`run`] is the whole of a program's `main`: it parses the command line, and makes a message and an
//! exit status of what the work returns. What a person reads goes to standard error through
//! [`messages`] and [`progress`], or to standard output as a [`table`]. What a script reads is a
//! [`output::Document`], which `--json` of [`Common`] asks for.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use clap::Parser;
//! use weir_console::{Common, Messages, output};
//!
//! /// Count to a number.
//! #[derive(Parser)]
//! #[command(name = "weir-count", version)]
//! struct Cli {
//!     number: u64,
//!     #[command(flatten)]
//!     common: Common,
//!     #[command(flatten)]
//!     messages: Messages,
//! }
//!
//! impl AsRef<Messages> for Cli {
//!     fn as_ref(&self) -> &Messages {
//!         &self.messages
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     weir_console::run(|cli: Cli| {
//!         if cli.common.shows_tables() {
//!             output::write_stdout(format!("1 to {}\n", cli.number).as_bytes())?;
//!         }
//!         Ok(ExitCode::SUCCESS)
//!     })
//! }
//! ```

#![forbid(unsafe_code)]

mod arguments;
mod events;
mod failure;
mod limit;
pub mod manual;
pub mod messages;
pub mod output;
mod program;
pub mod progress;
pub mod table;

pub use arguments::{Common, Messages};
pub use failure::{Failure, Outcome};
pub use program::run;

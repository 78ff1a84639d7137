//! Holds the reference receiver of the target `receiver` against Linux' own TCP:
//! `unshare --net cargo run --release --bin linux_receiver`. Needs root.

use std::process::ExitCode;

use clap::Parser;

/// Gives connections with any segments to Linux and to the reference receiver, which must deliver
/// the same bytes with every segment.
#[derive(Parser)]
struct Arguments {
    /// How many connections.
    #[arg(long, default_value_t = 20_000)]
    connections: u32,
    /// Choice of mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match weir_fuzz_checks::receiver::linux::compare(arguments.connections, arguments.seed) {
        Ok(tally) => {
            println!("{tally}");
            ExitCode::SUCCESS
        }
        Err(difference) => {
            eprintln!("linux_receiver: {difference}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    let _ = Arguments::parse();
    eprintln!("linux_receiver: this is not Linux");
    ExitCode::FAILURE
}

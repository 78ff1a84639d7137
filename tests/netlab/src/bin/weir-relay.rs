//! A relay between two interfaces, for tests in other languages.
//!
//! ```text
//! weir-relay ONE OTHER [loss=SHARE] [burst_packets=N] [reorder=SHARE] [reorder_packets=N]
//!            [duplicate=SHARE] [corrupt=SHARE] [delay_us=N] [jitter_us=N] [seed=N]
//! ```
//!
//! Both directions have the same faults, decided by neighbouring seeds. It prints `ready` when it
//! hands packets on, ends with its standard input, and then prints what became of the packets of
//! each direction, as JSON.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use weir_netlab::{Counts, Faults, Relay};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-relay: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [one, other, settings @ ..] = arguments.as_slice() else {
        return Err("two interfaces are needed".into());
    };
    let forth = faults(settings)?;
    let back = Faults {
        seed: forth.seed.wrapping_add(1),
        ..forth.clone()
    };
    let relay = Relay::between([one, other], [forth, back]).map_err(|error| error.to_string())?;
    print("ready")?;
    // The end of standard input ends it: its parent has ended, or asks for that.
    let mut input = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut input);
    let [forth, back] = relay.stop().map(json);
    print(&format!("[{forth}, {back}]"))
}

fn faults(settings: &[String]) -> Result<Faults, String> {
    let mut faults = Faults::default();
    for setting in settings {
        let parsed = setting.split_once('=').and_then(|(name, value)| {
            let share = || {
                value
                    .parse()
                    .ok()
                    .filter(|share| (0.0..1.0).contains(share))
            };
            let count = || value.parse::<u64>().ok();
            let duration = || count().map(Duration::from_micros);
            match name {
                "loss" => faults.loss = share()?,
                "burst_packets" => faults.burst_packets = count()?.max(1) as f64,
                "reorder" => faults.reorder = share()?,
                "reorder_packets" => faults.reorder_packets = count()?,
                "duplicate" => faults.duplicate = share()?,
                "corrupt" => faults.corrupt = share()?,
                "delay_us" => faults.delay = duration()?,
                "jitter_us" => faults.jitter = duration()?,
                "seed" => faults.seed = count()?,
                _ => return None,
            }
            Some(())
        });
        parsed.ok_or_else(|| format!("{setting}: no such setting, or no such value"))?;
    }
    Ok(faults)
}

fn json(counts: Counts) -> String {
    let Counts {
        received,
        lost,
        duplicated,
        reordered,
        corrupted,
        sent,
    } = counts;
    format!(
        "{{\"received\": {received}, \"lost\": {lost}, \"duplicated\": {duplicated}, \
         \"reordered\": {reordered}, \"corrupted\": {corrupted}, \"sent\": {sent}}}"
    )
}

fn print(line: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| error.to_string())
}

//! Signals: the end of a run, log files that were moved away, changed rules.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use weir_console::{Failure, Outcome};
use weir_stream::StopFlag;

/// Ends the run on SIGINT or SIGTERM: the batches under way are finished and
/// everything is written. A second signal ends the process at once.
pub fn stop_on_interrupt(stop: &StopFlag) -> Outcome {
    let second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second))
            .and_then(|_| flag::register(signal, Arc::clone(&second)))
            .context("cannot handle signals")
            .map_err(Failure::Running)?;
    }
    let stop = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .context("cannot handle signals")
        .map_err(Failure::Running)?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            stop.stop();
        }
    });
    Ok(())
}

/// Calls `reload` whenever SIGUSR2 comes, the signal by which Suricata is told
/// to read its rules again.
pub fn on_reload(reload: impl FnMut() + Send + 'static) -> Outcome {
    on(SIGUSR2, reload)
}

/// Calls `reopen` whenever SIGHUP comes: logs are to be opened again by their names.
pub fn on_reopen(reopen: impl FnMut() + Send + 'static) -> Outcome {
    on(SIGHUP, reopen)
}

fn on(signal: i32, mut react: impl FnMut() + Send + 'static) -> Outcome {
    let mut signals = Signals::new([signal])
        .context("cannot handle signals")
        .map_err(Failure::Running)?;
    thread::spawn(move || signals.forever().for_each(|_| react()));
    Ok(())
}

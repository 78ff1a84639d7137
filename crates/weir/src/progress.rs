//! A progress bar for long runs on a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use weir_stream::Progress;

/// Short runs show no bar.
const APPEARS_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Draws how far sources have come, until it is dropped.
pub struct Bar {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Watches `sources`, which together read `total_bytes`. Draws nothing
    /// when `quiet` or where standard error is not a terminal.
    pub fn watch(sources: Vec<Arc<Progress>>, total_bytes: Option<u64>, quiet: bool) -> Bar {
        let done = Arc::new(AtomicBool::new(false));
        let thread = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let done = Arc::clone(&done);
            thread::spawn(move || draw(&sources, total_bytes, &done))
        });
        Bar { done, thread }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A bar that failed to draw is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn draw(sources: &[Arc<Progress>], total_bytes: Option<u64>, done: &AtomicBool) {
    let mut waited = Duration::ZERO;
    while waited < APPEARS_AFTER {
        if done.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(TICK);
        waited += TICK;
    }
    let bar = match total_bytes {
        Some(bytes) => ProgressBar::new(bytes).with_style(style(
            "{bar:30} {percent:>3} % of {total_bytes} at {bytes_per_sec}, {msg}, {eta} left",
        )),
        None => ProgressBar::new_spinner().with_style(style("{spinner} {bytes} read, {msg}")),
    };
    while !done.load(Ordering::Relaxed) {
        let packets: u64 = sources.iter().map(|source| source.packets()).sum();
        bar.set_position(sources.iter().map(|source| source.bytes_read()).sum());
        bar.set_message(format!("{} packets", HumanCount(packets)));
        thread::sleep(TICK);
    }
    bar.finish_and_clear();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

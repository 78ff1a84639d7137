//! A progress bar for long runs on a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// Short runs show no bar.
const APPEARS_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// So many bytes are to be read.
    Bytes(u64),
    /// Bytes are read until there are no more.
    Open,
    /// So many packets are to be made.
    Packets(u64),
    /// So many parts of the work are to be done.
    Parts(u64),
}

impl Extent {
    /// What there is to read in captures, where all of them have a size.
    pub fn of_captures(total_bytes: Option<u64>) -> Extent {
        total_bytes.map_or(Extent::Open, Extent::Bytes)
    }
}

/// How much is done.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// In the unit of the [`Extent`].
    pub position: u64,
    /// Packets so far.
    pub packets: u64,
    /// What else there is to tell.
    pub note: String,
}

/// Draws how far the work has come, until it is dropped.
pub struct Bar {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Asks `place` how far it is, again and again. Draws nothing when `quiet`
    /// or where standard error is not a terminal.
    pub fn watch(extent: Extent, quiet: bool, place: impl Fn() -> Place + Send + 'static) -> Bar {
        let done = Arc::new(AtomicBool::new(false));
        let thread = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let done = Arc::clone(&done);
            thread::spawn(move || draw(extent, place, &done))
        });
        Bar { done, thread }
    }

    /// Draws how many parts of the work are done.
    pub fn count(parts: usize, quiet: bool, done: &Arc<AtomicUsize>) -> Bar {
        let done = Arc::clone(done);
        Bar::watch(Extent::Parts(parts as u64), quiet, move || {
            let position = done.load(Ordering::Relaxed) as u64;
            Place {
                position,
                ..Place::default()
            }
        })
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

/// The bar that is drawn at the moment.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes something to the terminal without mixing it with the bar.
pub fn beside_bar<T>(write: impl FnOnce() -> T) -> T {
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match drawn {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn show(bar: Option<ProgressBar>) {
    *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

fn draw(extent: Extent, place: impl Fn() -> Place, done: &AtomicBool) {
    let mut waited = Duration::ZERO;
    while waited < APPEARS_AFTER {
        if done.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(TICK);
        waited += TICK;
    }
    let bar = match extent {
        Extent::Bytes(bytes) => ProgressBar::new(bytes).with_style(style(
            "{bar:30} {percent:>3} % of {total_bytes} at {bytes_per_sec}, {msg}, {eta} left",
        )),
        Extent::Open => {
            ProgressBar::new_spinner().with_style(style("{spinner} {bytes} read, {msg}"))
        }
        Extent::Packets(packets) => ProgressBar::new(packets)
            .with_style(style("{bar:30} {percent:>3} %, {msg}, {eta} left")),
        Extent::Parts(count) => ProgressBar::new(count)
            .with_style(style("{bar:30} {percent:>3} %, {pos} of {len}, {eta} left")),
    };
    show(Some(bar.clone()));
    while !done.load(Ordering::Relaxed) {
        let Place {
            position,
            packets,
            note,
        } = place();
        let comma = if note.is_empty() { "" } else { ", " };
        bar.set_position(position);
        bar.set_message(format!("{} packets{comma}{note}", HumanCount(packets)));
        thread::sleep(TICK);
    }
    show(None);
    bar.finish_and_clear();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

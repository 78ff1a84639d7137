//! How far a long run has come: a bar on a terminal, a line a minute elsewhere.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::messages;

/// Short runs show no bar.
const APPEARS_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
/// How often there is a line where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(60);

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

/// Shows how far the work has come, until it is dropped.
pub struct Bar {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Asks `place` how far it is, again and again, and shows it unless `quiet`: as a bar where
    /// standard error is a terminal, in a line a minute elsewhere.
    pub fn watch(extent: Extent, quiet: bool, place: impl Fn() -> Place + Send + 'static) -> Bar {
        let done = Arc::new(AtomicBool::new(false));
        let thread = (!quiet).then(|| {
            let done = Arc::clone(&done);
            thread::spawn(move || match std::io::stderr().is_terminal() {
                true => draw(extent, place, &done),
                false => tell(extent, place, &done),
            })
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

/// Says how far the work is, once a minute.
fn tell(extent: Extent, place: impl Fn() -> Place, done: &AtomicBool) {
    let started = Instant::now();
    let mut next = LINE_EVERY;
    while !done.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        if started.elapsed() >= next {
            messages::notice(line(extent, &place(), next));
            next += LINE_EVERY;
        }
    }
}

/// How far the work is, after some time.
fn line(extent: Extent, place: &Place, after: Duration) -> String {
    let position = place.position;
    let (total, done) = match extent {
        Extent::Bytes(total) => (
            Some(total),
            format!("{} of {}", BinaryBytes(position), BinaryBytes(total)),
        ),
        Extent::Open => (None, format!("{} read", BinaryBytes(position))),
        Extent::Packets(total) | Extent::Parts(total) => (
            Some(total),
            format!("{} of {}", HumanCount(position), HumanCount(total)),
        ),
    };
    let mut line = done;
    if let Some(total) = total
        && (1..=total).contains(&position)
    {
        let left = after.mul_f64((total - position) as f64 / position as f64);
        let percent = 100.0 * position as f64 / total as f64;
        line = format!("{percent:.0} %, {line}, {} left", HumanDuration(left));
    }
    if place.packets > 0 && !matches!(extent, Extent::Packets(_)) {
        line += &format!(", {} packets", HumanCount(place.packets));
    }
    if !place.note.is_empty() {
        line += &format!(", {}", place.note);
    }
    line
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
    messages::draw_beside(Some(bar.clone()));
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
    messages::draw_beside(None);
    bar.finish_and_clear();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_the_work_is() {
        let place = Place {
            position: 1 << 20,
            packets: 12_345,
            note: "3 alerts".to_owned(),
        };
        let minute = Duration::from_secs(60);
        assert_eq!(
            line(Extent::Bytes(4 << 20), &place, minute),
            "25 %, 1.00 MiB of 4.00 MiB, 3 minutes left, 12,345 packets, 3 alerts"
        );
        assert_eq!(
            line(Extent::Open, &place, minute),
            "1.00 MiB read, 12,345 packets, 3 alerts"
        );
        let begun = Place::default();
        assert_eq!(line(Extent::Parts(7), &begun, minute), "0 of 7");
    }
}

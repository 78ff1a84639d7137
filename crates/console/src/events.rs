//! Events of libraries, which report through `tracing`, as messages on standard error.

use std::fmt::{self, Debug, Write};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::limit::Limiter;
use crate::messages;

/// Shows events of this project as messages: a warning is shown always, a detail only to those who
/// asked for it. Each place that logs does so at a bounded rate.
pub struct Messenger;

static LIMITER: LazyLock<Mutex<Limiter<Identifier>>> = LazyLock::new(Mutex::default);

fn limited<T>(by: impl FnOnce(&mut Limiter<Identifier>) -> T) -> T {
    by(&mut LIMITER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says what was suppressed: at the end of a program, which nothing follows.
pub fn finish() {
    tell(limited(|limiter| limiter.unsaid(None)));
}

fn tell(unsaid: Vec<(u64, String)>) {
    for (count, last) in unsaid {
        messages::warning(format_args!(
            "{count} messages were suppressed, the last: {last}"
        ));
    }
}

impl Subscriber for Messenger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let most = match messages::shows_details() {
            true => Level::DEBUG,
            false => Level::INFO,
        };
        metadata.is_event() && *metadata.level() <= most && metadata.target().starts_with("weir")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let now = Instant::now();
        let (admitted, unsaid) = limited(|limiter| {
            let place = event.metadata().callsite();
            let admitted = limiter.admit(place, &text.0, now);
            (admitted, limiter.unsaid(Some(now)))
        });
        tell(unsaid);
        match admitted {
            None => return,
            Some(0) => {}
            Some(count) => text.0 += &format!(" ({count} messages like this were suppressed)"),
        }
        match *event.metadata().level() {
            Level::ERROR => messages::error(text.0),
            Level::WARN => messages::warning(text.0),
            Level::INFO => messages::notice(text.0),
            _ => messages::detail(text.0),
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event, and its other fields behind it.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _: fmt::Result = match field.name() {
            "message" => {
                let fields = std::mem::take(&mut self.0);
                write!(self.0, "{value:?}{fields}")
            }
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_fields_stand_behind_the_message() {
        struct Collecting(std::sync::mpsc::Sender<String>);
        impl Subscriber for Collecting {
            fn enabled(&self, _: &Metadata<'_>) -> bool {
                true
            }
            fn event(&self, event: &Event<'_>) {
                let mut text = Text::default();
                event.record(&mut text);
                self.0.send(text.0).expect("a receiver");
            }
            fn new_span(&self, _: &Attributes<'_>) -> Id {
                Id::from_u64(1)
            }
            fn record(&self, _: &Id, _: &Record<'_>) {}
            fn record_follows_from(&self, _: &Id, _: &Id) {}
            fn enter(&self, _: &Id) {}
            fn exit(&self, _: &Id) {}
        }
        let (sender, events) = std::sync::mpsc::channel();
        tracing::subscriber::with_default(Collecting(sender), || {
            tracing::info!(queue = 3, "{} is down", "eth0");
        });
        assert_eq!(events.recv().expect("an event"), "eth0 is down queue=3");
    }
}

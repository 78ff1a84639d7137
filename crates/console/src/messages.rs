//! What a command says to people on standard error while it works: one line each.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
    Notice,
    Detail,
}

/// When messages have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, with time_unix_s, level and message.
    Json,
}

/// How messages are written.
#[derive(Clone, Copy, Debug, Default)]
struct Style {
    format: LogFormat,
    has_color: bool,
    shows_details: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// The name that messages begin with.
static PROGRAM: OnceLock<String> = OnceLock::new();

/// The progress bar that is drawn at the moment, which messages must not mix with.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets the name that messages begin with, once.
pub(crate) fn name_program(name: &str) {
    // A second call changes nothing.
    let _ = PROGRAM.set(name.to_owned());
}

/// Sets the progress bar that is drawn from now on, if any.
pub(crate) fn draw_beside(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Sets how messages are written, once.
pub fn configure(color: ColorChoice, format: LogFormat, shows_details: bool) {
    let on_terminal = || {
        let is_declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        io::stderr().is_terminal() && !is_declined
    };
    let style = Style {
        format,
        has_color: match color {
            ColorChoice::Auto => on_terminal(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        },
        shows_details,
    };
    // A second call changes nothing.
    let _ = STYLE.set(style);
}

/// Why the command fails.
pub fn error(message: impl Display) {
    say(Level::Error, &message.to_string());
}

/// What a person must know before the results are relied on. Shown also when
/// `--quiet`.
pub fn warning(message: impl Display) {
    say(Level::Warning, &message.to_string());
}

/// What is worth knowing.
pub fn notice(message: impl Display) {
    say(Level::Notice, &message.to_string());
}

/// Whether `--verbose` was given.
pub(crate) fn shows_details() -> bool {
    STYLE.get().is_some_and(|style| style.shows_details)
}

/// What only `--verbose` shows.
pub fn detail(message: impl Display) {
    if shows_details() {
        say(Level::Detail, &message.to_string());
    }
}

/// Shows a text as it is, such as a table. Where standard error is closed or full,
/// nobody is told.
pub fn show(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes something to the terminal without mixing it with the progress bar.
pub fn beside_bar<T>(write: impl FnOnce() -> T) -> T {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn say(level: Level, message: &str) {
    let style = STYLE.get().copied().unwrap_or_default();
    let program = PROGRAM.get().map_or("weir", String::as_str);
    beside_bar(|| show(&line(style, program, level, message)));
}

fn line(style: Style, program: &str, level: Level, message: &str) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        time_unix_s: f64,
        level: Level,
        message: &'a str,
    }
    if style.format == LogFormat::Json {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let line = Line {
            time_unix_s: since_1970.map_or(0.0, |time| time.as_secs_f64()),
            level,
            message,
        };
        let text = serde_json::to_string(&line).unwrap_or_default();
        return text + "\n";
    }
    let (color, kind) = match level {
        Level::Error => ("\x1b[1;31m", ""),
        Level::Warning => ("\x1b[1;33m", "warning: "),
        Level::Notice | Level::Detail => ("\x1b[1m", ""),
    };
    match style.has_color {
        true => format!("{color}{program}: {kind}\x1b[0m{message}\n"),
        false => format!("{program}: {kind}{message}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_that_is_asked_for() {
        let plain = Style::default();
        assert_eq!(line(plain, "weir", Level::Error, "no"), "weir: no\n");
        assert_eq!(
            line(plain, "weir-lab", Level::Warning, "no"),
            "weir-lab: warning: no\n"
        );
        let colored = Style {
            has_color: true,
            ..plain
        };
        let text = line(colored, "weir", Level::Notice, "yes");
        assert_eq!(text, "\x1b[1mweir: \x1b[0myes\n");
        let json = Style {
            format: LogFormat::Json,
            ..colored
        };
        let text = line(json, "weir", Level::Warning, "a \"b\"\nc");
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(line["level"], "warning");
        assert_eq!(line["message"], "a \"b\"\nc");
        assert!(line["time_unix_s"].as_f64().is_some_and(|time| time > 1e9));
    }
}

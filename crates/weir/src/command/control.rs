//! `weir status` and `weir reload`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::Value;
use weir_console::{Failure, Outcome, messages, output, table};
use weir_gateway::config::seconds;
use weir_gateway::{ControlClient, Request, default_socket};
use weir_stream::StopFlag;

use crate::cli::{Reload, Socket, Status};
use crate::failure::failure;
use crate::signals;

pub fn status(arguments: &Status) -> Outcome<ExitCode> {
    let every = arguments.watch.map(seconds).transpose().map_err(failure)?;
    let json = arguments.common.json.as_deref();
    let mut client = connect(&arguments.socket)?;
    let Some(every) = every else {
        let json = output::Document::asked_for(&arguments.common)?;
        let status = client.request(&Request::Status {}).map_err(failure)?;
        if let Some(json) = json {
            json.write("status", &status)?;
        }
        if arguments.common.shows_tables() {
            output::write_stdout(table(&status).as_bytes())?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let mut lines = json.map(output::Lines::create).transpose()?;
    while !stop.is_stopped() {
        let status = client.request(&Request::Status {}).map_err(failure)?;
        if let Some(lines) = &mut lines {
            lines.write("status", &status)?;
        }
        if arguments.common.shows_tables() {
            output::write_stdout(table(&status).as_bytes())?;
        }
        wait(every, &stop);
    }
    Ok(ExitCode::SUCCESS)
}

pub fn reload(arguments: &Reload) -> Outcome<ExitCode> {
    let mut client = connect(&arguments.socket)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let reloaded = client.request(&Request::Reload {}).map_err(failure)?;
    if let Some(json) = json {
        json.write("reload", &reloaded)?;
    }
    if !arguments.common.quiet {
        let mut parts = Vec::new();
        if let Some(rules) = reloaded["rules"]["loaded"].as_u64() {
            parts.push(format!("{} rules", table::count(rules)));
        }
        if let Some(rules) = reloaded["filter_rules"].as_u64() {
            parts.push(format!("{} filter rules", table::count(rules)));
        }
        if let Some(associations) = reloaded["associations"].as_object() {
            let count = |name: &str| associations[name].as_u64().unwrap_or_default();
            parts.push(format!(
                "SAs: {} kept, {} added, {} retired",
                count("kept"),
                count("added"),
                count("retired")
            ));
        }
        messages::notice(format_args!(
            "reloaded: configuration {} ({})",
            reloaded["generation"],
            parts.join(", ")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn connect(socket: &Socket) -> Outcome<ControlClient> {
    let path: Option<PathBuf> = socket.socket.clone().or_else(default_socket);
    let path = path.ok_or_else(|| {
        Failure::usage(anyhow!(
            "XDG_RUNTIME_DIR is not set: name the control socket with --socket"
        ))
    })?;
    ControlClient::connect(&path).map_err(failure)
}

/// Waits, but not beyond a signal.
fn wait(time: Duration, stop: &StopFlag) {
    let until = Instant::now() + time;
    while !stop.is_stopped() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}

/// The members of a status, those of objects behind the names of these.
fn table(status: &Value) -> String {
    let mut rows = Vec::new();
    add_rows("", status, &mut rows);
    table::table("", &[], &[], rows)
}

fn add_rows(name: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let text = match value {
        Value::Null => return,
        Value::Object(members) => {
            for (member, value) in members {
                let name = match name {
                    "" => member.replace('_', " "),
                    name => format!("{name} {}", member.replace('_', " ")),
                };
                add_rows(&name, value, rows);
            }
            return;
        }
        Value::Array(values) if values.iter().all(Value::is_object) => {
            for value in values {
                let of = ["name", "port"].iter().find_map(|key| value[*key].as_str());
                add_rows(of.unwrap_or(name), value, rows);
            }
            return;
        }
        Value::Array(values) => {
            let texts = values.iter().map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            texts.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        Value::Number(number) => match (name, number.as_u64()) {
            ("pid", _) | (_, None) => number.to_string(),
            (_, Some(number)) => table::count(number),
        },
        Value::Bool(value) => value.to_string(),
    };
    rows.push(vec![name.to_owned(), text]);
}

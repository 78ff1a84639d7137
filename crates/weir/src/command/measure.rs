//! `weir measure`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use toml::Value;
use weir_console::output::RowDocument;
use weir_console::{Failure, Outcome, messages, output, table};
use weir_gateway::config::Search;
use weir_gateway::{Gateway, Options, Outputs, Places, Reopen, Traffic};
use weir_measure::change::{Alarm, ChangeReport, SearchState};
use weir_measure::{IntervalReport, MeasureConfig};
use weir_packet::wire::KeyKind;
use weir_stream::StopFlag;

use super::live;
use crate::cli::{Changes, Measure};
use crate::failure::{error, failure};
use crate::operate::operate;
use crate::{signals, tables};

mod captures;
mod fit;

use captures::{config, open, run};

/// The document of `--json` before its `intervals`; [`Traffic`] comes behind.
#[derive(Serialize)]
struct Head {
    key: String,
    value: String,
    epsilon: f64,
    delta: f64,
}

/// Where the reports of a measurement go besides its [`Outputs`].
struct Reports {
    key: KeyKind,
    value: String,
    document: Option<RowDocument>,
    shows_tables: bool,
}

impl Reports {
    /// Begins the document, if one was requested.
    fn open(arguments: &Measure) -> Outcome<Arc<Mutex<Reports>>> {
        let head = Head {
            key: arguments.key.to_string(),
            value: arguments.value.to_string(),
            epsilon: arguments.epsilon,
            delta: arguments.delta,
        };
        let document = output::Document::asked_for(&arguments.common)?;
        let document = document.map(|document| document.with_rows("measure", &head, "intervals"));
        let streams = arguments.outputs.json_lines.as_deref() == Some(Path::new("-"));
        Ok(Arc::new(Mutex::new(Reports {
            key: arguments.key,
            value: head.value,
            document: document.transpose()?,
            shows_tables: arguments.common.shows_tables() && !streams,
        })))
    }

    fn write(&mut self, report: &IntervalReport) -> Outcome {
        if let Some(document) = &mut self.document {
            document.row(report)?;
        }
        if self.shows_tables {
            let text = interval_table(self.key, &self.value, report);
            messages::beside_bar(|| output::write_stdout(text.as_bytes()))?;
        }
        Ok(())
    }
}

pub fn measure(arguments: &Measure) -> Outcome<ExitCode> {
    if arguments.changes.fit {
        return fit::fit(arguments);
    }
    if let Some(interface) = &arguments.interface {
        return sensor(arguments, interface);
    }
    let config = MeasureConfig {
        change: search(&arguments.changes).map(Search::config),
        sketches: arguments.outputs.sketches,
        ..config(arguments)?
    };
    config.check().map_err(Failure::usage)?;
    let places = Places {
        json_lines: arguments.outputs.json_lines.as_deref(),
        parquet: arguments.outputs.parquet.as_deref(),
        prometheus: arguments.outputs.prometheus.as_deref(),
    };
    let (source, watched) = open(arguments, places)?;
    let reports = Reports::open(arguments)?;
    let stop = StopFlag::default();
    let reopen = Reopen::default();
    signals::on_reopen({
        let reopen = reopen.clone();
        move || reopen.request()
    })?;
    let outputs = Outputs::open(
        places,
        &arguments.key.to_string(),
        arguments.value,
        &stop,
        &reopen,
    );
    let outputs = outputs.map_err(failure)?;
    let observed = Arc::clone(&reports);
    let observer = outputs.observer(move |report| {
        let mut reports = observed.lock().unwrap_or_else(PoisonError::into_inner);
        reports.write(&report).map_err(error)
    });
    let measurement = config
        .build_observed(usize::from(arguments.shards.workers), Some(observer))
        .map_err(Failure::usage)?;
    let quiet = arguments.common.quiet;
    let execution = run(source, watched, measurement, &stop, quiet);
    // After a failure the unfinished document goes here, and its file with it.
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    let document = reports.document.take();
    let execution = execution?;
    outputs.finish().map_err(failure)?;

    let traffic = Traffic::new(
        &execution.statistics,
        execution.truncated(),
        execution.interrupted(),
    );
    if let Some(document) = document {
        document.finish(&traffic)?;
    }
    if reports.shows_tables {
        output::write_stdout(whole_run(&traffic).as_bytes())?;
    }
    execution.check_captures().map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

/// Measures an interface until interrupted.
fn sensor(arguments: &Measure, interface: &str) -> Outcome<ExitCode> {
    let integer =
        |number: u64| i64::try_from(number).map_or_else(|_| Value::from(i64::MAX), Value::from);
    let mut settings = live::table([
        ("key", arguments.key.to_string().into()),
        ("value", arguments.value.to_string().into()),
        ("interval", arguments.interval.into()),
        ("top", integer(arguments.top as u64)),
        ("epsilon", arguments.epsilon.into()),
        ("delta", arguments.delta.into()),
        ("exact", arguments.exact.into()),
    ]);
    if let Some(seed) = arguments.seed {
        settings.insert("seed".to_owned(), integer(seed));
    }
    if let Some(search) = search(&arguments.changes) {
        let mut change = live::table([
            ("model", search.model.to_string().into()),
            ("difference", search.difference.name().into()),
            ("keys_from", search.keys_from.to_string().into()),
            ("keys_one_in", i64::from(search.keys_one_in).into()),
            ("counters", i64::from(search.counters).into()),
        ]);
        if let Some(threshold) = search.threshold {
            change.insert("threshold".to_owned(), threshold.into());
        }
        if let Some(keys_max) = search.keys_max {
            change.insert("keys_max".to_owned(), integer(keys_max as u64));
        }
        settings.insert("change".to_owned(), Value::Table(change));
    }
    let outputs = &arguments.outputs;
    let places = [
        ("json_lines", &outputs.json_lines),
        ("parquet", &outputs.parquet),
        ("prometheus", &outputs.prometheus),
    ];
    for (key, path) in places {
        if let Some(path) = path {
            settings.insert(key.to_owned(), live::path(path)?);
        }
    }
    #[cfg(target_os = "linux")]
    crate::privileges::keep_those_of_ports()?;
    let config = live::sensor(interface, "measure", settings)?;
    let reports = Reports::open(arguments)?;
    let observed = Arc::clone(&reports);
    let options = Options {
        shards: usize::from(arguments.shards.workers),
        output: arguments.common.json.clone(),
        cpus: arguments.serving.cpus.clone(),
        ..Options::default()
    };
    let gateway = Gateway::observed(config, &options, move |report| {
        let mut reports = observed.lock().unwrap_or_else(PoisonError::into_inner);
        reports.write(report).map_err(error)
    });
    let gateway = gateway.map_err(failure)?;
    let finished = operate(gateway, &arguments.serving, arguments.common.quiet);
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    let document = reports.document.take();
    let traffic = finished?.report.traffic;
    if let Some(document) = document {
        document.finish(&traffic)?;
    }
    if reports.shows_tables {
        output::write_stdout(whole_run(&traffic).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn whole_run(traffic: &Traffic) -> String {
    let rows = [tables::traffic_rows(traffic), tables::speed_rows(traffic)];
    table::table("whole run", &[], &[], rows.concat())
}

/// The search for changes that the flags request.
fn search(changes: &Changes) -> Option<Search> {
    Some(Search {
        model: changes.change.clone()?,
        difference: changes.difference,
        threshold: changes.threshold,
        keys_from: changes.keys_from,
        keys_one_in: changes.keys_one_in,
        keys_max: changes.keys_max,
        counters: changes.change_counters,
    })
}

/// The top keys of one interval, with a line about all of them above, and its
/// alarms.
pub fn interval_table(key: KeyKind, value: &str, interval: &IntervalReport) -> String {
    let title = format!(
        "{} + {:.3} s: {} packets, {}, {} distinct keys ({key}){}",
        interval.start(),
        interval.seconds,
        table::count(interval.packets),
        table::captured(interval.bytes, interval.wire_bytes),
        table::count(interval.distinct),
        reservations(interval),
    );
    let shows_exact = interval.error.is_some();
    let mut header = vec!["key", value, "at most too high by"];
    if shows_exact {
        header.push("exact");
    }
    let rows = interval
        .top
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.key.clone(),
                table::count(row.estimate),
                table::count(row.bound),
            ];
            cells.extend(row.exact.map(table::count));
            cells
        })
        .collect();
    let top = table::table(&title, &header, &[1, 2, 3], rows);
    match &interval.changes {
        Some(changes) => top + &alarm_table(value, changes, &interval.alarms),
        None => top,
    }
}

/// What must be known of an interval for its numbers not to mislead.
fn reservations(interval: &IntervalReport) -> String {
    let mut text = String::new();
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            text += &format!(", {} {what}", table::count(number));
        }
    };
    add(interval.unkeyed, "packets without a key");
    add(interval.late, "packets stamped before this interval");
    add(
        interval.time_implausible,
        "packets with implausible timestamps",
    );
    add(interval.skipped_before, "empty intervals left out before");
    add(
        interval.set_back_seconds.ceil() as u64,
        "s that the clock was set back before",
    );
    if interval.saturated {
        text += ", SATURATED: counters stopped at 2^63 - 1, do not rely on the sums";
    }
    text
}

/// What changed, or why nothing is known of that.
fn alarm_table(value: &str, changes: &ChangeReport, alarms: &[Alarm]) -> String {
    let title = match changes.state {
        SearchState::Learning => "changes: not searched, the model is learning",
        SearchState::CutShort => "changes: not searched, the traffic ends in this interval",
        SearchState::Searched if alarms.is_empty() => "changes: none",
        SearchState::Searched => "changes",
    };
    let missed = match changes.missed {
        0 => String::new(),
        missed => format!(" (keys of {} packets not asked for)", table::count(missed)),
    };
    if alarms.is_empty() {
        return format!("{title}{missed}\n\n");
    }
    let rows = alarms
        .iter()
        .map(|alarm| {
            let sources: Vec<String> = alarm
                .sources
                .iter()
                .map(|source| format!("{} {:.0} %", source.source, 100.0 * source.share))
                .collect();
            vec![
                alarm.key.clone(),
                whole(alarm.observed),
                whole(alarm.forecast),
                format!("{:.3}", alarm.score),
                alarm.since().to_string(),
                sources.join(", "),
            ]
        })
        .collect();
    let header = ["key", value, "forecast", "score", "since", "sources"];
    table::table(&format!("{title}{missed}"), &header, &[1, 2, 3], rows)
}

/// An estimate as a count: what is below zero is noise.
fn whole(estimate: f64) -> String {
    table::count(estimate.round().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use weir_measure::{Arrival, Measurement};

    use super::*;

    #[test]
    fn reservations_are_told_where_there_are_any() {
        let measurement = MeasureConfig::new(KeyKind::Source)
            .build(1)
            .expect("a configuration");
        let Measurement {
            mut meters,
            collector,
            ..
        } = measurement;
        meters[0].tick(0, 1);
        meters[0].count(&Arrival::at(1, 60), 60, None);
        meters[0].finish();
        let mut interval = collector.finish().remove(0);
        let title = |interval: &IntervalReport| {
            let text = interval_table(KeyKind::Source, "bytes", interval);
            text.lines()
                .find(|line| !line.is_empty())
                .map(str::to_owned)
        };
        let told = title(&interval).expect("a title");
        assert!(
            told.ends_with("(source), 1 packets without a key"),
            "{told}"
        );
        interval.unkeyed = 0;
        interval.late = 1234;
        interval.skipped_before = 61;
        interval.saturated = true;
        let told = title(&interval).expect("a title");
        for part in [
            "1,234 packets stamped before",
            "61 empty intervals",
            "SATURATED",
        ] {
            assert!(told.contains(part), "{told}");
        }
        interval.late = 0;
        interval.skipped_before = 0;
        interval.saturated = false;
        let told = title(&interval).expect("a title");
        assert!(told.ends_with("(source)"), "{told}");
    }
}

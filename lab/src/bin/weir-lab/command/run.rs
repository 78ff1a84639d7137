//! `weir-lab run`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json};
use weir_console::{Outcome, table};
use weir_lab::shared::model::{Bench, Effort, Metric, Output, Trace, digits};
use weir_lab::shared::report::{Bar, Timeline};

use super::files::Asked;
use super::results::Results;
use super::{failure, workload};
use crate::cli;

/// A run as scripts see it.
#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    machine: &'a str,
    /// The values of the workload.
    set: BTreeMap<&'a str, f64>,
    #[serde(flatten)]
    metrics: BTreeMap<&'a str, f64>,
}

/// The values of metrics by key.
pub(super) fn by_key(metrics: &[Metric]) -> BTreeMap<&str, f64> {
    let pairs = metrics.iter().map(|it| (it.key.as_str(), it.value));
    pairs.collect()
}

pub fn run(arguments: &cli::Run) -> Outcome<ExitCode> {
    let (model, machine, workload) =
        workload(&arguments.name, &arguments.machine, &arguments.inputs)?;
    let results = Results::with_file(&arguments.places, arguments.trace.as_deref())?;
    let asked = Asked::new(&arguments.outputs, &arguments.expected)?;
    let bench = Bench::new(machine.clone(), &[], Effort::Full);
    let run = model.run(&bench, &workload).map_err(failure)?;
    let compared = asked.answer(&run.outputs)?;
    let row = JsonRow {
        name: workload.name(),
        machine: machine.name(),
        set: workload.iter().collect(),
        metrics: by_key(&run.metrics),
    };
    results.show_with_file(
        &[&row],
        || {
            let set = workload
                .iter()
                .map(|(key, value)| (key, value.to_string(), ""));
            let metrics = run.metrics.iter();
            let metrics = metrics.map(|it| (it.name.as_str(), digits(it.value), it.unit));
            let rows = set
                .chain(metrics)
                .map(|(name, value, unit)| vec![name.to_owned(), value, unit.to_owned()]);
            let title = format!("{} on {}", row.name, row.machine);
            let table = table::wrapped(&title, &[], &[1], rows.collect());
            table + &beginnings(&run.outputs) + &compared
        },
        || {
            let is_drawing = (arguments.trace.as_deref().and_then(Path::extension))
                .is_some_and(|extension| extension == "svg");
            Ok(if is_drawing {
                drawing(&format!("{} on {}", row.name, row.machine), &run.trace)
            } else {
                chrome_trace(&run.trace).to_string()
            })
        },
    )
}

/// The first records of each output.
fn beginnings(outputs: &[Output]) -> String {
    const RECORDS: usize = 8;
    const WORDS: usize = 8;
    let tables = outputs.iter().map(|output| {
        let records = output.words.len() / output.record_words;
        let rows = (0..).zip(output.words.chunks(output.record_words));
        let rows = rows.take(RECORDS).map(|(number, record)| {
            let words = record.iter().take(WORDS);
            let mut words: Vec<String> = words.map(|word| format!("{word:08x}")).collect();
            if record.len() > WORDS {
                words.push("…".to_owned());
            }
            vec![number.to_string(), words.join(" ")]
        });
        let shown = records.min(RECORDS);
        let title = format!("output {}: {shown} of {records} records", output.name);
        table::wrapped(&title, &["record", "words"], &[0], rows.collect())
    });
    tables.collect()
}

/// The trace as a picture.
fn drawing(title: &str, trace: &Trace) -> String {
    let bars = trace.activities.iter().map(|activity| Bar {
        lane: activity.unit,
        name: activity.name,
        begins_ns: activity.begins_ns,
        length_ns: activity.length_ns,
    });
    let timeline = Timeline {
        title,
        lanes: &trace.units,
        names: &trace.names,
        bars: bars.collect(),
    };
    timeline.svg()
}

/// The trace in the format of Chrome's tracing, whose times are microseconds.
fn chrome_trace(trace: &Trace) -> Value {
    let units = trace.units.iter().enumerate().map(|(unit, name)| {
        let arguments = json!({ "name": name });
        json!({ "ph": "M", "name": "thread_name", "pid": 0, "tid": unit, "args": arguments })
    });
    let activities = trace.activities.iter().map(|activity| {
        json!({
            "ph": "X",
            "name": trace.names.get(activity.name),
            "pid": 0,
            "tid": activity.unit,
            "ts": activity.begins_ns / 1000.0,
            "dur": activity.length_ns / 1000.0,
        })
    });
    json!({ "displayTimeUnit": "ns", "traceEvents": units.chain(activities).collect::<Value>() })
}

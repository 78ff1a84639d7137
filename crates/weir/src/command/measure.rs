//! `weir measure`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use weir_measure::{Accuracy, IntervalReport, MeasureConfig, MeasureStage, Measurement};
use weir_packet::wire::KeyKind;
use weir_stream::{Pipeline, Stage, Steer, StopFlag};

use crate::cli::Measure;
use crate::execute::execute;
use crate::failure::{Failure, Outcome};
use crate::report::{Traffic, table};
use crate::{input, output, values};

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    key: String,
    value: String,
    epsilon: f64,
    delta: f64,
    #[serde(flatten)]
    traffic: Traffic,
    intervals: Vec<IntervalReport>,
}

pub fn measure(arguments: &Measure) -> Outcome<ExitCode> {
    let shards = usize::from(arguments.shards.shards);
    let measurement = MeasureConfig {
        value: arguments.value,
        interval: Some(values::seconds(arguments.interval)?),
        accuracy: Accuracy {
            epsilon: arguments.epsilon,
            delta: arguments.delta,
        },
        top: arguments.top,
        exact: arguments.exact,
        seed: arguments.seed,
        ..MeasureConfig::new(arguments.key)
    }
    .build(shards)
    .map_err(Failure::usage)?;
    let Measurement {
        meters,
        timeline,
        collector,
    } = measurement;

    let inputs: Vec<&Path> = arguments.inputs.iter().map(PathBuf::as_path).collect();
    output::keep_apart(&inputs, arguments.common.json.as_deref().as_slice())?;
    let (source, watched) = input::open(&arguments.inputs)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let mut steer: Steer = Box::new(|batch, index| batch.flow_hash(index));
    if let Some(timeline) = timeline {
        steer = timeline.watch(steer);
    }
    let chains = meters
        .into_iter()
        .map(|meter| vec![Box::new(MeasureStage::new(meter)) as Box<dyn Stage>])
        .collect();
    let stop = StopFlag::default();
    let pipeline = Pipeline::new(source)
        .shards(chains)
        .steer(steer)
        .stop_flag(stop.clone());
    let quiet = arguments.common.quiet;
    let execution = execute(vec![pipeline], vec![watched], &stop, quiet)?;

    let document = Document {
        key: arguments.key.to_string(),
        value: arguments.value.to_string(),
        epsilon: arguments.epsilon,
        delta: arguments.delta,
        traffic: Traffic::new(
            &execution.statistics,
            execution.truncated(),
            execution.interrupted(),
        ),
        intervals: collector.finish(),
    };
    if let Some(json) = json {
        json.write(&document)?;
    }
    if arguments.common.shows_tables() {
        let mut text = String::new();
        for interval in &document.intervals {
            text += &interval_table(arguments.key, &document.value, interval);
        }
        text += &table::table(
            "whole run",
            &[],
            &[],
            [
                table::traffic_rows(&document.traffic),
                table::speed_rows(&document.traffic),
            ]
            .concat(),
        );
        output::write_stdout(text.as_bytes())?;
    }
    execution.check_captures()?;
    Ok(ExitCode::SUCCESS)
}

/// The top keys of one interval, with a line about all of them above.
pub fn interval_table(key: KeyKind, value: &str, interval: &IntervalReport) -> String {
    let title = format!(
        "{} + {:.3} s: {} packets, {}, {} distinct keys ({key})",
        interval.start(),
        interval.seconds,
        table::count(interval.packets),
        table::bytes(interval.bytes),
        table::count(interval.distinct),
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
    table::table(&title, &header, &[1, 2, 3], rows)
}

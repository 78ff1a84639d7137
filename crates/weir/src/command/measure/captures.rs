//! Measurements of captures.

use std::path::{Path, PathBuf};

use weir_capture::CaptureSource;
use weir_console::{Outcome, output};
use weir_gateway::config::seconds;
use weir_gateway::{Execution, Places, Watched};
use weir_measure::{Accuracy, MeasureConfig, MeasureStage, Measurement, Seed};
use weir_stream::{Pipeline, Stage, StopFlag};

use crate::cli::Measure;
use crate::execute::execute;
use crate::failure::failure;

/// What is to be measured, without changes.
pub fn config(arguments: &Measure) -> Outcome<MeasureConfig> {
    Ok(MeasureConfig {
        value: arguments.value,
        interval: Some(seconds(arguments.interval).map_err(failure)?),
        accuracy: Accuracy {
            epsilon: arguments.epsilon,
            delta: arguments.delta,
        },
        top: arguments.top,
        exact: arguments.exact,
        seed: arguments.seed.map(Seed::from_u64),
        ..MeasureConfig::new(arguments.key)
    })
}

/// Opens the captures, and sees to it that no output overwrites one.
pub fn open(arguments: &Measure, places: Places<'_>) -> Outcome<(CaptureSource, Watched)> {
    let inputs: Vec<&Path> = arguments.inputs.iter().map(PathBuf::as_path).collect();
    let outputs: Vec<&Path> = places
        .paths()
        .chain(arguments.common.json.as_deref())
        .collect();
    output::keep_apart(&inputs, &outputs)?;
    weir_gateway::open(&arguments.inputs).map_err(failure)
}

/// Measures captures to their end.
pub fn run(
    source: CaptureSource,
    watched: Watched,
    measurement: Measurement,
    stop: &StopFlag,
    quiet: bool,
) -> Outcome<Execution> {
    let Measurement {
        meters,
        timeline,
        collector,
    } = measurement;
    let chains = meters
        .into_iter()
        .map(|meter| vec![Box::new(MeasureStage::new(meter)) as Box<dyn Stage>])
        .collect();
    let mut pipeline = Pipeline::new(source).shards(chains).stop_flag(stop.clone());
    if let Some(timeline) = timeline {
        pipeline = pipeline.watch(timeline);
    }
    let execution = execute(vec![pipeline], vec![watched], stop, quiet)?;
    // The reports that are still open go to the observer.
    collector.finish();
    Ok(execution)
}

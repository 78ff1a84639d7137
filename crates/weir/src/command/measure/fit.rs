//! `weir measure --fit`.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, output, table};
use weir_gateway::Places;
use weir_measure::change::{ChangeConfig, ChangeReport, Fit, Model, SearchState, fit as search};
use weir_measure::{IntervalReport, KAry, MeasureConfig, RealKAry, Shape};
use weir_stream::StopFlag;

use super::captures::{config, open, run};
use crate::cli::Measure;
use crate::failure::failure;

/// A row with this many counters knows F₂ to within 4 %, and keeps the thousands
/// of passes short.
const SHAPE: Shape = Shape {
    rows: 1,
    width: 1024,
};

/// The most intervals that are kept to judge models by: 80 MB.
const MAX_INTERVALS: usize = 10_000;

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    key: String,
    value: String,
    /// Whole intervals that the models were judged by or learnt from.
    intervals: usize,
    /// Best first.
    models: Vec<ModelRow>,
}

#[derive(Serialize)]
struct ModelRow {
    model: String,
    energy: f64,
    /// Energy over the best model's.
    ratio: f64,
}

pub fn fit(arguments: &Measure) -> Outcome<ExitCode> {
    // What is wanted is the sketch of each interval; the model is of no
    // account, and no alarm is heard.
    let mut change = ChangeConfig::new(Model::MovingAverage { window: 1 });
    change.shape = SHAPE;
    change.rule.threshold = f64::MAX;
    let config = MeasureConfig {
        change: Some(change),
        sketches: true,
        ..config(arguments)?
    };
    config.check().map_err(Failure::usage)?;
    let (source, watched) = open(arguments, Places::default())?;
    let json = output::Document::asked_for(&arguments.common)?;
    let stop = StopFlag::default();
    let history: Arc<Mutex<History>> = Arc::default();
    let observer = Box::new({
        let history = Arc::clone(&history);
        move |report| {
            history
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(report);
        }
    });
    let measurement = config
        .build_observed(usize::from(arguments.shards.workers), Some(observer))
        .map_err(Failure::usage)?;
    let execution = run(source, watched, measurement, &stop, arguments.common.quiet)?;
    let history = history.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(damage) = &history.damage {
        return Err(Failure::running(anyhow!("{damage}")));
    }
    let fits = search(&history.sketches).map_err(Failure::running)?;
    let best = fits.first().map_or(0.0, |fit| fit.energy);
    let row = |fit: &Fit| ModelRow {
        model: fit.model.to_string(),
        energy: fit.energy,
        ratio: if best > 0.0 { fit.energy / best } else { 1.0 },
    };
    let document = Document {
        key: arguments.key.to_string(),
        value: arguments.value.to_string(),
        intervals: history.sketches.len(),
        models: fits.iter().map(row).collect(),
    };
    if let Some(json) = json {
        json.write("measure", &document)?;
    }
    if arguments.common.shows_tables() {
        output::write_stdout(model_table(&document).as_bytes())?;
    }
    execution.check_captures().map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

/// Sketches of intervals that follow each other.
#[derive(Default)]
struct History {
    sketches: Vec<RealKAry>,
    damage: Option<String>,
}

impl History {
    fn take(&mut self, report: IntervalReport) {
        let is_whole = report
            .changes
            .is_some_and(|changes: ChangeReport| changes.state != SearchState::CutShort);
        if report.skipped_before > 0 {
            // What came before says nothing of what comes.
            self.sketches.clear();
        }
        if !is_whole || self.sketches.len() == MAX_INTERVALS {
            return;
        }
        match report.sketches.and_then(|sketches| sketches.change) {
            Some(bytes) => match KAry::decode(&bytes) {
                Ok(sketch) => self.sketches.push(RealKAry::from(&sketch)),
                Err(error) => self.damage = Some(error.to_string()),
            },
            // An interval without packets.
            None => self
                .sketches
                .extend(self.sketches.last().map(RealKAry::empty_like)),
        }
    }
}

fn model_table(document: &Document) -> String {
    let rows = document
        .models
        .iter()
        .map(|row| {
            vec![
                format!("--change {}", row.model),
                format!("{:.4e}", row.energy),
                format!("{:.3}", row.ratio),
            ]
        })
        .collect();
    let title = format!(
        "models by the energy of their errors, over {} intervals ({} per {})",
        document.intervals, document.value, document.key
    );
    let header = ["model", "energy", "over the best"];
    table::table(&title, &header, &[1, 2], rows)
}

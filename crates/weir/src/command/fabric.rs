//! `weir fabric`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Common, Failure, Outcome, output, table};
use weir_gateway::{Execution, Traffic};
use weir_stream::{Pipeline, Stage, StopFlag};

use crate::cli::{Fabric, FabricCommand};
use crate::execute::execute;
use crate::failure::failure;

mod check;
mod protect;
mod trace;

pub fn fabric(arguments: &Fabric) -> Outcome<ExitCode> {
    match &arguments.command {
        FabricCommand::Check(arguments) => check::check(arguments),
        FabricCommand::Trace(arguments) => trace::trace(arguments),
        FabricCommand::Protect(arguments) => protect::protect(arguments),
        FabricCommand::Unprotect(arguments) => protect::unprotect(arguments),
    }
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<R> {
    #[serde(flatten)]
    traffic: Traffic,
    #[serde(flatten)]
    report: R,
}

/// Captures that are read by one stage, and nothing else.
struct Reading<'a> {
    inputs: &'a [PathBuf],
    common: &'a Common,
    json: Option<output::Document>,
}

impl Reading<'_> {
    /// Opens the document for scripts, before the work is done.
    fn new<'a>(inputs: &'a [PathBuf], common: &'a Common) -> Outcome<Reading<'a>> {
        let names: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let outputs: Vec<&Path> = common.json.as_deref().into_iter().collect();
        output::keep_apart(&names, &outputs)?;
        Ok(Reading {
            inputs,
            common,
            json: output::Document::asked_for(common)?,
        })
    }

    /// Sends all packets through the stage.
    fn run(&self, stage: impl Stage + 'static) -> Outcome<Execution> {
        let (source, watched) = weir_gateway::open(self.inputs).map_err(failure)?;
        let stop = StopFlag::default();
        let pipeline = Pipeline::new(source)
            .shards(vec![vec![Box::new(stage)]])
            .stop_flag(stop.clone());
        execute(vec![pipeline], vec![watched], &stop, self.common.quiet)
    }

    /// Writes the document for scripts, and shows people the tables.
    fn finish<R: Serialize>(
        self,
        command: &'static str,
        document: &Document<R>,
        text: impl FnOnce(&Document<R>) -> String,
    ) -> Outcome {
        if let Some(json) = self.json {
            json.write(command, document)?;
        }
        if self.common.shows_tables() {
            output::write_stdout(text(document).as_bytes())?;
        }
        Ok(())
    }
}

/// The stage that the packets went through.
fn stage_of<S: Stage>(execution: &Execution) -> Outcome<&S> {
    let mut stages = (execution.pipelines.iter()).flat_map(|ran| ran.stages::<S>());
    let stage = stages.next();
    stage.ok_or_else(|| Failure::running(anyhow!("the stage is not in its pipeline")))
}

fn traffic_of(execution: &Execution) -> Traffic {
    Traffic::new(
        &execution.statistics,
        execution.truncated(),
        execution.interrupted(),
    )
}

/// Most rows of a table that people are shown; documents have more.
const SHOWN_ROWS: usize = 20;

/// The first rows of a table, with the number of all of them where there are more; nothing
/// without rows.
fn shown(title: &str, header: &[&str], right: &[usize], mut rows: Vec<Vec<String>>) -> String {
    let all = rows.len();
    if all == 0 {
        return String::new();
    }
    rows.truncate(SHOWN_ROWS);
    let title = match all > SHOWN_ROWS {
        true => format!("{title}, {SHOWN_ROWS} of {}", table::count(all as u64)),
        false => title.to_owned(),
    };
    table::table(&title, header, right, rows)
}

/// What a table with a bound leaves out; nothing where it has all.
fn untracked_row(name: &str, rows_max: usize, packets: u64) -> Option<Vec<String>> {
    let said = format!(
        "more than {}: {} packets of others are not among them",
        table::count(rows_max as u64),
        table::count(packets)
    );
    (packets > 0).then(|| vec![name.to_owned(), said])
}

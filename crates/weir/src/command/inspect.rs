//! `weir inspect`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use weir_inspect::{EveWriter, InspectStage, InspectStatistics, InspectSummary};
use weir_stream::{Pipeline, Stage};

use crate::cli::Inspect;
use crate::execute::{execute, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::report::{Traffic, alerts_table, table};
use crate::{input, output, rules};

pub fn inspect(arguments: &Inspect) -> Outcome<ExitCode> {
    let (rule_set, load) = rules::load(&arguments.rules, arguments.variables.iter().cloned())?;
    if !arguments.common.quiet {
        rules::tell_skipped(&load);
    }
    let (source, watched) = input::open(&arguments.inputs)?;
    let chains = (0..arguments.shards.shards)
        .map(|_| vec![Box::new(InspectStage::new(rule_set.clone())) as Box<dyn Stage>])
        .collect();
    let path = arguments.common.json.as_deref().unwrap_or(Path::new("-"));
    let pipeline = Pipeline::new(source)
        .shards(chains)
        .sink(EveWriter::new(rule_set.clone(), open_lines(path)?))
        .stop_flag(stop_flag()?);
    let mut execution = execute(vec![pipeline], vec![watched], arguments.common.quiet)?;

    let traffic = Traffic::new(
        &execution.statistics,
        execution.truncated(),
        execution.interrupted(),
    );
    let mut inspection = InspectStatistics::default();
    let mut alerts_by_rule = vec![0; rule_set.rules().len()];
    for stage in execution
        .pipelines
        .iter()
        .flat_map(|p| p.stages::<InspectStage>())
    {
        inspection.merge(&stage.statistics());
        for (sum, alerts) in alerts_by_rule.iter_mut().zip(stage.alerts_by_rule()) {
            *sum += alerts;
        }
    }
    let summary = InspectSummary {
        interrupted: traffic.interrupted,
        truncated: traffic.truncated,
        ..InspectSummary::new(&load, inspection, &execution.statistics)
    };
    for writer in execution
        .pipelines
        .iter_mut()
        .flat_map(|pipeline| pipeline.stages_mut::<EveWriter>())
    {
        writer.write_document(&summary).map_err(Failure::running)?;
    }

    // Standard output carries the alerts: the tables go beside them.
    if !arguments.common.quiet {
        let text = alerts_table(&rule_set, &alerts_by_rule)
            + &table::table(
                "whole run",
                &[],
                &[],
                [table::traffic_rows(&traffic), table::speed_rows(&traffic)].concat(),
            );
        // Nobody is told where standard error is closed.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
    execution.check_captures()?;
    Ok(ExitCode::SUCCESS)
}

/// Where lines go: standard output, or a new file.
fn open_lines(path: &Path) -> Outcome<Box<dyn Write + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdout()));
    }
    output::make_folder_of(path)?;
    let file = File::create(path)
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Failure::Usage)?;
    Ok(Box::new(file))
}

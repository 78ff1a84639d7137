//! `weir protect` and `weir unprotect`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;

use anyhow::anyhow;
use serde::Serialize;
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, Protect, Unprotect};
use weir_stream::{CaptureSink, Pipeline, Stage, Steer};

use crate::associations::{self, AssociationRow};
use crate::cli::{self, Common};
use crate::execute::{Execution, execute, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::report::{Traffic, table};
use crate::{input, output};

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    traffic: Traffic,
    #[serde(skip_serializing_if = "Option::is_none")]
    protected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unprotected: Option<u64>,
    bypassed: u64,
    associations: Vec<AssociationRow>,
}

pub fn protect(arguments: &cli::Protect) -> Outcome<ExitCode> {
    let options = &arguments.associations;
    let quiet = arguments.common.quiet;
    let file = associations::load(&options.sa, options.allow_insecure_permissions, quiet)?;
    if let Some(path) = &options.wireshark_keys {
        associations::write_wireshark_keys(&file, path)?;
    }
    let databases = file.databases().clone();
    let sequences = associations::sequences(
        &file,
        arguments.state.as_ref(),
        arguments.init_state,
        arguments.repeatable_insecure,
    );
    let shards = usize::from(arguments.shards.shards);
    let chains = file
        .protect(&sequences, Output::Capture, shards)
        .map_err(Failure::usage)?
        .into_iter()
        .map(|protect| {
            vec![
                Box::new(ClassifyOutbound::new(databases.clone())) as Box<dyn Stage>,
                Box::new(protect),
            ]
        })
        .collect();
    let execution = convert(
        &arguments.input,
        &arguments.output,
        chains,
        databases.steer_outbound(),
        quiet,
    )?;

    let protected = sum(&execution, Protect::protected);
    let document = Document {
        traffic: traffic(&execution),
        protected: Some(protected),
        unprotected: None,
        bypassed: sum(&execution, ClassifyOutbound::bypassed),
        associations: associations::association_rows(&execution.pipelines),
    };
    let error = execution
        .pipelines
        .iter()
        .flat_map(|pipeline| pipeline.stages::<Protect>())
        .find_map(Protect::state_error)
        .map(|error| anyhow!("{error}"));
    finish(
        &arguments.common,
        &execution,
        &document,
        "protected",
        protected,
    )?;
    match error {
        Some(error) => Err(Failure::Running(error)),
        None => Ok(ExitCode::from(u8::from(protected == 0))),
    }
}

pub fn unprotect(arguments: &cli::Unprotect) -> Outcome<ExitCode> {
    let options = &arguments.associations;
    let quiet = arguments.common.quiet;
    let file = associations::load(&options.sa, options.allow_insecure_permissions, quiet)?;
    if let Some(path) = &options.wireshark_keys {
        associations::write_wireshark_keys(&file, path)?;
    }
    let databases = file.databases();
    let shards = usize::from(arguments.shards.shards);
    let chains = file
        .unprotect(shards)
        .map_err(Failure::usage)?
        .into_iter()
        .map(|unprotect| {
            vec![
                Box::new(ClassifyInbound::new(databases.clone())) as Box<dyn Stage>,
                Box::new(unprotect),
            ]
        })
        .collect();
    let execution = convert(
        &arguments.input,
        &arguments.output,
        chains,
        databases.steer_inbound(),
        quiet,
    )?;

    let unprotected = sum(&execution, Unprotect::unprotected);
    let document = Document {
        traffic: traffic(&execution),
        protected: None,
        unprotected: Some(unprotected),
        bypassed: sum(&execution, ClassifyInbound::bypassed),
        associations: associations::association_rows(&execution.pipelines),
    };
    finish(
        &arguments.common,
        &execution,
        &document,
        "unprotected",
        unprotected,
    )?;
    Ok(ExitCode::from(u8::from(unprotected == 0)))
}

/// Runs a capture through one chain of stages per shard into another.
fn convert(
    from: &PathBuf,
    to: &PathBuf,
    chains: Vec<Vec<Box<dyn Stage>>>,
    steer: Steer,
    quiet: bool,
) -> Outcome<Execution> {
    let (source, watched) = input::open(slice::from_ref(from))?;
    let sink = CaptureSink::new(input::create(to, slice::from_ref(from))?);
    let pipeline = Pipeline::new(source)
        .shards(chains)
        .steer(steer)
        .sink(sink)
        .stop_flag(stop_flag()?);
    execute(vec![pipeline], vec![watched], quiet)
}

fn traffic(execution: &Execution) -> Traffic {
    Traffic::new(
        &execution.statistics,
        execution.truncated(),
        execution.interrupted(),
    )
}

/// Adds up a count over all stages of one kind.
fn sum<S: Stage>(execution: &Execution, count: impl Fn(&S) -> u64) -> u64 {
    execution
        .pipelines
        .iter()
        .flat_map(|pipeline| pipeline.stages::<S>())
        .map(count)
        .sum()
}

/// Writes the document and the table, then fails where the capture was not
/// whole.
fn finish(
    common: &Common,
    execution: &Execution,
    document: &Document,
    verb: &str,
    done: u64,
) -> Outcome {
    if let Some(path) = &common.json {
        output::write_json(path, document)?;
    }
    if common.shows_tables() {
        let row = |name: &str, packets: u64| {
            vec![
                name.to_owned(),
                format!("{} packets", table::count(packets)),
            ]
        };
        let rows = [
            table::traffic_rows(&document.traffic),
            vec![row(verb, done), row("bypassed", document.bypassed)],
            table::speed_rows(&document.traffic),
        ]
        .concat();
        let text = table::table("", &[], &[], rows)
            + &crate::report::associations_table(&document.associations);
        // Standard output may carry the capture.
        eprint!("{text}");
    }
    execution.check_captures()
}

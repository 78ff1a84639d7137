//! `weir protect` and `weir unprotect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;

use anyhow::anyhow;
use serde::Serialize;
use weir_capture::{CaptureSink, CaptureSource};
use weir_console::{Common, Failure, Outcome, messages, output, table};
use weir_gateway::{AssociationRow, Execution, Traffic, Watched, associations};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, Protect, SaFile, Unprotect};
use weir_packet::file::Writer;
use weir_stream::{Pipeline, Stage, StopFlag};

use crate::cli::{self, Associations};
use crate::execute::execute;
use crate::failure::failure;
use crate::tables;

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
    let file =
        associations::load(&options.sa, options.allow_insecure_permissions).map_err(failure)?;
    let state = arguments.state.as_deref();
    let command = Command {
        input: &arguments.input,
        output: &arguments.output,
        options,
        common: &arguments.common,
    };
    let conversion = command.open(&file, state)?;

    let databases = file.databases().clone();
    let sequences = associations::sequences(
        &file,
        state,
        associations::new_keys(&arguments.new_keys.new_key),
        arguments.repeatable_insecure,
    )
    .map_err(failure)?;
    let shards = usize::from(arguments.shards.workers);
    let chains = associations::protect(&file, &sequences, state, Output::Capture, shards)
        .map_err(failure)?
        .into_iter()
        .map(|protect| {
            vec![
                Box::new(ClassifyOutbound::new(databases.clone())) as Box<dyn Stage>,
                Box::new(protect),
            ]
        })
        .collect();
    let mut done = conversion.run(chains)?;

    let protected = sum(&done.execution, Protect::protected);
    done.keep(protected)?;
    let document = Document {
        traffic: done.traffic(),
        protected: Some(protected),
        unprotected: None,
        bypassed: sum(&done.execution, ClassifyOutbound::bypassed),
        associations: associations::association_rows(&done.execution.pipelines),
    };
    let ledger_error = done.ledger_error();
    done.tell(&document, "protect", protected)?;
    ledger_error.map_or(Ok(()), Err)?;
    if protected == 0 && !document.traffic.interrupted {
        return Err(Failure::running(anyhow!(
            "{}: no packet was protected: compare the policies of {} with the packets",
            arguments.input.display(),
            options.sa.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn unprotect(arguments: &cli::Unprotect) -> Outcome<ExitCode> {
    let options = &arguments.associations;
    let file =
        associations::load(&options.sa, options.allow_insecure_permissions).map_err(failure)?;
    let command = Command {
        input: &arguments.input,
        output: &arguments.output,
        options,
        common: &arguments.common,
    };
    let state = arguments.state.as_deref();
    let conversion = command.open(&file, state)?;

    let databases = file.databases().clone();
    let shards = usize::from(arguments.shards.workers);
    let chains = associations::unprotect(&file, state, Output::Capture, shards)
        .map_err(failure)?
        .into_iter()
        .map(|unprotect| {
            vec![
                Box::new(ClassifyInbound::new(databases.clone())) as Box<dyn Stage>,
                Box::new(unprotect),
            ]
        })
        .collect();
    let mut done = conversion.run(chains)?;

    let unprotected = sum(&done.execution, Unprotect::unprotected);
    done.keep(unprotected)?;
    let document = Document {
        traffic: done.traffic(),
        protected: None,
        unprotected: Some(unprotected),
        bypassed: sum(&done.execution, ClassifyInbound::bypassed),
        associations: associations::association_rows(&done.execution.pipelines),
    };
    let ledger_error = done.ledger_error();
    done.tell(&document, "unprotect", unprotected)?;
    ledger_error.map_or(Ok(()), Err)?;
    if unprotected == 0 && !document.traffic.interrupted {
        return Err(Failure::running(anyhow!(
            "{}: no packet verified: compare the SPIs, keys and policies of {} with the sender's",
            arguments.input.display(),
            options.sa.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments of both commands.
struct Command<'a> {
    input: &'a Path,
    output: &'a Path,
    options: &'a Associations,
    common: &'a Common,
}

impl<'a> Command<'a> {
    /// Opens all files, before a key is used. None may be one of the ledger's.
    fn open(self, file: &SaFile, state: Option<&Path>) -> Outcome<Conversion<'a>> {
        let Command {
            input,
            output,
            options,
            common,
        } = self;
        let keys = options.wireshark_keys.as_deref();
        let kept = [file.key_files(), &associations::ledger_files_of(state)].concat();
        let kept: Vec<&Path> = kept.iter().map(PathBuf::as_path).collect();
        let inputs = [&[input, options.sa.as_path()], &kept[..]].concat();
        let outputs: Vec<&Path> = [Some(output), common.json.as_deref(), keys]
            .into_iter()
            .flatten()
            .collect();
        output::keep_apart(&inputs, &outputs)?;
        let (source, watched) = weir_gateway::open(slice::from_ref(&input)).map_err(failure)?;
        let writer = weir_gateway::create(output).map_err(failure)?;
        let json = output::Document::asked_for(common)?;
        if let Some(path) = keys {
            associations::write_wireshark_keys(file, path).map_err(failure)?;
        }
        Ok(Conversion {
            source,
            watched,
            writer,
            json,
            common,
        })
    }
}

/// A capture on its way into another.
struct Conversion<'a> {
    source: CaptureSource,
    watched: Watched,
    writer: Writer,
    json: Option<output::Document>,
    common: &'a Common,
}

impl<'a> Conversion<'a> {
    /// Runs it through one chain of stages per shard.
    fn run(self, chains: Vec<Vec<Box<dyn Stage>>>) -> Outcome<Converted<'a>> {
        let stop = StopFlag::default();
        let pipeline = Pipeline::new(self.source)
            .shards(chains)
            .sink(CaptureSink::holding(self.writer))
            .stop_flag(stop.clone());
        let execution = execute(vec![pipeline], vec![self.watched], &stop, self.common.quiet)?;
        Ok(Converted {
            execution,
            json: self.json,
            common: self.common,
        })
    }
}

/// A capture that was converted, as far as it was whole. Its output is not in place yet.
struct Converted<'a> {
    execution: Execution,
    json: Option<output::Document>,
    common: &'a Common,
}

impl Converted<'_> {
    fn traffic(&self) -> Traffic {
        Traffic::new(
            &self.execution.statistics,
            self.execution.truncated(),
            self.execution.interrupted(),
        )
    }

    fn ledger_error(&self) -> Option<Failure> {
        let error = associations::ledger_error(&self.execution.pipelines)?;
        Some(Failure::running(anyhow!("{error}")))
    }

    /// Puts the output in place, unless nothing was done: then a file is left as it was.
    fn keep(&mut self, done: u64) -> Outcome {
        if done == 0 && !self.execution.interrupted() {
            return Ok(());
        }
        let pipelines = self.execution.pipelines.iter_mut();
        for sink in pipelines.flat_map(|pipeline| pipeline.stages_mut::<CaptureSink>()) {
            sink.put_in_place().map_err(Failure::running)?;
        }
        Ok(())
    }

    /// Writes the document and the table, then fails where the capture was
    /// not whole.
    fn tell(self, document: &Document, command: &'static str, done: u64) -> Outcome {
        if let Some(json) = self.json {
            json.write(command, document)?;
        }
        if self.common.shows_tables() {
            let row = |name: &str, packets: u64| {
                vec![
                    name.to_owned(),
                    format!("{} packets", table::count(packets)),
                ]
            };
            let rows = [
                tables::traffic_rows(&document.traffic),
                vec![
                    row(&format!("{command}ed"), done),
                    row("bypassed", document.bypassed),
                ],
                tables::speed_rows(&document.traffic),
            ]
            .concat();
            let text = table::table("", &[], &[], rows)
                + &tables::associations_table(&document.associations);
            // Standard output may carry the capture.
            messages::show(&text);
        }
        self.execution.check_captures().map_err(failure)
    }
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

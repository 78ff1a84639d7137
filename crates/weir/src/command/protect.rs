//! `weir protect` and `weir unprotect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Common, Failure, Outcome};
use weir_gateway::{AssociationRow, Execution, Traffic, associations};
use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, Protect, SaFile, Unprotect};
use weir_stream::Stage;

use super::conversion::{Conversion, Converted, Files};
use crate::cli::{self, Associations};
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
    let kept = kept_files(&file, state);
    let ends = [&*arguments.input, &*arguments.output];
    let conversion = open(ends, options, &arguments.common, &kept, &file)?;

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
    let ledger_error = ledger_error(&done);
    tell(done, &document, "protect", protected)?;
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
    let state = arguments.state.as_deref();
    let kept = kept_files(&file, state);
    let ends = [&*arguments.input, &*arguments.output];
    let conversion = open(ends, options, &arguments.common, &kept, &file)?;

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
    let ledger_error = ledger_error(&done);
    tell(done, &document, "unprotect", unprotected)?;
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

/// Opens all files, before a key is used. None may be one of the ledger's.
fn open<'a>(
    [input, output]: [&'a Path; 2],
    options: &'a Associations,
    common: &'a Common,
    kept: &'a [PathBuf],
    file: &SaFile,
) -> Outcome<Conversion<'a>> {
    let keys = options.wireshark_keys.as_deref();
    let mut inputs: Vec<&Path> = vec![&options.sa];
    inputs.extend(kept.iter().map(PathBuf::as_path));
    let files = Files {
        input,
        output,
        kept: inputs,
        keys,
    };
    let conversion = Conversion::open(&files, common)?;
    if let Some(path) = keys {
        associations::write_wireshark_keys(file, path).map_err(failure)?;
    }
    Ok(conversion)
}

/// Files that no output may replace.
fn kept_files(file: &SaFile, state: Option<&Path>) -> Vec<PathBuf> {
    [file.key_files(), &associations::ledger_files_of(state)].concat()
}

/// Why the ledger could not be written.
fn ledger_error(done: &Converted<'_>) -> Option<Failure> {
    let error = associations::ledger_error(&done.execution.pipelines)?;
    Some(Failure::running(anyhow!("{error}")))
}

/// Writes the document and the table.
fn tell(done: Converted<'_>, document: &Document, command: &'static str, count: u64) -> Outcome {
    let name = format!("{command}ed");
    let counts = [(name.as_str(), count), ("bypassed", document.bypassed)];
    done.tell(document, command, &counts, || {
        tables::associations_table(&document.associations)
    })
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

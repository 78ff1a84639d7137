//! `weir fabric protect` and `weir fabric unprotect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Common, Failure, Outcome, table};
use weir_fabric::secure::FabricFile;
use weir_fabric::stage::{ReceivingKeys, SendingKeys, Traffic as Packets, Windows};
use weir_gateway::{FabricResults, QueuePairRow, Traffic, associations, fabric};
use weir_stream::Stage;

use crate::cli::{FabricProtect, FabricSecrets, FabricUnprotect};
use crate::command::conversion::{Conversion, Converted, Files};
use crate::failure::failure;

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
    queue_pairs: Vec<QueuePairRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fabric_alarms: Option<u64>,
}

pub fn protect(arguments: &FabricProtect) -> Outcome<ExitCode> {
    let options = &arguments.secrets;
    let file = load(options)?;
    let state = arguments.state.as_deref();
    let ends = [&*arguments.input, &*arguments.output];
    let mut kept = file.secret_files.clone();
    kept.extend(associations::ledger_files_of(state));
    let conversion = open(ends, options, &kept, &arguments.common)?;

    let epochs = fabric::epochs(
        state,
        &arguments.new_keys.new_key,
        arguments.repeatable_insecure,
    );
    let keys = SendingKeys::open(&file, &epochs.map_err(failure)?, Packets::Capture);
    let keys = keys.map_err(Failure::usage)?;
    let shards = usize::from(arguments.shards.workers);
    let chains = (0..shards)
        .map(|shard| -> Vec<Box<dyn Stage>> { vec![Box::new(keys.stage(shard, shards))] });
    let mut done = conversion.run(chains.collect())?;

    let results = FabricResults::of(&done.execution);
    let protected = results.protected;
    done.keep(protected)?;
    let document = Document {
        traffic: done.traffic(),
        protected: Some(protected),
        unprotected: None,
        bypassed: results.passed,
        queue_pairs: results.queue_pairs,
        fabric_alarms: None,
    };
    let counts = [("protected", protected), ("bypassed", results.passed)];
    tell(done, &document, "fabric protect", &counts)?;
    results
        .ledger_error
        .map_or(Ok(()), |error| Err(Failure::running(anyhow!(error))))?;
    if protected == 0 && !document.traffic.interrupted {
        return Err(Failure::running(anyhow!(
            "{}: no packet was protected: compare the queue pairs of {} with those that `weir fabric check` \
             shows",
            arguments.input.display(),
            options.fabric.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn unprotect(arguments: &FabricUnprotect) -> Outcome<ExitCode> {
    let options = &arguments.secrets;
    let file = load(options)?;
    let ends = [&*arguments.input, &*arguments.output];
    let conversion = open(ends, options, &file.secret_files, &arguments.common)?;

    let keys = ReceivingKeys::open(&file, &Windows::Epoch(arguments.epoch));
    let keys = keys.map_err(Failure::usage)?;
    let shards = usize::from(arguments.shards.workers);
    let mut chains: Vec<Vec<Box<dyn Stage>>> = Vec::new();
    for shard in 0..shards {
        let stage = keys.stage(shard, shards).map_err(Failure::usage)?;
        chains.push(vec![Box::new(stage)]);
    }
    let mut done = conversion.run(chains)?;

    let results = FabricResults::of(&done.execution);
    let unprotected = results.unprotected;
    done.keep(unprotected)?;
    let document = Document {
        traffic: done.traffic(),
        protected: None,
        unprotected: Some(unprotected),
        bypassed: results.passed,
        queue_pairs: results.queue_pairs,
        fabric_alarms: Some(results.alarms),
    };
    let counts = [("unprotected", unprotected), ("bypassed", results.passed)];
    tell(done, &document, "fabric unprotect", &counts)?;
    if unprotected == 0 && !document.traffic.interrupted {
        return Err(Failure::running(anyhow!(
            "{}: no packet verified: compare the queue pairs, secrets and session randoms of {} with the \
             sender's",
            arguments.input.display(),
            options.fabric.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn load(options: &FabricSecrets) -> Outcome<std::sync::Arc<FabricFile>> {
    fabric::load(&options.fabric, options.allow_insecure_permissions).map_err(failure)
}

fn open<'a>(
    [input, output]: [&'a Path; 2],
    options: &'a FabricSecrets,
    kept: &'a [PathBuf],
    common: &'a Common,
) -> Outcome<Conversion<'a>> {
    let mut inputs: Vec<&Path> = vec![&options.fabric];
    inputs.extend(kept.iter().map(PathBuf::as_path));
    let files = Files {
        input,
        output,
        kept: inputs,
        keys: None,
    };
    Conversion::open(&files, common)
}

fn tell(
    done: Converted<'_>,
    document: &Document,
    command: &'static str,
    counts: &[(&str, u64)],
) -> Outcome {
    done.tell(document, command, counts, || {
        let rows = document.queue_pairs.iter().map(|row| {
            vec![
                row.name.clone(),
                row.from.clone(),
                row.to.clone(),
                format!("0x{:06x}", row.queue_pair),
                table::count(row.packets),
                table::bytes(row.bytes),
                row.degraded.join(", "),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let header = [
            "name",
            "from",
            "to",
            "queue pair",
            "packets",
            "bytes",
            "refused",
        ];
        match rows.is_empty() {
            true => String::new(),
            false => table::table("queue pairs", &header, &[4, 5], rows),
        }
    })
}

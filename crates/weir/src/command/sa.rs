//! `weir sa`: the associations of a running gateway.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use serde_json::Value;
use weir_console::{Failure, Outcome, messages, output, table};
use weir_gateway::{AddSa, RemoveSa, Request, SaDirection};
use weir_ipsec::{LoadOptions, SaFile};

use super::control::connect;
use crate::cli::{Direction, Sa, SaAdd, SaCommand, SaList, SaRemove};
use crate::failure::failure;

pub fn sa(arguments: &Sa) -> Outcome<ExitCode> {
    match &arguments.command {
        SaCommand::List(arguments) => list(arguments),
        SaCommand::Add(arguments) => add(arguments),
        SaCommand::Remove(arguments) => remove(arguments),
    }
}

#[derive(Serialize)]
struct Listed {
    associations: Value,
}

fn list(arguments: &SaList) -> Outcome<ExitCode> {
    let mut client = connect(&arguments.socket)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let associations = client.request(&Request::SaList {}).map_err(failure)?;
    if arguments.common.shows_tables() {
        output::write_stdout(rows(&associations).as_bytes())?;
    }
    if let Some(json) = json {
        json.write("sa list", &Listed { associations })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn add(arguments: &SaAdd) -> Outcome<ExitCode> {
    let options = LoadOptions {
        allow_insecure_permissions: arguments.allow_insecure_permissions,
    };
    let (path, opened) = match arguments.file.as_path() == Path::new("-") {
        true => (Path::new("standard input"), Some(standard_input()?)),
        false => (arguments.file.as_path(), None),
    };
    let text = SaFile::text(path, opened, options).map_err(Failure::usage)?;
    let mut client = connect(&arguments.socket)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let request = Request::SaAdd(AddSa {
        text_bytes: text.len(),
        path: path.to_owned(),
        new_keys: arguments.new_keys.new_key.clone(),
    });
    let added = client.request_with(&request, &text).map_err(failure)?;
    if let Some(json) = json {
        json.write("sa add", &added)?;
    }
    for warning in added["warnings"].as_array().into_iter().flatten() {
        messages::warning(format_args!("{}", warning.as_str().unwrap_or_default()));
    }
    if !arguments.common.quiet {
        let count = added["associations"]["added"].as_u64().unwrap_or_default();
        messages::notice(format_args!(
            "{} SAs added: configuration {} differs from the SA file",
            table::count(count),
            added["generation"]
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(arguments: &SaRemove) -> Outcome<ExitCode> {
    let mut client = connect(&arguments.socket)?;
    let json = output::Document::asked_for(&arguments.common)?;
    let request = Request::SaRemove(RemoveSa {
        name: arguments.name.clone(),
        spi: arguments.spi,
        direction: arguments.direction.map(|direction| match direction {
            Direction::Outbound => SaDirection::Outbound,
            Direction::Inbound => SaDirection::Inbound,
        }),
    });
    let removed = client.request(&request).map_err(failure)?;
    if let Some(json) = json {
        json.write("sa remove", &removed)?;
    }
    if !arguments.common.quiet {
        messages::notice(format_args!(
            "SA {} removed: configuration {} differs from the SA file",
            removed["name"], removed["generation"]
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn standard_input() -> Outcome<File> {
    let descriptor = io::stdin().as_fd().try_clone_to_owned();
    let descriptor = descriptor
        .context("cannot read standard input")
        .map_err(Failure::Running)?;
    Ok(File::from(descriptor))
}

/// A line for each association.
fn rows(associations: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let count = |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), table::count);
    let lifetime = |sa: &Value| {
        let quotas = [("packets", ""), ("bytes", " B")];
        let quotas = quotas.iter().filter_map(|(name, unit)| {
            let hard = sa["lifetime"]["hard"][*name].as_u64()?;
            Some(format!("{}{unit}", table::count(hard)))
        });
        let quotas: Vec<String> = quotas.collect();
        match quotas.is_empty() {
            true => "-".to_owned(),
            false => quotas.join(", "),
        }
    };
    let drops = |sa: &Value| {
        let drops = sa["drops"].as_object().into_iter().flatten();
        let drops = drops.map(|(reason, packets)| format!("{reason} {}", count(packets)));
        drops.collect::<Vec<_>>().join(", ")
    };
    let rows = associations.as_array().into_iter().flatten().map(|sa| {
        vec![
            text(&sa["name"]),
            format!("{:#x}", sa["spi"].as_u64().unwrap_or_default()),
            text(&sa["direction"]),
            text(&sa["peer"]),
            text(&sa["suite"]),
            text(&sa["mode"]),
            count(&sa["packets"]),
            count(&sa["payload_bytes"]),
            count(&sa["sequence"]),
            lifetime(sa),
            drops(sa),
        ]
    });
    let header = [
        "SA",
        "SPI",
        "direction",
        "peer",
        "suite",
        "mode",
        "packets",
        "payload bytes",
        "sequence",
        "hard lifetime",
        "drops",
    ];
    table::table("", &header, &[6, 7, 8], rows.collect())
}

//! `weir inspect -i` and `weir measure -i`: gateways of one port and one stage.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use toml::{Table, Value};
use weir_console::{Failure, Outcome};
use weir_gateway::Config;

/// The configuration of a sensor at an interface, with the settings of its stage.
pub fn sensor(interface: &str, stage: &str, settings: Table) -> Outcome<Config> {
    let port = [
        ("name", interface.into()),
        ("kind", "interface".into()),
        ("side", "plain".into()),
        ("interface", interface.into()),
    ];
    let pipeline = [
        ("from", interface.into()),
        ("stages", Value::Array(vec![stage.into()])),
    ];
    let table = table([
        ("port", Value::Array(vec![Value::Table(table(port))])),
        (
            "pipeline",
            Value::Table(table([("sensor", Value::Table(table(pipeline)))])),
        ),
        (stage, Value::Table(settings)),
    ]);
    Config::from_table(&table).map_err(crate::failure::failure)
}

/// A table of these members.
pub fn table<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Table {
    let members = members.into_iter();
    members
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// A path as a value.
pub fn path(path: &Path) -> Outcome<Value> {
    let text = path.to_str().ok_or_else(|| {
        Failure::usage(anyhow!(
            "{}: a path of a live sensor must be UTF-8",
            path.display()
        ))
    })?;
    Ok(text.into())
}

/// Paths as a value.
pub fn paths(paths: &[PathBuf]) -> Outcome<Value> {
    let values = paths.iter().map(|one| path(one));
    values.collect::<Outcome<Vec<_>>>().map(Value::Array)
}

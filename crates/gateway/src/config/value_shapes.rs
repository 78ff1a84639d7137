//! What values of a configuration look like, for its schema.

use schemars::{Schema, SchemaGenerator, json_schema};
use weir_measure::Value;
use weir_measure::change::{Difference, KeySource};
use weir_packet::wire::KeyKind;

/// A key of a measurement, with or without prefix lengths.
pub fn key(_: &mut SchemaGenerator) -> Schema {
    let kinds = [
        KeyKind::Source,
        KeyKind::Destination,
        KeyKind::Pair,
        KeyKind::FiveTuple,
    ];
    let with_prefix = json_schema!({
        "type": "string",
        "pattern": "^(source|destination)/[0-9]+(,[0-9]+)?$",
    });
    json_schema!({ "anyOf": [names(&kinds), with_prefix] })
}

/// What is summed.
pub fn value(_: &mut SchemaGenerator) -> Schema {
    names(&[Value::Bytes, Value::Packets])
}

/// A forecast model with its parameters.
pub fn model(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^(ma|sma|ewma|nshw|arima):." })
}

/// How changes are compared.
pub fn difference(_: &mut SchemaGenerator) -> Schema {
    names(&[
        Difference::Absolute,
        Difference::Relative,
        Difference::Variational,
    ])
}

/// Where the keys of changes come from.
pub fn key_source(_: &mut SchemaGenerator) -> Schema {
    names(&[KeySource::Kept, KeySource::Same, KeySource::Next])
}

fn names(values: &[impl ToString]) -> Schema {
    let names: Vec<String> = values.iter().map(ToString::to_string).collect();
    json_schema!({ "type": "string", "enum": names })
}

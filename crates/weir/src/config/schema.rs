//! The schema of a configuration, for its documentation: what the types themselves do not say.

use schemars::{Schema, SchemaGenerator, json_schema};
use weir_measure::Value;
use weir_measure::change::{Difference, KeySource};
use weir_packet::wire::KeyKind;
use weir_reference::Reference;

use super::{File, InspectConfig, IpsecConfig, MeasureConfig, NamedPipeline, Port, StageName};
use crate::changes::Search;
use crate::filter::{FilterConfig, FilterRule};

/// Stages in order, each at most once.
pub fn stages(generator: &mut SchemaGenerator) -> Schema {
    let stage = generator.subschema_for::<StageName>();
    json_schema!({ "anyOf": [stage, { "type": "array", "items": stage, "uniqueItems": true }] })
}

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

#[test]
fn references_describe_the_configuration() {
    Reference::of::<File>("Configuration of weir run")
        .with::<Port>()
        .with::<NamedPipeline>()
        .with::<FilterConfig>()
        .with::<FilterRule>()
        .with::<InspectConfig>()
        .with::<MeasureConfig>()
        .with::<Search>()
        .with::<IpsecConfig>()
        .assert_documented("configuration");
}

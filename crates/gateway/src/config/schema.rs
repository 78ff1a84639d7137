//! The schema of a configuration, for its documentation: what the types themselves do not say.

use schemars::{Schema, SchemaGenerator, json_schema};
use weir_reference::Reference;

use super::{
    File, HostOs, InspectConfig, IpsecConfig, MeasureConfig, NamedPipeline, Port, Search, StageName,
};
use crate::filter::{FilterConfig, FilterRule};

/// Stages in order, each at most once.
pub fn stages(generator: &mut SchemaGenerator) -> Schema {
    let stage = generator.subschema_for::<StageName>();
    json_schema!({ "anyOf": [stage, { "type": "array", "items": stage, "uniqueItems": true }] })
}

#[test]
fn references_describe_the_configuration() {
    Reference::of::<File>("Configuration of weir run")
        .with::<Port>()
        .with::<NamedPipeline>()
        .with::<FilterConfig>()
        .with::<FilterRule>()
        .with::<InspectConfig>()
        .with::<HostOs>()
        .with::<MeasureConfig>()
        .with::<Search>()
        .with::<IpsecConfig>()
        .assert_documented("configuration");
}

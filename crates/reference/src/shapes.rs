//! Schemas of values with a notation of their own, for `#[schemars(schema_with = "…")]`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// One value, or a list of any length.
pub fn one_or_many<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let one = generator.subschema_for::<T>();
    json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// One value, or a list that is not empty.
pub fn one_or_more<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    one_or_more_of(generator.subschema_for::<T>())
}

/// A set of addresses: `weir_select::AddressSet`.
pub fn addresses(_: &mut SchemaGenerator) -> Schema {
    one_or_more_of(json_schema!({ "type": "string" }))
}

/// A set of IP protocols: `weir_select::ProtocolSet`.
pub fn protocols(_: &mut SchemaGenerator) -> Schema {
    one_or_more_of(words_or_numbers(u8::MAX.into()))
}

/// A set of ports: `weir_select::PortSet`.
pub fn ports(_: &mut SchemaGenerator) -> Schema {
    one_or_more_of(words_or_numbers(u16::MAX.into()))
}

fn one_or_more_of(one: Schema) -> Schema {
    json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
}

fn words_or_numbers(largest: u32) -> Schema {
    json_schema!({ "type": ["string", "integer"], "minimum": 0, "maximum": largest })
}

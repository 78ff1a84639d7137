//! JSON Schemas as editors of TOML understand them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a file, in draft 7, the newest one that taplo supports. It has no references, beside
/// which that draft would ignore what a key says of itself.
pub(crate) fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    for_toml(&mut schema);
    schema["title"] = title.into();
    schema
}

/// Adapts a schema, and all within it, to TOML.
fn for_toml(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(for_toml),
        Value::Object(object) => {
            without_null(object);
            without_machine_formats(object);
            join_lines(object);
            object.values_mut().for_each(for_toml);
        }
        _ => {}
    }
}

/// TOML has no null: an optional key is left out.
fn without_null(schema: &mut Map<String, Value>) {
    let null = json!("null");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| *name != null);
        if let [only] = &types[..] {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(schemas)) = schema.get_mut("anyOf") {
        schemas.retain(|schema| schema["type"] != null);
        if let [Value::Object(only)] = &schemas[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    };
    if schema.get("default").is_some_and(is_empty) {
        schema.remove("default");
    }
}

/// Names of Rust's types are no formats of JSON Schema; what they imply stays.
fn without_machine_formats(schema: &mut Map<String, Value>) {
    match schema.get("format").and_then(Value::as_str) {
        Some("uint32") => {
            schema.entry("maximum").or_insert(u32::MAX.into());
        }
        Some("ip") => {
            let versions = json!([{ "format": "ipv4" }, { "format": "ipv6" }]);
            schema.insert("anyOf".to_owned(), versions);
        }
        Some("uint8" | "uint16" | "uint64" | "uint" | "double") => {}
        _ => return,
    }
    schema.remove("format");
}

/// The lines of a comment are one paragraph.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

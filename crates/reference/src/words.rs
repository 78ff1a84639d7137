//! What a schema says in words: the type of a value, its meaning, its default.

use serde_json::{Map, Value};

/// Longer lists of values stand in the text beside a table.
const MOST_VALUES: usize = 8;

/// The type of a value.
pub(crate) fn type_of(schema: &Value) -> String {
    let mut kinds = kinds_of(schema);
    kinds.dedup();
    match kinds.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => panic!("no type: {schema}"),
    }
}

/// The alternatives that a value has.
fn kinds_of(schema: &Value) -> Vec<String> {
    if let Some(values) = schema["enum"].as_array() {
        return match values.len() {
            ..=MOST_VALUES => values.iter().map(code).collect(),
            _ => vec!["string".to_owned()],
        };
    }
    if schema["anyOf"][0]["format"].is_string() {
        return vec!["IP address".to_owned()];
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        let is_one_or_many = |many: &Value| many["type"] == "array" && many["items"] == schemas[0];
        let kinds = schemas
            .iter()
            .flat_map(|schema| match is_one_or_many(schema) {
                true => vec!["list".to_owned()],
                false => kinds_of(schema),
            });
        return kinds.collect();
    }
    match &schema["type"] {
        Value::Array(types) => types.iter().map(|name| simple_type(name, schema)).collect(),
        name => vec![simple_type(name, schema)],
    }
}

fn simple_type(name: &Value, schema: &Value) -> String {
    match name.as_str() {
        Some("array") => {
            let items = type_of(&schema["items"]);
            let plural = |items: String, name| items.replace(name, &format!("{name}s"));
            let items = ["string", "integer", "table"]
                .into_iter()
                .fold(items, plural);
            format!("list of {items}")
        }
        Some("object") if schema["additionalProperties"]["type"] == "string" => {
            "table of strings".to_owned()
        }
        Some("object") => "table".to_owned(),
        Some(name @ ("integer" | "number")) => format!("{name}{}", range(schema)),
        Some(name) => name.to_owned(),
        None => panic!("no type: {schema}"),
    }
}

/// The limits of a number, where they are not those of its type.
fn range(schema: &Value) -> String {
    let number = |keyword: &str| schema[keyword].as_f64();
    let least = number("minimum").filter(|least| *least > 0.0);
    let above = number("exclusiveMinimum");
    let most = number("maximum").filter(|most| *most < f64::from(u32::MAX));
    match (
        least.or(number("minimum").filter(|_| most.is_some())),
        above,
        most,
    ) {
        (_, Some(above), Some(most)) => format!(" above {above}, at most {most}"),
        (_, Some(above), None) => format!(" above {above}"),
        (Some(least), None, Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None, None) => format!(" from {least}"),
        (None, None, Some(most)) => format!(" up to {most}"),
        (None, None, None) => String::new(),
    }
}

/// A value as it is written in TOML.
fn code(value: &Value) -> String {
    format!("`{value}`")
}

/// What a key means, and what holds where it is left out.
pub(crate) fn meaning_and_default(schema: &Value, is_required: bool) -> (String, String) {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.trim_end_matches('.');
    let said = |mark: &str| text.rsplit_once(mark);
    let (meaning, default) = if is_required {
        (text, "required".to_owned())
    } else if let Some((meaning, default)) = said(". Default: ") {
        (meaning, default.to_owned())
    } else if let Some((meaning, condition)) = said(". Required ") {
        (meaning, format!("required {condition}"))
    } else {
        let default = schema.get("default").map(code);
        (text, default.unwrap_or_else(|| "none".to_owned()))
    };
    (meaning.to_owned(), default)
}

/// Leaves of links in descriptions, which lead from page to page, only the text.
pub(crate) fn without_links(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(without_links),
        Value::Object(object) => {
            strip(object);
            object.values_mut().for_each(without_links);
        }
        _ => {}
    }
}

fn strip(schema: &mut Map<String, Value>) {
    let Some(Value::String(text)) = schema.get_mut("description") else {
        return;
    };
    while let Some((before, (link, after))) = text.split_once("](").and_then(|(before, after)| {
        let (_, after) = after.split_once(')')?;
        let (before, link) = before.rsplit_once('[')?;
        Some((before, (link, after)))
    }) {
        *text = format!("{before}{link}{after}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_said_in_words() {
        let string = json!({ "type": "string" });
        for (schema, words) in [
            (
                json!({ "enum": ["a", "b", "c"] }),
                "`\"a\"`, `\"b\"` or `\"c\"`",
            ),
            (json!({ "type": "integer", "minimum": 0 }), "integer"),
            (
                json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
                "integer from 0 to 255",
            ),
            (
                json!({ "type": "integer", "minimum": 256, "maximum": u32::MAX }),
                "integer from 256",
            ),
            (
                json!({ "type": "number", "exclusiveMinimum": 0 }),
                "number above 0",
            ),
            (
                json!({ "type": "array", "items": string }),
                "list of strings",
            ),
            (
                json!({ "anyOf": [string, { "type": "array", "items": string }] }),
                "string or list",
            ),
            (
                json!({ "anyOf": [
                    { "type": ["string", "integer"], "minimum": 0 },
                    { "type": "array", "items": { "type": ["string", "integer"], "minimum": 0 } },
                ] }),
                "string, integer or list",
            ),
            (
                json!({ "type": "object", "additionalProperties": string }),
                "table of strings",
            ),
        ] {
            assert_eq!(type_of(&schema), words);
        }
    }

    #[test]
    fn the_last_sentence_is_the_default() {
        let said = |text: &str| meaning_and_default(&json!({ "description": text }), false);
        let pair = |meaning: &str, default: &str| (meaning.to_owned(), default.to_owned());
        assert_eq!(said("Length. Default: the run."), pair("Length", "the run"));
        assert_eq!(
            said("Ends. Required in tunnels."),
            pair("Ends", "required in tunnels")
        );
        assert_eq!(said("A file."), pair("A file", "none"));
        let constant = json!({ "description": "Keys.", "default": 10 });
        assert_eq!(meaning_and_default(&constant, false), pair("Keys", "`10`"));
        assert_eq!(
            meaning_and_default(&constant, true),
            pair("Keys", "required")
        );
    }

    #[test]
    fn links_leave_their_text() {
        let mut schema = json!({ "items": { "description": "A [file](a.md) and [b](c)." } });
        without_links(&mut schema);
        assert_eq!(schema["items"]["description"], "A file and b.");
    }
}

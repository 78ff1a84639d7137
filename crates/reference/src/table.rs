//! The tables of keys in a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value};

use crate::words::{meaning_and_default, type_of};

const BEGIN: &str = "<!-- keys of ";
const BEGIN_END: &str = ": generated -->\n";
const END: &str = "<!-- end of keys -->\n";

/// What a page calls the table that the whole file is.
const ROOT: &str = "the file";

/// What a page calls a key that the user names.
const NAME: &str = "NAME";

/// Writes the tables between the marks anew.
pub(crate) fn replace(text: &str, schema: &Value, orders: &[&[&str]]) -> String {
    let mut tables = BTreeMap::new();
    let root = table_in(schema).unwrap_or_else(|| panic!("the file is no table"));
    collect(ROOT, root, &mut tables);
    let mut parts = text.split(BEGIN);
    let mut page = parts.next().unwrap_or_default().to_owned();
    let sections: Vec<(&str, &str)> = parts
        .map(|part| {
            let (names, rest) = part.split_once(BEGIN_END).expect("the end of a mark");
            let (_, after) = rest.split_once(END).expect("the end of a table");
            (names, after)
        })
        .collect();
    let writer = Writer {
        with_table: sections
            .iter()
            .flat_map(|(names, _)| names.split(", "))
            .collect(),
        orders,
    };
    for name in &writer.with_table {
        assert!(tables.contains_key(*name), "the file has no table {name}");
    }
    for name in tables.keys() {
        let has_table = writer.with_table.contains(&name.as_str());
        assert!(
            has_table || !is_named_by_user(name),
            "no table of the page has the keys of {name}"
        );
    }
    for (names, after) in &sections {
        let _ = write!(page, "{BEGIN}{names}{BEGIN_END}");
        page.push_str("| key | meaning | type | default |\n| --- | --- | --- | --- |\n");
        for name in names.split(", ") {
            let prefix = match names.contains(", ") {
                true => format!("{name}."),
                false => String::new(),
            };
            writer.rows(&mut page, name, &prefix, tables[name]);
        }
        let _ = write!(page, "{END}{after}");
    }
    page
}

fn is_named_by_user(name: &str) -> bool {
    name.rsplit('.').next() == Some(NAME)
}

/// The object with named keys that a value is, or its items are.
fn table_in(schema: &Value) -> Option<&Map<String, Value>> {
    if schema["properties"].is_object() {
        return schema.as_object();
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        return schemas.iter().find_map(table_in);
    }
    schema.get("items").and_then(table_in)
}

fn path_of(table: &str, key: &str) -> String {
    match table {
        ROOT => key.to_owned(),
        table => format!("{table}.{key}"),
    }
}

/// All tables in a table, by their paths.
fn collect<'a>(
    path: &str,
    table: &'a Map<String, Value>,
    tables: &mut BTreeMap<String, &'a Map<String, Value>>,
) {
    tables.insert(path.to_owned(), table);
    let others = table
        .get("additionalProperties")
        .map(|schema| (NAME, schema));
    let keys = table["properties"].as_object().into_iter().flatten();
    for (key, schema) in keys
        .map(|(key, schema)| (key.as_str(), schema))
        .chain(others)
    {
        if let Some(inner) = table_in(schema) {
            collect(&path_of(path, key), inner, tables);
        }
    }
}

struct Writer<'a> {
    /// The tables of the file that are tables of the page. The keys of others stand in the table
    /// around them.
    with_table: Vec<&'a str>,
    orders: &'a [&'a [&'a str]],
}

impl Writer<'_> {
    fn rows(&self, page: &mut String, path: &str, prefix: &str, table: &Map<String, Value>) {
        let required = table.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|keys| keys.iter().any(|name| name == key));
        let properties = table["properties"].as_object().expect("keys");
        for key in self.ordered(path, properties) {
            let schema = &properties[key];
            let (meaning, default) = meaning_and_default(schema, is_required(key));
            assert!(!meaning.is_empty(), "{path}: {key} has no comment");
            let cells = [meaning, type_of(schema), default].map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(page, "| `{prefix}{key}` | {} |", cells.join(" | "));
            let inner_path = path_of(path, key);
            if let Some(inner) = table_in(schema)
                && !self.with_table.contains(&inner_path.as_str())
            {
                self.rows(page, &inner_path, &format!("{prefix}{key}."), inner);
            }
        }
    }

    /// The keys of a table in the order of the fields of its type.
    fn ordered<'k>(&self, path: &str, properties: &'k Map<String, Value>) -> Vec<&'k str> {
        let mut keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        if keys.len() > 1 {
            let has_all = |order: &&&[&str]| {
                order.len() == keys.len() && keys.iter().all(|key| order.contains(key))
            };
            let order = (self.orders.iter().find(has_all)).unwrap_or_else(|| {
                panic!("no type is named that has the keys of {path}: {keys:?}")
            });
            keys.sort_by_key(|key| order.iter().position(|other| other == key));
        }
        keys
    }
}

//! Where results go: a table for people, JSON, tables in Parquet and CSV, a page.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Map, Value};
use weir_console::output::{self, Document};
use weir_console::{Common, Failure, Outcome};
use weir_export::{Column, Values, write_table};

use crate::cli::Places;

/// The places that were asked for, open.
pub(super) struct Results<'a> {
    json: Option<Document>,
    parquet: Option<Document>,
    csv: Option<Document>,
    file: Option<Document>,
    common: &'a Common,
}

impl<'a> Results<'a> {
    /// Opens the places, before the work is done.
    pub(super) fn asked_for(places: &'a Places) -> Outcome<Results<'a>> {
        Results::with_file(places, None)
    }

    /// The same with another file: a page of HTML, or a trace.
    pub(super) fn with_file(places: &'a Places, file: Option<&Path>) -> Outcome<Results<'a>> {
        let outputs: Vec<&Path> = [
            places.common.json.as_deref(),
            places.parquet.as_deref(),
            places.csv.as_deref(),
            file,
        ]
        .into_iter()
        .flatten()
        .collect();
        output::keep_apart(&[], &outputs)?;
        let open = |path: Option<&Path>| path.map(Document::create).transpose();
        Ok(Results {
            json: Document::asked_for(&places.common)?,
            parquet: open(places.parquet.as_deref())?,
            csv: open(places.csv.as_deref())?,
            file: open(file)?,
            common: &places.common,
        })
    }

    /// Writes rows where they were asked for, and the table for people.
    pub(super) fn show(
        self,
        rows: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> Outcome<ExitCode> {
        self.show_with_file(rows, table, || Ok(String::new()))
    }

    /// The same, and the other file if that was asked for.
    pub(super) fn show_with_file(
        self,
        rows: &impl Serialize,
        table: impl FnOnce() -> String,
        file: impl FnOnce() -> Outcome<String>,
    ) -> Outcome<ExitCode> {
        if self.parquet.is_some() || self.csv.is_some() {
            let rows = serde_json::to_value(rows)
                .context("cannot make a table")
                .map_err(Failure::Running)?;
            let columns = columns(&rows);
            if let Some(parquet) = self.parquet {
                let bytes =
                    write_table(Vec::new(), "weir-lab", &columns).map_err(Failure::running)?;
                parquet.write_bytes(&bytes)?;
            }
            if let Some(document) = self.csv {
                document.write_bytes(csv(&columns).as_bytes())?;
            }
        }
        if let Some(document) = self.file {
            document.write_bytes(file()?.as_bytes())?;
        }
        if let Some(json) = self.json {
            json.write("lab", &Rows { rows })?;
        }
        if self.common.shows_tables() {
            output::write_stdout(table().as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The document of `--json`.
#[derive(Serialize)]
struct Rows<'a, T> {
    rows: &'a T,
}

/// The columns of a list of objects. What is nested has names with dots, and so
/// have lists of pairs of a name and a value; other lists are words of JSON.
fn columns(rows: &Value) -> Vec<Column> {
    let rows: Vec<BTreeMap<String, Value>> = rows
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|row| {
            let mut flat = BTreeMap::new();
            flatten("", row, &mut flat);
            flat
        })
        .collect();
    let mut names: Vec<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| Column {
            name: name.clone(),
            values: values(&rows, name),
        })
        .collect()
}

/// The columns as lines of comma-separated values, the first with their names. A
/// value that is missing is an empty field.
fn csv(columns: &[Column]) -> String {
    let cells = |column: &Column| -> Vec<String> {
        fn text<T: ToString>(values: &[Option<T>]) -> Vec<String> {
            let texts = values.iter().map(|value| value.as_ref().map(T::to_string));
            texts.map(Option::unwrap_or_default).collect()
        }
        match &column.values {
            Values::Numbers(values) => text(values),
            Values::Flags(values) => text(values),
            Values::Words(values) => text(values),
        }
    };
    let line = |fields: Vec<&str>| {
        let fields: Vec<String> = fields.into_iter().map(field).collect();
        fields.join(",") + "\r\n"
    };
    let names = line(columns.iter().map(|column| column.name.as_str()).collect());
    let cells: Vec<Vec<String>> = columns.iter().map(cells).collect();
    let rows = cells.iter().map(Vec::len).max().unwrap_or(0);
    let rows = (0..rows).map(|row| {
        let fields = cells.iter().map(|column| column.get(row));
        line(fields.map(|it| it.map_or("", String::as_str)).collect())
    });
    std::iter::once(names).chain(rows).collect()
}

/// A field, in quotes where it needs them (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn values(rows: &[BTreeMap<String, Value>], name: &str) -> Values {
    let cells = || {
        rows.iter()
            .map(|row| row.get(name).filter(|value| !value.is_null()))
    };
    if cells().flatten().all(Value::is_number) {
        Values::Numbers(cells().map(|cell| cell?.as_f64()).collect())
    } else if cells().flatten().all(Value::is_boolean) {
        Values::Flags(cells().map(|cell| cell?.as_bool()).collect())
    } else {
        let words = |cell: &Value| match cell {
            Value::String(words) => words.clone(),
            other => other.to_string(),
        };
        Values::Words(cells().map(|cell| cell.map(words)).collect())
    }
}

fn flatten(prefix: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    let named = |name: &str| match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&named(name), value, flat);
            }
        }
        Value::Array(items) => match pairs(items) {
            Some(fields) => flatten(prefix, &Value::Object(fields), flat),
            None => {
                flat.insert(prefix.to_owned(), Value::String(value.to_string()));
            }
        },
        value => {
            flat.insert(prefix.to_owned(), value.clone());
        }
    }
}

/// A list of pairs of a name and a value, as an object.
fn pairs(items: &[Value]) -> Option<Map<String, Value>> {
    items
        .iter()
        .map(|item| match item.as_array()?.as_slice() {
            [Value::String(name), value] => Some((name.clone(), value.clone())),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_become_columns() {
        let rows = json!([
            { "name": "a", "set": { "x": 1 }, "stalls": [["host", 2.5]], "fits": true, "error": null },
            { "name": "b", "set": { "x": 2 }, "stalls": [], "fits": null, "error": "no" },
        ]);
        let found = columns(&rows);
        let names: Vec<&str> = found.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["error", "fits", "name", "set.x", "stalls.host"]);
        let of = |name: &str| {
            let column = found.iter().find(|column| column.name == name);
            column.map(|column| column.values.clone())
        };
        assert_eq!(
            of("set.x"),
            Some(Values::Numbers(vec![Some(1.0), Some(2.0)]))
        );
        assert_eq!(
            of("stalls.host"),
            Some(Values::Numbers(vec![Some(2.5), None]))
        );
        assert_eq!(of("fits"), Some(Values::Flags(vec![Some(true), None])));
        assert_eq!(
            of("error"),
            Some(Values::Words(vec![None, Some("no".to_owned())]))
        );
        let lines = [
            "error,fits,name,set.x,stalls.host\r\n",
            ",true,a,1,2.5\r\n",
            "no,,b,2,\r\n",
        ];
        assert_eq!(csv(&found), lines.concat());
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        assert_eq!(field("a b"), "a b");
        assert_eq!(field("a, b"), "\"a, b\"");
        assert_eq!(field("a \"b\"\n"), "\"a \"\"b\"\"\n\"");
    }
}

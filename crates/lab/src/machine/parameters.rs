//! The values of a machine file, each with its source.

use std::collections::{BTreeMap, BTreeSet};

/// A machine that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// No such machine.
    #[error("no machine is called {name}: there is {known}, or a file whose name ends in .toml")]
    Unknown {
        /// The name.
        name: String,
        /// The machines that there are.
        known: String,
    },
    /// A file that cannot be read.
    #[error("{file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// Why not.
        error: String,
    },
    /// A file that is not TOML.
    #[error("{file}: {error}")]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong, with line and column.
        error: String,
    },
    /// A value that is missing, unknown, without a source or out of range.
    #[error("{file}, {key}: {reason}")]
    Value {
        /// The file.
        file: String,
        /// The key, with dots.
        key: String,
        /// What is wrong.
        reason: String,
    },
}

/// What kind of source a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// `T`: the thesis.
    Thesis,
    /// `P`: other published text.
    Published,
    /// `D`: derived from published values.
    Derived,
    /// `R`: recalled from the literature, not read again.
    Recalled,
    /// `C`: calibrated, once, for all experiments.
    Calibrated,
    /// `S`: set by the user.
    Set,
}

impl Tag {
    fn of(source: &str) -> Option<Tag> {
        let (tag, rest) = source.split_once(' ')?;
        if rest.trim().is_empty() {
            return None;
        }
        Some(match tag {
            "T" => Tag::Thesis,
            "P" => Tag::Published,
            "D" => Tag::Derived,
            "R" => Tag::Recalled,
            "C" => Tag::Calibrated,
            "S" => Tag::Set,
            _ => return None,
        })
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The number.
    pub value: f64,
    /// Where it comes from, with the tag.
    pub source: String,
    /// The tag alone.
    pub tag: Tag,
}

/// All values of a machine, by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    file: String,
    by_key: BTreeMap<String, Parameter>,
}

impl Parameters {
    /// Reads a machine file; `file` is its name in errors.
    pub(super) fn parse(file: &str, text: &str) -> Result<Parameters, MachineError> {
        let table: toml::Table = toml::from_str(text).map_err(|error| MachineError::Syntax {
            file: file.to_owned(),
            error: error.to_string().trim().replace('\n', " "),
        })?;
        let mut parameters = Parameters {
            file: file.to_owned(),
            by_key: BTreeMap::new(),
        };
        parameters.add(&table, "")?;
        Ok(parameters)
    }

    fn add(&mut self, table: &toml::Table, prefix: &str) -> Result<(), MachineError> {
        for (name, entry) in table {
            let key = format!("{prefix}{name}");
            let Some(inner) = entry.as_table() else {
                return Err(self.wrong(&key, "write { value = …, source = \"…\" }"));
            };
            if inner.contains_key("value") {
                let parameter = self.parameter(&key, inner)?;
                self.by_key.insert(key, parameter);
            } else {
                self.add(inner, &format!("{key}."))?;
            }
        }
        Ok(())
    }

    fn parameter(&self, key: &str, entry: &toml::Table) -> Result<Parameter, MachineError> {
        if let Some(other) = entry
            .keys()
            .find(|name| !["value", "source"].contains(&name.as_str()))
        {
            let reason = format!("{other} is not known here: only value and source are");
            return Err(self.wrong(key, &reason));
        }
        let value = match &entry["value"] {
            toml::Value::Integer(value) => *value as f64,
            toml::Value::Float(value) => *value,
            _ => return Err(self.wrong(key, "the value is not a number")),
        };
        let source = entry.get("source").and_then(toml::Value::as_str);
        let tagged = source.and_then(|source| Some((source, Tag::of(source)?)));
        let Some((source, tag)) = tagged else {
            return Err(self.wrong(
                key,
                "no source: it begins with one of T, P, D, R, C or S, and says more",
            ));
        };
        Ok(Parameter {
            value,
            source: source.to_owned(),
            tag,
        })
    }

    fn wrong(&self, key: &str, reason: &str) -> MachineError {
        MachineError::Value {
            file: self.file.clone(),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Sets a value; the user is its source.
    pub(super) fn set(&mut self, key: &str, value: f64) -> Result<(), MachineError> {
        let Some(parameter) = self.by_key.get_mut(key) else {
            let reason = format!("there is no such parameter; there are {}", self.keys());
            return Err(self.wrong(key, &reason));
        };
        *parameter = Parameter {
            value,
            source: "S set for this run".to_owned(),
            tag: Tag::Set,
        };
        Ok(())
    }

    fn keys(&self) -> String {
        let keys: Vec<&str> = self.by_key.keys().map(String::as_str).collect();
        keys.join(", ")
    }

    /// Keys and values, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.by_key
            .iter()
            .map(|(key, parameter)| (key.as_str(), parameter))
    }

    /// Takes values one by one.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader {
            parameters: self,
            taken: BTreeSet::new(),
            error: None,
        }
    }
}

/// Takes values, keeps the first error, and knows which values nobody took.
pub(super) struct Reader<'a> {
    parameters: &'a Parameters,
    taken: BTreeSet<String>,
    error: Option<MachineError>,
}

impl Reader<'_> {
    /// A number between two others; the smaller one where it is wrong.
    pub(super) fn number(&mut self, key: &str, least: f64, most: f64) -> f64 {
        self.taken.insert(key.to_owned());
        let reason = match self.parameters.by_key.get(key) {
            Some(parameter) if (least..=most).contains(&parameter.value) => {
                return parameter.value;
            }
            Some(parameter) => format!("{} is not from {least} to {most}", parameter.value),
            None => "it is missing".to_owned(),
        };
        let error = self.parameters.wrong(key, &reason);
        self.error.get_or_insert(error);
        least
    }

    /// A whole number between two others; the smaller one where it is wrong.
    pub(super) fn count(&mut self, key: &str, least: u32, most: u32) -> u32 {
        let value = self.number(key, f64::from(least), f64::from(most));
        if value.fract() != 0.0 {
            let reason = format!("{value} is not a whole number");
            let error = self.parameters.wrong(key, &reason);
            self.error.get_or_insert(error);
        }
        value as u32
    }

    /// The first error, or a value that is not known.
    pub(super) fn finish(self) -> Result<(), MachineError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let unknown = self
            .parameters
            .by_key
            .keys()
            .find(|key| !self.taken.contains(*key));
        match unknown {
            Some(key) => Err(self.parameters.wrong(key, "no such parameter is known")),
            None => Ok(()),
        }
    }
}

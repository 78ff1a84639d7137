//! The values of a machine file, each with its source.
//!
//! A source can declare the range that a value may be in, as in
//! `"C within 1 to 2, on table 2.2"`.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
    #[error("{place}, {key}: {reason}")]
    Value {
        /// The file, with the line where there is one.
        place: String,
        /// The key, with dots.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// Values that exclude each other.
    #[error("{file}, {key}: {reason}")]
    Contradiction {
        /// The file.
        file: String,
        /// The key of one of them, with dots.
        key: String,
        /// What it contradicts.
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
    /// The range that the source declares with the words "within A to B".
    pub range: Option<[f64; 2]>,
    /// The line of its file, where it is from one.
    line: Option<usize>,
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
        let table = DeTable::parse(text).map_err(|error| MachineError::Syntax {
            file: file.to_owned(),
            error: error.to_string().trim().replace('\n', " "),
        })?;
        let mut parameters = Parameters {
            file: file.to_owned(),
            by_key: BTreeMap::new(),
        };
        let line_of = |byte: usize| 1 + text[..byte].matches('\n').count();
        parameters.add(table.get_ref(), "", &line_of)?;
        Ok(parameters)
    }

    fn add(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        line_of: &dyn Fn(usize) -> usize,
    ) -> Result<(), MachineError> {
        for (name, entry) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let line = Some(line_of(name.span().start));
            let DeValue::Table(inner) = entry.get_ref() else {
                return Err(self.wrong(line, &key, "write { value = …, source = \"…\" }"));
            };
            if inner.contains_key("value") {
                let parameter = parameter(inner, line);
                let parameter = parameter.map_err(|reason| self.wrong(line, &key, &reason))?;
                self.by_key.insert(key, parameter);
            } else {
                self.add(inner, &format!("{key}."), line_of)?;
            }
        }
        Ok(())
    }

    fn wrong(&self, line: Option<usize>, key: &str, reason: &str) -> MachineError {
        let file = &self.file;
        MachineError::Value {
            place: line.map_or(file.clone(), |line| format!("{file}, line {line}")),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Sets a value; the user is its source.
    pub(super) fn set(&mut self, key: &str, value: f64) -> Result<(), MachineError> {
        let Some(parameter) = self.by_key.get_mut(key) else {
            let reason = format!("there is no such parameter; there are {}", self.keys());
            return Err(self.wrong(None, key, &reason));
        };
        *parameter = Parameter {
            value,
            source: "S set for this run".to_owned(),
            tag: Tag::Set,
            range: None,
            line: None,
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

/// Reads `{ value = …, source = "…" }`; the error is the reason alone.
fn parameter(entry: &DeTable<'_>, line: Option<usize>) -> Result<Parameter, String> {
    let known = |name: &str| ["value", "source"].contains(&name);
    if let Some(other) = entry.keys().find(|name| !known(name.get_ref())) {
        let other = other.get_ref();
        return Err(format!(
            "{other} is not known here: only value and source are"
        ));
    }
    let value = match entry.get("value").map(Spanned::get_ref) {
        Some(DeValue::Integer(value)) => i64::from_str_radix(value.as_str(), value.radix())
            .ok()
            .map(|value| value as f64),
        Some(DeValue::Float(value)) => value.as_str().parse().ok(),
        _ => None,
    };
    let value = value.ok_or("the value is not a number")?;
    let source = match entry.get("source").map(Spanned::get_ref) {
        Some(DeValue::String(source)) => Some(source.as_ref()),
        _ => None,
    };
    let tagged = source.and_then(|source| Some((source, Tag::of(source)?)));
    let (source, tag) =
        tagged.ok_or("no source: it begins with one of T, P, D, R, C or S, and says more")?;
    let range = declared_range(source);
    if let Some([least, most]) = range
        && !(least..=most).contains(&value)
    {
        return Err(format!(
            "{value} is not within {least} to {most}, as its source declares"
        ));
    }
    Ok(Parameter {
        value,
        source: source.to_owned(),
        tag,
        range,
        line,
    })
}

/// The numbers of "within A to B" in a source.
fn declared_range(source: &str) -> Option<[f64; 2]> {
    let (_, range) = source.split_once("within ")?;
    let (least, rest) = range.split_once(" to ")?;
    let most = rest.split([',', ';', ':', ' ']).next()?;
    Some([least.parse().ok()?, most.parse().ok()?])
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
        self.refuse(key, &reason);
        least
    }

    fn refuse(&mut self, key: &str, reason: &str) {
        let parameter = self.parameters.by_key.get(key);
        let line = parameter.and_then(|parameter| parameter.line);
        let error = self.parameters.wrong(line, key, reason);
        self.error.get_or_insert(error);
    }

    /// A whole number between two others; the smaller one where it is wrong.
    pub(super) fn count(&mut self, key: &str, least: u32, most: u32) -> u32 {
        let value = self.number(key, f64::from(least), f64::from(most));
        if value.fract() != 0.0 {
            self.refuse(key, &format!("{value} is not a whole number"));
        }
        value as u32
    }

    /// A power of two up to another; 1 where it is wrong.
    pub(super) fn power_of_two(&mut self, key: &str, most: u32) -> u32 {
        let value = self.count(key, 1, most);
        if !value.is_power_of_two() {
            self.refuse(key, &format!("{value} is no power of two"));
            return 1;
        }
        value
    }

    /// The first error, or a value that is not known.
    pub(super) fn finish(mut self) -> Result<(), MachineError> {
        let mut keys = self.parameters.by_key.keys();
        if let Some(key) = keys.find(|key| !self.taken.contains(*key)) {
            self.refuse(key, "no such parameter is known");
        }
        self.error.map_or(Ok(()), Err)
    }
}

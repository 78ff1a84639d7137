//! The parameters of a model: the values of a machine file, each with its source.
//!
//! ```toml
//! model = "name of the model"
//!
//! [cluster]
//! adders = { value = 3, source = "P author and section" }
//!
//! [operation.multiply]
//! latency = { value = 4, source = "R", range = [3, 5] }
//! ```
//!
//! A source begins with a tag:
//!
//! | tag | source |
//! | --- | --- |
//! | `P` | printed in a publication, which is named |
//! | `D` | derived from printed values |
//! | `T` | a reading of a text that allows others |
//! | `R` | recalled from the literature, not read again |
//! | `C` | calibrated on the rows that are named |
//! | `S` | set by the user |
//!
//! A value with the tag `T`, `R` or `C` declares the range that it may be in, as
//! sensitivity has to cover it. Other values may declare one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A machine that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// No such machine.
    #[error("no machine is called {name}; there are {known}, and files whose names end in .toml")]
    Unknown {
        /// The name.
        name: String,
        /// The built-in machines.
        known: String,
    },
    /// A file for another model.
    #[error("{file} describes a machine of the model {found}, not of {expected}")]
    Model {
        /// The file.
        file: String,
        /// The model that it names.
        found: String,
        /// The model that was to read it.
        expected: &'static str,
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
    /// `P`: printed in a publication.
    Printed,
    /// `D`: derived from printed values.
    Derived,
    /// `T`: a reading of a text.
    Reading,
    /// `R`: recalled from the literature, not read again.
    Recalled,
    /// `C`: calibrated on rows of the report.
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
            "P" => Tag::Printed,
            "D" => Tag::Derived,
            "T" => Tag::Reading,
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
    /// The range that the value may be in, as its entry declares.
    pub range: Option<[f64; 2]>,
    /// The line of its file, where it is from one.
    line: Option<usize>,
}

/// All values of a machine, by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    file: String,
    model: String,
    by_key: BTreeMap<String, Parameter>,
}

impl Parameters {
    /// The parameters of a built-in machine, which is a name and the text of a
    /// file, or of a file whose name ends in `.toml`.
    ///
    /// # Errors
    /// A name that is neither, a file that cannot be read, and what
    /// [`Parameters::parse`] refuses.
    pub fn load(name: &str, built_in: &[(&str, &str)]) -> Result<Parameters, ParameterError> {
        if let Some((_, text)) = built_in.iter().find(|(known, _)| *known == name) {
            return Parameters::parse(name, text);
        }
        let is_file = Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "toml");
        if !is_file {
            let known: Vec<&str> = built_in.iter().map(|(known, _)| *known).collect();
            return Err(ParameterError::Unknown {
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        let text = std::fs::read_to_string(name).map_err(|error| ParameterError::Read {
            file: name.to_owned(),
            error: error.to_string(),
        })?;
        Parameters::parse(name, &text)
    }

    /// Reads a machine file; `file` is its name in errors.
    ///
    /// # Errors
    /// Text that is not TOML, a file that names no model, and an entry without a
    /// number, a source, or a range where its tag needs one, or with a value
    /// outside its range.
    pub fn parse(file: &str, text: &str) -> Result<Parameters, ParameterError> {
        let table = DeTable::parse(text).map_err(|error| ParameterError::Syntax {
            file: file.to_owned(),
            error: error.to_string().trim().replace('\n', " "),
        })?;
        let mut parameters = Parameters {
            file: file.to_owned(),
            model: String::new(),
            by_key: BTreeMap::new(),
        };
        let line_of = |byte: usize| 1 + text[..byte].matches('\n').count();
        parameters.add(table.get_ref(), "", &line_of)?;
        if parameters.model.is_empty() {
            let reason = "the file does not name its model: begin it with model = \"…\"";
            return Err(parameters.wrong(None, "model", reason));
        }
        Ok(parameters)
    }

    /// The name of the machine, or its file.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// The name of the model that the machine is for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The same parameters with some set to other values.
    ///
    /// # Errors
    /// A key that is unknown.
    pub fn with(&self, changes: &[(String, f64)]) -> Result<Parameters, ParameterError> {
        let mut changed = self.clone();
        for (key, value) in changes {
            changed.set(key, *value)?;
        }
        Ok(changed)
    }

    /// The parameter with a key.
    ///
    /// # Errors
    /// A key that is unknown; the error lists those that exist.
    pub fn get(&self, key: &str) -> Result<&Parameter, ParameterError> {
        self.by_key.get(key).ok_or_else(|| self.unknown(key))
    }

    fn unknown(&self, key: &str) -> ParameterError {
        let keys: Vec<&str> = self.by_key.keys().map(String::as_str).collect();
        let reason = format!("there is no such parameter; there are {}", keys.join(", "));
        self.wrong(None, key, &reason)
    }

    fn add(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        line_of: &dyn Fn(usize) -> usize,
    ) -> Result<(), ParameterError> {
        for (name, entry) in table {
            let key = format!("{prefix}{}", name.get_ref());
            let line = Some(line_of(name.span().start));
            if let ("model", DeValue::String(model)) = (key.as_str(), entry.get_ref()) {
                model.as_ref().clone_into(&mut self.model);
                continue;
            }
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

    fn wrong(&self, line: Option<usize>, key: &str, reason: &str) -> ParameterError {
        let file = &self.file;
        ParameterError::Value {
            place: line.map_or(file.clone(), |line| format!("{file}, line {line}")),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Sets a value; the user is its source.
    fn set(&mut self, key: &str, value: f64) -> Result<(), ParameterError> {
        self.get(key)?;
        let parameter = Parameter {
            value,
            source: "S set for this run".to_owned(),
            tag: Tag::Set,
            range: None,
            line: None,
        };
        self.by_key.insert(key.to_owned(), parameter);
        Ok(())
    }

    /// Keys and values, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.by_key
            .iter()
            .map(|(key, parameter)| (key.as_str(), parameter))
    }

    /// A reader for the model of that name.
    ///
    /// # Errors
    /// Parameters of another model.
    pub fn reader(&self, model: &'static str) -> Result<Reader<'_>, ParameterError> {
        if self.model != model {
            return Err(ParameterError::Model {
                file: self.file.clone(),
                found: self.model.clone(),
                expected: model,
            });
        }
        Ok(Reader {
            parameters: self,
            taken: BTreeSet::new(),
            error: None,
        })
    }
}

/// Reads `{ value = …, source = "…", range = [… , …] }`; the error is the reason
/// alone.
fn parameter(entry: &DeTable<'_>, line: Option<usize>) -> Result<Parameter, String> {
    let known = |name: &str| ["value", "source", "range"].contains(&name);
    if let Some(other) = entry.keys().find(|name| !known(name.get_ref())) {
        let other = other.get_ref();
        return Err(format!(
            "{other} is not known here: only value, source and range are"
        ));
    }
    let value = entry.get("value").and_then(|it| number(it.get_ref()));
    let value = value.ok_or("the value is not a number")?;
    let source = match entry.get("source").map(Spanned::get_ref) {
        Some(DeValue::String(source)) => Some(source.as_ref()),
        _ => None,
    };
    let tagged = source.and_then(|source| Some((source, Tag::of(source)?)));
    let (source, tag) =
        tagged.ok_or("no source: it begins with one of P, D, T, R, C or S, and says more")?;
    let range = match entry.get("range") {
        Some(range) => Some(ends(range.get_ref()).ok_or("the range is not [LEAST, MOST]")?),
        None => None,
    };
    match range {
        Some([least, most]) if !(least..=most).contains(&value) => {
            return Err(format!(
                "{value} is not from {least} to {most}, the range that it declares"
            ));
        }
        None if [Tag::Reading, Tag::Recalled, Tag::Calibrated].contains(&tag) => {
            return Err(
                "a value with the tag T, R or C declares its range: range = [LEAST, MOST]"
                    .to_owned(),
            );
        }
        _ => {}
    }
    Ok(Parameter {
        value,
        source: source.to_owned(),
        tag,
        range,
        line,
    })
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(value) => i64::from_str_radix(value.as_str(), value.radix())
            .ok()
            .map(|value| value as f64),
        DeValue::Float(value) => value.as_str().parse().ok(),
        _ => None,
    }
}

/// Two numbers, the smaller one first.
fn ends(range: &DeValue<'_>) -> Option<[f64; 2]> {
    let DeValue::Array(ends) = range else {
        return None;
    };
    let numbers: Vec<f64> = ends.iter().filter_map(|it| number(it.get_ref())).collect();
    match (ends.len(), numbers.as_slice()) {
        (2, &[least, most]) if least < most => Some([least, most]),
        _ => None,
    }
}

/// Takes values one by one, keeps the first error, and knows which values were
/// not taken.
#[derive(Debug)]
pub struct Reader<'a> {
    parameters: &'a Parameters,
    taken: BTreeSet<String>,
    error: Option<ParameterError>,
}

impl Reader<'_> {
    /// A number between two others; the smaller one where it is wrong.
    pub fn number(&mut self, key: &str, least: f64, most: f64) -> f64 {
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
    pub fn count(&mut self, key: &str, least: u32, most: u32) -> u32 {
        let value = self.number(key, f64::from(least), f64::from(most));
        if value.fract() != 0.0 {
            self.refuse(key, &format!("{value} is not a whole number"));
        }
        value as u32
    }

    /// A power of two up to another; 1 where it is wrong.
    pub fn power_of_two(&mut self, key: &str, most: u32) -> u32 {
        let value = self.count(key, 1, most);
        if !value.is_power_of_two() {
            self.refuse(key, &format!("{value} is no power of two"));
            return 1;
        }
        value
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// The first value that was missing or wrong, or a value that was not taken.
    pub fn finish(mut self) -> Result<(), ParameterError> {
        let mut keys = self.parameters.by_key.keys();
        if let Some(key) = keys.find(|key| !self.taken.contains(*key)) {
            self.refuse(key, "no such parameter is known");
        }
        self.error.map_or(Ok(()), Err)
    }
}

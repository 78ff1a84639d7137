//! What a model runs, and the parameters of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failure::Failure;

/// What the keys of workloads begin with; machines have none that do.
pub const WORK_PREFIX: &str = "work.";

/// A parameter of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkKey {
    /// The key; it begins with [`WORK_PREFIX`].
    pub key: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// The value that it has if none is given.
    pub default: f64,
    /// The least value.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Whether it is a whole number.
    pub is_whole: bool,
}

impl WorkKey {
    /// A whole number.
    pub const fn count(
        key: &'static str,
        about: &'static str,
        default: u32,
        [least, most]: [u32; 2],
    ) -> WorkKey {
        WorkKey {
            key,
            about,
            default: default as f64,
            least: least as f64,
            most: most as f64,
            is_whole: true,
        }
    }
}

/// A workload that a model offers, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkloadKind {
    /// The name on the command line.
    pub name: &'static str,
    /// What kind of thing it is, as `weir-lab list` groups them: `program`.
    pub kind: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where its source describes it.
    pub source: &'static str,
    /// Its parameters.
    pub keys: &'static [WorkKey],
}

/// A workload that a user wrote, and what it works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkFile {
    /// What errors and tables call it.
    pub name: String,
    /// The text.
    pub text: String,
    /// What it is given, by the names that it declares.
    pub inputs: BTreeMap<String, Input>,
}

/// What a name of a [`WorkFile`] is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A number.
    Number(u32),
    /// Records of words.
    Records(Vec<Vec<u32>>),
    /// The bytes of packets.
    Packets(Vec<Vec<u8>>),
}

/// A workload with values.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    kind: WorkloadKind,
    /// In the order of the kind's keys.
    values: Vec<f64>,
    file: Option<Arc<WorkFile>>,
}

impl Workload {
    /// A workload with its default values.
    pub fn new(kind: WorkloadKind) -> Workload {
        let values = kind.keys.iter().map(|key| key.default).collect();
        Workload {
            kind,
            values,
            file: None,
        }
    }

    /// A workload of a kind that is read from files.
    pub fn of_file(kind: WorkloadKind, file: WorkFile) -> Workload {
        Workload {
            file: Some(Arc::new(file)),
            ..Workload::new(kind)
        }
    }

    /// The name of its file, otherwise of its kind.
    pub fn name(&self) -> &str {
        self.file.as_ref().map_or(self.kind.name, |file| &file.name)
    }

    /// What was read from a file.
    pub fn file(&self) -> Option<&WorkFile> {
        self.file.as_deref()
    }

    /// What it is.
    pub fn kind(&self) -> &WorkloadKind {
        &self.kind
    }

    /// The same workload with some values changed.
    ///
    /// # Errors
    /// A key that the workload does not have, and a value out of its range.
    pub fn with(&self, changes: &[(String, f64)]) -> Result<Workload, Failure> {
        let mut changed = self.clone();
        for (key, value) in changes {
            let wrong = |reason: String| Failure::Workload(format!("{key}: {reason}"));
            let keys = changed.kind.keys;
            let Some(place) = keys.iter().position(|known| known.key == key) else {
                let known: Vec<&str> = keys.iter().map(|known| known.key).collect();
                let name = changed.kind.name;
                let known = match known.as_slice() {
                    [] => "it has none".to_owned(),
                    known => format!("there are {}", known.join(", ")),
                };
                return Err(wrong(format!(
                    "{name} has no such parameter of the workload; {known}"
                )));
            };
            let known = &keys[place];
            let is_possible = (known.least..=known.most).contains(value)
                && (!known.is_whole || value.fract() == 0.0);
            if !is_possible {
                let what = if known.is_whole { "whole " } else { "" };
                let (least, most) = (known.least, known.most);
                return Err(wrong(format!(
                    "{value} is not a {what}number from {least} to {most}"
                )));
            }
            changed.values[place] = *value;
        }
        Ok(changed)
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let keys = self.kind.keys.iter().map(|key| key.key);
        keys.zip(self.values.iter().copied())
    }

    /// A value; 0 for a key that the workload does not have.
    pub fn value(&self, key: &str) -> f64 {
        let mut all = self.iter();
        all.find(|(known, _)| *known == key)
            .map_or(0.0, |(_, value)| value)
    }

    /// A value that is a whole number.
    pub fn count(&self, key: &str) -> usize {
        self.value(key) as usize
    }
}

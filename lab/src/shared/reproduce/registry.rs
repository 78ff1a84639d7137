//! Brings published rows and registry entries together, by full id.

use std::collections::BTreeMap;

use super::{Entry, Published};

/// A registry that does not cover its table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A line of the table that is not six fields.
    #[error("line {line} of the published values: it does not have six fields")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// A published row without an entry.
    #[error("row {0}: no model is registered for it")]
    NoModel(String),
    /// An entry without a published row.
    #[error("entry {0}: there is no published row of that id")]
    NoRow(&'static str),
    /// An id that two rows or two entries have.
    #[error("{0}: the id is used twice")]
    Twice(String),
}

/// Each published row with its entry, in the order of the table.
///
/// # Errors
/// A row without an entry, an entry without a row, and ids that are used twice.
/// Ids are compared as a whole: `ixp-001` is not `imagine-001`.
pub fn registry(
    published: Vec<Published>,
    entries: &[&'static Entry],
) -> Result<Vec<(Published, &'static Entry)>, RegistryError> {
    let mut by_id: BTreeMap<&str, &'static Entry> = BTreeMap::new();
    for &entry in entries {
        if by_id.insert(entry.id, entry).is_some() {
            return Err(RegistryError::Twice(entry.id.to_owned()));
        }
    }
    let mut rows: Vec<(Published, &'static Entry)> = Vec::with_capacity(published.len());
    for row in published {
        match by_id.remove(row.id.as_str()) {
            Some(entry) => rows.push((row, entry)),
            None if rows.iter().any(|(known, _)| known.id == row.id) => {
                return Err(RegistryError::Twice(row.id));
            }
            None => return Err(RegistryError::NoModel(row.id)),
        }
    }
    match by_id.into_values().next() {
        Some(entry) => Err(RegistryError::NoRow(entry.id)),
        None => Ok(rows),
    }
}

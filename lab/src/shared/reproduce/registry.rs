//! Brings published rows and registry entries together, by full id.

use std::collections::BTreeMap;

use super::published::{Published, RegistryError};
use crate::shared::model::Entry;

/// Each published row with its entry, in the order of the table.
///
/// # Errors
/// A row without an entry, an entry without a row, and ids that are used twice.
/// Ids are compared as a whole: `b-001` is not `a-001`.
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

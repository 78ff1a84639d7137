//! Why rows cannot be reproduced.

use super::published::{Published, RegistryError, names};
use crate::shared::model::{Entry, Failure};

/// Why rows cannot be reproduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// No row has that name.
    #[error("no row is called {id}; there are {known}")]
    Unknown {
        /// The name.
        id: String,
        /// The names of all rows, in ranges.
        known: String,
    },
    /// A table and a registry that do not belong together.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A model that failed.
    #[error(transparent)]
    Model(#[from] Failure),
}

/// The error for an id that no row of a table has.
pub(super) fn unknown(id: &str, table: &[(Published, &'static Entry)]) -> ReproduceError {
    ReproduceError::Unknown {
        id: id.to_owned(),
        known: names(table.iter().map(|(row, _)| row.id.as_str())),
    }
}

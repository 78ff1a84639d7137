//! Keys that a ledger is opened for.

use std::fmt;

use super::{Fingerprint, Kind};

/// A key, and what it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyIdentity {
    /// What is counted.
    pub kind: Kind,
    /// The key.
    pub fingerprint: Fingerprint,
    /// For people.
    pub owner: Owner,
    /// Whether the ledger may learn it here.
    pub may_be_new: bool,
}

/// What a key belongs to, as messages have it: `sa "to-branch"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// What it is in its configuration file.
    pub what: &'static str,
    /// Its name there, by which `--new-key` lets a ledger learn its keys.
    pub name: String,
}

/// The keys that a ledger may learn, since they were never used anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewKeys {
    /// Those whose owners have these names.
    Of(Vec<String>),
    /// Every key of the configuration file.
    All,
}

impl Owner {
    /// An owner with a name.
    pub fn new(what: &'static str, name: impl Into<String>) -> Owner {
        let name = name.into();
        Owner { what, name }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.what, self.name)
    }
}

impl NewKeys {
    /// None: all keys must be known.
    pub const NONE: NewKeys = NewKeys::Of(Vec::new());

    /// Whether the keys of an owner may be new.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            NewKeys::Of(names) => names.iter().any(|new| new == name),
            NewKeys::All => true,
        }
    }
}

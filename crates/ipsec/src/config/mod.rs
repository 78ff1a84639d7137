//! The SA file: associations, their keys, and policies, in TOML. What it may
//! say is in `docs/sa-file.md`.
//!
//! A file is read in three steps: its owner alone may read it, it is a document
//! of the right shape, and its parts make sense together. Whatever is wrong is
//! one [`ConfigError`] with file, line, column, the key at fault and what to
//! do. No error repeats a key.

mod document;
mod edit;
mod error;
mod file;
mod message;
mod resolve;
#[cfg(test)]
mod schema;
mod wireshark;

pub use error::ConfigError;
pub use file::{LoadOptions, SaFile};
pub use wireshark::WiresharkKeys;

pub(crate) use file::Secrets;

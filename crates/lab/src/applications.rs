//! The applications, each written once in the kernel language.

pub mod aes;

use crate::kernel::{BuildError, Kernel};
use crate::stream::ProgramError;

/// A program that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFailure {
    /// A kernel that cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program that cannot run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A workload that makes no sense.
    #[error("{0}")]
    Workload(String),
}

/// A kernel of this crate, by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where the thesis describes it.
    pub source: &'static str,
    /// Records of each input stream, per cluster, in an example call.
    pub records: usize,
    /// Writes it.
    pub build: fn() -> Result<Kernel, BuildError>,
}

/// All kernels.
pub fn kernels() -> Vec<Entry> {
    aes::KERNELS.to_vec()
}

/// The kernel of that name.
pub fn kernel(name: &str) -> Option<Entry> {
    kernels().into_iter().find(|entry| entry.name == name)
}

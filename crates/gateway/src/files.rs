//! Files that are replaced as a whole.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use weir_packet::file::{WholeFile, require_folder_of};

use crate::error::{Error, Result};

/// Puts a whole file in the place of the one that is there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result {
    WholeFile::create(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.finish()
        })
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Error::running)
}

/// The same before the work is done, so that a wrong path is known early.
pub fn begin_file(path: &Path, bytes: &[u8]) -> Result {
    require_folder_of(path).map_err(Error::configuration)?;
    replace_file(path, bytes).map_err(Error::by_configuration)
}

/// A reader that went away has seen what it wanted.
pub fn unless_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

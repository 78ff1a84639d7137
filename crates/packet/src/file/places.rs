//! Where outputs go: not over an input, not over one another, not into folders that a typing error
//! names.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::same_file;

/// Why an output cannot go where it is to go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// A mistyped path makes no folder.
    #[error("cannot write {}: the folder {} does not exist; create it first", .path.display(), .folder.display())]
    NoFolder {
        /// The output.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The output would replace an input.
    #[error("{}: the output is the input {}: write to another file", .output.display(), .input.display())]
    IsInput {
        /// The output.
        output: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// Two outputs would mix.
    #[error("{}: two outputs go there: give each a place of its own", .output.display())]
    IsTaken {
        /// The second one.
        output: PathBuf,
    },
}

/// Refuses an output in a folder that does not exist.
///
/// # Errors
/// [`PlaceError::NoFolder`].
pub fn require_folder_of(path: &Path) -> Result<(), PlaceError> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(PlaceError::NoFolder {
                path: path.to_owned(),
                folder: folder.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Refuses outputs that would overwrite an input or one another.
///
/// # Errors
/// [`PlaceError::IsInput`] or [`PlaceError::IsTaken`].
pub fn keep_apart(inputs: &[&Path], outputs: &[&Path]) -> Result<(), PlaceError> {
    for (index, output) in outputs.iter().enumerate() {
        // An input that is not there yet, such as state, has only its name.
        let is_input = |input: &&&Path| {
            same_file(input, output) || (**input != Path::new("-") && meet(input, output))
        };
        if let Some(input) = inputs.iter().find(is_input) {
            return Err(PlaceError::IsInput {
                output: output.to_path_buf(),
                input: input.to_path_buf(),
            });
        }
        if outputs[..index].iter().any(|other| meet(output, other)) {
            return Err(PlaceError::IsTaken {
                output: output.to_path_buf(),
            });
        }
    }
    Ok(())
}

/// Whether two outputs would mix. A terminal and `/dev/null` take many.
pub fn meet(one: &Path, other: &Path) -> bool {
    let is_device = |path: &Path| {
        path.metadata()
            .is_ok_and(|existing| existing.file_type().is_char_device())
    };
    place(one) == place(other) && !is_device(one)
}

/// An output's path without links, as far as it exists.
fn place(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let in_folder = || {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole.or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn outputs_that_meet_are_found_through_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).expect("a folder");
        std::os::unix::fs::symlink(path("sub"), path("link")).expect("a link");
        assert!(meet(&path("new"), &path("sub/../new")));
        assert!(meet(&path("sub/new"), &path("link/new")));
        assert!(!meet(&path("new"), &path("sub/new")));
        assert!(meet(Path::new("-"), Path::new("-")));
        assert!(!meet(Path::new("/dev/null"), Path::new("/dev/null")));
    }
}

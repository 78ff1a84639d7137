//! Documents for scripts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Writes one JSON document to a file (whole or not at all) or, for `-`, to
/// standard output.
pub fn write_json(path: &Path, document: &impl Serialize) -> Outcome {
    let mut text = serde_json::to_vec_pretty(document)
        .context("cannot write JSON")
        .map_err(Failure::Running)?;
    text.push(b'\n');
    if path == Path::new("-") {
        return write_stdout(&text);
    }
    replace_file(path, &text)
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Failure::Running)
}

/// Writes to standard output. A reader that went away is not an error.
pub fn write_stdout(text: &[u8]) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::running(
            anyhow!(error).context("cannot write to standard output"),
        )),
        _ => Ok(()),
    }
}

fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = temporary_name(path);
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// Creates the folder that an output goes to.
pub fn make_folder_of(path: &Path) -> Outcome {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))
            .map_err(Failure::Usage),
        _ => Ok(()),
    }
}

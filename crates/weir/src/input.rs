//! Capture files that a command names.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use weir_packet::file::{Reader, Writer, same_file};
use weir_stream::CaptureSource;

use crate::execute::Watched;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Opens captures to be read one after the other.
pub fn open(paths: &[PathBuf]) -> Outcome<(CaptureSource, Watched)> {
    let mut readers = Vec::with_capacity(paths.len());
    let mut total_bytes = Some(0);
    for path in paths {
        let reader = Reader::open(path).map_err(Failure::usage)?;
        total_bytes = total_bytes
            .zip(reader.total_bytes())
            .map(|(sum, bytes)| sum + bytes);
        readers.push(reader);
    }
    let source = CaptureSource::new(readers);
    let watched = Watched {
        progress: source.progress(),
        total_bytes,
    };
    Ok((source, watched))
}

/// Creates a capture for writing, in the format that its name asks for.
pub fn create(path: &Path, inputs: &[PathBuf]) -> Outcome<Writer> {
    if let Some(input) = inputs.iter().find(|input| same_file(input, path)) {
        return Err(Failure::usage(anyhow!(
            "{}: the output is the input {}: write to another file",
            path.display(),
            input.display()
        )));
    }
    output::make_folder_of(path)?;
    Writer::create(path, Writer::format_for(path)).map_err(Failure::usage)
}

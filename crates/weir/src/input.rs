//! Capture files that a command names.

use std::path::Path;

use anyhow::anyhow;
use weir_packet::file::{Reader, Writer};
use weir_stream::CaptureSource;

use crate::execute::Watched;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Opens captures to be read one after the other.
pub fn open(paths: &[impl AsRef<Path>]) -> Outcome<(CaptureSource, Watched)> {
    let mut readers = Vec::with_capacity(paths.len());
    let mut total_bytes = Some(0);
    for path in paths {
        let reader = Reader::open(path.as_ref()).map_err(Failure::usage)?;
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
pub fn create(path: &Path) -> Outcome<Writer> {
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str())
        && NOT_WRITTEN.contains(&ending.to_ascii_lowercase().as_str())
    {
        return Err(Failure::usage(anyhow!(
            "{}: .{ending} is read but not written: name the output *.pcapng or *.pcap",
            path.display()
        )));
    }
    output::make_folder_of(path)?;
    Writer::create(path, Writer::format_for(path)).map_err(Failure::usage)
}

/// Endings that promise what no output is: compressed, or TSH.
const NOT_WRITTEN: [&str; 4] = ["gz", "zst", "zstd", "tsh"];

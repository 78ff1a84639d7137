//! Capture files in and out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use tracing::debug;
use weir_capture::{CaptureSource, Progress};
use weir_packet::file::{CaptureError, Format, Reader, Writer, require_folder_of};

use crate::error::{Error, Result};

/// How far a source of captures has come.
pub struct Watched {
    /// Counts that grow while it is read.
    pub progress: Arc<Progress>,
    /// Bytes of all captures, where each has a size.
    pub total_bytes: Option<u64>,
}

/// Number of files that are kept open until they are read. The others are checked
/// and opened again: they would take a block of memory each.
const KEPT_OPEN: usize = 16;

/// A capture whose header is in order.
enum Input {
    Open(Box<Reader>),
    Checked(PathBuf),
}

/// Opens captures to be read one after the other.
pub fn open(paths: &[impl AsRef<Path>]) -> Result<(CaptureSource, Watched)> {
    let mut inputs = Vec::with_capacity(paths.len());
    let mut total_bytes = Some(0);
    for path in paths {
        let path = path.as_ref();
        let reader = Reader::open(path).map_err(Error::configuration)?;
        debug!("reading {}", path.display());
        let bytes = reader.total_bytes();
        total_bytes = total_bytes.zip(bytes).map(|(sum, bytes)| sum + bytes);
        inputs.push(if bytes.is_some() && inputs.len() >= KEPT_OPEN {
            Input::Checked(path.to_owned())
        } else {
            Input::Open(Box::new(reader))
        });
    }
    let source = CaptureSource::opening(inputs.into_iter().map(|input| match input {
        Input::Open(reader) => Ok(*reader),
        Input::Checked(path) => Reader::open(&path),
    }));
    let watched = Watched {
        progress: source.progress(),
        total_bytes,
    };
    Ok((source, watched))
}

/// Creates a capture for writing, in the format that its name implies.
pub fn create(path: &Path) -> Result<Writer> {
    create_by(path, Writer::create)
}

/// The same for a capture that can be read while it grows.
pub fn create_in_place(path: &Path) -> Result<Writer> {
    create_by(path, Writer::create_in_place)
}

fn create_by(
    path: &Path,
    create: impl FnOnce(&Path, Format) -> Result<Writer, CaptureError>,
) -> Result<Writer> {
    if let Some(ending) = path.extension().and_then(|ending| ending.to_str())
        && NOT_WRITTEN.contains(&ending.to_ascii_lowercase().as_str())
    {
        return Err(Error::configuration(anyhow!(
            "{}: .{ending} is read but not written: name the output *.pcapng or *.pcap",
            path.display()
        )));
    }
    require_folder_of(path).map_err(Error::configuration)?;
    let writer = create(path, Writer::format_for(path)).map_err(Error::configuration)?;
    debug!("writing {}", path.display());
    Ok(writer)
}

/// Endings that promise what no output is: compressed, or TSH.
const NOT_WRITTEN: [&str; 4] = ["gz", "zst", "zstd", "tsh"];

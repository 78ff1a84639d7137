//! Documents for scripts, and the files that results go to.

use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use weir_packet::file::{self, WholeFile};

use crate::arguments::Common;
use crate::failure::{Failure, Outcome};
use crate::messages;

/// Version of the JSON documents: it grows when a member goes or changes its meaning, and
/// not when one is added.
const DOCUMENT_VERSION: u32 = 2;

/// A document with what every one begins with.
#[derive(Serialize)]
struct Enveloped<'a, T> {
    schema: String,
    version: u32,
    command: &'static str,
    weir_version: &'static str,
    #[serde(flatten)]
    contents: &'a T,
}

impl<'a, T> Enveloped<'a, T> {
    fn new(command: &'static str, contents: &'a T) -> Enveloped<'a, T> {
        Enveloped {
            schema: format!("weir-{}", command.replace(' ', "-")),
            version: DOCUMENT_VERSION,
            command,
            weir_version: env!("CARGO_PKG_VERSION"),
            contents,
        }
    }
}

/// A JSON document to be: a file that appears when it is whole, or standard
/// output.
pub struct Document {
    path: PathBuf,
    file: WholeFile,
}

impl Document {
    /// Opens the place before the work is done, so that a wrong path is known
    /// early.
    pub fn create(path: &Path) -> Outcome<Document> {
        require_folder_of(path)?;
        let file = WholeFile::create(path)
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Failure::Usage)?;
        messages::detail(format_args!("writing {}", path.display()));
        Ok(Document {
            path: path.to_owned(),
            file,
        })
    }

    /// The document that `--json` asks for.
    pub fn asked_for(common: &Common) -> Outcome<Option<Document>> {
        common.json.as_deref().map(Document::create).transpose()
    }

    /// Writes what `command` has to say as JSON and puts it in place.
    pub fn write(self, command: &'static str, contents: &impl Serialize) -> Outcome {
        let mut text = serde_json::to_vec_pretty(&Enveloped::new(command, contents))
            .context("cannot write JSON")
            .map_err(Failure::Running)?;
        text.push(b'\n');
        self.write_bytes(&text)
    }

    /// Begins the document of `command` with the members of an object and an array.
    pub fn with_rows(
        self,
        command: &'static str,
        head: &impl Serialize,
        array: &str,
    ) -> Outcome<RowDocument> {
        let mut document = RowDocument {
            path: self.path,
            file: BufWriter::new(self.file),
            rows: 0,
        };
        document.append(&format!(
            "{{\n{},\n  \"{array}\": [",
            members(&Enveloped::new(command, head))?
        ))?;
        Ok(document)
    }

    /// Writes bytes as they are and puts them in place.
    pub fn write_bytes(mut self, bytes: &[u8]) -> Outcome {
        let written = self.file.write_all(bytes).and_then(|()| self.file.finish());
        unless_gone(written)
            .with_context(|| format!("cannot write {}", self.path.display()))
            .map_err(Failure::Running)
    }
}

/// A JSON document with an array that is written row by row, so that memory
/// does not hold it: an object's members, the array, another object's members.
pub struct RowDocument {
    path: PathBuf,
    file: BufWriter<WholeFile>,
    rows: u64,
}

impl RowDocument {
    /// Writes one more row.
    pub fn row(&mut self, row: &impl Serialize) -> Outcome {
        let text = pretty(row)?.replace('\n', "\n    ");
        let comma = if self.rows == 0 { "" } else { "," };
        self.rows += 1;
        self.append(&format!("{comma}\n    {text}"))
    }

    /// Writes what comes behind the array and puts the document in place.
    pub fn finish(mut self, tail: &impl Serialize) -> Outcome {
        let end_of_array = if self.rows == 0 { "]" } else { "\n  ]" };
        self.append(&format!("{end_of_array},\n{}\n}}\n", members(tail)?))?;
        let file = self.file.into_inner().map_err(IntoInnerError::into_error);
        unless_gone(file.and_then(WholeFile::finish))
            .with_context(|| format!("cannot write {}", self.path.display()))
            .map_err(Failure::Running)
    }

    fn append(&mut self, text: &str) -> Outcome {
        unless_gone(self.file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", self.path.display()))
            .map_err(Failure::Running)
    }
}

fn pretty(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string_pretty(value)
        .context("cannot write JSON")
        .map_err(Failure::Running)
}

/// The members of an object, without its braces.
fn members(object: &impl Serialize) -> Outcome<String> {
    let text = pretty(object)?;
    let text = text.strip_prefix("{\n").unwrap_or_default();
    Ok(text.strip_suffix("\n}").unwrap_or_default().to_owned())
}

/// Documents that are written as they are made, one line each, to a file or to standard output.
pub struct Lines {
    path: PathBuf,
    output: Box<dyn Write>,
}

impl Lines {
    /// Begins a file, or standard output ("-").
    pub fn create(path: &Path) -> Outcome<Lines> {
        require_folder_of(path)?;
        let output: Box<dyn Write> = match path == Path::new("-") {
            true => Box::new(io::stdout()),
            false => {
                let file = File::create(path)
                    .with_context(|| format!("cannot write {}", path.display()))
                    .map_err(Failure::Usage)?;
                Box::new(file)
            }
        };
        Ok(Lines {
            path: path.to_owned(),
            output,
        })
    }

    /// Writes what `command` has to say as one line.
    pub fn write(&mut self, command: &'static str, contents: &impl Serialize) -> Outcome {
        let mut line = serde_json::to_vec(&Enveloped::new(command, contents))
            .context("cannot write JSON")
            .map_err(Failure::Running)?;
        line.push(b'\n');
        (self.output.write_all(&line))
            .and_then(|()| self.output.flush())
            .with_context(|| format!("cannot write {}", self.path.display()))
            .map_err(Failure::Running)
    }
}

/// Writes to standard output.
pub fn write_stdout(text: &[u8]) -> Outcome {
    let mut stdout = io::stdout().lock();
    unless_gone(stdout.write_all(text).and_then(|()| stdout.flush()))
        .context("cannot write to standard output")
        .map_err(Failure::Running)
}

/// A reader that went away has seen what it wanted.
pub fn unless_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Refuses an output in a folder that does not exist: a mistyped path makes none.
pub fn require_folder_of(path: &Path) -> Outcome {
    file::require_folder_of(path).map_err(Failure::usage)
}

/// Refuses outputs that would overwrite an input or one another.
pub fn keep_apart(inputs: &[&Path], outputs: &[&Path]) -> Outcome {
    file::keep_apart(inputs, outputs).map_err(Failure::usage)
}

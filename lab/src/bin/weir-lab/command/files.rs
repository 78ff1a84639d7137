//! What users wrote: kernel files, the inputs of their kernels, and what these are to
//! compute.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use weir_console::output::Document;
use weir_console::{Failure, Outcome};
use weir_lab::shared::model::{Input, Output, WorkFile};
use weir_packet::file::Reader;

use super::captures::for_each_packet;
use super::key_and_value;

/// The largest text, of a kernel or of records, in bytes.
const MOST_BYTES: u64 = 1 << 28;
/// The most packets of a capture, and bytes of all of them.
const MOST_PACKETS: usize = 1 << 20;
const MOST_PACKET_BYTES: usize = 1 << 28;

/// A kernel file with its inputs.
pub(super) fn work_file(name: &str, inputs: &[String]) -> Outcome<WorkFile> {
    let mut file = WorkFile {
        name: name.to_owned(),
        text: text(Path::new(name))?,
        ..WorkFile::default()
    };
    for argument in inputs {
        let (key, value) = key_and_value(argument)?;
        if file.inputs.insert(key.to_owned(), input(value)?).is_some() {
            return Err(Failure::usage(anyhow!("input {key} is given twice")));
        }
    }
    Ok(file)
}

/// Refuses inputs of what takes none.
pub(super) fn no_inputs(name: &str, inputs: &[String]) -> Outcome<()> {
    match inputs.first() {
        None => Ok(()),
        Some(input) => Err(Failure::usage(anyhow!(
            "{input}: {name} is built in, and only kernel files take inputs"
        ))),
    }
}

fn text(path: &Path) -> Outcome<String> {
    let read = || -> anyhow::Result<String> {
        let mut text = String::new();
        let file = File::open(path)?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(anyhow!("it has more than {MOST_BYTES} bytes"));
        }
        Ok(text)
    };
    read()
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::Usage)
}

/// A number, or what a file has.
fn input(value: &str) -> Outcome<Input> {
    if let Some(number) = number(value) {
        return Ok(Input::Number(number));
    }
    let is_like_a_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if is_like_a_number && !Path::new(value).exists() {
        return Err(Failure::usage(anyhow!(
            "{value} is no number of 32 bits, as 255 or 0xff, and no file"
        )));
    }
    if value.ends_with(".csv") {
        return records(Path::new(value)).map(Input::Records);
    }
    packets(Path::new(value)).map(Input::Packets)
}

/// A word, in decimal or behind `0x` in hexadecimal.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The records of a file, one in each row. Rows that begin with `#` are comments.
fn records(path: &Path) -> Outcome<Vec<Vec<u32>>> {
    let text = text(path)?;
    let mut records = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        if row.trim().is_empty() || row.starts_with('#') {
            continue;
        }
        let mut record = Vec::new();
        let mut column = 1;
        for cell in row.split(',') {
            let word = number(cell.trim()).ok_or_else(|| {
                let path = path.display();
                let cell = cell.trim();
                Failure::usage(anyhow!(
                    "{path}:{line}:{column}: {cell:?} is no number of 32 bits, as 255 or 0xff"
                ))
            })?;
            record.push(word);
            column += cell.chars().count() + 1;
        }
        records.push(record);
    }
    Ok(records)
}

/// The packets of a capture, with all their headers.
fn packets(path: &Path) -> Outcome<Vec<Vec<u8>>> {
    let reader = Reader::open(path).map_err(Failure::usage)?;
    let (mut packets, mut bytes) = (Vec::new(), 0);
    let read = for_each_packet(reader, |_, packet, _| -> anyhow::Result<()> {
        bytes += packet.len();
        packets.push(packet.to_vec());
        ensure!(
            packets.len() <= MOST_PACKETS && bytes <= MOST_PACKET_BYTES,
            "{}: a run takes {MOST_PACKETS} packets and {MOST_PACKET_BYTES} bytes at most",
            path.display()
        );
        Ok(())
    });
    read.map(|()| packets).map_err(Failure::Usage)
}

/// What is to become of output streams: files that they are written to, and what they are
/// compared with.
pub(super) struct Asked {
    to_write: Vec<(String, Document)>,
    expected: Vec<(String, Expected)>,
}

struct Expected {
    path: String,
    records: Vec<Vec<u32>>,
}

impl Asked {
    /// Opens the files and reads what is expected, before the work is done.
    pub(super) fn new(to_write: &[String], expected: &[String]) -> Outcome<Asked> {
        let to_write = to_write.iter().map(|argument| {
            let (name, path) = key_and_value(argument)?;
            Ok((name.to_owned(), Document::create(path.as_ref())?))
        });
        let expected = expected.iter().map(|argument| {
            let (name, path) = key_and_value(argument)?;
            let records = records(path.as_ref())?;
            let path = path.to_owned();
            Ok((name.to_owned(), Expected { path, records }))
        });
        Ok(Asked {
            to_write: to_write.collect::<Outcome<_>>()?,
            expected: expected.collect::<Outcome<_>>()?,
        })
    }

    /// Writes and compares. Returns what was compared, in lines.
    pub(super) fn answer(self, outputs: &[Output]) -> Outcome<String> {
        let of_name = |name: &str| {
            let mut outputs = outputs.iter();
            let output = outputs.find(|output| output.name == name);
            let message = || anyhow!("the run has no output of the name {name}");
            output.ok_or_else(|| Failure::usage(message()))
        };
        for (name, document) in self.to_write {
            document.write_bytes(csv(of_name(&name)?).as_bytes())?;
        }
        let mut compared = String::new();
        for (name, expected) in &self.expected {
            compare(of_name(name)?, expected).map_err(Failure::Running)?;
            let (count, path) = (expected.records.len(), &expected.path);
            compared += &format!("output {name}: {count} records as in {path}\n\n");
        }
        Ok(compared)
    }
}

fn csv(output: &Output) -> String {
    let rows = output.words.chunks(output.record_words).map(|record| {
        let words: Vec<String> = record.iter().map(|word| format!("{word:#010x}")).collect();
        words.join(",") + "\n"
    });
    rows.collect()
}

fn compare(output: &Output, expected: &Expected) -> anyhow::Result<()> {
    let (name, path) = (&output.name, &expected.path);
    let found: Vec<&[u32]> = output.words.chunks(output.record_words).collect();
    for (number, (found, expected)) in (1..).zip(found.iter().zip(&expected.records)) {
        ensure!(
            found == expected,
            "{name}: record {number} is {found:x?}, and {path} has {expected:x?}"
        );
    }
    let (found, expected) = (found.len(), expected.records.len());
    ensure!(
        found == expected,
        "{name}: {found} records, and {path} has {expected}"
    );
    Ok(())
}

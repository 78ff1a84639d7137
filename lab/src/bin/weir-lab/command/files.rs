//! What users wrote: kernel files, the inputs of their kernels, and what these are to
//! compute.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};
use weir_console::{Failure, Outcome};
use weir_lab::shared::model::{Input, Output, WorkFile};
use weir_packet::file::Reader;

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
    const RECORDS: usize = 256;
    const BYTES: usize = 1 << 20;
    let mut reader = Reader::open(path).map_err(Failure::usage)?;
    let mut packets = Vec::new();
    let mut bytes = 0;
    let mut entries = Vec::with_capacity(RECORDS);
    while let Some(block) = (reader.fill(RECORDS, BYTES, &mut entries)).map_err(Failure::usage)? {
        for entry in entries.drain(..) {
            let packet = entry.bytes(&block).to_vec();
            bytes += packet.len();
            packets.push(packet);
        }
        if packets.len() > MOST_PACKETS || bytes > MOST_PACKET_BYTES {
            return Err(Failure::usage(anyhow!(
                "{}: a run takes {MOST_PACKETS} packets and {MOST_PACKET_BYTES} bytes at most",
                path.display()
            )));
        }
    }
    Ok(packets)
}

/// Writes output streams to files, and compares them with others. Returns what was
/// compared, in lines.
pub(super) fn write_and_compare(
    outputs: &[Output],
    to_write: &[String],
    expected: &[String],
) -> Outcome<String> {
    let of_name = |argument: &str| -> Outcome<(usize, String)> {
        let (name, path) = key_and_value(argument)?;
        let place = outputs.iter().position(|output| output.name == name);
        let place = place.ok_or_else(|| {
            Failure::usage(anyhow!(
                "{argument}: the run has no output of the name {name}"
            ))
        })?;
        Ok((place, path.to_owned()))
    };
    for argument in to_write {
        let (place, path) = of_name(argument)?;
        fs::write(&path, csv(&outputs[place]))
            .with_context(|| format!("cannot write {path}"))
            .map_err(Failure::Running)?;
    }
    let mut compared = String::new();
    for argument in expected {
        let (place, path) = of_name(argument)?;
        let expected = records(Path::new(&path))?;
        compare(&outputs[place], &expected, &path)?;
        let (name, count) = (&outputs[place].name, expected.len());
        compared += &format!("output {name}: {count} records as in {path}\n\n");
    }
    Ok(compared)
}

fn csv(output: &Output) -> String {
    let rows = output.words.chunks(output.record_words).map(|record| {
        let words: Vec<String> = record.iter().map(|word| format!("{word:#010x}")).collect();
        words.join(",") + "\n"
    });
    rows.collect()
}

fn compare(output: &Output, expected: &[Vec<u32>], path: &str) -> Outcome<()> {
    let name = &output.name;
    let found: Vec<&[u32]> = output.words.chunks(output.record_words).collect();
    for (number, (found, expected)) in (1..).zip(found.iter().zip(expected)) {
        if found != expected {
            return Err(Failure::running(anyhow!(
                "{name}: record {number} is {found:x?}, and {path} has {expected:x?}"
            )));
        }
    }
    if found.len() != expected.len() {
        return Err(Failure::running(anyhow!(
            "{name}: {} records, and {path} has {}",
            found.len(),
            expected.len()
        )));
    }
    Ok(())
}

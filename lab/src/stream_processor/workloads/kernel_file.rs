//! Kernels that users wrote: what they are given, and what they compute.

use std::collections::BTreeMap;

use crate::shared::model::{Failure, Input, Output, WorkFile};
use crate::stream_processor::applications;
use crate::stream_processor::execute::{Arguments, Scratchpads};
use crate::stream_processor::kernel::{Kernel, Node, StreamPort, Trip, text};

/// Records that each cluster gets of a stream for which there is no input.
const EXAMPLE_RECORDS: u64 = 64;
/// Words of all input: a run holds each several times.
const MOST_WORDS: usize = 1 << 24;

/// A kernel and its call.
pub(super) struct Call {
    pub kernel: Kernel,
    pub arguments: Arguments,
    pub pads: Scratchpads,
    /// Records of its longest input stream, without those that fill up a row.
    pub records: usize,
    /// Words of all input streams, without the same.
    pub words: usize,
    /// Records before and after a stream was filled up.
    filled: BTreeMap<usize, usize>,
}

/// The call of a kernel with the inputs of its file. If no stream is given, all have
/// example words; so have arrays and indexed streams without an input; scalars are 0.
///
/// # Errors
/// A text that is no kernel, an input that the kernel does not declare, and words
/// that do not fit what it declares.
pub(super) fn call(file: &WorkFile, clusters: usize) -> Result<Call, Failure> {
    let kernel = text::parse(&file.text)
        .map_err(|error| Failure::Workload(format!("{}:{error}", file.name)))?;
    for name in file.inputs.keys() {
        let arrays = kernel.arrays().iter().map(|array| &array.name);
        let mut declared = (kernel.inputs().iter().map(|port| &port.name))
            .chain(arrays)
            .chain(kernel.indexed())
            .chain(kernel.scalars());
        if !declared.any(|declared| declared == name) {
            return Err(wrong(name, "the kernel declares no input of this name"));
        }
    }
    let is_given = |port: &&StreamPort| file.inputs.contains_key(&port.name);
    let mut given = kernel.inputs().iter().filter(is_given);
    let mut others = kernel.inputs().iter().filter(|port| !is_given(port));
    let mut example = vec![0; kernel.inputs().len()];
    match (given.next(), others.next()) {
        (Some(given), Some(other)) => {
            let reason = format!("{} is given, so it has to be, too", given.name);
            return Err(wrong(&other.name, reason));
        }
        (None, Some(_)) => example = kernel.records_read(EXAMPLE_RECORDS),
        (_, None) => {}
    }
    for (port, records) in kernel.inputs().iter().zip(&example) {
        let row_words = clusters as u64 * u64::from(port.record_words);
        if records.saturating_mul(row_words) > MOST_WORDS as u64 {
            return Err(too_large(&port.name));
        }
    }
    let (arguments, pads) = applications::example(&kernel, clusters, &example);
    let mut call = Call {
        records: 0,
        words: arguments.inputs.iter().map(Vec::len).sum(),
        arguments,
        pads,
        filled: BTreeMap::new(),
        kernel,
    };
    for (place, port) in call.kernel.inputs().iter().enumerate() {
        let record_words = port.record_words as usize;
        let words = &mut call.arguments.inputs[place];
        let mut count = words.len() / record_words;
        if let Some(input) = file.inputs.get(&port.name) {
            let mut records = records(&port.name, record_words, input)?;
            count = records.len();
            let row = clusters * per_iteration(call.kernel.body(), place);
            records.resize(count.next_multiple_of(row), vec![0; record_words]);
            call.filled.insert(records.len(), count);
            call.words += count * record_words;
            *words = records.concat();
        }
        call.records = call.records.max(count);
    }
    for (name, words) in call
        .kernel
        .indexed()
        .iter()
        .zip(&mut call.arguments.indexed)
    {
        if let Some(input) = file.inputs.get(name) {
            *words = records(name, clusters, input)?.concat();
        }
    }
    for array in call.kernel.arrays() {
        if let Some(input) = file.inputs.get(&array.name) {
            let words = array.words as usize;
            let mut held = records(&array.name, 1, input)?.concat();
            if held.len() > words {
                let reason = format!("{} records for an array of {words} words", held.len());
                return Err(wrong(&array.name, reason));
            }
            held.resize(words, 0);
            // Every cluster has the same words.
            call.pads.insert(array.name.clone(), held.repeat(clusters));
        }
    }
    for (name, number) in call
        .kernel
        .scalars()
        .iter()
        .zip(&mut call.arguments.scalars)
    {
        match file.inputs.get(name) {
            None => {}
            Some(Input::Number(given)) => *number = *given,
            Some(_) => return Err(wrong(name, "a scalar is given a number")),
        }
    }
    Ok(call)
}

impl Call {
    /// The outputs of a run. One that has as many records as an input stream that was
    /// filled up loses those that filled it.
    pub(super) fn outputs(&self, streams: Vec<Vec<u32>>) -> Vec<Output> {
        let output = |(port, mut words): (&StreamPort, Vec<u32>)| {
            let record_words = port.record_words as usize;
            if let Some(given) = self.filled.get(&(words.len() / record_words)) {
                words.truncate(given * record_words);
            }
            Output {
                name: port.name.clone(),
                record_words,
                words,
            }
        };
        self.kernel
            .outputs()
            .iter()
            .zip(streams)
            .map(output)
            .collect()
    }
}

fn wrong(name: &str, reason: impl std::fmt::Display) -> Failure {
    Failure::Workload(format!("input {name}: {reason}"))
}

fn too_large(name: &str) -> Failure {
    wrong(name, format!("a run takes {MOST_WORDS} words at most"))
}

/// Records of some words. A packet is one record: what is longer is cut, and what is
/// shorter is filled with zeros. Its first byte is the lowest of the first word.
fn records(name: &str, record_words: usize, input: &Input) -> Result<Vec<Vec<u32>>, Failure> {
    let count = match input {
        Input::Number(_) => return Err(wrong(name, "it takes records, not a number")),
        Input::Records(records) => records.len(),
        Input::Packets(packets) => packets.len(),
    };
    if count.saturating_mul(record_words) > MOST_WORDS {
        return Err(too_large(name));
    }
    match input {
        Input::Number(_) => Ok(Vec::new()),
        Input::Records(records) => {
            let other = (1..).zip(records).find(|(_, it)| it.len() != record_words);
            if let Some((number, record)) = other {
                let found = record.len();
                let reason = format!("record {number} has {found} words, not {record_words}");
                return Err(wrong(name, reason));
            }
            Ok(records.clone())
        }
        Input::Packets(packets) => Ok(packets
            .iter()
            .map(|packet| {
                let mut bytes = packet.clone();
                bytes.resize(4 * record_words, 0);
                let words = bytes.chunks_exact(4);
                words
                    .map(|word| {
                        (word.iter().rev()).fold(0, |number, byte| number << 8 | u32::from(*byte))
                    })
                    .collect()
            })
            .collect()),
    }
}

/// Records that each cluster takes of a stream at a time: the least that all loops
/// over it can be run with.
fn per_iteration(nodes: &[Node], stream: usize) -> usize {
    nodes.iter().fold(1, |least, node| match node {
        Node::Block(_) => least,
        Node::Loop(looped) => {
            let own = match looped.trip {
                Trip::Records {
                    stream: id,
                    per_iteration,
                } if id.index() == stream => per_iteration as usize,
                _ => 1,
            };
            least.max(own).max(per_iteration(&looped.body, stream))
        }
    })
}

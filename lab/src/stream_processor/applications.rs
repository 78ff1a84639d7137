//! The applications, each written once in the kernel language.

pub mod aes;
pub mod inspect;
mod lanes;
pub mod mersenne;
pub mod mmh;
pub mod ocb;
pub mod sketch;
mod tree;

use crate::stream_processor::execute::{Arguments, Scratchpads};
use crate::stream_processor::kernel::{ArrayId, BuildError, Builder, Kernel, Over, Value};
use crate::stream_processor::stream::{Program, ProgramError};

/// A program that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFailure {
    /// A kernel that cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program that cannot run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A workload that makes no sense.
    #[error("{0}")]
    Workload(String),
}

/// A kernel of this crate, by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where the thesis describes it.
    pub source: &'static str,
    /// Records of each input stream that a loop runs over, per cluster, in an
    /// example call.
    pub records: usize,
    /// Writes it, for a number of clusters.
    pub build: fn(usize) -> Result<Kernel, BuildError>,
}

impl Entry {
    /// An example call of the kernel.
    pub fn example(&self, kernel: &Kernel, clusters: usize) -> (Arguments, Scratchpads) {
        let records = kernel.records_read(self.records as u64);
        example(kernel, clusters, &records)
    }
}

/// Rows of each indexed stream in an example call.
const INDEXED_ROWS: usize = 1024;

/// An example call of a kernel, with a number of records per cluster for each input stream:
/// streams and scratchpads are full of words, scalars are 0.
pub fn example(kernel: &Kernel, clusters: usize, records: &[u64]) -> (Arguments, Scratchpads) {
    let inputs = kernel.inputs().iter().zip(records);
    let arguments = Arguments {
        inputs: inputs
            .map(|(port, records)| {
                example_words(*records as usize * clusters * port.record_words as usize)
            })
            .collect(),
        indexed: kernel
            .indexed()
            .iter()
            .map(|_| example_words(INDEXED_ROWS * clusters))
            .collect(),
        scalars: vec![0; kernel.scalars().len()],
    };
    let pads = kernel.arrays().iter().map(|array| {
        let words = example_words(array.words as usize * clusters);
        (array.name.clone(), words)
    });
    (arguments, pads.collect())
}

/// All kernels.
pub fn kernels() -> Vec<Entry> {
    [
        aes::KERNELS,
        ocb::KERNELS,
        mmh::KERNELS,
        inspect::KERNELS,
        sketch::KERNELS,
    ]
    .concat()
}

/// What a program works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Packets.
    pub packets: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// Whether every packet has a different key.
    pub key_agile: bool,
    /// Whether kernels that can work on two things at once do.
    pub dual: bool,
}

impl Size {
    /// The most bytes of all packets: a program holds a word of them several
    /// times, in memory and in each stream.
    pub const MOST_BYTES: usize = 1 << 26;
}

/// A stream program of this crate, by name.
#[derive(Clone, Copy, Debug)]
pub struct ProgramEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where the thesis describes it.
    pub source: &'static str,
    /// Bytes that it processes of each packet.
    pub packet_bytes: fn(&Size) -> usize,
    /// Writes it, and so runs it, for a number of clusters.
    pub build: fn(usize, &Size) -> Result<Program, ProgramFailure>,
}

/// All programs.
pub fn programs() -> Vec<ProgramEntry> {
    let [two, four] = sketch::programs::ENTRIES;
    let [merged, apart] = aes::dealing::ENTRIES;
    let [ocb, ocb_flying] = ocb::programs::ENTRIES;
    vec![
        aes::programs::ENTRY,
        aes::cache::ENTRY,
        merged,
        apart,
        ocb,
        ocb_flying,
        mmh::programs::ENTRY,
        inspect::programs::ENTRY,
        two,
        four,
    ]
}

/// The program of that name.
pub fn program(name: &str) -> Option<ProgramEntry> {
    programs().into_iter().find(|entry| entry.name == name)
}

/// Words that look like data, the same ones always.
pub fn example_words(words: usize) -> Vec<u32> {
    (0..words as u32)
        .map(|word| word.wrapping_mul(0x9e37_79b9).rotate_left(word % 32))
        .collect()
}

/// The kernel of that name.
pub fn kernel(name: &str) -> Option<Entry> {
    kernels().into_iter().find(|entry| entry.name == name)
}

/// A kernel that fills a scratchpad array from a stream that holds every word
/// once for each cluster.
fn fill(name: &str, declare: impl FnOnce(&mut Builder) -> ArrayId) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(name);
    let words = k.input("words", 1);
    let array = declare(&mut k);
    let (zero, one) = (k.constant(0), k.constant(1));
    k.repeat(Over::records(words).pipeline(), &[zero], |k, carried| {
        let word = k.read(words)[0];
        k.scratch_write(array, carried[0], 0, word);
        vec![k.add(carried[0], one)]
    });
    k.finish()
}

/// The word of a record as one cluster has it; a single cluster has it.
fn broadcast(k: &mut Builder, clusters: usize, word: Value, source: u32) -> Value {
    if clusters == 1 {
        return word;
    }
    let source = k.constant(source);
    k.communicate(word, source)
}

#[cfg(test)]
mod tests;

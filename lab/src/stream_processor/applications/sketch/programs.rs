//! The update of a sketch as a stream program.

use super::{COUNTERS, Hashing};
use crate::stream_processor::applications::mersenne::PRIME;
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream_processor::kernel::Kernel;
use crate::stream_processor::stream::{MemoryRange, Program};

pub(in crate::stream_processor::applications) const ENTRIES: [ProgramEntry; 2] = [
    ProgramEntry {
        name: "sketch-2",
        about: "updates a sketch with 2-universal hashing, one key and weight per packet",
        source: "Lai 2006, 6.6.1",
        packet_bytes: |_| 4 * RECORD_WORDS,
        build: |clusters, size| example(clusters, size.packets, Hashing::Two),
    },
    ProgramEntry {
        name: "sketch-4",
        about: "updates a sketch with 4-universal hashing, one key and weight per packet",
        source: "Lai 2006, 6.6.1",
        packet_bytes: |_| 4 * RECORD_WORDS,
        build: |clusters, size| example(clusters, size.packets, Hashing::Four),
    },
];

/// Words that the update reads of a packet: key and weight.
const RECORD_WORDS: usize = 2;

fn example(clusters: usize, keys: usize, hashing: Hashing) -> Result<Program, ProgramFailure> {
    let records = example_words(RECORD_WORDS * keys.next_multiple_of(clusters));
    let functions = example_functions(clusters, hashing);
    Ok(updated(clusters, hashing, &functions, &records)?.program)
}

/// Parameters below the prime for a function in each cluster.
pub fn example_functions(clusters: usize, hashing: Hashing) -> Vec<u32> {
    let words = example_words(hashing.words() * clusters);
    words.into_iter().map(|word| word % PRIME).collect()
}

/// A program that has updated a sketch, between its two barriers. At the first,
/// the sketch, the parameters and the microcode are in place.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The program.
    pub program: Program,
    functions: usize,
    clusters: usize,
    sketch: MemoryRange,
}

impl Updated {
    /// The counter in a row of a function's array, of all clusters with that
    /// function together.
    pub fn counter(&self, function: usize, row: u32) -> u32 {
        let first = self.sketch.start + row as usize * self.clusters;
        (function..self.clusters)
            .step_by(self.functions)
            .fold(0, |sum: u32, cluster| {
                sum.wrapping_add(self.program.memory()[first + cluster])
            })
    }
}

/// Adds records of key and weight to an empty sketch. The functions'
/// parameters are dealt out to clusters word by word.
///
/// # Errors
/// Records that do not divide over the clusters.
pub fn updated(
    clusters: usize,
    hashing: Hashing,
    functions: &[u32],
    records: &[u32],
) -> Result<Updated, ProgramFailure> {
    let update = match hashing {
        Hashing::Two => super::update_2(clusters)?,
        Hashing::Four => super::update_4(clusters)?,
    };
    updated_by(update, [clusters, clusters], functions, records)
}

/// The same with another kernel, its number of functions and of clusters.
pub(super) fn updated_by(
    update: Kernel,
    [functions, clusters]: [usize; 2],
    parameters: &[u32],
    records: &[u32],
) -> Result<Updated, ProgramFailure> {
    let mut memory = [parameters, records].concat();
    let keys = MemoryRange {
        start: parameters.len(),
        words: records.len(),
    };
    let parameters = MemoryRange {
        start: 0,
        words: parameters.len(),
    };
    let sketch = MemoryRange {
        start: memory.len(),
        words: clusters * COUNTERS as usize,
    };
    memory.resize(memory.len() + sketch.words, 0);

    let mut program = Program::new(clusters, memory);
    let update = program.kernel(update);
    let counters = program.load(sketch)?;
    let parameters = program.load(parameters)?;
    program.load_microcode(update);
    program.barrier();
    let keys = program.load(keys)?;
    program.call(update, &[parameters, keys], &[counters], &[])?;
    program.barrier();
    program.store(counters, sketch.start)?;
    Ok(Updated {
        program,
        functions,
        clusters,
        sketch,
    })
}

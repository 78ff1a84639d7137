//! The update of a sketch as a stream program.

use super::{COUNTERS, Hashing};
use crate::applications::mersenne::PRIME;
use crate::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream::{MemoryRange, Program};

pub(in crate::applications) const ENTRIES: [ProgramEntry; 2] = [
    ProgramEntry {
        name: "sketch-2",
        about: "updates a sketch with one key for each packet, 2-universal",
        source: "Lai 2006, 6.6.1",
        build: |clusters, size| example(clusters, size.packets, Hashing::Two),
    },
    ProgramEntry {
        name: "sketch-4",
        about: "updates a sketch with one key for each packet, 4-universal",
        source: "Lai 2006, 6.6.1",
        build: |clusters, size| example(clusters, size.packets, Hashing::Four),
    },
];

fn example(clusters: usize, keys: usize, hashing: Hashing) -> Result<Program, ProgramFailure> {
    let records = example_words(2 * keys.next_multiple_of(clusters));
    let functions = example_functions(clusters, hashing);
    Ok(updated(clusters, hashing, &functions, &records)?.program)
}

/// Parameters below the prime for a function in each cluster.
pub fn example_functions(clusters: usize, hashing: Hashing) -> Vec<u32> {
    let words = example_words(hashing.words() * clusters);
    words.into_iter().map(|word| word % PRIME).collect()
}

/// A program that has updated a sketch. Its one barrier is passed when the
/// sketch, the parameters and the microcode are in place.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The program.
    pub program: Program,
    clusters: usize,
    sketch: MemoryRange,
}

impl Updated {
    /// The counter in a row of a cluster's array.
    pub fn counter(&self, cluster: usize, row: u32) -> u32 {
        self.program.memory()[self.sketch.start + row as usize * self.clusters + cluster]
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
    let sketch_words = clusters * COUNTERS as usize;
    let parameters = MemoryRange {
        start: 0,
        words: functions.len(),
    };
    let keys = MemoryRange {
        start: parameters.words,
        words: records.len(),
    };
    let sketch = MemoryRange {
        start: keys.start + keys.words,
        words: sketch_words,
    };
    let mut memory = [functions, records].concat();
    memory.resize(memory.len() + sketch_words, 0);

    let mut program = Program::new(clusters, memory);
    let update = program.kernel(match hashing {
        Hashing::Two => super::update_2(clusters)?,
        Hashing::Four => super::update_4(clusters)?,
    });
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
        clusters,
        sketch,
    })
}

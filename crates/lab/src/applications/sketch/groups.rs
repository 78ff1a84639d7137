//! Several headers at once (figure 8.5): clusters in groups of eight, each
//! with the same eight hash functions and a sketch of its own.
//!
//! A group takes the keys of its own clusters, so that 16 clusters take two
//! keys in the time of one. Sketches of groups are added when they are read.

use super::{COUNTERS, Hashing, row};
use crate::applications::ProgramFailure;
use crate::applications::lanes::Lanes;
use crate::kernel::{BuildError, Builder, Kernel, Over, Value};
use crate::stream::{MemoryRange, Program};

/// Clusters of a group: hash functions of a sketch.
pub const GROUP: usize = 8;

/// Updates the sketch of each group with 2-universal hash functions.
pub fn update_2(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-update-2-groups");
    let parameters = k.input("parameters", 1);
    let keys = k.input("keys", 2);
    let sketch = k.indexed("sketch");
    let function: Vec<Value> = (0..Hashing::Two.words())
        .map(|_| k.read(parameters)[0])
        .collect();
    let own = k.cluster_id();
    let lanes = Lanes::new(clusters);
    let of_group = k.constant(!(GROUP as u32 - 1));
    let first_of_group = k.and(own, of_group);
    let sources: Vec<Value> = (0..GROUP as u32)
        .map(|place| {
            let place = k.constant(place);
            k.add(first_of_group, place)
        })
        .collect();
    k.repeat(Over::records(keys).label("keys").pipeline(), &[], |k, _| {
        let record = k.read(keys);
        for &source in &sources {
            let key = k.communicate(record[0], source);
            let length = k.communicate(record[1], source);
            let row = row(k, Hashing::Two, &function, key);
            lanes.count(k, sketch, row, length);
        }
        vec![]
    });
    k.finish()
}

/// A program that has updated sketches, between its two barriers.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The program.
    pub program: Program,
    clusters: usize,
    sketches: MemoryRange,
}

impl Updated {
    /// The counter in a row of a function's array, all groups together.
    pub fn counter(&self, function: usize, row: u32) -> u32 {
        let first = self.sketches.start + row as usize * self.clusters;
        (function..self.clusters)
            .step_by(GROUP)
            .fold(0, |sum: u32, cluster| {
                sum.wrapping_add(self.program.memory()[first + cluster])
            })
    }
}

/// Adds records of key and weight to empty sketches. The parameters are those
/// of eight functions, dealt out to them word by word.
///
/// # Errors
/// Records that do not divide over the clusters.
pub fn updated(
    clusters: usize,
    functions: &[u32],
    records: &[u32],
) -> Result<Updated, ProgramFailure> {
    // Each group gets the same functions.
    let dealt = functions
        .chunks(GROUP)
        .flat_map(|words| words.iter().cycle().take(clusters));
    let mut memory: Vec<u32> = dealt.copied().collect();
    let parameters = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    let keys = MemoryRange {
        start: memory.len(),
        words: records.len(),
    };
    memory.extend_from_slice(records);
    let sketches = MemoryRange {
        start: memory.len(),
        words: clusters * COUNTERS as usize,
    };
    memory.resize(memory.len() + sketches.words, 0);

    let mut program = Program::new(clusters, memory);
    let update = program.kernel(update_2(clusters)?);
    let counters = program.load(sketches)?;
    let parameters = program.load(parameters)?;
    program.load_microcode(update);
    program.barrier();
    let keys = program.load(keys)?;
    program.call(update, &[parameters, keys], &[counters], &[])?;
    program.barrier();
    program.store(counters, sketches.start)?;
    Ok(Updated {
        program,
        clusters,
        sketches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::example_words;

    #[test]
    fn groups_together_are_one_sketch() {
        let words = example_words(GROUP * Hashing::Two.words());
        let functions: Vec<u32> = words.into_iter().map(|word| word >> 2).collect();
        let records = example_words(2 * 64);
        let one = updated(8, &functions, &records).expect("a sketch");
        for clusters in [16, 32] {
            let several = updated(clusters, &functions, &records).expect("sketches");
            for function in 0..GROUP {
                for row in 0..COUNTERS {
                    let counter = several.counter(function, row);
                    assert_eq!(counter, one.counter(function, row), "{clusters}");
                }
            }
        }
        // Each key is counted once by each function.
        let weights = records.iter().skip(1).step_by(2);
        let sum = weights.fold(0u32, |sum, weight| sum.wrapping_add(*weight));
        for function in 0..GROUP {
            let counted = (0..COUNTERS).map(|row| one.counter(function, row));
            assert_eq!(counted.fold(0u32, u32::wrapping_add), sum);
        }
    }
}

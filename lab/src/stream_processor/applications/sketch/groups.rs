//! Several headers at once (figure 8.5): clusters in groups of eight, each
//! with the same eight hash functions and a sketch of its own.
//!
//! A group takes the keys of its own clusters, so that 16 clusters take two
//! keys in the time of one. Sketches of groups are added when they are read.

use super::programs::{Updated, updated_by};
use super::{Hashing, update_from};
use crate::stream_processor::applications::ProgramFailure;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel};

/// Clusters of a group: hash functions of a sketch.
pub const GROUP: usize = 8;

/// Updates the sketch of each group with 2-universal hash functions.
pub fn update_2(clusters: usize) -> Result<Kernel, BuildError> {
    let k = Builder::new("sketch-update-2-groups");
    update_from(k, Hashing::Two, clusters, false, |k| {
        let own = k.cluster_id();
        let of_group = k.constant(!(GROUP as u32 - 1));
        let first_of_group = k.and(own, of_group);
        (0..GROUP as u32)
            .map(|place| {
                let place = k.constant(place);
                Some(k.add(first_of_group, place))
            })
            .collect()
    })
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
    let dealt: Vec<u32> = functions
        .chunks(GROUP)
        .flat_map(|words| words.iter().cycle().take(clusters))
        .copied()
        .collect();
    updated_by(update_2(clusters)?, [GROUP, clusters], &dealt, records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_processor::applications::example_words;
    use crate::stream_processor::applications::sketch::COUNTERS;

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

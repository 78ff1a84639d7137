//! Sketches are those of the formulas.

use super::programs::{example_functions, updated};
use super::*;
use crate::stream_processor::applications::example_words;
use crate::stream_processor::applications::mersenne::PRIME;
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};

/// A cluster's hash value, in the arithmetic of 128 bits.
fn expected_row(
    hashing: Hashing,
    functions: &[u32],
    [cluster, clusters]: [usize; 2],
    key: u32,
) -> u32 {
    let (low, high) = (key & 0xffff, key >> 16);
    let points = [low, high, low + high];
    let (polynomials, coefficients) = hashing.shape();
    let value = (0..polynomials).fold(0u32, |sum, polynomial| {
        let at = |n: usize| functions[(polynomial * coefficients + n) * clusters + cluster];
        let value = (0..coefficients).fold(0u128, |value, n| {
            (value * u128::from(points[polynomial]) + u128::from(at(n))) % u128::from(PRIME)
        });
        sum ^ value as u32
    });
    value % COUNTERS
}

#[test]
fn counters_hold_the_weights_of_their_keys() {
    for clusters in [1, 2, 4, 8, 16, 32] {
        for hashing in [Hashing::Two, Hashing::Four] {
            let mut functions = example_functions(clusters, hashing);
            functions[..clusters].fill(PRIME - 1);
            let mut records = example_words(2 * 40 * clusters);
            // The same key twice in a row, and the edges of the key space.
            records[..8].copy_from_slice(&[u32::MAX, 7, u32::MAX, 9, 0, 1, 0xffff_0000, 3]);
            let made = updated(clusters, hashing, &functions, &records).expect("a program");
            let mut expected = vec![0u32; clusters * COUNTERS as usize];
            for record in records.chunks(2) {
                for cluster in 0..clusters {
                    let row = expected_row(hashing, &functions, [cluster, clusters], record[0]);
                    let counter = &mut expected[cluster * COUNTERS as usize + row as usize];
                    *counter = counter.wrapping_add(record[1]);
                }
            }
            for cluster in 0..clusters {
                for row in 0..COUNTERS {
                    let place = cluster * COUNTERS as usize + row as usize;
                    assert_eq!(made.counter(cluster, row), expected[place], "{hashing:?}");
                }
            }
        }
    }
}

#[test]
fn averages_move_and_errors_remain() {
    for clusters in [1, 2, 4, 8, 16, 32] {
        let words: Vec<Vec<u32>> = (1..4)
            .map(|n| example_words(n * 3 * clusters)[(n - 1) * 3 * clusters..].to_vec())
            .collect();
        let run = |kernel: Result<Kernel, BuildError>, inputs: usize, scalars: Vec<u32>| {
            let mut arguments = Arguments {
                inputs: words[..inputs].to_vec(),
                indexed: vec![],
                scalars,
            };
            let kernel = kernel.expect("a kernel");
            execute(&kernel, clusters, &mut arguments, &mut Scratchpads::new()).expect("a run")
        };
        let each = |of: &dyn Fn(u32, u32, u32) -> u32| -> Vec<Vec<u32>> {
            let places = 0..words[0].len();
            vec![
                places
                    .map(|at| of(words[0][at], words[1][at], words[2][at]))
                    .collect(),
            ]
        };
        assert_eq!(
            run(combine(), 2, vec![]),
            each(&|a, b, _| a.wrapping_add(b))
        );
        assert_eq!(run(error(), 2, vec![]), each(&|a, b, _| a.wrapping_sub(b)));
        let moved = |a: u32, b: u32, c: u32| {
            let change = b.wrapping_sub(c) as i32;
            a.wrapping_add((change >> 2) as u32)
        };
        assert_eq!(run(forecast(), 3, vec![2]), each(&moved));
    }
}

#[test]
fn estimates_are_the_least_of_a_keys_counters() {
    for clusters in [1, 2, 4, 8, 16, 32] {
        let functions = example_functions(clusters, Hashing::Two);
        let records = example_words(2 * 6 * clusters);
        let made = updated(clusters, Hashing::Two, &functions, &records).expect("a program");
        // Keys that were there, and as many that were not.
        let keys: Vec<u32> = records
            .chunks(2)
            .flat_map(|record| [record[0], !record[0]])
            .collect();
        let sketch = (0..COUNTERS).flat_map(|row| {
            let made = &made;
            (0..clusters).map(move |cluster| made.counter(cluster, row))
        });
        let mut arguments = Arguments {
            inputs: vec![functions.clone(), keys.clone()],
            indexed: vec![sketch.collect()],
            scalars: vec![],
        };
        let kernel = query_2(clusters).expect("a kernel");
        let given = execute(&kernel, clusters, &mut arguments, &mut Scratchpads::new());
        let estimates = given.expect("a run").remove(0);
        for (&key, &estimate) in keys.iter().zip(&estimates) {
            let counters = (0..clusters).map(|cluster| {
                let place = [cluster, clusters];
                made.counter(cluster, expected_row(Hashing::Two, &functions, place, key))
            });
            assert_eq!(Some(estimate), counters.min(), "{clusters} clusters");
        }
    }
}

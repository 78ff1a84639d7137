//! The hash functions as the host has them, and the filters that it fills.

use super::hashing::{BASE, SHIFTS, ZERO_DIGIT};
use super::{Design, FILTER_WORDS, Family, LENGTHS};
use crate::stream_processor::applications::example_words;
use crate::stream_processor::applications::mersenne::PRIME;

/// One function of a family for each cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Functions {
    family: Family,
    clusters: usize,
    /// Shift-add-xor's seeds, or H1's multipliers and addends, by cluster.
    parameters: Vec<u32>,
    /// Words of tables: by place, byte and cluster.
    tables: Vec<u32>,
}

impl Functions {
    /// Functions of strings of at most `longest` bytes, the same ones always.
    pub fn example(family: Family, clusters: usize, longest: usize) -> Functions {
        match family {
            Family::ShiftAddXor => Functions::shift_add_xor(mixed(clusters)),
            Family::H1 => {
                let words = mixed(2 * clusters);
                Functions::h1(words.into_iter().map(below_prime).collect())
            }
            Family::Tabulation => Functions::tabulation(clusters, mixed(longest * 256 * clusters)),
        }
    }

    /// Shift-add-xor with a seed for each cluster.
    pub fn shift_add_xor(seeds: Vec<u32>) -> Functions {
        Functions {
            family: Family::ShiftAddXor,
            clusters: seeds.len(),
            parameters: seeds,
            tables: Vec::new(),
        }
    }

    /// H1 with a multiplier and an addend below 2³¹ - 1 for each cluster.
    pub fn h1(parameters: Vec<u32>) -> Functions {
        Functions {
            family: Family::H1,
            clusters: parameters.len() / 2,
            parameters,
            tables: Vec::new(),
        }
    }

    /// Tabulation with words by place in the string, byte and cluster: 256 times the
    /// number of clusters for each place.
    pub fn tabulation(clusters: usize, tables: Vec<u32>) -> Functions {
        Functions {
            family: Family::Tabulation,
            clusters,
            parameters: Vec::new(),
            tables,
        }
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// The words of a kernel's stream of parameters: a record for each cluster.
    pub fn parameters(&self) -> &[u32] {
        &self.parameters
    }

    /// The table of a place, a row for each byte, interleaved over clusters.
    pub fn table(&self, place: usize) -> &[u32] {
        let words = 256 * self.clusters;
        &self.tables[place * words..(place + 1) * words]
    }

    /// A cluster's state of a string: what becomes longer by appending.
    pub fn state(&self, cluster: usize, string: &[u8]) -> u32 {
        match self.family {
            Family::ShiftAddXor => string
                .iter()
                .fold(self.parameters[cluster], |state, &byte| {
                    let sum = (state << SHIFTS[0])
                        .wrapping_add(state >> SHIFTS[1])
                        .wrapping_add(u32::from(byte));
                    state ^ sum
                }),
            Family::Tabulation => string.iter().enumerate().fold(0, |state, (place, &byte)| {
                state ^ self.table(place)[usize::from(byte) * self.clusters + cluster]
            }),
            Family::H1 => string.iter().fold(0, |state, &byte| {
                let digit = if byte == 0 {
                    ZERO_DIGIT
                } else {
                    u32::from(byte)
                };
                let number = u64::from(state) * u64::from(BASE) + u64::from(digit);
                (number % u64::from(PRIME)) as u32
            }),
        }
    }

    /// A cluster's hash of a string, of which the lowest bits are used.
    pub fn hash(&self, cluster: usize, string: &[u8]) -> u32 {
        let state = self.state(cluster, string);
        match self.family {
            Family::H1 => {
                let [multiplier, addend] = [0, 1].map(|at| self.parameters[2 * cluster + at]);
                let number = u64::from(multiplier) * u64::from(state) + u64::from(addend);
                (number % u64::from(PRIME)) as u32
            }
            _ => state,
        }
    }

    /// The filter that holds patterns of the lengths that a design looks for,
    /// the others left out: rows of words, interleaved over clusters.
    pub fn filter(&self, design: &Design, patterns: &[Vec<u8>]) -> Vec<u32> {
        let lengths = design.shortest()..design.shortest() + LENGTHS;
        let mut words = vec![0; FILTER_WORDS as usize * self.clusters];
        for pattern in patterns.iter().filter(|it| lengths.contains(&it.len())) {
            for cluster in 0..self.clusters {
                let hash = self.hash(cluster, pattern);
                words[self.row(hash) * self.clusters + cluster] |= 1 << (hash % u32::BITS);
            }
        }
        words
    }

    /// Whether a filter says that it holds a string.
    pub fn holds(&self, filter: &[u32], string: &[u8]) -> bool {
        (0..self.clusters).all(|cluster| {
            let hash = self.hash(cluster, string);
            let word = filter[self.row(hash) * self.clusters + cluster];
            word >> (hash % u32::BITS) & 1 == 1
        })
    }

    fn row(&self, hash: u32) -> usize {
        (hash / u32::BITS % FILTER_WORDS) as usize
    }
}

fn mixed(words: usize) -> Vec<u32> {
    let spread = |word: u32| (word ^ word >> 15).wrapping_mul(0x2c1b_3c6d) ^ word >> 12;
    example_words(words).into_iter().map(spread).collect()
}

fn below_prime(word: u32) -> u32 {
    1 + word % (PRIME - 1)
}

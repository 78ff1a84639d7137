//! Sub-keys that stay in the scratchpads for later packets of their flow: the cache
//! of 2.6.1, between the stream register file and the clusters.
//!
//! Every cluster has room for some sets of sub-keys. The host knows which flow's are
//! where. When a packet's are missing it looks ahead for others that will be, until
//! each cluster has a key to expand, and replaces the set of all clusters that was
//! used longest ago. What one call of the expansion
//! has made is replaced together.

use super::SUB_KEY_WORDS;
use std::collections::BTreeSet;

use super::expansion::key_expansion_kept;
use super::programs::{BLOCK_WORDS, Cipher, Kernels, table_of};
use super::rounds::{core_kept, final_round_kept};
use crate::shared::random::Random;
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream_processor::stream::{MemoryRange, Program};

/// Sets that have room in a scratchpad of 512 words beside the table and the keys
/// of the stream at hand.
pub const EXAMPLE_SETS: u32 = (512 - 256) / SUB_KEY_WORDS - 1;

pub(in crate::stream_processor::applications) const ENTRY: ProgramEntry = ProgramEntry {
    name: "aes-cached",
    about: "the same for flows, with the sub-keys of recent flows cached in scratchpads",
    source: "Lai 2006, 2.6.1",
    packet_bytes: |size| size.bytes,
    build: |clusters, size| {
        if size.dual {
            let why = "sub-keys that stay have no dual kernels".to_owned();
            return Err(ProgramFailure::Workload(why));
        }
        let blocks = size.bytes.div_ceil(4 * BLOCK_WORDS).max(1);
        let flows = example_flows(size.packets, size.packets.div_ceil(4));
        let workload = Flows::example(flows, blocks.next_multiple_of(clusters));
        Ok(encrypt_kept(clusters, EXAMPLE_SETS, &workload)?.program)
    },
};

/// The flow of each of N packets, by Zipf's law; deterministic.
pub fn example_flows(packets: usize, flows: usize) -> Vec<usize> {
    let harmonic: f64 = (1..=flows).map(|rank| 1.0 / rank as f64).sum();
    let mut random = Random::new(flows as u64);
    (0..packets)
        .map(|_| {
            let mut left = random.share() * harmonic;
            let rank = (1..flows).find(|&rank| {
                left -= 1.0 / rank as f64;
                left < 0.0
            });
            rank.unwrap_or(flows) - 1
        })
        .collect()
}

/// Packets of one length, each of a flow with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows {
    /// The flow of each packet.
    pub packets: Vec<usize>,
    /// Blocks of a packet, a multiple of the clusters.
    pub blocks: usize,
    /// Keys of flows, four words each.
    pub keys: Vec<u32>,
    /// The packets' text.
    pub text: Vec<u32>,
}

impl Flows {
    /// Packets of those flows with keys and text that look like data.
    pub fn example(packets: Vec<usize>, blocks: usize) -> Flows {
        let flows = packets.iter().max().map_or(0, |last| last + 1);
        Flows {
            keys: example_words(flows * BLOCK_WORDS),
            text: example_words(packets.len() * blocks * BLOCK_WORDS),
            packets,
            blocks,
        }
    }

    /// The key of each packet, as programs take them that expand one for each.
    pub fn keys_of_packets(&self) -> Vec<u32> {
        let keys = self.packets.iter();
        keys.flat_map(|flow| &self.keys[flow * BLOCK_WORDS..][..BLOCK_WORDS])
            .copied()
            .collect()
    }
}

/// A program that has encrypted packets. Its one barrier is passed when the table
/// and all microcode are in place.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The program.
    pub program: Program,
    /// Where the cipher text is in its memory.
    pub cipher_text: MemoryRange,
    /// Packets whose sub-keys an earlier packet had used.
    pub hits: usize,
    /// Calls of the key expansion.
    pub expansions: usize,
}

/// Encrypts packets with `sets` sets of sub-keys in each cluster.
///
/// # Errors
/// No sets, packets that do not divide over the clusters, and too few keys or
/// words of text.
pub fn encrypt_kept(clusters: usize, sets: u32, flows: &Flows) -> Result<Kept, ProgramFailure> {
    let packet_words = flows.blocks * BLOCK_WORDS;
    let last = flows.packets.iter().max().map_or(0, |last| last + 1);
    if sets == 0 || flows.blocks == 0 || !flows.blocks.is_multiple_of(clusters) {
        return Err(ProgramFailure::Workload(format!(
            "{sets} sets of sub-keys and packets of {} blocks: one set at least, and whole rows",
            flows.blocks
        )));
    }
    if flows.keys.len() < last * BLOCK_WORDS
        || flows.text.len() < flows.packets.len() * packet_words
    {
        return Err(ProgramFailure::Workload(format!(
            "{last} keys and {} words of text are needed",
            flows.packets.len() * packet_words
        )));
    }
    let steps = Cache::new(clusters, sets).steps(&flows.packets);
    let expansions = || steps.iter().filter_map(|step| step.expansion.as_ref());
    let mut memory = table_of(clusters);
    let table = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    // Keys lie in memory in the order in which they are expanded.
    let keys_start = memory.len();
    for flow in expansions().flat_map(|expansion| expansion.keys(clusters)) {
        memory.extend_from_slice(&flows.keys[flow * BLOCK_WORDS..][..BLOCK_WORDS]);
    }
    let text = MemoryRange {
        start: memory.len(),
        words: flows.packets.len() * packet_words,
    };
    memory.extend_from_slice(&flows.text[..text.words]);
    let cipher_text = MemoryRange {
        start: memory.len(),
        words: text.words,
    };
    memory.resize(memory.len() + text.words, 0);

    let kernels = Kernels {
        expansion: key_expansion_kept(sets)?,
        core: core_kept(sets)?,
        final_round: final_round_kept(sets)?,
    };
    let mut cipher = Cipher::begin(clusters, kernels, memory, table)?;
    cipher.program.barrier();
    let mut expanded = 0;
    for (number, step) in steps.iter().enumerate() {
        if step.expansion.is_some() {
            let keys = MemoryRange {
                start: keys_start + expanded * clusters * BLOCK_WORDS,
                words: clusters * BLOCK_WORDS,
            };
            cipher.expand(keys, &[step.set * SUB_KEY_WORDS])?;
            expanded += 1;
        }
        let at = number * packet_words;
        let from = MemoryRange {
            start: text.start + at,
            words: packet_words,
        };
        let scalars = [step.cluster, step.set * SUB_KEY_WORDS];
        cipher.packet(from, cipher_text.start + at, &scalars, false)?;
    }
    Ok(Kept {
        program: cipher.program,
        cipher_text,
        hits: steps.iter().filter(|step| step.is_hit).count(),
        expansions: expanded,
    })
}

/// Packets for each cluster that the host looks ahead at.
const LOOK_AHEAD: usize = 8;

/// What is done for a packet.
struct Step {
    /// The keys that are expanded before it.
    expansion: Option<Expansion>,
    /// Where its sub-keys are.
    cluster: u32,
    set: u32,
    /// Whether a packet before has used them.
    is_hit: bool,
}

/// A call of the key expansion, for one key in each cluster at most.
struct Expansion {
    flows: Vec<usize>,
}

impl Expansion {
    /// The flow of each cluster: the last stands for those missing.
    fn keys(&self, clusters: usize) -> impl Iterator<Item = usize> + '_ {
        let last = self.flows.last().into_iter().cycle();
        self.flows.iter().chain(last).take(clusters).copied()
    }
}

/// What the host knows of the scratchpads.
struct Cache {
    clusters: usize,
    /// The flow of each cluster, in each set.
    sets: Vec<Vec<usize>>,
    /// Flows of which a packet has come since their sub-keys were made.
    in_use: BTreeSet<usize>,
    /// Sets, the one that was used longest ago first.
    by_use: Vec<usize>,
}

impl Cache {
    fn new(clusters: usize, sets: u32) -> Cache {
        let sets = sets as usize;
        Cache {
            clusters,
            sets: vec![Vec::new(); sets],
            in_use: BTreeSet::new(),
            by_use: (0..sets).collect(),
        }
    }

    /// The cluster and the set that have a flow's sub-keys.
    fn place(&self, flow: usize) -> Option<(usize, usize)> {
        self.sets.iter().enumerate().find_map(|(set, flows)| {
            let cluster = flows.iter().position(|&there| there == flow)?;
            Some((cluster, set))
        })
    }

    /// What is done for packets, one after the other.
    fn steps(mut self, packets: &[usize]) -> Vec<Step> {
        let mut steps = Vec::with_capacity(packets.len());
        for (number, &flow) in packets.iter().enumerate() {
            let mut expansion = None;
            let (cluster, set) = self.place(flow).unwrap_or_else(|| {
                // What is replaced may be among the next packets' keys.
                let oldest = self.by_use[0];
                for flow in self.sets[oldest].drain(..) {
                    self.in_use.remove(&flow);
                }
                let most = LOOK_AHEAD * self.clusters;
                let mut flows: Vec<usize> = Vec::new();
                for &flow in packets[number..].iter().take(most) {
                    let is_new = self.place(flow).is_none() && !flows.contains(&flow);
                    if is_new && flows.len() < self.clusters {
                        flows.push(flow);
                    }
                }
                self.sets[oldest].clone_from(&flows);
                expansion = Some(Expansion { flows });
                // The packet's own flow is the first that is missing.
                (0, oldest)
            });
            self.by_use.retain(|&other| other != set);
            self.by_use.push(set);
            steps.push(Step {
                expansion,
                cluster: cluster as u32,
                set: set as u32,
                is_hit: !self.in_use.insert(flow),
            });
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_processor::applications::aes::programs::{Width, Workload, encrypt};

    #[test]
    fn packets_are_encrypted_as_with_a_key_each() {
        for (clusters, sets) in [(1, 1), (2, 3), (4, 2), (8, 1), (8, 4), (16, 4), (32, 2)] {
            let flows = Flows::example(example_flows(60, 25), clusters);
            let kept = encrypt_kept(clusters, sets, &flows).expect("a program");
            let keys = flows.keys_of_packets();
            let workload = Workload::fixed(60, clusters, true, Width::Single);
            let each = encrypt(clusters, &workload, &keys, &flows.text).expect("a program");
            let [one, other] = [
                (&kept.program, kept.cipher_text),
                (&each.program, each.cipher_text),
            ]
            .map(|(program, range)| &program.memory()[range.start..range.start + range.words]);
            assert_eq!(one, other, "{clusters} clusters, {sets} sets");
        }
    }

    #[test]
    fn more_sets_hit_more_often() {
        let flows = Flows::example(example_flows(400, 200), 8);
        let hits = [1, 4, 60].map(|sets| encrypt_kept(8, sets, &flows).expect("a program").hits);
        assert!(hits[0] < hits[1] && hits[1] < hits[2], "{hits:?}");
        // With room for all, each flow is expanded once.
        let distinct: BTreeSet<usize> = flows.packets.iter().copied().collect();
        assert_eq!(hits[2], 400 - distinct.len());
        assert!(encrypt_kept(8, 0, &flows).is_err());
    }
}

//! Packets with a key each, in other layouts than one for each
//! stream across all clusters: two in one stream (2.7 of the thesis), and one for
//! each cluster (figure 2.1).

use super::programs::{BLOCK_WORDS, Cipher, Kernels, table_of};
use super::{SUB_KEY_WORDS, core_apart, core_merged, final_round_apart, final_round_merged};
use super::{key_expansion, key_expansion_dual};
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, Size, example_words};
use crate::stream_processor::kernel::BuildError;
use crate::stream_processor::stream::{MemoryRange, Program};

pub(in crate::stream_processor::applications) const ENTRIES: [ProgramEntry; 2] = [
    ProgramEntry {
        name: "aes-merged",
        about: "the same with a key per packet and two packets in each stream",
        source: "Lai 2006, 2.7",
        packet_bytes: |size| size.bytes,
        build: |clusters, size| example(clusters, Dealing::Merged, size),
    },
    ProgramEntry {
        name: "aes-per-cluster",
        about: "the same with a key per packet and one packet in each cluster",
        source: "Lai 2006, figure 2.1",
        packet_bytes: |size| size.bytes,
        build: |clusters, size| example(clusters, Dealing::Apart, size),
    },
];

fn example(clusters: usize, dealing: Dealing, size: &Size) -> Result<Program, ProgramFailure> {
    if size.dual {
        let why = "packets dealt out so have no dual kernels".to_owned();
        return Err(ProgramFailure::Workload(why));
    }
    let blocks = size.bytes.div_ceil(4 * BLOCK_WORDS).max(1);
    let packets = vec![blocks; size.packets];
    let keys = example_words(size.packets * BLOCK_WORDS);
    let text = example_words(size.packets * blocks * BLOCK_WORDS);
    Ok(encrypt_dealt(clusters, dealing, &packets, &keys, &text)?.program)
}

/// How packets are dealt out to clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealing {
    /// Two packets in one stream across all clusters, one after the other; only
    /// the last row of both is filled up.
    Merged,
    /// A packet for each cluster; all wait for the longest. Its blocks lie in
    /// memory interleaved with those of the other packets.
    Apart,
}

impl Dealing {
    fn kernels(self) -> Result<Kernels, BuildError> {
        Ok(match self {
            // Both packets' keys are there, also where there is one cluster.
            Dealing::Merged => Kernels {
                expansion: key_expansion_dual()?,
                core: core_merged()?,
                final_round: final_round_merged()?,
            },
            Dealing::Apart => Kernels {
                expansion: key_expansion()?,
                core: core_apart()?,
                final_round: final_round_apart()?,
            },
        })
    }

    fn packets_at_once(self, clusters: usize) -> usize {
        match self {
            Dealing::Merged => 2,
            Dealing::Apart => clusters,
        }
    }

    fn keys_at_once(self, clusters: usize) -> usize {
        match self {
            Dealing::Merged => 2 * clusters,
            Dealing::Apart => clusters,
        }
    }

    /// The blocks of packets as a stream has them, by their numbers in the text;
    /// none where the stream is filled up.
    fn stream(self, clusters: usize, packets: &[usize], first: usize) -> Vec<Option<usize>> {
        match self {
            Dealing::Merged => {
                let blocks = packets.iter().sum::<usize>();
                let filled = blocks.next_multiple_of(clusters);
                (0..filled)
                    .map(|block| (block < blocks).then_some(first + block))
                    .collect()
            }
            Dealing::Apart => {
                let starts = packets.iter().scan(first, |next, &blocks| {
                    *next += blocks;
                    Some((*next - blocks, blocks))
                });
                let places: Vec<(usize, usize)> = starts
                    .chain(std::iter::repeat((0, 0)))
                    .take(clusters)
                    .collect();
                let rows = packets.iter().copied().max().unwrap_or(0);
                (0..rows)
                    .flat_map(|row| {
                        let of_row = move |&(start, blocks)| (row < blocks).then_some(start + row);
                        places.iter().map(of_row)
                    })
                    .collect()
            }
        }
    }

    /// The scalars of the kernels, for packets whose first has that number among
    /// those whose keys are expanded.
    fn scalars(self, clusters: usize, packets: &[usize], slot: usize) -> Vec<u32> {
        match self {
            Dealing::Merged => {
                let last = packets.len() - 1;
                let sources = [slot, slot + last].into_iter().flat_map(|slot| {
                    let set = (slot / clusters) as u32;
                    [(slot % clusters) as u32, set * SUB_KEY_WORDS]
                });
                sources.chain([packets[0] as u32]).collect()
            }
            Dealing::Apart => Vec::new(),
        }
    }
}

/// A program that has encrypted packets dealt out to clusters. Its one barrier
/// is passed when the table and all microcode are in place.
#[derive(Clone, Debug)]
pub struct Dealt {
    /// The program.
    pub program: Program,
    /// The cipher text, packet after packet.
    pub cipher_text: Vec<u32>,
}

/// Encrypts packets, given by their numbers of blocks, each under its own key of
/// four words.
///
/// # Errors
/// No packets or one without blocks, and too few keys or words of text.
pub fn encrypt_dealt(
    clusters: usize,
    dealing: Dealing,
    packets: &[usize],
    keys: &[u32],
    text: &[u32],
) -> Result<Dealt, ProgramFailure> {
    let text_words = packets.iter().sum::<usize>() * BLOCK_WORDS;
    if packets.is_empty() || packets.contains(&0) {
        let why = "no packets, or one without blocks".to_owned();
        return Err(ProgramFailure::Workload(why));
    }
    if keys.len() < packets.len() * BLOCK_WORDS || text.len() < text_words {
        return Err(ProgramFailure::Workload(format!(
            "{} keys and {text_words} words of text are needed",
            packets.len()
        )));
    }
    let keys_at_once = dealing.keys_at_once(clusters);
    let mut memory = table_of(clusters);
    let table = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    let keys_start = memory.len();
    memory.extend_from_slice(&keys[..packets.len() * BLOCK_WORDS]);
    // A group of keys is always full.
    let groups = packets.len().div_ceil(keys_at_once);
    memory.resize(keys_start + groups * keys_at_once * BLOCK_WORDS, 0);

    let at_once = dealing.packets_at_once(clusters);
    let mut first = 0;
    let streams: Vec<Vec<Option<usize>>> = packets
        .chunks(at_once)
        .map(|packets| {
            let stream = dealing.stream(clusters, packets, first);
            first += packets.iter().sum::<usize>();
            stream
        })
        .collect();
    let places = streams.concat();
    let text_start = memory.len();
    for place in &places {
        let block = place.map_or(&[0; BLOCK_WORDS][..], |block| {
            &text[block * BLOCK_WORDS..][..BLOCK_WORDS]
        });
        memory.extend_from_slice(block);
    }
    let cipher_start = memory.len();
    memory.resize(cipher_start + places.len() * BLOCK_WORDS, 0);

    let mut cipher = Cipher::begin(clusters, dealing.kernels()?, memory, table)?;
    cipher.program.barrier();
    let mut at = 0;
    for (number, (packets, stream)) in packets.chunks(at_once).zip(&streams).enumerate() {
        let key = number * at_once;
        if key.is_multiple_of(keys_at_once) {
            cipher.expand(
                MemoryRange {
                    start: keys_start + key * BLOCK_WORDS,
                    words: keys_at_once * BLOCK_WORDS,
                },
                &[],
            )?;
        }
        let from = MemoryRange {
            start: text_start + at,
            words: stream.len() * BLOCK_WORDS,
        };
        let scalars = dealing.scalars(clusters, packets, key % keys_at_once);
        cipher.packet(from, cipher_start + at, &scalars, false)?;
        at += from.words;
    }

    let mut cipher_text = vec![0; text_words];
    let written = cipher.program.memory()[cipher_start..].chunks(BLOCK_WORDS);
    for (place, block) in places.iter().zip(written) {
        if let Some(place) = place {
            cipher_text[place * BLOCK_WORDS..][..BLOCK_WORDS].copy_from_slice(block);
        }
    }
    Ok(Dealt {
        program: cipher.program,
        cipher_text,
    })
}

#[cfg(test)]
mod tests;

//! MMH as a stream program (figure 4.2): one packet after the other.

use super::{BLOCK_WORDS, KEY_WORDS, Layout, TAGS};
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream_processor::stream::{MemoryRange, Program};

pub(in crate::stream_processor::applications) const ENTRY: ProgramEntry = ProgramEntry {
    name: "mmh",
    about: "computes four MMH pre-tags of each packet",
    source: "Lai 2006, 4.4",
    packet_bytes: |size| size.bytes,
    build: |clusters, size| {
        let blocks = size.bytes.div_ceil(4 * BLOCK_WORDS);
        let packets = example_words(size.packets * blocks * BLOCK_WORDS);
        let key = example_words(KEY_WORDS);
        Ok(authenticate(clusters, &packets, blocks, &key, &key)?.program)
    },
};

/// A program that has authenticated packets. Its one barrier is passed when
/// keys and microcode are in place.
#[derive(Clone, Debug)]
pub struct Authenticated {
    /// The program.
    pub program: Program,
    clusters: usize,
    tags: MemoryRange,
}

impl Authenticated {
    /// The pre-tags of each packet: its hashes, not yet under a one-time pad.
    pub fn tags(&self) -> Vec<[u32; TAGS]> {
        let words = &self.program.memory()[self.tags.start..self.tags.start + self.tags.words];
        // Both clusters of a group have the tag.
        let shared = if (Layout {
            clusters: self.clusters,
        })
        .halves()
        {
            2
        } else {
            1
        };
        words
            .chunks(self.clusters.max(TAGS))
            .map(|packet| std::array::from_fn(|tag| packet[shared * tag]))
            .collect()
    }
}

/// Hashes packets of `blocks` blocks each, at most 32, under the keys of the
/// two levels.
///
/// # Errors
/// Packets or keys of other lengths.
pub fn authenticate(
    clusters: usize,
    packets: &[u32],
    blocks: usize,
    first_key: &[u32],
    second_key: &[u32],
) -> Result<Authenticated, ProgramFailure> {
    let words = blocks * BLOCK_WORDS;
    if !(1..=BLOCK_WORDS).contains(&blocks) || !packets.len().is_multiple_of(words) {
        return Err(ProgramFailure::Workload(format!(
            "packets of {blocks} blocks in {} words: 1 to {BLOCK_WORDS} blocks, and whole packets",
            packets.len()
        )));
    }
    if first_key.len() != KEY_WORDS || second_key.len() != KEY_WORDS {
        return Err(ProgramFailure::Workload(format!(
            "a key has {KEY_WORDS} words"
        )));
    }
    let layout = Layout { clusters };
    let mut memory: Vec<u32> = Vec::new();
    let mut place = |words: &mut dyn Iterator<Item = u32>| {
        let start = memory.len();
        memory.extend(words);
        MemoryRange {
            start,
            words: memory.len() - start,
        }
    };
    let in_all = |key: &[u32]| -> Vec<u32> {
        let each = key.iter();
        each.flat_map(|&word| std::iter::repeat_n(word, clusters))
            .collect()
    };
    let first = place(&mut in_all(first_key).into_iter());
    let second = place(&mut in_all(second_key).into_iter());
    // Pre-tags: the pad is zero, and is there from the beginning.
    let tag_words = clusters * layout.tags();
    let pads = place(&mut std::iter::repeat_n(0, tag_words));
    // Blocks of zeros fill the clusters, and add nothing to a sum.
    let whole = blocks.next_multiple_of(layout.blocks()) * BLOCK_WORDS;
    let filled = packets.chunks(words).flat_map(|packet| {
        let zeros = std::iter::repeat_n(0, whole - words);
        packet.iter().copied().chain(zeros)
    });
    let text = place(&mut filled.into_iter());
    let count = packets.len() / words;
    let tags = place(&mut std::iter::repeat_n(0, count * tag_words));

    let mut program = Program::new(clusters, memory);
    let fills =
        [super::level_1_keys()?, super::level_2_keys()?].map(|kernel| program.kernel(kernel));
    let short = program.kernel(super::level_1s(clusters)?);
    let long = program.kernel(super::level_1(clusters)?);
    let last = program.kernel(super::level_2(clusters)?);
    for (fill, key) in fills.into_iter().zip([first, second]) {
        let key = program.load(key)?;
        program.call(fill, &[key], &[], &[])?;
    }
    let pads = program.load(pads)?;
    let used = if blocks == 1 {
        vec![short]
    } else {
        vec![long, last]
    };
    for kernel in used {
        program.load_microcode(kernel);
    }
    program.barrier();
    for packet in 0..count {
        let packet_text = program.load(MemoryRange {
            start: text.start + packet * whole,
            words: whole,
        })?;
        let made = if blocks == 1 {
            program.call(short, &[packet_text, pads], &[], &[])?
        } else {
            let hashes = program.call(long, &[packet_text], &[], &[])?;
            program.call(last, &[hashes[0], pads], &[], &[])?
        };
        program.store(made[0], tags.start + packet * tag_words)?;
    }
    Ok(Authenticated {
        program,
        clusters,
        tags,
    })
}

//! Packets in offset codebook mode, as stream programs.

use super::BLOCKS;
use crate::stream_processor::applications::aes::programs::{
    BLOCK_WORDS, Cipher, Kernels, Width, Workload, table_of,
};
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, Size, example_words};
use crate::stream_processor::stream::{KernelId, MemoryRange, Program, Stream};

pub(in crate::stream_processor::applications) const ENTRIES: [ProgramEntry; 2] = [
    ProgramEntry {
        name: "ocb",
        about: "seals packets with AES-128 in OCB, with precomputed offsets",
        source: "Lai 2006, 2.8",
        packet_bytes: |size| size.bytes,
        build: |clusters, size| example(clusters, size, Offsets::Before),
    },
    ProgramEntry {
        name: "ocb-on-the-fly",
        about: "seals packets with AES-128 in OCB, with offsets computed on the fly",
        source: "Lai 2006, 2.8",
        packet_bytes: |size| size.bytes,
        build: |clusters, size| example(clusters, size, Offsets::Flying),
    },
];

/// Packets under one key, each with its own nonce.
fn example(clusters: usize, size: &Size, offsets: Offsets) -> Result<Program, ProgramFailure> {
    let words = size.bytes.div_ceil(4 * BLOCK_WORDS).max(1) * BLOCK_WORDS;
    let text = example_words(size.packets * words);
    let packets: Vec<(Start, &[u32])> = text
        .chunks(words)
        .zip(4..)
        .map(|(text, number)| (Start::Nonce([1, 2, 3, number]), text))
        .collect();
    Ok(seal(clusters, offsets, [5, 6, 7, 8], &packets)?.program)
}

/// When offsets are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// All of them, before the packet.
    Before,
    /// With the packet's blocks.
    Flying,
}

/// Where offsets begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The thesis's mode: with the encryption of a nonce and of L, which is that
    /// of zero. The last block is special and closes.
    Nonce([u32; 4]),
    /// With blocks that the host knows, as by RFC 7253.
    Known(Known),
}

/// Blocks of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// L(0).
    pub l: [u32; 4],
    /// Z\[0\].
    pub first: [u32; 4],
    /// The number of the special block, from 1; 0 where there is none.
    pub special: u32,
    /// Its tweak.
    pub special_tweak: [u32; 4],
    /// The number of the block that closes.
    pub closing: u32,
    /// Its tweak.
    pub closing_tweak: [u32; 4],
}

/// A program that has sealed packets. Its one barrier is passed when the
/// table, the microcode and the sub-keys are in place.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The program.
    pub program: Program,
    packets: Vec<SealedPacket>,
}

#[derive(Clone, Debug)]
struct SealedPacket {
    cipher: MemoryRange,
    tag: usize,
}

impl Sealed {
    /// The encrypted blocks of a packet.
    pub fn cipher_text(&self, packet: usize) -> &[u32] {
        let cipher = self.packets[packet].cipher;
        &self.program.memory()[cipher.start..cipher.start + cipher.words]
    }

    /// The tag of a packet.
    pub fn tag(&self, packet: usize) -> &[u32] {
        let tag = self.packets[packet].tag;
        &self.program.memory()[tag..tag + BLOCK_WORDS]
    }
}

/// Seals packets of whole blocks, at most 96 each, under a key, one after the
/// other. RFC 7253's partial block has its padding, and its cipher text is cut by
/// the host.
///
/// # Errors
/// No packet; a packet without a block, with too many, or with a part of one.
pub fn seal(
    clusters: usize,
    offsets: Offsets,
    key: [u32; 4],
    packets: &[(Start, &[u32])],
) -> Result<Sealed, ProgramFailure> {
    if packets.is_empty() {
        return Err(ProgramFailure::Workload("no packets".to_owned()));
    }
    let offset_bytes = 4 * clusters * BLOCKS * BLOCK_WORDS;
    if packets.len() * offset_bytes > Size::MOST_BYTES {
        return Err(ProgramFailure::Workload(format!(
            "{} packets: OCB keeps {offset_bytes} bytes of offsets for each, {} bytes at most",
            packets.len(),
            Size::MOST_BYTES
        )));
    }
    for (_, text) in packets {
        let blocks = text.len() / BLOCK_WORDS;
        if !(1..=BLOCKS).contains(&blocks) || !text.len().is_multiple_of(BLOCK_WORDS) {
            return Err(ProgramFailure::Workload(format!(
                "packets of {} words: OCB takes 1 to {BLOCKS} whole blocks of {BLOCK_WORDS} words",
                text.len()
            )));
        }
    }
    let (setting, places, memory) = place(clusters, key, packets);
    let mut sealing = Sealing::begin(clusters, offsets, setting, memory)?;
    let mut sealed = Vec::with_capacity(packets.len());
    for ((start, text), places) in packets.iter().zip(&places) {
        let blocks = text.len() / BLOCK_WORDS;
        sealing.packet(clusters, start, blocks, places)?;
        sealed.push(SealedPacket {
            cipher: MemoryRange {
                start: places.cipher,
                words: text.len(),
            },
            tag: places.tag,
        });
    }
    Ok(Sealed {
        program: sealing.cipher.program,
        packets: sealed,
    })
}

/// All clusters expand the key, and the first one sends it.
const OWN_KEY: [u32; 2] = [0, 0];

/// Where the words are that all packets use. Each block is there once for each
/// cluster.
#[derive(Clone, Copy)]
struct Setting {
    table: MemoryRange,
    zero: MemoryRange,
    key: MemoryRange,
}

/// Where a packet is in memory. Single blocks are there once for each cluster.
struct Places {
    /// The nonce or L(0), and Z\[0\].
    nonce: MemoryRange,
    first: MemoryRange,
    special_tweak: MemoryRange,
    closing_tweak: MemoryRange,
    /// Whole rows of blocks.
    text: MemoryRange,
    cipher: usize,
    tag: usize,
    offsets: usize,
}

/// Puts the packets and what they need into a memory.
fn place(
    clusters: usize,
    key: [u32; 4],
    packets: &[(Start, &[u32])],
) -> (Setting, Vec<Places>, Vec<u32>) {
    let mut memory = table_of(clusters);
    let table = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    let setting = Setting {
        table,
        zero: in_all(&mut memory, clusters, &[0; 4]),
        key: in_all(&mut memory, clusters, &key),
    };
    let places = packets
        .iter()
        .map(|(start, text)| Places::of(clusters, start, text, setting.zero, &mut memory))
        .collect();
    (setting, places, memory)
}

/// Adds a block once for each cluster.
fn in_all(memory: &mut Vec<u32>, clusters: usize, block: &[u32; 4]) -> MemoryRange {
    let range = MemoryRange {
        start: memory.len(),
        words: clusters * BLOCK_WORDS,
    };
    memory.extend(std::iter::repeat_n(block, clusters).flatten());
    range
}

impl Places {
    fn of(
        clusters: usize,
        start: &Start,
        text: &[u32],
        zero: MemoryRange,
        memory: &mut Vec<u32>,
    ) -> Places {
        let mut add = |block: &[u32; 4]| in_all(memory, clusters, block);
        let [nonce, first, special_tweak, closing_tweak] = match start {
            Start::Nonce(nonce) => [add(nonce), zero, zero, zero],
            Start::Known(known) => [
                add(&known.l),
                add(&known.first),
                add(&known.special_tweak),
                add(&known.closing_tweak),
            ],
        };
        let text_range = MemoryRange {
            start: memory.len(),
            words: text.len().next_multiple_of(clusters * BLOCK_WORDS),
        };
        memory.extend_from_slice(text);
        let cipher = text_range.start + text_range.words;
        let tag = cipher + text_range.words;
        let offsets = tag + clusters * BLOCK_WORDS;
        memory.resize(offsets + BLOCKS * clusters * BLOCK_WORDS, 0);
        Places {
            nonce,
            first,
            special_tweak,
            closing_tweak,
            text: text_range,
            cipher,
            tag,
            offsets,
        }
    }

    /// Each block's offset: a row has the same one in all clusters, and a block
    /// takes its own cluster's.
    fn own_offsets(&self, clusters: usize) -> Vec<usize> {
        let blocks = 0..self.text.words / BLOCK_WORDS;
        blocks
            .map(|block| self.offsets + (block * clusters + block % clusters) * BLOCK_WORDS)
            .collect()
    }
}

/// A program with the mode's kernels.
struct Sealing {
    offsets: Offsets,
    setting: Setting,
    cipher: Cipher,
    nonce: KernelId,
    parameters: KernelId,
    enter: KernelId,
    leave: KernelId,
}

impl Sealing {
    fn begin(
        clusters: usize,
        offsets: Offsets,
        setting: Setting,
        memory: Vec<u32>,
    ) -> Result<Sealing, ProgramFailure> {
        let kernels = Kernels::of(&Workload::fixed(1, clusters, false, Width::Single))?;
        let mut cipher = Cipher::begin(clusters, kernels, memory, setting.table)?;
        let program = &mut cipher.program;
        let nonce = program.kernel(super::nonce()?);
        let (parameters, enter) = match offsets {
            Offsets::Before => (super::offsets()?, super::enter()?),
            Offsets::Flying => (super::parameters()?, super::enter_flying(clusters)?),
        };
        let (parameters, enter) = (program.kernel(parameters), program.kernel(enter));
        let leave = program.kernel(super::leave(clusters)?);
        for kernel in [nonce, parameters, enter, leave] {
            program.load_microcode(kernel);
        }
        cipher.expand(setting.key, &[])?;
        cipher.program.barrier();
        Ok(Sealing {
            offsets,
            setting,
            cipher,
            nonce,
            parameters,
            enter,
            leave,
        })
    }

    /// Loads, seals and stores a packet.
    fn packet(
        &mut self,
        clusters: usize,
        start: &Start,
        blocks: usize,
        places: &Places,
    ) -> Result<(), ProgramFailure> {
        let (l, first) = self.first(start, places)?;
        let (special, closing) = match start {
            Start::Nonce(_) => (blocks as u32, blocks as u32),
            Start::Known(known) => (known.special, known.closing),
        };
        let program = &mut self.cipher.program;
        let before: Vec<Stream> = match self.offsets {
            Offsets::Before => vec![first, l],
            Offsets::Flying => vec![l],
        };
        let made = program.call(self.parameters, &before, &[], &[])?;
        let tweak = match start {
            Start::Nonce(_) => made[1],
            Start::Known(_) => program.load(places.special_tweak)?,
        };
        let text = program.load(places.text)?;
        let (block, offsets) = match self.offsets {
            Offsets::Before => {
                program.store(made[2], places.offsets)?;
                let chosen = program.gather(&places.own_offsets(clusters), BLOCK_WORDS)?;
                let inputs = [text, chosen, tweak];
                let given = program.call(self.enter, &inputs, &[], &[special])?;
                (given[0], chosen)
            }
            Offsets::Flying => {
                let inputs = [text, first, made[0], tweak];
                let given = program.call(self.enter, &inputs, &[], &[special])?;
                (given[0], given[1])
            }
        };
        let encrypted = self.cipher.encrypt(block, &OWN_KEY)?;
        let program = &mut self.cipher.program;
        let closing_tweak = program.load(places.closing_tweak)?;
        let inputs = [encrypted, text, offsets, closing_tweak];
        let left = program.call(self.leave, &inputs, &[], &[special, closing])?;
        program.store(left[0], places.cipher)?;
        let tags = self.cipher.encrypt(left[1], &OWN_KEY)?;
        self.cipher.program.store(tags, places.tag)?;
        Ok(())
    }

    /// L(0) and Z\[0\], in all clusters.
    fn first(
        &mut self,
        start: &Start,
        places: &Places,
    ) -> Result<(Stream, Stream), ProgramFailure> {
        let loaded = self.cipher.program.load(places.nonce)?;
        if let Start::Known(_) = start {
            return Ok((loaded, self.cipher.program.load(places.first)?));
        }
        let zeros = self.cipher.program.load(self.setting.zero)?;
        let l = self.cipher.encrypt(zeros, &OWN_KEY)?;
        let program = &mut self.cipher.program;
        let with_nonce = program.call(self.nonce, &[l, loaded], &[], &[])?;
        Ok((l, self.cipher.encrypt(with_nonce[0], &OWN_KEY)?))
    }
}

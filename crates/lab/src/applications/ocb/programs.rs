//! A packet in offset codebook mode, as a stream program.

use super::BLOCKS;
use crate::applications::aes::programs::{BLOCK_WORDS, Cipher, Kernels, Width, Workload, table_of};
use crate::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream::{KernelId, MemoryRange, Program, Stream};

pub(in crate::applications) const ENTRIES: [ProgramEntry; 2] = [
    ProgramEntry {
        name: "ocb",
        about: "seals a packet with AES-128 in OCB, its offsets made before",
        source: "Lai 2006, 2.8",
        build: |clusters, size| example(clusters, size.bytes, Offsets::Before),
    },
    ProgramEntry {
        name: "ocb-flying",
        about: "seals a packet with AES-128 in OCB, its offsets found on the fly",
        source: "Lai 2006, 2.8",
        build: |clusters, size| example(clusters, size.bytes, Offsets::Flying),
    },
];

fn example(clusters: usize, bytes: usize, offsets: Offsets) -> Result<Program, ProgramFailure> {
    let text = example_words(bytes.div_ceil(4 * BLOCK_WORDS).max(1) * BLOCK_WORDS);
    let start = Start::Nonce([1, 2, 3, 4]);
    Ok(seal(clusters, offsets, [5, 6, 7, 8], &start, &text)?.program)
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

/// A program that has sealed a packet. Its one barrier is passed when the
/// table, the microcode and the sub-keys are in place.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The program.
    pub program: Program,
    cipher: MemoryRange,
    tag: usize,
}

impl Sealed {
    /// The encrypted blocks.
    pub fn cipher_text(&self) -> &[u32] {
        &self.program.memory()[self.cipher.start..self.cipher.start + self.cipher.words]
    }

    /// The tag.
    pub fn tag(&self) -> &[u32] {
        &self.program.memory()[self.tag..self.tag + BLOCK_WORDS]
    }
}

/// Seals whole blocks, at most 96, under a key. RFC 7253's partial block has its
/// padding, and its cipher text is cut by the host.
///
/// # Errors
/// No block, too many, or a part of one.
pub fn seal(
    clusters: usize,
    offsets: Offsets,
    key: [u32; 4],
    start: &Start,
    text: &[u32],
) -> Result<Sealed, ProgramFailure> {
    let blocks = text.len() / BLOCK_WORDS;
    if !(1..=BLOCKS).contains(&blocks) || !text.len().is_multiple_of(BLOCK_WORDS) {
        return Err(ProgramFailure::Workload(format!(
            "{} words of text: 1 to {BLOCKS} whole blocks of {BLOCK_WORDS} words",
            text.len()
        )));
    }
    let (places, memory) = Places::of(clusters, key, start, text);
    let mut sealing = Sealing::begin(clusters, offsets, &places, memory)?;
    let (l, first) = sealing.first(start, &places)?;
    let (special, closing) = match start {
        Start::Nonce(_) => (blocks as u32, blocks as u32),
        Start::Known(known) => (known.special, known.closing),
    };
    let program = &mut sealing.cipher.program;
    let before: Vec<Stream> = match offsets {
        Offsets::Before => vec![first, l],
        Offsets::Flying => vec![l],
    };
    let made = program.call(sealing.parameters, &before, &[], &[])?;
    let tweak = match start {
        Start::Nonce(_) => made[1],
        Start::Known(_) => program.load(places.special_tweak)?,
    };
    let text = program.load(places.text)?;
    let (block, offsets) = match offsets {
        Offsets::Before => {
            program.store(made[2], places.offsets)?;
            let chosen = program.gather(&places.own_offsets(clusters), BLOCK_WORDS)?;
            let inputs = [text, chosen, tweak];
            let given = program.call(sealing.enter, &inputs, &[], &[special])?;
            (given[0], chosen)
        }
        Offsets::Flying => {
            let inputs = [text, first, made[0], tweak];
            let given = program.call(sealing.enter, &inputs, &[], &[special])?;
            (given[0], given[1])
        }
    };
    let encrypted = sealing.cipher.encrypt(block, &OWN_KEY)?;
    let program = &mut sealing.cipher.program;
    let closing_tweak = program.load(places.closing_tweak)?;
    let inputs = [encrypted, text, offsets, closing_tweak];
    let left = program.call(sealing.leave, &inputs, &[], &[special, closing])?;
    program.store(left[0], places.cipher)?;
    let tags = sealing.cipher.encrypt(left[1], &OWN_KEY)?;
    sealing.cipher.program.store(tags, places.tag)?;
    Ok(Sealed {
        program: sealing.cipher.program,
        cipher: MemoryRange {
            start: places.cipher,
            words: blocks * BLOCK_WORDS,
        },
        tag: places.tag,
    })
}

/// All clusters expand the packet's key, and the first one sends it.
const OWN_KEY: [u32; 2] = [0, 0];

/// Where everything is in memory. Blocks of the packet's are there once for
/// each cluster.
struct Places {
    table: MemoryRange,
    zero: MemoryRange,
    key: MemoryRange,
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

impl Places {
    fn of(clusters: usize, key: [u32; 4], start: &Start, text: &[u32]) -> (Places, Vec<u32>) {
        let mut memory = table_of(clusters);
        let table = MemoryRange {
            start: 0,
            words: memory.len(),
        };
        let mut in_all = |block: &[u32; 4]| {
            let range = MemoryRange {
                start: memory.len(),
                words: clusters * BLOCK_WORDS,
            };
            memory.extend(std::iter::repeat_n(block, clusters).flatten());
            range
        };
        let zero = in_all(&[0; 4]);
        let key = in_all(&key);
        let [nonce, first, special_tweak, closing_tweak] = match start {
            Start::Nonce(nonce) => [in_all(nonce), zero, zero, zero],
            Start::Known(known) => [
                in_all(&known.l),
                in_all(&known.first),
                in_all(&known.special_tweak),
                in_all(&known.closing_tweak),
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
        let places = Places {
            table,
            zero,
            key,
            nonce,
            first,
            special_tweak,
            closing_tweak,
            text: text_range,
            cipher,
            tag,
            offsets,
        };
        (places, memory)
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
        places: &Places,
        memory: Vec<u32>,
    ) -> Result<Sealing, ProgramFailure> {
        let kernels = Kernels::of(&Workload::fixed(1, clusters, false, Width::Single))?;
        let mut cipher = Cipher::begin(clusters, kernels, memory, places.table)?;
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
        cipher.expand(places.key, &[])?;
        cipher.program.barrier();
        Ok(Sealing {
            cipher,
            nonce,
            parameters,
            enter,
            leave,
        })
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
        let zeros = self.cipher.program.load(places.zero)?;
        let l = self.cipher.encrypt(zeros, &OWN_KEY)?;
        let program = &mut self.cipher.program;
        let with_nonce = program.call(self.nonce, &[l, loaded], &[], &[])?;
        Ok((l, self.cipher.encrypt(with_nonce[0], &OWN_KEY)?))
    }
}

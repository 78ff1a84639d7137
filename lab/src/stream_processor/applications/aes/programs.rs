//! AES as stream programs (figures 2.5 and 2.6 of the thesis).

use super::{SUB_KEY_WORDS, table};
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream_processor::kernel::{BuildError, Kernel};
use crate::stream_processor::stream::{KernelId, MemoryRange, Program, Stream};

pub(in crate::stream_processor::applications) const ENTRY: ProgramEntry = ProgramEntry {
    name: "aes",
    about: "encrypts packets with AES-128 in ECB, under one key or a key per packet",
    source: "Lai 2006, 2.6",
    packet_bytes: |size| size.bytes,
    build: |clusters, size| {
        let (cipher, expansion) = if size.dual {
            (Width::Dual, Width::Dual)
        } else {
            (Width::Single, Width::Single)
        };
        // Packets are padded to whole rows of blocks (2.6.2.1).
        let row = clusters * cipher.at_once();
        let blocks = size
            .bytes
            .div_ceil(4 * BLOCK_WORDS)
            .max(1)
            .next_multiple_of(row);
        let workload = Workload {
            expansion,
            ..Workload::fixed(size.packets, blocks, size.key_agile, cipher)
        };
        let keys = example_words(size.packets * BLOCK_WORDS);
        let text = example_words(workload.blocks() * BLOCK_WORDS);
        Ok(encrypt(clusters, &workload, &keys, &text)?.program)
    },
};

/// Words of a block, and of a key.
pub const BLOCK_WORDS: usize = 4;

/// How many blocks, or keys, a cluster works on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One.
    Single,
    /// Two.
    Dual,
}

impl Width {
    /// The number.
    pub fn at_once(self) -> usize {
        match self {
            Width::Single => 1,
            Width::Dual => 2,
        }
    }
}

/// What is encrypted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Blocks of each packet; a multiple of clusters × blocks at a time.
    pub packets: Vec<usize>,
    /// Whether every packet has a different key; else all have one.
    pub key_agile: bool,
    /// How the cipher's kernels work.
    pub cipher: Width,
    /// How the key expansion works.
    pub expansion: Width,
    /// Whether the host learns each packet's length from the stream that it
    /// loaded (a stream that counts up), instead of from a list.
    pub counts_up: bool,
}

impl Workload {
    /// Packets of one length, with one key or one each.
    pub fn fixed(packets: usize, blocks: usize, key_agile: bool, cipher: Width) -> Workload {
        Workload {
            packets: vec![blocks; packets],
            key_agile,
            cipher,
            expansion: Width::Single,
            counts_up: false,
        }
    }

    /// Packets by their numbers of blocks, with a key for each.
    pub fn with_keys_for(packets: Vec<usize>) -> Workload {
        Workload {
            packets,
            ..Workload::fixed(0, 0, true, Width::Single)
        }
    }

    /// Blocks of all packets.
    pub fn blocks(&self) -> usize {
        self.packets.iter().sum()
    }

    fn keys(&self) -> usize {
        if self.key_agile {
            self.packets.len()
        } else {
            1
        }
    }
}

/// A program that has encrypted a workload. Its one barrier is passed when the
/// table and all microcode are in place, and without key agility the sub-keys.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// The program.
    pub program: Program,
    /// Where the cipher text is in its memory.
    pub cipher_text: MemoryRange,
}

/// Encrypts text under keys, four words each: one for each packet, or one for
/// all.
///
/// # Errors
/// Too few keys or words of text, and packets that do not divide over the
/// clusters.
pub fn encrypt(
    clusters: usize,
    workload: &Workload,
    keys: &[u32],
    text: &[u32],
) -> Result<Encrypted, ProgramFailure> {
    let text_words = workload.blocks() * BLOCK_WORDS;
    if workload.packets.is_empty() {
        return Err(ProgramFailure::Workload("no packets".to_owned()));
    }
    if keys.len() < workload.keys() * BLOCK_WORDS || text.len() < text_words {
        return Err(ProgramFailure::Workload(format!(
            "{} keys and {text_words} words of text are needed",
            workload.keys()
        )));
    }
    let keys_at_once = clusters * workload.expansion.at_once();
    let mut memory: Vec<u32> = table_of(clusters);
    let table = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    // A group of keys is always full: the last key stands for those missing.
    let keys_start = memory.len();
    let groups = workload.keys().div_ceil(keys_at_once);
    for key in 0..groups * keys_at_once {
        let from = key.min(workload.keys() - 1) * BLOCK_WORDS;
        memory.extend_from_slice(&keys[from..from + BLOCK_WORDS]);
    }
    let text_start = memory.len();
    memory.extend_from_slice(&text[..text_words]);
    let cipher_text = MemoryRange {
        start: memory.len(),
        words: text_words,
    };
    memory.resize(memory.len() + text_words, 0);

    let mut cipher = Cipher::begin(clusters, Kernels::of(workload)?, memory, table)?;
    if workload.key_agile {
        cipher.program.barrier();
    }
    let mut at = 0;
    for (packet, &blocks) in workload.packets.iter().enumerate() {
        let key = if workload.key_agile { packet } else { 0 };
        if key.is_multiple_of(keys_at_once) && (packet == 0 || workload.key_agile) {
            cipher.expand(
                MemoryRange {
                    start: keys_start + key * BLOCK_WORDS,
                    words: keys_at_once * BLOCK_WORDS,
                },
                &[],
            )?;
        }
        if packet == 0 && !workload.key_agile {
            cipher.program.barrier();
        }
        let words = blocks * BLOCK_WORDS;
        let from = MemoryRange {
            start: text_start + at,
            words,
        };
        let slot = key % keys_at_once;
        let scalars = [
            (slot % clusters) as u32,
            (slot / clusters) as u32 * SUB_KEY_WORDS,
        ];
        cipher.packet(from, cipher_text.start + at, &scalars, workload.counts_up)?;
        at += words;
    }
    Ok(Encrypted {
        program: cipher.program,
        cipher_text,
    })
}

/// The table, every word once for each cluster.
pub(in crate::stream_processor::applications) fn table_of(clusters: usize) -> Vec<u32> {
    let words = table().into_iter();
    words
        .flat_map(|word| std::iter::repeat_n(word, clusters))
        .collect()
}

/// The kernels of a program that encrypts.
pub(in crate::stream_processor::applications) struct Kernels {
    pub(in crate::stream_processor::applications) expansion: Kernel,
    pub(in crate::stream_processor::applications) core: Kernel,
    pub(in crate::stream_processor::applications) final_round: Kernel,
}

impl Kernels {
    /// Those for packets across all clusters.
    pub(in crate::stream_processor::applications) fn of(
        workload: &Workload,
    ) -> Result<Kernels, BuildError> {
        let expansion = match workload.expansion {
            Width::Single => super::key_expansion()?,
            Width::Dual => super::key_expansion_dual()?,
        };
        let (core, final_round) = match workload.cipher {
            Width::Single => (super::core()?, super::final_round()?),
            Width::Dual => (super::core_dual()?, super::final_round_dual()?),
        };
        Ok(Kernels {
            expansion,
            core,
            final_round,
        })
    }
}

/// A program with AES's kernels.
pub(in crate::stream_processor::applications) struct Cipher {
    pub(in crate::stream_processor::applications) program: Program,
    expansion: KernelId,
    core: KernelId,
    final_round: KernelId,
}

impl Cipher {
    /// Puts table and microcode in place.
    pub(in crate::stream_processor::applications) fn begin(
        clusters: usize,
        kernels: Kernels,
        memory: Vec<u32>,
        table: MemoryRange,
    ) -> Result<Cipher, ProgramFailure> {
        let mut program = Program::new(clusters, memory);
        let fill = program.kernel(super::table_load()?);
        let expansion = program.kernel(kernels.expansion);
        let core = program.kernel(kernels.core);
        let final_round = program.kernel(kernels.final_round);
        let words = program.load(table)?;
        program.call(fill, &[words], &[], &[])?;
        for kernel in [expansion, core, final_round] {
            program.load_microcode(kernel);
        }
        Ok(Cipher {
            program,
            expansion,
            core,
            final_round,
        })
    }

    /// Expands the keys of all clusters.
    pub(in crate::stream_processor::applications) fn expand(
        &mut self,
        keys: MemoryRange,
        scalars: &[u32],
    ) -> Result<(), ProgramFailure> {
        let keys = self.program.load(keys)?;
        self.program.call(self.expansion, &[keys], &[], scalars)?;
        Ok(())
    }

    /// Loads, encrypts and stores the blocks of a stream.
    pub(super) fn packet(
        &mut self,
        from: MemoryRange,
        to: usize,
        scalars: &[u32],
        counts_up: bool,
    ) -> Result<(), ProgramFailure> {
        let text: Stream = self.program.load(from)?;
        if counts_up {
            self.program.await_length(text);
        }
        let cipher = self.encrypt(text, scalars)?;
        self.program.store(cipher, to)?;
        Ok(())
    }

    /// Encrypts the blocks of a stream.
    pub(in crate::stream_processor::applications) fn encrypt(
        &mut self,
        text: Stream,
        scalars: &[u32],
    ) -> Result<Stream, ProgramFailure> {
        let state = self.program.call(self.core, &[text], &[], scalars)?;
        let cipher = self.program.call(self.final_round, &state, &[], scalars)?;
        Ok(cipher[0])
    }
}

//! Writing a stream program.

use std::collections::BTreeMap;

use crate::stream_processor::execute::{Arguments, ExecuteError, Scratchpads, execute};
use crate::stream_processor::kernel::Kernel;
use crate::stream_processor::schedule::Call;

/// A program that cannot be written so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A kernel that cannot run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Memory that is not there.
    #[error("words {start} to {end} of a memory of {words}")]
    Memory {
        /// The first word.
        start: usize,
        /// The word after the last.
        end: usize,
        /// Words of the memory.
        words: usize,
    },
}

/// Words of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// The first word.
    pub start: usize,
    /// How many.
    pub words: usize,
}

/// A stream in the stream register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream(usize);

/// A kernel of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelId(usize);

impl KernelId {
    /// Its place in the program's list.
    pub fn index(self) -> usize {
        self.0
    }
}

impl Stream {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// What the host sends to the stream controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// From memory into a stream.
    Load {
        /// The stream.
        to: Stream,
        /// Whether words are in sequence, and not gathered by an index.
        in_sequence: bool,
    },
    /// From a stream into memory.
    Store {
        /// The stream.
        from: Stream,
        /// Whether words are in sequence, and not scattered by an index.
        in_sequence: bool,
    },
    /// A kernel, with what its time depends on.
    Call {
        /// The kernel.
        kernel: KernelId,
        /// The streams that it reads, then those that it indexes.
        takes: Vec<Stream>,
        /// The streams that it writes.
        gives: Vec<Stream>,
        /// Records and scalars.
        call: Call,
    },
    /// A kernel's instructions into the microcode store.
    LoadMicrocode {
        /// The kernel.
        kernel: KernelId,
    },
    /// The host waits until all before is complete.
    Barrier,
    /// The host waits until it knows the length of a stream, as of one that
    /// counts up.
    AwaitLength {
        /// The stream.
        of: Stream,
    },
}

/// A recorded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What it does.
    pub what: Instruction,
    /// Instructions that have to be complete before it begins, by number.
    pub after: Vec<usize>,
}

/// A stream as the simulator needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFacts {
    /// Its size.
    pub bytes: u64,
    /// The instruction that takes room for it.
    pub made: usize,
    /// The instruction that wrote it last, where one did.
    pub maker: Option<usize>,
    /// The last instruction that uses it.
    pub last_use: usize,
}

/// A program under way, and what it has done.
#[derive(Clone, Debug)]
pub struct Program {
    clusters: usize,
    kernels: Vec<Kernel>,
    memory: Vec<u32>,
    scratchpads: Scratchpads,
    streams: Vec<Vec<u32>>,
    facts: Vec<StreamFacts>,
    instructions: Vec<Recorded>,
    /// Stores by the first word of their range: end, instruction.
    stored: BTreeMap<usize, (usize, usize)>,
}

impl Program {
    /// A program for a number of clusters, with what is in memory.
    pub fn new(clusters: usize, memory: Vec<u32>) -> Program {
        Program {
            clusters,
            kernels: Vec::new(),
            memory,
            scratchpads: Scratchpads::new(),
            streams: Vec::new(),
            facts: Vec::new(),
            instructions: Vec::new(),
            stored: BTreeMap::new(),
        }
    }

    /// A kernel that the program calls.
    pub fn kernel(&mut self, kernel: Kernel) -> KernelId {
        self.kernels.push(kernel);
        KernelId(self.kernels.len() - 1)
    }

    /// Loads words in sequence.
    ///
    /// # Errors
    /// A range outside memory.
    pub fn load(&mut self, range: MemoryRange) -> Result<Stream, ProgramError> {
        let words = self.range(range)?.to_vec();
        let after = self.stores_in(range);
        Ok(self.loaded(words, after, true))
    }

    /// Gathers records of `record_words` words that begin at the given words
    /// of memory.
    ///
    /// # Errors
    /// A record outside memory.
    pub fn gather(
        &mut self,
        starts: &[usize],
        record_words: usize,
    ) -> Result<Stream, ProgramError> {
        let mut words = Vec::with_capacity(starts.len() * record_words);
        let mut after = Vec::new();
        for &start in starts {
            let range = MemoryRange {
                start,
                words: record_words,
            };
            words.extend_from_slice(self.range(range)?);
            after.extend(self.stores_in(range));
        }
        after.sort_unstable();
        after.dedup();
        Ok(self.loaded(words, after, false))
    }

    /// Gathers words from those words of memory, counted from `start`, that a
    /// stream names.
    ///
    /// # Errors
    /// A word outside memory.
    pub fn gather_by(&mut self, addresses: Stream, start: usize) -> Result<Stream, ProgramError> {
        let named = &self.streams[addresses.0];
        let mut words = Vec::with_capacity(named.len());
        for &address in named {
            let start = start.saturating_add(address as usize);
            words.extend_from_slice(self.range(MemoryRange { start, words: 1 })?);
        }
        let mut after = self.stores_in(MemoryRange {
            start,
            words: self.memory.len() - start,
        });
        after.extend(self.facts[addresses.0].maker);
        self.used(addresses);
        Ok(self.loaded(words, after, false))
    }

    /// A stream that the network interface has put into the stream register
    /// file: it takes room, and neither the host's time nor memory's.
    pub fn receive(&mut self, words: Vec<u32>) -> Stream {
        let stream = self.new_stream(words);
        self.facts[stream.0].maker = None;
        stream
    }

    fn loaded(&mut self, words: Vec<u32>, after: Vec<usize>, in_sequence: bool) -> Stream {
        let to = self.new_stream(words);
        self.record(Instruction::Load { to, in_sequence }, after);
        to
    }

    /// Stores a stream in sequence, from a word of memory on.
    ///
    /// # Errors
    /// A range outside memory.
    pub fn store(&mut self, from: Stream, start: usize) -> Result<(), ProgramError> {
        let words = self.streams[from.0].len();
        let range = MemoryRange { start, words };
        self.range(range)?;
        let mut after = self.stores_in(range);
        after.extend(self.facts[from.0].maker);
        self.memory[start..start + words].copy_from_slice(&self.streams[from.0]);
        self.stored
            .insert(start, (start + words, self.instructions.len()));
        self.used(from);
        let what = Instruction::Store {
            from,
            in_sequence: true,
        };
        self.record(what, after);
        Ok(())
    }

    /// Calls a kernel on streams; returns those that it gives.
    ///
    /// # Errors
    /// What the kernel finds wrong.
    pub fn call(
        &mut self,
        kernel: KernelId,
        inputs: &[Stream],
        indexed: &[Stream],
        scalars: &[u32],
    ) -> Result<Vec<Stream>, ProgramError> {
        let code = &self.kernels[kernel.0];
        let words = |stream: &Stream| self.streams[stream.0].clone();
        let mut arguments = Arguments {
            inputs: inputs.iter().map(words).collect(),
            indexed: indexed.iter().map(words).collect(),
            scalars: scalars.to_vec(),
        };
        let outputs = execute(code, self.clusters, &mut arguments, &mut self.scratchpads)?;
        let records = code
            .inputs()
            .iter()
            .zip(&arguments.inputs)
            .map(|(port, words)| words.len() as u64 / u64::from(port.record_words))
            .collect();
        for (stream, words) in indexed.iter().zip(arguments.indexed) {
            self.streams[stream.0] = words;
        }

        let takes: Vec<Stream> = inputs.iter().chain(indexed).copied().collect();
        let after = takes
            .iter()
            .filter_map(|stream| self.facts[stream.0].maker)
            .collect();
        for &stream in &takes {
            self.used(stream);
        }
        let gives: Vec<Stream> = outputs
            .into_iter()
            .map(|words| self.new_stream(words))
            .collect();
        let call = Call {
            records,
            scalars: scalars.to_vec(),
        };
        // The next user of an indexed stream depends on this call.
        for stream in indexed {
            self.facts[stream.0].maker = Some(self.instructions.len());
        }
        self.record(
            Instruction::Call {
                kernel,
                takes,
                gives: gives.clone(),
                call,
            },
            after,
        );
        Ok(gives)
    }

    /// Loads a kernel's instructions before its first call needs them.
    pub fn load_microcode(&mut self, kernel: KernelId) {
        self.record(Instruction::LoadMicrocode { kernel }, Vec::new());
    }

    /// Makes the host wait until all before is complete. Times are measured
    /// from barriers.
    pub fn barrier(&mut self) {
        self.record(Instruction::Barrier, Vec::new());
    }

    /// Makes the host wait for the length of a stream.
    pub fn await_length(&mut self, of: Stream) {
        let after = self.facts[of.0].maker.into_iter().collect();
        self.used(of);
        self.record(Instruction::AwaitLength { of }, after);
    }

    fn range(&self, range: MemoryRange) -> Result<&[u32], ProgramError> {
        let end = range.start.saturating_add(range.words);
        self.memory
            .get(range.start..end)
            .ok_or(ProgramError::Memory {
                start: range.start,
                end,
                words: self.memory.len(),
            })
    }

    /// Stores that wrote into a range.
    fn stores_in(&self, range: MemoryRange) -> Vec<usize> {
        let end = range.start + range.words;
        let stores = self.stored.range(..end);
        stores
            .filter(|(_, (stored_end, _))| *stored_end > range.start)
            .map(|(_, &(_, instruction))| instruction)
            .collect()
    }

    fn new_stream(&mut self, words: Vec<u32>) -> Stream {
        self.facts.push(StreamFacts {
            bytes: 4 * words.len() as u64,
            made: self.instructions.len(),
            maker: Some(self.instructions.len()),
            last_use: self.instructions.len(),
        });
        self.streams.push(words);
        Stream(self.streams.len() - 1)
    }

    fn used(&mut self, stream: Stream) {
        self.facts[stream.0].last_use = self.instructions.len();
    }

    fn record(&mut self, what: Instruction, after: Vec<usize>) {
        self.instructions.push(Recorded { what, after });
    }

    /// What is in memory now.
    pub fn memory(&self) -> &[u32] {
        &self.memory
    }

    /// The words of a stream.
    pub fn words(&self, stream: Stream) -> &[u32] {
        &self.streams[stream.0]
    }

    /// The kernels, in the order of their identifiers.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// What the host sends, in order.
    pub fn instructions(&self) -> &[Recorded] {
        &self.instructions
    }

    /// All streams, in the order in which they were made.
    pub fn streams(&self) -> &[StreamFacts] {
        &self.facts
    }

    /// The clusters that it was written for.
    pub fn clusters(&self) -> usize {
        self.clusters
    }
}

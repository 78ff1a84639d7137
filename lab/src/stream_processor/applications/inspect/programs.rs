//! Inspection as stream programs: one processor, and a pipeline of several
//! (figure 5.4).

use super::scan::Shape;
use super::{Design, Family, FilterPlace, Functions, LENGTHS, Position, QUERIES};
use crate::stream_processor::applications::{ProgramEntry, ProgramFailure, example_words};
use crate::stream_processor::stream::{KernelId, MemoryRange, Program, Stream};

pub(in crate::stream_processor::applications) const ENTRY: ProgramEntry = ProgramEntry {
    name: "inspect",
    about: "searches packets for patterns of 5 to 8 bytes with a Bloom filter",
    source: "Lai 2006, 5.3.2",
    packet_bytes: |size| size.bytes,
    build: |clusters, size| {
        let design = Design::new(Family::ShiftAddXor, Position::First);
        let packets = example_packets(size.packets, size.bytes);
        let functions = Functions::example(design.family, clusters, design.prefix_bytes());
        Ok(inspect(&design, &functions, &example_patterns(), &packets, None)?.program)
    },
};

/// Bytes of a packet that a call of kernel 2 goes over, so that the streams of
/// two calls and four tables have room in the stream register file.
const STRIP_BYTES: usize = 512;
/// The same where every byte has addresses and hashes too.
const MEMORY_STRIP_BYTES: usize = 128;

/// Packets that look like data, the same ones always.
pub fn example_packets(packets: usize, bytes: usize) -> Vec<Vec<u8>> {
    let words = example_words(packets * bytes.div_ceil(4));
    let mut all = words.into_iter().flat_map(u32::to_le_bytes);
    (0..packets)
        .map(|_| all.by_ref().take(bytes).collect())
        .collect()
}

/// Patterns of 5 to 24 bytes, the same ones always.
pub fn example_patterns() -> Vec<Vec<u8>> {
    (0..400)
        .map(|n| example_packets(n + 1, 5 + n % 20).pop().unwrap_or_default())
        .collect()
}

/// A program that has inspected packets. Its one barrier is passed when
/// filter, tables, parameters and microcode are in place.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The program.
    pub program: Program,
    design: Design,
    packets: Vec<Inspection>,
}

/// What is known of a packet.
#[derive(Clone, Debug, Default)]
struct Inspection {
    bytes: usize,
    /// Words of results for each length: kernel 1's, then one for each 32
    /// bytes.
    results: Vec<[u32; LENGTHS]>,
    /// Intermediate hashes by byte and cluster, from kernel 1's on.
    longest: Vec<u32>,
}

impl Inspected {
    /// How the processor is built.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Where in a packet a pattern of which length may begin.
    pub fn matches(&self, packet: usize) -> Vec<(usize, usize)> {
        let Inspection { bytes, results, .. } = &self.packets[packet];
        let mut found = Vec::new();
        for (word, results) in results.iter().enumerate() {
            for (n, &results) in results.iter().enumerate() {
                // The byte at which the window of the lowest bit ends.
                let last = self.design.prefix_bytes() - 1 + QUERIES * word;
                let queries = if word == 0 { LENGTHS - n } else { QUERIES };
                let length = self.design.shortest() + n;
                let set = (0..queries).filter(|bit| results >> bit & 1 == 1);
                found.extend(
                    set.map(|bit| last - bit)
                        .filter(|&end| end < *bytes)
                        .map(|end| (end + 1 - length, length)),
                );
            }
        }
        found.sort_unstable();
        found
    }

    /// The intermediate hashes of each packet for the processor after.
    pub fn longest(&self) -> Vec<Vec<u32>> {
        let packets = self.packets.iter();
        packets.map(|packet| packet.longest.clone()).collect()
    }
}

/// Looks for patterns in packets on a pipeline of processors.
///
/// # Errors
/// As for one.
pub fn pipeline(
    family: Family,
    functions: &Functions,
    processors: usize,
    patterns: &[Vec<u8>],
    packets: &[Vec<u8>],
) -> Result<Vec<Inspected>, ProgramFailure> {
    let mut stages: Vec<Inspected> = Vec::with_capacity(processors);
    for others in 0..processors {
        let position = match others {
            0 => Position::First,
            _ => Position::After(others),
        };
        let design = Design::new(family, position);
        let before = stages.last().map(Inspected::longest);
        let stage = inspect(&design, functions, patterns, packets, before.as_deref())?;
        stages.push(stage);
    }
    Ok(stages)
}

/// Looks for patterns in packets on one processor. `before` has the
/// intermediate hashes of each packet from the processor before.
///
/// # Errors
/// Functions of another family, and hashes missing that the design goes on
/// with.
pub fn inspect(
    design: &Design,
    functions: &Functions,
    patterns: &[Vec<u8>],
    packets: &[Vec<u8>],
    before: Option<&[Vec<u32>]>,
) -> Result<Inspected, ProgramFailure> {
    if functions.family() != design.family {
        return Err(ProgramFailure::Workload(
            "the functions are of another family".to_owned(),
        ));
    }
    let has_hashes = before.is_some_and(|hashes| hashes.len() == packets.len());
    if design.position != Position::First && !has_hashes {
        return Err(ProgramFailure::Workload(
            "the intermediate hashes of each packet are needed".to_owned(),
        ));
    }
    let mut processor = Processor::new(design, functions, patterns, packets)?;
    for packet in 0..packets.len() {
        let hashes = before.map_or(&[][..], |hashes| &hashes[packet]);
        let inspection = processor.packet(packet, packets[packet].len(), hashes)?;
        processor.done.push(inspection);
    }
    Ok(Inspected {
        program: processor.program,
        design: *design,
        packets: processor.done,
    })
}

/// A program with the kernels of a design, and what stays in its streams.
struct Processor<'a> {
    design: &'a Design,
    clusters: usize,
    program: Program,
    start: KernelId,
    scan: KernelId,
    query: Option<KernelId>,
    parameters: Option<Stream>,
    /// Tables and the filter, where they are in lanes.
    indexed: Vec<Stream>,
    /// Where each packet is in memory, and its results.
    places: Vec<Place>,
    filter: MemoryRange,
    done: Vec<Inspection>,
}

struct Place {
    text: usize,
    results: usize,
    /// Bytes that kernel 2 goes over.
    rest: usize,
}

impl<'a> Processor<'a> {
    fn new(
        design: &'a Design,
        functions: &Functions,
        patterns: &[Vec<u8>],
        packets: &[Vec<u8>],
    ) -> Result<Processor<'a>, ProgramFailure> {
        let clusters = functions.clusters();
        let mut memory = functions.filter(design, patterns);
        let filter = MemoryRange {
            start: 0,
            words: memory.len(),
        };
        let parameters = range_of(&mut memory, functions.parameters());
        let places_of_bytes = design.first_place()..design.prefix_bytes();
        let tables: Vec<MemoryRange> = places_of_bytes
            .filter(|_| design.family == Family::Tabulation)
            .map(|place| range_of(&mut memory, functions.table(place)))
            .collect();
        let row = QUERIES.max(4 * clusters);
        let places = packets
            .iter()
            .map(|packet| {
                let rest = packet.len().saturating_sub(design.prefix_bytes());
                let rest = rest.max(1).next_multiple_of(row);
                let words: Vec<u32> = packet.chunks(4).map(word_of).collect();
                let text = range_of(&mut memory, &words).start;
                memory.resize(text + (design.prefix_bytes() + rest) / 4 + clusters, 0);
                let results = memory.len();
                memory.resize(results + LENGTHS * clusters * (1 + rest / QUERIES), 0);
                Place {
                    text,
                    results,
                    rest,
                }
            })
            .collect();

        let mut program = Program::new(clusters, memory);
        let start = program.kernel(super::start(clusters, design)?);
        let scan = program.kernel(super::scan(clusters, design)?);
        let query = match design.filter {
            FilterPlace::Memory => Some(program.kernel(super::from_memory(clusters)?)),
            _ => None,
        };
        let parameters = match parameters.words {
            0 => None,
            _ => Some(program.load(parameters)?),
        };
        let mut indexed = Vec::new();
        for table in tables {
            indexed.push(program.load(table)?);
        }
        match design.filter {
            FilterPlace::Lane => indexed.push(program.load(filter)?),
            _ => {
                let fill = program.kernel(super::filter_load()?);
                let words = program.load(filter)?;
                program.call(fill, &[words], &[], &[])?;
            }
        }
        for kernel in [Some(start), Some(scan), query].into_iter().flatten() {
            program.load_microcode(kernel);
        }
        program.barrier();
        Ok(Processor {
            design,
            clusters,
            program,
            start,
            scan,
            query,
            parameters,
            indexed,
            places,
            filter,
            done: Vec::new(),
        })
    }

    fn packet(
        &mut self,
        packet: usize,
        bytes: usize,
        before: &[u32],
    ) -> Result<Inspection, ProgramFailure> {
        let Place {
            text,
            results,
            rest,
        } = self.places[packet];
        let mut made = Inspection {
            bytes,
            ..Inspection::default()
        };
        let mut to = results;
        let mut states = self.prefix(text, before, &mut made, &mut to)?;
        let strip_bytes = match self.query {
            Some(_) => MEMORY_STRIP_BYTES,
            None => STRIP_BYTES,
        };
        let mut at = 0;
        while at < rest {
            let strip = strip_bytes.min(rest - at);
            let from = MemoryRange {
                start: text + (self.design.prefix_bytes() + at) / 4,
                words: strip / 4,
            };
            // Rows before these are kernel 1's.
            let rows = LENGTHS + 1 + at..LENGTHS + 1 + at + strip;
            let shorter = match self.design.position {
                Position::First => None,
                Position::After(_) => Some(by_record(before, rows, self.clusters)),
            };
            states = self.strip(from, states, shorter, &mut made, &mut to)?;
            at += strip;
        }
        Ok(made)
    }

    /// Kernel 1; returns the hashes with which kernel 2 begins.
    fn prefix(
        &mut self,
        text: usize,
        before: &[u32],
        made: &mut Inspection,
        to: &mut usize,
    ) -> Result<Stream, ProgramFailure> {
        let first = self.design.first_place() / 4;
        let words = self.design.prefix_bytes() / 4 - first;
        let from = MemoryRange {
            start: text + first,
            words: words.next_multiple_of(self.clusters),
        };
        let mut inputs = vec![self.program.load(from)?];
        if self.design.starts_with_hashes() {
            let rows = by_cluster(before, 0..LENGTHS + 1, self.clusters);
            inputs.push(self.program.receive(rows));
        }
        inputs.extend(self.parameters);
        let given = self.program.call(self.start, &inputs, &self.indexed, &[])?;
        self.store_results(given[0], made, to)?;
        made.longest.extend(self.program.words(given[1]));
        Ok(given[2])
    }

    /// Kernel 2 over a strip; returns the hashes with which the next begins.
    fn strip(
        &mut self,
        from: MemoryRange,
        states: Stream,
        shorter: Option<Vec<u32>>,
        made: &mut Inspection,
        to: &mut usize,
    ) -> Result<Stream, ProgramFailure> {
        let mut inputs = vec![self.program.load(from)?, states];
        if let Some(shorter) = shorter {
            inputs.push(self.program.receive(shorter));
        }
        if self.design.takes_parameters() {
            inputs.extend(self.parameters);
        }
        let given = self.program.call(self.scan, &inputs, &self.indexed, &[])?;
        let (longest, after) = match (self.query, given.as_slice()) {
            (None, &[matches, longest, after]) => {
                self.store_results(matches, made, to)?;
                (longest, after)
            }
            (Some(query), &[addresses, hashes, longest, after]) => {
                let words = self.program.gather_by(addresses, self.filter.start)?;
                let matches = self.program.call(query, &[words, hashes], &[], &[])?;
                self.store_results(matches[0], made, to)?;
                (longest, after)
            }
            _ => {
                return Err(ProgramFailure::Workload(
                    "kernel 2 gives other streams".to_owned(),
                ));
            }
        };
        let words = self.program.words(longest);
        made.longest.extend(by_byte(words, self.clusters));
        Ok(after)
    }

    /// Stores results, of which all clusters have the same.
    fn store_results(
        &mut self,
        matches: Stream,
        made: &mut Inspection,
        to: &mut usize,
    ) -> Result<(), ProgramFailure> {
        let words = self.program.words(matches);
        let (records, _) = words.as_chunks::<LENGTHS>();
        made.results.extend(records.iter().step_by(self.clusters));
        let stored = words.len();
        self.program.store(matches, *to)?;
        *to += stored;
        Ok(())
    }
}

fn range_of(memory: &mut Vec<u32>, words: &[u32]) -> MemoryRange {
    let start = memory.len();
    memory.extend_from_slice(words);
    MemoryRange {
        start,
        words: words.len(),
    }
}

fn word_of(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

/// Rows of hashes as a record for each cluster; rows that are missing are zero.
fn by_cluster(hashes: &[u32], rows: std::ops::Range<usize>, clusters: usize) -> Vec<u32> {
    let word = |row: usize, cluster| hashes.get(row * clusters + cluster).copied();
    (0..clusters)
        .flat_map(|cluster| rows.clone().map(move |row| (row, cluster)))
        .map(|(row, cluster)| word(row, cluster).unwrap_or(0))
        .collect()
}

/// The same as records of as many rows as kernel 2 takes of a cluster at once.
fn by_record(hashes: &[u32], rows: std::ops::Range<usize>, clusters: usize) -> Vec<u32> {
    let record = Shape { clusters }.record_bytes() as usize;
    rows.clone()
        .step_by(record)
        .flat_map(|row| by_cluster(hashes, row..row + record, clusters))
        .collect()
}

/// Back to rows.
fn by_byte(records: &[u32], clusters: usize) -> Vec<u32> {
    let rows = Shape { clusters }.record_bytes() as usize;
    let mut words = Vec::with_capacity(records.len());
    for record in records.chunks(rows * clusters) {
        for row in 0..rows {
            words.extend((0..clusters).map(|cluster| record[cluster * rows + row]));
        }
    }
    words
}

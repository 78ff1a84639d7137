//! Kernel 2: the rest of the packet, a byte at a time (5.2.3).

use super::hashing::Hashing;
use super::query::{Query, QueryResults, address};
use super::{Design, LENGTHS, Position, QUERIES};
use crate::stream_processor::applications::broadcast;
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{
    BuildError, Builder, InputId, Kernel, OutputId, Over, Value,
};

/// Kernel 2 of a design.
///
/// Its inputs are the packet, a word in a record; the hashes with which the
/// strip begins; after other processors, their intermediate hashes, a word for
/// each byte of a row of the packet; and the functions' parameters. Its outputs
/// are a word of results for each length and 32 bytes, or addresses and hashes
/// for a filter in memory; the intermediate hashes for the processor after;
/// and the hashes with which the next strip begins.
pub fn scan(clusters: usize, design: &Design) -> Result<Kernel, BuildError> {
    let shape = Shape { clusters };
    let carried = design.carried() as u32;
    let mut k = Builder::new(&design.kernel_name(2));
    let packet = k.input("packet", 1);
    let before = k.input("hashes before", carried);
    let shorter = match design.position {
        Position::First => None,
        Position::After(_) => Some(k.input("intermediate hashes", shape.record_bytes())),
    };
    let hashing = Hashing::declare(&mut k, clusters, design, design.shortest_made());
    let lookup = Lookup::declare(&mut k, clusters, design);
    let longest = k.output("intermediate hashes on", shape.record_bytes());
    let scan = Scan {
        design,
        shape,
        hashing,
        shorter,
        longest,
        lookup,
    };
    let after = k.output("hashes after", carried);

    let states = k.read(before);
    let over = Over::several_records(packet, shape.reads()).label("packet");
    let states = k.repeat(over, &states, |k, states| {
        if shape.groups() == 1 {
            return scan.group(k, packet, None, states);
        }
        let word = k.read(packet)[0];
        let (first, step) = (k.constant(0), k.constant(GROUP));
        let carried = [&[first], states].concat();
        let over = Over::count(shape.groups()).label("packet");
        let after = k.repeat(over, &carried, |k, carried| {
            let next = k.add(carried[0], step);
            let states = scan.group(k, packet, Some((word, carried[0])), &carried[1..]);
            [vec![next], states].concat()
        });
        after[1..].to_vec()
    });
    k.write(after, &states);
    k.finish()
}

/// Words of the packet whose bytes are queried together.
const GROUP: u32 = QUERIES as u32 / 4;

/// How the packet's words are dealt out to clusters.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) clusters: usize,
}

impl Shape {
    /// Records that each cluster reads for a group of words.
    fn reads(self) -> u32 {
        (GROUP / self.clusters as u32).max(1)
    }

    /// Groups in a record of all clusters.
    fn groups(self) -> u32 {
        (self.clusters as u32 / GROUP).max(1)
    }

    /// Words of a record of all clusters that are in one group.
    fn words(self) -> u32 {
        GROUP.min(self.clusters as u32)
    }

    /// Bytes of the packet, and so intermediate hashes, in that.
    pub(super) fn record_bytes(self) -> u32 {
        4 * self.words()
    }
}

/// Kernel 2's streams and functions.
struct Scan<'a> {
    design: &'a Design,
    shape: Shape,
    hashing: Hashing,
    shorter: Option<InputId>,
    longest: OutputId,
    lookup: Lookup,
}

impl Scan<'_> {
    /// Goes over a group of words: of the packet's next records, or of the
    /// record that was read, from a cluster on.
    fn group(
        &self,
        k: &mut Builder,
        packet: InputId,
        read: Option<(Value, Value)>,
        states: &[Value],
    ) -> Vec<Value> {
        let mut states = states.to_vec();
        let mut results = QueryResults::none();
        for _ in 0..self.shape.reads() {
            let (word, first) = match read {
                Some((word, first)) => (word, Some(first)),
                None => (k.read(packet)[0], None),
            };
            for source in 0..self.shape.words() {
                let word = match first {
                    None => broadcast(k, self.shape.clusters, word, source),
                    Some(first) => {
                        let offset = k.constant(source);
                        let from = k.add(first, offset);
                        k.communicate(word, from)
                    }
                };
                let place = 4 * source;
                let shorter = self
                    .shorter
                    .map(|stream| k.read_words(stream, place..place + 4));
                let made: Vec<Value> = (0..4)
                    .map(|byte| {
                        let shorter = shorter.as_ref().map(|words| words[byte as usize]);
                        self.byte(k, (word, byte), shorter, &mut states, &mut results)
                    })
                    .collect();
                k.write_words(self.longest, place, &made);
            }
        }
        self.lookup.give(k, results);
        states
    }

    /// Makes all windows longer by a byte and queries them; returns the hash of
    /// the longest.
    fn byte(
        &self,
        k: &mut Builder,
        (word, byte): (Value, u32),
        shorter: Option<Value>,
        states: &mut Vec<Value>,
        results: &mut QueryResults,
    ) -> Value {
        let item = self.hashing.item(k, word, byte);
        let next = match shorter {
            Some(shorter) => shorter,
            None => self.hashing.begin(k, item),
        };
        let mut grown = vec![next];
        for (length, &state) in (self.design.shortest_carried()..).zip(states.iter()) {
            grown.push(self.hashing.append(k, state, length, item));
        }
        let hashes: Vec<Value> = grown[grown.len() - LENGTHS..]
            .iter()
            .map(|&state| self.hashing.finish(k, state))
            .collect();
        self.lookup.query(k, results, &hashes);
        let longest = grown.remove(grown.len() - 1);
        *states = grown;
        longest
    }
}

/// What is done with hashes.
enum Lookup {
    Here(Query, Tree, OutputId),
    InMemory {
        clusters: usize,
        addresses: OutputId,
        hashes: OutputId,
    },
}

impl Lookup {
    fn declare(k: &mut Builder, clusters: usize, design: &Design) -> Lookup {
        let words = LENGTHS as u32;
        match Query::declare(k, clusters, design) {
            Some(query) => {
                let tree = Tree::declare(k, clusters);
                Lookup::Here(query, tree, k.output("matches", words))
            }
            None => Lookup::InMemory {
                clusters,
                addresses: k.output("addresses", words),
                hashes: k.output("hashes", words),
            },
        }
    }

    fn query(&self, k: &mut Builder, results: &mut QueryResults, given: &[Value]) {
        match self {
            Lookup::Here(query, ..) => {
                for (n, &hash) in given.iter().enumerate() {
                    results.query(k, query, n, hash);
                }
            }
            Lookup::InMemory {
                clusters,
                addresses,
                hashes,
            } => {
                let places = given.iter().map(|&hash| address(k, *clusters, hash));
                let places: Vec<Value> = places.collect();
                k.write(*addresses, &places);
                k.write(*hashes, given);
            }
        }
    }

    fn give(&self, k: &mut Builder, results: QueryResults) {
        if let Lookup::Here(_, tree, matches) = self {
            results.give(k, tree, *matches);
        }
    }
}

//! Queries of the Bloom filter (5.4.2): a hash's lowest five bits name a bit of
//! the word that the bits above them name.

use super::{Design, FILTER_WORDS, FilterPlace, LENGTHS, QUERIES, declare_filter};
use crate::stream_processor::applications::lanes::Lanes;
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{
    ArrayId, BuildError, Builder, IndexedId, Kernel, OutputId, Over, Value,
};

/// How a bit is got.
pub(super) enum Query {
    /// From a scratchpad's word.
    Scratchpad(ArrayId),
    /// From a scratchpad, by hardware.
    Bit(ArrayId),
    /// From the lane's word.
    Lane(IndexedId, Lanes),
}

impl Query {
    /// A design's way; none for a filter in memory.
    pub(super) fn declare(k: &mut Builder, clusters: usize, design: &Design) -> Option<Query> {
        (design.filter != FilterPlace::Memory).then(|| Query::in_cluster(k, clusters, design))
    }

    /// A design's way within the cluster: in scratchpads where the filter is
    /// not in the lane.
    pub(super) fn in_cluster(k: &mut Builder, clusters: usize, design: &Design) -> Query {
        if design.filter == FilterPlace::Lane {
            let lanes = Lanes::new(clusters).assisted(design.index_assist);
            return Query::Lane(k.indexed("filter"), lanes);
        }
        let filter = declare_filter(k);
        if design.bit_assist {
            Query::Bit(filter)
        } else {
            Query::Scratchpad(filter)
        }
    }

    /// The bit of a hash.
    fn bit(&self, k: &mut Builder, hash: Value) -> Value {
        let word = match self {
            Query::Bit(filter) => return k.scratch_bit(*filter, hash),
            Query::Scratchpad(filter) => {
                let row = row(k, hash);
                k.scratch_read(*filter, row, 0)
            }
            Query::Lane(filter, lanes) => {
                let row = row(k, hash);
                lanes.read(k, *filter, row)
            }
        };
        extract(k, word, hash)
    }
}

/// The word of the filter that a hash names.
fn row(k: &mut Builder, hash: Value) -> Value {
    let mask = k.constant(FILTER_WORDS - 1);
    let above = k.shift_right(hash, 5);
    k.and(above, mask)
}

/// The bit of a word that a hash names.
fn extract(k: &mut Builder, word: Value, hash: Value) -> Value {
    let one = k.constant(1);
    let moved = k.shift_right_by(word, hash);
    k.and(moved, one)
}

/// Where a hash's word is in a filter in memory, whose segments are
/// interleaved as in lanes.
pub(super) fn address(k: &mut Builder, clusters: usize, hash: Value) -> Value {
    let row = row(k, hash);
    Lanes::new(clusters).index(k, row)
}

/// The results to queries of each length, the latest in the lowest bit.
pub(super) struct QueryResults {
    words: [Option<Value>; LENGTHS],
}

impl QueryResults {
    pub(super) fn none() -> QueryResults {
        QueryResults {
            words: [None; LENGTHS],
        }
    }

    /// Queries a window of the `n`-th length.
    pub(super) fn query(&mut self, k: &mut Builder, query: &Query, n: usize, hash: Value) {
        let bit = query.bit(k, hash);
        self.add(k, n, bit);
    }

    fn add(&mut self, k: &mut Builder, n: usize, bit: Value) {
        self.words[n] = Some(append(k, self.words[n], bit));
    }

    /// Gives the results that all clusters agree on, a word for each length.
    pub(super) fn give(self, k: &mut Builder, tree: &Tree, matches: OutputId) {
        let words: Vec<Value> = self
            .words
            .into_iter()
            .flatten()
            .map(|word| tree.fold(k, word, Builder::and))
            .collect();
        k.write(matches, &words);
    }
}

/// A word of results with one more.
pub(super) fn append(k: &mut Builder, word: Option<Value>, bit: Value) -> Value {
    match word {
        None => bit,
        Some(word) => {
            let earlier = k.shift_left(word, 1);
            k.or(earlier, bit)
        }
    }
}

/// The queries of a filter in memory, when its words have come.
pub fn from_memory(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("inspect-query");
    let words = k.input("words", LENGTHS as u32);
    let hashes = k.input("hashes", LENGTHS as u32);
    let matches = k.output("matches", LENGTHS as u32);
    let tree = Tree::declare(&mut k, clusters);
    k.repeat(
        Over::several_records(words, QUERIES as u32).label("packet"),
        &[],
        |k, _| {
            let mut results = QueryResults::none();
            for _ in 0..QUERIES {
                let (words, hashes) = (k.read(words), k.read(hashes));
                for (n, (word, hash)) in words.into_iter().zip(hashes).enumerate() {
                    let bit = extract(k, word, hash);
                    results.add(k, n, bit);
                }
            }
            results.give(k, &tree, matches);
            vec![]
        },
    );
    k.finish()
}

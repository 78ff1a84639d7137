//! Message authentication by MMH with four tags at once (chapter 4 of the
//! stream thesis).
//!
//! A block of 32 words is hashed four times, under four keys that are one
//! Toeplitz key at four offsets. Eight clusters are four groups of two, one
//! group for each tag (figure 4.3): of the block's eight records, a group's even
//! cluster takes records 0, 2, 4 and 6, its odd cluster the others, over the
//! network between clusters. Both then have the whole sum, and both reduce it.
//!
//! ```text
//! cluster   0    1    2    3    4    5    6    7
//! tag       0    0    1    1    2    2    3    3
//! records  even odd  even odd  even odd  even odd
//! ```
//!
//! - `mmh-level-1s` is for packets of one block: hash and one-time pad.
//! - `mmh-level-1` hashes the blocks of a packet; a record of its output is a
//!   block's hash, so that a cluster finds those of its own tag.
//! - `mmh-level-2` hashes these hashes under a second key, with the pad.
//!
//! Sixteen and thirty-two clusters are two and four such sets of eight, each with
//! a block of its own. Four clusters have a tag each, two have two each, and one has
//! all: they take every record of the block.

use super::{Entry, fill};
use crate::stream_processor::kernel::{
    ArrayId, BuildError, Builder, Kernel, Over, Placement, Value,
};

pub mod programs;

/// Words of a block (4.2.1).
pub const BLOCK_WORDS: usize = 32;
/// Tags at once.
pub const TAGS: usize = 4;
/// Words of a Toeplitz key for all tags.
pub const KEY_WORDS: usize = BLOCK_WORDS + TAGS - 1;

pub(super) const KERNELS: &[Entry] = &[
    Entry {
        name: "mmh-level-1-keys",
        about: "loads MMH's first key into the scratchpads",
        source: "Lai 2006, 4.3.2",
        records: KEY_WORDS,
        build: |_| level_1_keys(),
    },
    Entry {
        name: "mmh-level-2-keys",
        about: "loads MMH's second key into the scratchpads",
        source: "Lai 2006, 4.3.2",
        records: KEY_WORDS,
        build: |_| level_2_keys(),
    },
    Entry {
        name: "mmh-level-1s",
        about: "four tags of packets of one block",
        source: "Lai 2006, 4.3.1",
        records: 8,
        build: level_1s,
    },
    Entry {
        name: "mmh-level-1",
        about: "four hashes of each block of a packet",
        source: "Lai 2006, 4.3.1",
        records: 16,
        build: level_1,
    },
    Entry {
        name: "mmh-level-2",
        about: "four tags from the hashes of a packet's blocks",
        source: "Lai 2006, 4.3.1",
        records: 8,
        build: level_2,
    },
];

/// Fills the first key's array.
pub fn level_1_keys() -> Result<Kernel, BuildError> {
    fill("mmh-level-1-keys", declare_first)
}

/// Fills the second key's array.
pub fn level_2_keys() -> Result<Kernel, BuildError> {
    fill("mmh-level-2-keys", declare_second)
}

fn declare_first(k: &mut Builder) -> ArrayId {
    k.array("mmh first key", KEY_WORDS as u32, Placement::Unit(0))
}

fn declare_second(k: &mut Builder) -> ArrayId {
    k.array("mmh second key", KEY_WORDS as u32, Placement::Unit(0))
}

/// Hashes of blocks.
pub fn level_1(clusters: usize) -> Result<Kernel, BuildError> {
    first_level("mmh-level-1", clusters, false)
}

/// Tags of packets of one block.
pub fn level_1s(clusters: usize) -> Result<Kernel, BuildError> {
    first_level("mmh-level-1s", clusters, true)
}

/// Records of a block.
const RECORDS: usize = BLOCK_WORDS / 4;

/// How blocks and tags are dealt out to clusters.
#[derive(Clone, Copy)]
struct Layout {
    clusters: usize,
}

impl Layout {
    /// Blocks that are hashed at once.
    fn blocks(self) -> usize {
        (self.clusters / RECORDS).max(1)
    }

    /// Records of a block that each cluster reads.
    fn reads(self) -> usize {
        (RECORDS / self.clusters).max(1)
    }

    /// Tags that each cluster makes.
    fn tags(self) -> usize {
        (TAGS / self.clusters).max(1)
    }

    /// Whether two clusters share a tag of a block.
    fn halves(self) -> bool {
        self.clusters >= 2 * TAGS
    }

    /// The first of a cluster's tags.
    fn first_tag(self, k: &mut Builder) -> Value {
        let own = k.cluster_id();
        let own = if self.blocks() > 1 {
            let mask = k.constant(RECORDS as u32 - 1);
            k.and(own, mask)
        } else {
            own
        };
        match self.tags() {
            1 if self.halves() => k.shift_right(own, 1),
            1 => own,
            tags => k.shift_left(own, tags.ilog2()),
        }
    }

    /// The number of a cluster's block among those that are hashed at once.
    fn block(self, k: &mut Builder) -> Value {
        let own = k.cluster_id();
        k.shift_right(own, RECORDS.ilog2())
    }
}

fn first_level(name: &str, clusters: usize, is_last: bool) -> Result<Kernel, BuildError> {
    let layout = Layout { clusters };
    let tags = layout.tags() as u32;
    let mut k = Builder::new(name);
    let packet = k.input("packet", 4);
    let pads = is_last.then(|| k.input("pads", tags));
    let hashes = k.output(if is_last { "tags" } else { "hashes" }, tags);
    let keys = declare_first(&mut k);

    let tag = layout.first_tag(&mut k);
    // Records of a cluster by the read that brings them, the cluster that has
    // them, and the place of their first word in the block.
    let (base, partner, taken) = if layout.halves() {
        let (cluster, one) = (k.cluster_id(), k.constant(1));
        let odd = k.and(cluster, one);
        let partner = k.xor(cluster, one);
        let skew = k.shift_left(odd, 2);
        let base = k.add(tag, skew);
        let first = if layout.blocks() > 1 {
            let block = layout.block(&mut k);
            let block = k.shift_left(block, RECORDS.ilog2());
            k.add(block, odd)
        } else {
            odd
        };
        let taken: Vec<(usize, Value, u32)> = (0..RECORDS as u32 / 2)
            .map(|pair| {
                let offset = k.constant(2 * pair);
                (0, k.add(first, offset), 8 * pair)
            })
            .collect();
        (base, Some(partner), taken)
    } else {
        let taken = (0..RECORDS)
            .map(|record| {
                let source = k.constant((record % clusters) as u32);
                (record / clusters, source, 4 * record as u32)
            })
            .collect();
        (tag, None, taken)
    };
    let over = Over::several_records(packet, layout.reads() as u32);
    k.repeat(over.label("blocks").pipeline(), &[], |k, _| {
        let records: Vec<Vec<Value>> = (0..layout.reads()).map(|_| k.read(packet)).collect();
        let mut products = vec![Vec::new(); layout.tags()];
        for &(read, source, first) in &taken {
            for (&word, place) in records[read].iter().zip(first..) {
                let word = match clusters {
                    1 => word,
                    _ => k.communicate(word, source),
                };
                for (products, tag) in products.iter_mut().zip(0..) {
                    let key = k.scratch_read(keys, base, place + tag);
                    products.push(k.multiply_wide(word, key));
                }
            }
        }
        let pads = pads.map(|pads| k.read(pads));
        let made: Vec<Value> = products
            .into_iter()
            .enumerate()
            .map(|(tag, products)| {
                let own = sum64(k, products);
                let whole = match partner {
                    Some(partner) => with_other(k, own, partner),
                    None => own,
                };
                let hash = reduce(k, whole);
                match &pads {
                    Some(pads) => k.xor(hash, pads[tag]),
                    None => hash,
                }
            })
            .collect();
        k.write(hashes, &made);
        vec![]
    });
    k.finish()
}

/// The sum of a cluster's number and its partner's.
fn with_other(k: &mut Builder, own: [Value; 2], partner: Value) -> [Value; 2] {
    let other = own.map(|half| k.communicate(half, partner));
    k.add64(own, other)
}

/// The sum of 64-bit numbers; at least one.
fn sum64(k: &mut Builder, mut terms: Vec<[Value; 2]>) -> [Value; 2] {
    while terms.len() > 1 {
        let mut next = Vec::with_capacity(terms.len().div_ceil(2));
        for pair in terms.chunks(2) {
            next.push(match *pair {
                [a, b] => k.add64(a, b),
                [a] => a,
                _ => continue,
            });
        }
        terms = next;
    }
    let zero = k.constant(0);
    terms.first().copied().unwrap_or([zero, zero])
}

/// A 64-bit number modulo 2³² + 15, modulo 2³² (equation 4.5).
///
/// With `h` and `l` its halves, it is `l - 15 h`, for 2³² is `-15`. Adding 15
/// times the modulus keeps that positive: `15 (2³² - 1 - h) + l + 240`, whose
/// upper half is at most 16. The same again leaves a number that is negative
/// only where its lower half is below `15 h`, and then one modulus is added.
fn reduce(k: &mut Builder, number: [Value; 2]) -> Value {
    let [low, high] = number;
    let (zero, fifteen, ones) = (k.constant(0), k.constant(15), k.constant(u32::MAX));
    let rest = k.constant(240);
    let inverted = k.xor(high, ones);
    let product = k.multiply_wide(inverted, fifteen);
    let with_low = k.add64(product, [low, zero]);
    let [low, high] = k.add64(with_low, [rest, zero]);
    let product = k.multiply_low(high, fifteen);
    let difference = k.sub(low, product);
    let corrected = k.add(difference, fifteen);
    let is_negative = k.less(low, product);
    k.select(is_negative, corrected, difference)
}

/// Tags from the hashes of blocks.
pub fn level_2(clusters: usize) -> Result<Kernel, BuildError> {
    let layout = Layout { clusters };
    let tags = layout.tags();
    let mut k = Builder::new("mmh-level-2");
    let hashes = k.input("hashes", tags as u32);
    let pads = k.input("pads", tags as u32);
    let given = k.output("tags", tags as u32);
    let keys = declare_second(&mut k);
    let (zero, step) = (k.constant(0), k.constant(layout.blocks() as u32));
    let mut first = layout.first_tag(&mut k);
    if layout.blocks() > 1 {
        let block = layout.block(&mut k);
        first = k.add(first, block);
    }
    let mut carried = vec![first];
    carried.extend(vec![zero; 2 * tags]);
    let sums = k.repeat(
        Over::records(hashes).label("hashes").pipeline(),
        &carried,
        |k, carried| {
            let words = k.read(hashes);
            let mut next = vec![k.add(carried[0], step)];
            let sums = carried[1..].chunks(2);
            for ((hash, sum), tag) in words.into_iter().zip(sums).zip(0..) {
                let key = k.scratch_read(keys, carried[0], tag);
                next.extend(k.multiply_accumulate([sum[0], sum[1]], hash, key));
            }
            next
        },
    );
    let pads = k.read(pads);
    let made: Vec<Value> = sums[1..]
        .chunks(2)
        .zip(pads)
        .map(|(sum, pad)| {
            let mut sum = [sum[0], sum[1]];
            let mut distance = RECORDS;
            while distance < clusters {
                let (own, distant) = (k.cluster_id(), k.constant(distance as u32));
                let partner = k.xor(own, distant);
                sum = with_other(&mut k, sum, partner);
                distance *= 2;
            }
            let hash = reduce(&mut k, sum);
            k.xor(hash, pad)
        })
        .collect();
    k.write(given, &made);
    k.finish()
}

#[cfg(test)]
mod tests;

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
//! These kernels are for eight clusters.

use super::{Entry, fill};
use crate::kernel::{ArrayId, BuildError, Builder, Kernel, Over, Placement, Value};

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
        about: "puts MMH's first key into the scratchpads",
        source: "Lai 2006, 4.3.2",
        records: KEY_WORDS,
        build: |_| level_1_keys(),
    },
    Entry {
        name: "mmh-level-2-keys",
        about: "puts MMH's second key into the scratchpads",
        source: "Lai 2006, 4.3.2",
        records: KEY_WORDS,
        build: |_| level_2_keys(),
    },
    Entry {
        name: "mmh-level-1s",
        about: "four tags of packets of one block",
        source: "Lai 2006, 4.3.1",
        records: 1,
        build: |_| level_1s(),
    },
    Entry {
        name: "mmh-level-1",
        about: "four hashes of each block of a packet",
        source: "Lai 2006, 4.3.1",
        records: 12,
        build: |_| level_1(),
    },
    Entry {
        name: "mmh-level-2",
        about: "four tags from the hashes of a packet's blocks",
        source: "Lai 2006, 4.3.1",
        records: 12,
        build: |_| level_2(),
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
pub fn level_1() -> Result<Kernel, BuildError> {
    first_level("mmh-level-1", false)
}

/// Tags of packets of one block.
pub fn level_1s() -> Result<Kernel, BuildError> {
    first_level("mmh-level-1s", true)
}

fn first_level(name: &str, is_last: bool) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(name);
    let packet = k.input("packet", 4);
    let pads = is_last.then(|| k.input("pads", 1));
    let hashes = k.output(if is_last { "tags" } else { "hashes" }, 1);
    let keys = declare_first(&mut k);

    let cluster = k.cluster_id();
    let one = k.constant(1);
    let tag = k.shift_right(cluster, 1);
    let odd = k.and(cluster, one);
    let partner = k.xor(cluster, one);
    let skew = k.shift_left(odd, 2);
    let base = k.add(tag, skew);
    let sources: Vec<Value> = (0..4)
        .map(|pair| {
            let first = k.constant(2 * pair);
            k.add(odd, first)
        })
        .collect();
    k.repeat(
        Over::records(packet).label("blocks").pipeline(),
        &[],
        |k, _| {
            let record = k.read(packet);
            let mut products = Vec::new();
            for (&source, pair) in sources.iter().zip(0..) {
                for (&word, place) in record.iter().zip(0..) {
                    let word = k.communicate(word, source);
                    let key = k.scratch_read(keys, base, 8 * pair + place);
                    products.push(k.multiply_wide(word, key));
                }
            }
            let own = sum64(k, products);
            let other = own.map(|half| k.communicate(half, partner));
            let whole = k.add64(own, other);
            let mut hash = reduce(k, whole);
            if let Some(pads) = pads {
                let pad = k.read(pads)[0];
                hash = k.xor(hash, pad);
            }
            k.write(hashes, &[hash]);
            vec![]
        },
    );
    k.finish()
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
pub fn level_2() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("mmh-level-2");
    let hashes = k.input("hashes", 1);
    let pads = k.input("pads", 1);
    let tags = k.output("tags", 1);
    let keys = declare_second(&mut k);
    let cluster = k.cluster_id();
    let (zero, one) = (k.constant(0), k.constant(1));
    let tag = k.shift_right(cluster, 1);
    let sum = k.repeat(
        Over::records(hashes).label("hashes").pipeline(),
        &[zero, zero, tag],
        |k, carried| {
            let hash = k.read(hashes)[0];
            let key = k.scratch_read(keys, carried[2], 0);
            let [low, high] = k.multiply_accumulate([carried[0], carried[1]], hash, key);
            vec![low, high, k.add(carried[2], one)]
        },
    );
    let hash = reduce(&mut k, [sum[0], sum[1]]);
    let pad = k.read(pads)[0];
    let tag = k.xor(hash, pad);
    k.write(tags, &[tag]);
    k.finish()
}

#[cfg(test)]
mod tests;

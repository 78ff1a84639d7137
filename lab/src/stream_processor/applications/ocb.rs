//! Offset codebook mode over AES (2.8 of the stream thesis): the mode of
//! Rogaway, Bellare and Black (2003) for whole blocks, as the thesis has it, and
//! that of RFC 7253, whose offsets are the same sums of L(i).
//!
//! ```text
//! Z[x] = Z[x-1] ⊕ L(ntz(x)),  Z[0] the nonce's       x = 1, 2, …
//! C[x] = E(M[x] ⊕ Z[x]) ⊕ Z[x]
//! C[s] = E(T ⊕ Z[s]) ⊕ M[s]                          the special block, T a tweak
//! tag  = E(⊕ M[x] ⊕ Z[e] ⊕ U)                        e the closing block, U a tweak
//! ```
//!
//! The thesis's last block is the special one and closes: T is its length and
//! L(-1), U nothing. With RFC 7253 the special block is the partial one, if
//! there is one, and the tweaks are what its offset is different by.
//!
//! - `ocb-nonce` combines L with the nonce.
//! - `ocb-parameters` makes L(-1) to L(6); `ocb-offsets` makes `Z[1]` to `Z[96]` as
//!   well, each cluster those of its own key.
//! - `ocb-enter` and `ocb-leave` are before and after AES's kernels.
//!   `ocb-enter-on-the-fly` finds the offsets on the fly: from block x to x + C for
//!   C clusters they change by L(log2 C - 1) and by L(ntz(x + C)), as x
//!   modulo C stays (table 2.4).

use super::Entry;
use crate::stream_processor::kernel::{
    BuildError, Builder, InputId, Kernel, OutputId, Over, ScalarId, Value,
};

pub use offsets::{nonce, offsets, parameters};

mod offsets;
pub mod programs;

/// L(i) for i from -1 on that are kept: enough for 96 blocks.
pub const PARAMETERS: usize = 8;
/// Blocks of the largest packet.
pub const BLOCKS: usize = 96;

pub(super) const KERNELS: &[Entry] = &[
    Entry {
        name: "ocb-nonce",
        about: "combines L with a nonce",
        source: "Lai 2006, 2.8",
        records: 1,
        build: |_| nonce(),
    },
    Entry {
        name: "ocb-parameters",
        about: "computes L(-1) to L(6) of a key in each cluster",
        source: "Lai 2006, 2.8",
        records: 1,
        build: |_| parameters(),
    },
    Entry {
        name: "ocb-offsets",
        about: "computes the same, and the offsets of 96 blocks",
        source: "Lai 2006, 2.8",
        records: 1,
        build: |_| offsets(),
    },
    Entry {
        name: "ocb-enter",
        about: "adds offsets to blocks before encryption",
        source: "Lai 2006, figure 2.30",
        records: 12,
        build: |_| enter(),
    },
    Entry {
        name: "ocb-enter-on-the-fly",
        about: "as ocb-enter, with offsets computed on the fly",
        source: "Lai 2006, figure 2.33",
        records: 3,
        build: enter_flying,
    },
    Entry {
        name: "ocb-leave",
        about: "adds offsets to encrypted blocks and computes the checksum",
        source: "Lai 2006, figures 2.30 and 2.31",
        records: 12,
        build: leave,
    },
];

/// Four words: a block.
type Block = [Value; 4];

fn read(k: &mut Builder, stream: InputId) -> Block {
    let words = k.read(stream);
    std::array::from_fn(|column| words[column])
}

fn xor(k: &mut Builder, one: Block, other: Block) -> Block {
    std::array::from_fn(|column| k.xor(one[column], other[column]))
}

fn select(k: &mut Builder, flag: Value, one: Block, other: Block) -> Block {
    std::array::from_fn(|column| k.select(flag, one[column], other[column]))
}

fn zero(k: &mut Builder) -> Block {
    [k.constant(0); 4]
}

/// The numbers of blocks: each cluster's first is its own number and 1.
struct Numbers {
    first: Value,
    step: Value,
}

impl Numbers {
    fn declare(k: &mut Builder) -> Numbers {
        let (own, one) = (k.cluster_id(), k.constant(1));
        Numbers {
            first: k.add(own, one),
            step: k.cluster_count(),
        }
    }
}

/// Blocks with the offsets of a stream.
pub fn enter() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("ocb-enter");
    let text = k.input("text", 4);
    let offsets = k.input("offsets", 4);
    let entry = Entering::declare(&mut k);
    let numbers = Numbers::declare(&mut k);
    k.repeat(
        Over::records(text).label("blocks").pipeline(),
        &[numbers.first],
        |k, carried| {
            let (text, offset) = (read(k, text), read(k, offsets));
            entry.block(k, carried[0], text, offset);
            vec![k.add(carried[0], numbers.step)]
        },
    );
    k.finish()
}

/// What all kernels before AES have.
struct Entering {
    tweak: Block,
    special: ScalarId,
    out: OutputId,
}

impl Entering {
    fn declare(k: &mut Builder) -> Entering {
        let tweaks = k.input("tweak", 4);
        Entering {
            tweak: read(k, tweaks),
            special: k.scalar_parameter("special block"),
            out: k.output("blocks", 4),
        }
    }

    /// Figure 2.30, before the cipher.
    fn block(&self, k: &mut Builder, number: Value, text: Block, offset: Block) {
        let special = k.scalar(self.special);
        let is_special = k.equal(number, special);
        let chosen = select(k, is_special, self.tweak, text);
        let block = xor(k, chosen, offset);
        k.write(self.out, &block);
    }
}

/// Blocks with offsets that are found on the fly, and the offsets.
pub fn enter_flying(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("ocb-enter-on-the-fly");
    let text = k.input("text", 4);
    let first = k.input("first offset", 4);
    let parameters = k.input("parameters", 4);
    let entry = Entering::declare(&mut k);
    let offsets = k.output("offsets", 4);

    // L(-1) is the special block's alone.
    read(&mut k, parameters);
    let l: Vec<Block> = (1..PARAMETERS).map(|_| read(&mut k, parameters)).collect();
    let first = read(&mut k, first);
    let numbers = Numbers::declare(&mut k);
    let bits = clusters.ilog2();
    // The Gray code of a block's number says which L(i) its offset has.
    let half = k.shift_right(numbers.first, 1);
    let gray = k.xor(numbers.first, half);
    let none = zero(&mut k);
    let mut offset = first;
    for (bit, &l) in (0..=bits).zip(&l) {
        let is_set = bit_of(&mut k, gray, bit);
        let chosen = select(&mut k, is_set, l, none);
        offset = xor(&mut k, offset, chosen);
    }
    let (low, high) = l.split_at(bits as usize);
    let each = low.last().copied();
    let carried = [&[numbers.first][..], &offset].concat();
    k.repeat(
        Over::records(text).label("blocks").pipeline(),
        &carried,
        |k, carried| {
            let offset: Block = std::array::from_fn(|column| carried[1 + column]);
            let text = read(k, text);
            entry.block(k, carried[0], text, offset);
            k.write(offsets, &offset);
            let number = k.add(carried[0], numbers.step);
            let row = match bits {
                0 => number,
                bits => k.shift_right(number, bits),
            };
            let change = by_trailing_zeros(k, row, high);
            let mut next = xor(k, offset, change);
            if let Some(each) = each {
                next = xor(k, next, each);
            }
            [&[number][..], &next].concat()
        },
    );
    k.finish()
}

fn bit_of(k: &mut Builder, word: Value, bit: u32) -> Value {
    let mask = k.constant(1 << bit);
    let masked = k.and(word, mask);
    k.equal(masked, mask)
}

/// The block whose place is the number of a word's zero bits before the lowest
/// that is set; the last where there are more.
fn by_trailing_zeros(k: &mut Builder, word: Value, blocks: &[Block]) -> Block {
    let (last, others) = match blocks {
        [others @ .., last] => (*last, others),
        [] => return zero(k),
    };
    let mut chosen = last;
    for (bit, &block) in others.iter().enumerate().rev() {
        let is_set = bit_of(k, word, bit as u32);
        chosen = select(k, is_set, block, chosen);
    }
    chosen
}

/// Encrypted blocks with their offsets, and the sum of the text and the
/// closing block's offset, which all clusters have.
pub fn leave(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("ocb-leave");
    let encrypted = k.input("encrypted", 4);
    let text = k.input("text", 4);
    let offsets = k.input("offsets", 4);
    let tweaks = k.input("closing tweak", 4);
    let cipher = k.output("cipher text", 4);
    let sum = k.output("sum", 4);
    let [special, closing] =
        ["special block", "closing block"].map(|name| k.scalar_parameter(name));
    let numbers = Numbers::declare(&mut k);
    let (special, closing) = (k.scalar(special), k.scalar(closing));
    let tweak = read(&mut k, tweaks);
    let none = zero(&mut k);
    let carried = [&[numbers.first][..], &none].concat();
    let after = k.repeat(
        Over::records(encrypted).label("blocks").pipeline(),
        &carried,
        |k, carried| {
            let number = carried[0];
            let sum: Block = std::array::from_fn(|column| carried[1 + column]);
            let [encrypted, text, offset] =
                [encrypted, text, offsets].map(|stream| read(k, stream));
            let is_special = k.equal(number, special);
            let mask = select(k, is_special, text, offset);
            let given = xor(k, encrypted, mask);
            k.write(cipher, &given);
            let is_closing = k.equal(number, closing);
            let offset = select(k, is_closing, offset, none);
            let sum = xor(k, sum, text);
            let sum = xor(k, sum, offset);
            [&[k.add(number, numbers.step)][..], &sum].concat()
        },
    );
    // The tree-sum of 2.8.
    let mut whole: Block = std::array::from_fn(|column| after[1 + column]);
    let own = k.cluster_id();
    let mut distance = 1;
    while distance < clusters {
        let distant = k.constant(distance as u32);
        let partner = k.xor(own, distant);
        let other = whole.map(|word| k.communicate(word, partner));
        whole = xor(&mut k, whole, other);
        distance *= 2;
    }
    let whole = xor(&mut k, whole, tweak);
    k.write(sum, &whole);
    k.finish()
}

#[cfg(test)]
mod tests;

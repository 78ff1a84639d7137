//! Numbers modulo the prime 2³¹ - 1 (3.4 of the thesis): as 2³¹ is 1, the bits
//! above the lowest 31 are added to them.

use crate::stream_processor::kernel::{Builder, Value};

/// The prime.
pub const PRIME: u32 = (1 << 31) - 1;

/// A 64-bit number below 2⁶², lower word first, folded once: a word of the
/// same residue.
pub(super) fn fold(k: &mut Builder, number: [Value; 2]) -> Value {
    let prime = k.constant(PRIME);
    let [low, high] = number;
    let below = k.and(low, prime);
    let top = k.shift_right(low, 31);
    let above = k.shift_left(high, 1);
    let above = k.or(above, top);
    k.add(below, above)
}

/// The residue of a word that is below twice the prime.
pub(super) fn reduce(k: &mut Builder, word: Value) -> Value {
    let prime = k.constant(PRIME);
    let reduced = k.sub(word, prime);
    let is_below = k.less(word, prime);
    k.select(is_below, word, reduced)
}

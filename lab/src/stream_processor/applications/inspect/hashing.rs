//! A step of a hash function, in the kernel language.

use super::{Design, Family};
use crate::stream_processor::applications::lanes::Lanes;
use crate::stream_processor::applications::mersenne;
use crate::stream_processor::kernel::{Builder, IndexedId, Value};

/// Bits by which shift-add-xor shifts, left and right (figure 3.1).
pub(super) const SHIFTS: [u32; 2] = [6, 2];
/// The base of the radix conversion, and the digit for a byte of zero (5.3.1).
pub(super) const BASE: u32 = 512;
pub(super) const ZERO_DIGIT: u32 = 0x100;

/// A cluster's hash function.
pub(super) enum Hashing {
    ShiftAddXor {
        /// The empty string's hash and the sum of its shifts, where strings
        /// begin in this kernel.
        seed: Option<[Value; 2]>,
    },
    Tabulation {
        /// The table for each place from the first one on.
        tables: Vec<IndexedId>,
        first_place: usize,
        lanes: Lanes,
    },
    H1 {
        multiplier: Value,
        addend: Value,
    },
}

impl Hashing {
    /// A function that makes windows of at least `shortest` bytes, up to the
    /// design's longest; of windows of one byte, all.
    pub(super) fn declare(
        k: &mut Builder,
        clusters: usize,
        design: &Design,
        shortest: usize,
    ) -> Hashing {
        match design.family {
            Family::ShiftAddXor => {
                let seed = (shortest == 1).then(|| {
                    let parameters = k.input("parameters", 1);
                    let seed = k.read(parameters)[0];
                    [seed, shifted(k, seed)]
                });
                Hashing::ShiftAddXor { seed }
            }
            Family::Tabulation => Hashing::Tabulation {
                tables: (shortest..=design.prefix_bytes())
                    .map(|length| k.indexed(&format!("table of byte {length}")))
                    .collect(),
                first_place: shortest - 1,
                lanes: Lanes::new(clusters).assisted(design.index_assist),
            },
            Family::H1 => {
                let parameters = k.input("parameters", 2);
                let function = k.read(parameters);
                Hashing::H1 {
                    multiplier: function[0],
                    addend: function[1],
                }
            }
        }
    }

    /// What is added for a byte of a word, the same for all lengths.
    pub(super) fn item(&self, k: &mut Builder, word: Value, byte: u32) -> Value {
        let byte = k.shuffle(word, 0x8880 | byte);
        match self {
            Hashing::ShiftAddXor { .. } => byte,
            Hashing::Tabulation { lanes, .. } => lanes.index(k, byte),
            Hashing::H1 { .. } => {
                let (zero, digit) = (k.constant(0), k.constant(ZERO_DIGIT));
                let is_zero = k.equal(byte, zero);
                k.select(is_zero, digit, byte)
            }
        }
    }

    /// The state of a string of one byte.
    pub(super) fn begin(&self, k: &mut Builder, item: Value) -> Value {
        match self {
            Hashing::ShiftAddXor {
                seed: Some([seed, shifts]),
            } => {
                let sum = k.add(*shifts, item);
                k.xor(*seed, sum)
            }
            Hashing::Tabulation { .. } => self.look_up(k, 0, item),
            Hashing::ShiftAddXor { seed: None } | Hashing::H1 { .. } => item,
        }
    }

    /// The state of a string that is one byte longer; `place` is the byte's.
    pub(super) fn append(&self, k: &mut Builder, state: Value, place: usize, item: Value) -> Value {
        match self {
            Hashing::ShiftAddXor { .. } => {
                let sum = shifted(k, state);
                let sum = k.add(sum, item);
                k.xor(state, sum)
            }
            Hashing::Tabulation { .. } => {
                let word = self.look_up(k, place, item);
                k.xor(state, word)
            }
            Hashing::H1 { .. } => {
                let base = k.constant(BASE);
                let product = k.multiply_wide(state, base);
                let folded = mersenne::fold(k, product);
                let sum = k.add(folded, item);
                mersenne::reduce(k, sum)
            }
        }
    }

    fn look_up(&self, k: &mut Builder, place: usize, index: Value) -> Value {
        match self {
            Hashing::Tabulation {
                tables,
                first_place,
                lanes,
            } => lanes.at(k, tables[place - first_place], index),
            _ => index,
        }
    }

    /// The hash of a string, by its state.
    pub(super) fn finish(&self, k: &mut Builder, state: Value) -> Value {
        match self {
            Hashing::H1 { multiplier, addend } => {
                let zero = k.constant(0);
                let product = k.multiply_wide(state, *multiplier);
                let sum = k.add64(product, [*addend, zero]);
                let folded = mersenne::fold(k, sum);
                mersenne::reduce(k, folded)
            }
            _ => state,
        }
    }
}

fn shifted(k: &mut Builder, state: Value) -> Value {
    let left = k.shift_left(state, SHIFTS[0]);
    let right = k.shift_right(state, SHIFTS[1]);
    k.add(left, right)
}

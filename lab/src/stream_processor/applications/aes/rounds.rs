//! The cipher (FIPS 197, 5.1).

use super::{ROUNDS, SETS, SUB_KEY_WORDS, declare_sub_keys, declare_table, look_up, substitute};
use crate::stream_processor::kernel::{
    ArrayId, BuildError, Builder, Kernel, Over, Placement, ScalarId, Value,
};

/// Whitening and nine rounds, a block at a time.
pub fn core() -> Result<Kernel, BuildError> {
    core_of("aes-core", 1, SETS)
}

/// Whitening and nine rounds, two blocks at a time.
pub fn core_dual() -> Result<Kernel, BuildError> {
    core_of("aes-core-dual", 2, SETS)
}

/// The last round, a block at a time.
pub fn final_round() -> Result<Kernel, BuildError> {
    final_round_of("aes-final-round", 1, SETS)
}

/// The last round, two blocks at a time.
pub fn final_round_dual() -> Result<Kernel, BuildError> {
    final_round_of("aes-final-round-dual", 2, SETS)
}

/// [`core`] with sub-keys in `sets` sets.
pub(super) fn core_kept(sets: u32) -> Result<Kernel, BuildError> {
    core_of("aes-core-cached", 1, sets)
}

/// [`final_round`] with sub-keys in `sets` sets.
pub(super) fn final_round_kept(sets: u32) -> Result<Kernel, BuildError> {
    final_round_of("aes-final-round-cached", 1, sets)
}

fn core_of(name: &str, blocks: u32, sets: u32) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(name);
    let text = k.input("text", 4);
    let state = k.output("state", 4);
    let table = declare_table(&mut k);
    let sender = Sender::declare(&mut k, sets);
    // The keys of this stream, beside the set that the cluster expanded, and
    // in the other scratchpad where there are two.
    let round_keys = k.array("aes round keys", SUB_KEY_WORDS, Placement::Unit(1));

    let (zero, four) = (k.constant(0), k.constant(4));
    let first = k.scalar(sender.offset);
    let whitening = sender.send(&mut k, first, 0);
    k.repeat(
        Over::count(ROUNDS - 1).label("key distribution"),
        &[first, zero],
        |k, at| {
            let words = sender.send(k, at[0], 4);
            for (offset, word) in (4..).zip(words) {
                k.scratch_write(round_keys, at[1], offset, word);
            }
            vec![k.add(at[0], four), k.add(at[1], four)]
        },
    );

    k.repeat(
        Over::several_records(text, blocks).label("blocks"),
        &[],
        |k, _| {
            let mut carried = vec![four];
            for _ in 0..blocks {
                let block = k.read(text);
                carried.extend(add_round_key(k, &block, &whitening));
            }
            let carried = k.repeat(
                Over::count(ROUNDS - 1).label("rounds"),
                &carried,
                |k, carried| {
                    let at = carried[0];
                    let keys: Vec<Value> = (0..4)
                        .map(|column| k.scratch_read(round_keys, at, column))
                        .collect();
                    let mut next = vec![k.add(at, four)];
                    for words in carried[1..].chunks(4) {
                        next.extend(round(k, table, words, &keys));
                    }
                    next
                },
            );
            for words in carried[1..].chunks(4) {
                k.write(state, words);
            }
            vec![]
        },
    );
    k.finish()
}

/// Sends sub-keys from one cluster to all.
struct Sender {
    sub_keys: ArrayId,
    /// The cluster that has them.
    source: ScalarId,
    /// Where they begin in its array.
    offset: ScalarId,
}

impl Sender {
    fn declare(k: &mut Builder, sets: u32) -> Sender {
        Sender {
            sub_keys: declare_sub_keys(k, sets),
            source: k.scalar_parameter("key source"),
            offset: k.scalar_parameter("key offset"),
        }
    }

    /// Four sub-keys from `at + offset`.
    fn send(&self, k: &mut Builder, at: Value, offset: u32) -> Vec<Value> {
        let source = k.scalar(self.source);
        (offset..offset + 4)
            .map(|offset| {
                let own = k.scratch_read(self.sub_keys, at, offset);
                k.communicate(own, source)
            })
            .collect()
    }
}

/// The exclusive or of words and sub-keys.
pub(super) fn add_round_key(k: &mut Builder, words: &[Value], keys: &[Value]) -> Vec<Value> {
    let pairs = words.iter().zip(keys);
    pairs.map(|(&word, &key)| k.xor(word, key)).collect()
}

/// One round: each column from four look-ups, whose rows `ShiftRows` brings
/// together.
pub(super) fn round(
    k: &mut Builder,
    table: ArrayId,
    words: &[Value],
    keys: &[Value],
) -> Vec<Value> {
    (0..4)
        .map(|column| {
            let mut terms: Vec<Value> = (0..4u32)
                .map(|row| {
                    let word = words[(column + row as usize) % 4];
                    let found = look_up(k, table, word, row);
                    match row {
                        0 => found,
                        _ => k.rotate_left(found, 8 * row),
                    }
                })
                .collect();
            terms.push(keys[column]);
            // The key is there first, and the look-ups come one by one.
            terms.reverse();
            terms
                .into_iter()
                .reduce(|sum, term| k.xor(sum, term))
                .unwrap_or(keys[column])
        })
        .collect()
}

fn final_round_of(name: &str, blocks: u32, sets: u32) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(name);
    let state = k.input("state", 4);
    let text = k.output("cipher text", 4);
    let table = declare_table(&mut k);
    let sender = Sender::declare(&mut k, sets);

    let first = k.scalar(sender.offset);
    let keys = sender.send(&mut k, first, 4 * ROUNDS);
    k.repeat(
        Over::several_records(state, blocks).label("blocks"),
        &[],
        |k, _| {
            for _ in 0..blocks {
                let words = k.read(state);
                let columns = last_round(k, table, &words, &keys);
                k.write(text, &columns);
            }
            vec![]
        },
    );
    k.finish()
}

/// The last round, which mixes no columns.
pub(super) fn last_round(
    k: &mut Builder,
    table: ArrayId,
    words: &[Value],
    keys: &[Value],
) -> Vec<Value> {
    let columns: Vec<Value> = (0..4)
        .map(|column| {
            let parts: Vec<Value> = (0..4u32)
                .map(|row| {
                    let word = words[(column + row as usize) % 4];
                    substitute(k, table, word, row, row)
                })
                .collect();
            k.xor_all(&parts)
        })
        .collect();
    add_round_key(k, &columns, keys)
}
